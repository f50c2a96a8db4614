{{/* The name of the objects: the release's, which names the chart. */}}
{{- define "pontoon.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "pontoon" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-pontoon" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels by which the pods are selected: never changed, because a Deployment's selector cannot be. */}}
{{- define "pontoon.selector" -}}
app.kubernetes.io/name: pontoon
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "pontoon.labels" -}}
{{ include "pontoon.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}

{{- define "pontoon.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "pontoon.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.name: name the account to use, because serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* "yes" if the controller [root, name] runs: an empty list means all. */}}
{{- define "pontoon.runs" -}}
{{- $root := index . 0 -}}
{{- if or (empty $root.Values.controllers) (has (index . 1) $root.Values.controllers) -}}
yes
{{- end -}}
{{- end -}}

{{- define "pontoon.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
