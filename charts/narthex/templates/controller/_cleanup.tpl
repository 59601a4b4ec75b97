{{/* A Job removes what the controller wrote, after `helm uninstall`; empty: no. Without the election nothing of it is written. */}}
{{- define "narthex.controller.cleanup" -}}
{{- if and .Values.controller.enabled .Values.controller.cleanup.enabled .Values.rbac.create .Values.serviceAccount.create -}}
{{- include "narthex.controller.elects" . -}}
{{- end -}}
{{- end -}}

{{- define "narthex.controller.cleanup.fullname" -}}
{{- printf "%s-cleanup" (include "narthex.fullname" . | trunc 55 | trimSuffix "-") -}}
{{- end -}}

{{- define "narthex.controller.cleanup.labels" -}}
{{ include "narthex.componentLabels" (dict "root" . "component" "cleanup") }}
{{- end -}}

{{/* Labels, and what makes an object part of the hook. Input: a dict of `root` and `weight`. */}}
{{- define "narthex.controller.cleanup.metadata" -}}
labels:
  {{- include "narthex.controller.cleanup.labels" .root | nindent 2 }}
annotations:
  helm.sh/hook: post-delete
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* The rights in the status of Ingresses. */}}
{{- define "narthex.controller.cleanup.statusRules" -}}
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [list]
- apiGroups: [networking.k8s.io]
  resources: [ingresses/status]
  verbs: [patch]
{{- end -}}
