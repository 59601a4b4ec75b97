{{- define "narthex.backend.fullname" -}}
{{- printf "%s-%s" (include "narthex.fullname" .) .Values.defaultBackend.name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "narthex.backend.selectorLabels" -}}
{{ include "narthex.selectorLabels" . }}
app.kubernetes.io/component: default-backend
{{- end -}}

{{- define "narthex.backend.labels" -}}
{{ include "narthex.componentLabels" (dict "root" . "component" "default-backend") }}
{{- with .Values.defaultBackend.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "narthex.backend.serviceAccountName" -}}
{{- if .Values.defaultBackend.serviceAccount.create -}}
{{- default (printf "%s-backend" (include "narthex.fullname" .)) .Values.defaultBackend.serviceAccount.name -}}
{{- else -}}
{{- default "default-backend" .Values.defaultBackend.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Its image: the Kubernetes project's, unless there is a registry. */}}
{{- define "narthex.backend.image" -}}
{{- $registry := default "registry.k8s.io" (dig "image" "registry" "" (default dict .Values.global)) -}}
{{- include "narthex.imageName" (dict "image" .Values.defaultBackend.image "registry" $registry "tag" "") -}}
{{- end -}}

{{- define "narthex.backend.replicas" -}}
{{- $b := .Values.defaultBackend -}}
{{- int (ternary $b.autoscaling.minReplicas $b.replicaCount $b.autoscaling.enabled) -}}
{{- end -}}

{{/* The container's securityContext. */}}
{{- define "narthex.backend.securityContext" -}}
{{- with .Values.defaultBackend.containerSecurityContext -}}
{{ toYaml . }}
{{- else -}}
{{- with .Values.defaultBackend.image -}}
runAsNonRoot: {{ .runAsNonRoot }}
runAsUser: {{ .runAsUser }}
runAsGroup: {{ .runAsGroup }}
allowPrivilegeEscalation: {{ .allowPrivilegeEscalation }}
readOnlyRootFilesystem: {{ .readOnlyRootFilesystem }}
capabilities:
  drop: [ALL]
{{- with .seccompProfile }}
seccompProfile:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}
