{{- define "narthex.controller.fullname" -}}
{{- printf "%s-%s" (include "narthex.fullname" .) .Values.controller.name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "narthex.controller.selectorLabels" -}}
{{ include "narthex.selectorLabels" . }}
app.kubernetes.io/component: controller
{{- end -}}

{{/* Of Services, the ServiceMonitor and the PrometheusRule, which have labels of their own instead of controller.labels. */}}
{{- define "narthex.controller.commonLabels" -}}
{{ include "narthex.componentLabels" (dict "root" . "component" "controller") }}
{{- end -}}

{{- define "narthex.controller.labels" -}}
{{ include "narthex.controller.commonLabels" . }}
{{- with .Values.controller.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The image. That of ingress-nginx, which complete values of its chart name, is no controller of this chart: its name and version don't count. */}}
{{- define "narthex.controller.image" -}}
{{- $image := .Values.controller.image -}}
{{- if include "narthex.controller.foreignImage" . -}}
{{- $registry := get $image "registry" -}}
{{- $image = dict "image" "narthex" "registry" (ternary "" $registry (eq (toString $registry) "registry.k8s.io")) -}}
{{- end -}}
{{- include "narthex.image" (dict "root" . "image" $image) -}}
{{- end -}}

{{/* The values name the image of ingress-nginx; empty: no. */}}
{{- define "narthex.controller.foreignImage" -}}
{{- $image := .Values.controller.image -}}
{{- if and (not (get $image "repository")) (has $image.image (list "ingress-nginx/controller" "ingress-nginx/controller-chroot")) -}}
true
{{- end -}}
{{- end -}}

{{- define "narthex.controller.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "narthex.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "narthex.controller.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "narthex.controller.serviceAccountName" . | quote }}
    namespace: {{ include "narthex.namespace" . | quote }}
{{- end -}}

{{- define "narthex.controller.electionID" -}}
{{- default (printf "%s-leader" (include "narthex.fullname" .)) .Values.controller.electionID -}}
{{- end -}}

{{/* The namespace that is watched; empty: all. */}}
{{- define "narthex.controller.watched" -}}
{{- if .Values.controller.scope.enabled -}}
{{- default (include "narthex.namespace" .) .Values.controller.scope.namespace -}}
{{- else if .Values.rbac.scope -}}
{{- fail "rbac.scope is true and controller.scope.enabled is false: expected true, because nothing outside a namespace could be read" -}}
{{- end -}}
{{- end -}}

{{/* The internal Service exists; empty: no. */}}
{{- define "narthex.controller.internal" -}}
{{- if and .Values.controller.service.enabled .Values.controller.service.internal.enabled .Values.controller.service.internal.annotations -}}
true
{{- end -}}
{{- end -}}

{{/* The Service whose addresses are published, as the flag has it; empty: none. */}}
{{- define "narthex.controller.publishService" -}}
{{- $c := .Values.controller -}}
{{- if and $c.publishService.enabled $c.service.enabled -}}
{{- if $c.publishService.pathOverride -}}
{{- $c.publishService.pathOverride -}}
{{- else if $c.service.external.enabled -}}
{{- printf "$(POD_NAMESPACE)/%s" (include "narthex.controller.fullname" .) -}}
{{- else if include "narthex.controller.internal" . -}}
{{- printf "$(POD_NAMESPACE)/%s-internal" (include "narthex.controller.fullname" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether the status of Ingresses is written; empty: no. */}}
{{- define "narthex.controller.writesStatus" -}}
{{- if ne (toString (get (default dict .Values.controller.extraArgs) "update-status")) "false" -}}
true
{{- end -}}
{{- end -}}

{{/* Whether the status has addresses of nodes; empty: no. */}}
{{- define "narthex.controller.publishesNodes" -}}
{{- $fixed := get (default dict .Values.controller.extraArgs) "publish-status-address" -}}
{{- if and (include "narthex.controller.writesStatus" .) (not (include "narthex.controller.publishService" .)) (not $fixed) -}}
true
{{- end -}}
{{- end -}}

{{/* The number of replicas that a PodDisruptionBudget counts on. */}}
{{- define "narthex.controller.replicas" -}}
{{- $c := .Values.controller -}}
{{- if and $c.autoscaling.enabled (not $c.keda.enabled) -}}
{{- int $c.autoscaling.minReplicas -}}
{{- else if and $c.keda.enabled (not $c.autoscaling.enabled) -}}
{{- int $c.keda.minReplicas -}}
{{- else -}}
{{- int $c.replicaCount -}}
{{- end -}}
{{- end -}}

{{/* The container's securityContext. */}}
{{- define "narthex.controller.securityContext" -}}
{{- with .Values.controller.containerSecurityContext -}}
{{ toYaml . }}
{{- else -}}
{{- with .Values.controller.image -}}
runAsNonRoot: {{ .runAsNonRoot }}
runAsUser: {{ .runAsUser }}
runAsGroup: {{ .runAsGroup }}
allowPrivilegeEscalation: {{ .allowPrivilegeEscalation }}
readOnlyRootFilesystem: {{ .readOnlyRootFilesystem }}
capabilities:
  drop: [ALL]
  add: [NET_BIND_SERVICE]
{{- with .seccompProfile }}
seccompProfile:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* An init container that puts a module for NGINX into a volume. Input: a dict of `root` and `module`. */}}
{{- define "narthex.controller.module" -}}
{{- $module := .module -}}
name: {{ $module.name | quote }}
image: {{ include "narthex.imageName" (dict "image" $module.image "registry" (dig "image" "registry" "" (default dict .root.Values.global)) "tag" "") | quote }}
imagePullPolicy: {{ .root.Values.controller.image.pullPolicy }}
command: {{ ternary (list "/init_module") (list "sh" "-c" "/usr/local/bin/init_module.sh") (eq (toString (get $module.image "distroless")) "true") | toJson }}
{{- with default .root.Values.controller.containerSecurityContext (get $module "containerSecurityContext") }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with get $module "resources" }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - name: modules
    mountPath: /modules_mount
{{- end -}}
