{{/* Binds the ClusterRole [root, name] to the operator's account. */}}
{{- define "pontoon.binding" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels:
    {{- include "pontoon.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "pontoon.serviceAccount" $root }}
    namespace: {{ $root.Release.Namespace }}
{{- end -}}

{{/* Whether FLIPOP is at work: nothing is done for its kinds while that cannot be seen. Its Lease is held once
it is quiet, so that a FLIPOP that comes back stays passive. */}}
{{- define "pontoon.flipopLease" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [floating-ip-pool-controller-leader-election]
  verbs: [list, watch, update]
{{- end -}}
