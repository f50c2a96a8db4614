{{/* The arguments of the container. */}}
{{- define "pontoon.args" -}}
- run
{{- if ne .Values.mode "active" }}
- --mode={{ .Values.mode }}
{{- end }}
{{- with .Values.controllers }}
- --controllers={{ join "," . }}
{{- end }}
{{- with .Values.predecessors.namespaces }}
- --predecessor-namespaces={{ join "," . }}
{{- end }}
{{- with .Values.predecessors.ipAddressControllerLease }}
- --ip-address-controller-lease-name={{ . }}
{{- end }}
{{- with .Values.clusters }}
{{- if .namespace }}
- --namespace={{ .namespace }}
{{- end }}
{{- if ne (int .defaultPort) 6443 }}
- --default-port={{ .defaultPort }}
{{- end }}
{{- if .holdVips }}
- --hold-vips=true
{{- end }}
{{- with .runtimeExtension }}
{{- if .enabled }}
- --enable-runtime-extension=true
{{- if ne .name "vip-allocator" }}
- --runtime-extension-name={{ .name }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.policy.rules }}
- --policy=/etc/pontoon/policy/policy.yaml
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The variables of the container. */}}
{{- define "pontoon.env" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
# A process that starts again in this pod takes the Lease back at once: there must be one container
# with this variable in a pod.
- name: POD_UID
  valueFrom:
    fieldRef:
      fieldPath: metadata.uid
{{- with .Values.clusterName }}
- name: CLUSTER_NAME
  value: {{ . | quote }}
{{- end }}
{{- with .Values.providers.digitalocean }}
{{- if .existingSecret }}
- name: DIGITALOCEAN_ACCESS_TOKEN_FILE
  value: /etc/pontoon/digitalocean/token
{{- end }}
{{- if .projectID }}
- name: DIGITALOCEAN_PROJECT_ID
  value: {{ .projectID | quote }}
{{- end }}
{{- end }}
{{- with .Values.providers.cloudflare }}
{{- if .existingSecret }}
- name: CLOUDFLARE_TOKEN_FILE
  value: /etc/pontoon/cloudflare/token
{{- end }}
{{- end }}
{{- with .Values.providers.gcp }}
{{- if .existingSecret }}
- name: GOOGLE_APPLICATION_CREDENTIALS
  value: /etc/pontoon/gcp/{{ .credentialsKey }}
{{- end }}
{{- if .project }}
- name: GOOGLE_CLOUD_PROJECT
  value: {{ .project | quote }}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The volumes of the pod, each with the mount of the same name. */}}
{{- define "pontoon.volumes" -}}
{{- range $name := list "digitalocean" "cloudflare" }}
{{- with get $.Values.providers $name }}
{{- if .existingSecret }}
# Read again when it changes. Objects that need a token that is missing say so.
- name: {{ $name }}
  secret:
    secretName: {{ .existingSecret }}
    items:
      - key: {{ .tokenKey }}
        path: token
    optional: true
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.providers.gcp.existingSecret }}
- name: gcp
  secret:
    secretName: {{ . }}
    # Pools of other providers are served without it.
    optional: true
{{- end }}
{{- if .Values.clusters.runtimeExtension.enabled }}
- name: runtime-extension
  secret:
    secretName: {{ include "pontoon.extensionSecret" . }}
    # VIPs are given without the certificate too.
    optional: true
{{- end }}
{{- if .Values.policy.rules }}
- name: policy
  configMap:
    name: {{ include "pontoon.fullname" . }}-policy
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "pontoon.mounts" -}}
{{- range $name := list "digitalocean" "cloudflare" }}
{{- if (get $.Values.providers $name).existingSecret }}
- name: {{ $name }}
  mountPath: /etc/pontoon/{{ $name }}
  readOnly: true
{{- end }}
{{- end }}
{{- if .Values.providers.gcp.existingSecret }}
- name: gcp
  mountPath: /etc/pontoon/gcp
  readOnly: true
{{- end }}
{{- if .Values.clusters.runtimeExtension.enabled }}
- name: runtime-extension
  mountPath: /tmp/runtime-extension/serving-certs
  readOnly: true
{{- end }}
{{- if .Values.policy.rules }}
- name: policy
  mountPath: /etc/pontoon/policy
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "pontoon.extensionSecret" -}}
{{- .Values.clusters.runtimeExtension.existingSecret | default (printf "%s-runtime-extension-tls" (include "pontoon.fullname" .)) -}}
{{- end -}}
