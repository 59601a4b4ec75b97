{{- define "narthex.controller.fullname" -}}
{{- printf "%s-%s" (include "narthex.fullname" .) .Values.controller.name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "narthex.controller.selectorLabels" -}}
{{ include "narthex.selectorLabels" . }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "narthex.controller.labels" -}}
{{ include "narthex.labels" . }}
app.kubernetes.io/component: controller
{{- with .Values.controller.labels }}
{{ toYaml . }}
{{- end }}
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
{{- if ne (toString (get .Values.controller.extraArgs "update-status")) "false" -}}
true
{{- end -}}
{{- end -}}

{{/* Whether the status has addresses of nodes; empty: no. */}}
{{- define "narthex.controller.publishesNodes" -}}
{{- $fixed := get .Values.controller.extraArgs "publish-status-address" -}}
{{- if and (include "narthex.controller.writesStatus" .) (not (include "narthex.controller.publishService" .)) (not $fixed) -}}
true
{{- end -}}
{{- end -}}

{{/* Whether there is an admission webhook; empty: no. */}}
{{- define "narthex.controller.webhook" -}}
{{- $w := .Values.controller.admissionWebhooks -}}
{{- if and .Values.controller.enabled $w.enabled -}}
{{- if and .Values.rbac.scope (not $w.certManager.enabled) -}}
{{- fail "controller.admissionWebhooks.enabled and rbac.scope are true: expected controller.admissionWebhooks.certManager.enabled as well, because the controller may not change the registration" -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{- define "narthex.controller.webhook.fullname" -}}
{{- printf "%s-%s" (include "narthex.fullname" .) .Values.controller.admissionWebhooks.name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "narthex.controller.webhook.labels" -}}
{{ include "narthex.labels" . }}
app.kubernetes.io/component: admission-webhook
{{- end -}}

{{- define "narthex.controller.webhook.args" -}}
{{- $w := .Values.controller.admissionWebhooks -}}
{{- $service := printf "%s-admission" (include "narthex.controller.fullname" .) -}}
{{- $namespace := include "narthex.namespace" . -}}
{{- $name := include "narthex.controller.webhook.fullname" . }}
- {{ printf "--validating-webhook=:%v" $w.port | quote }}
{{- if $w.certManager.enabled }}
- {{ printf "--validating-webhook-certificate=%s" $w.certificate | quote }}
- {{ printf "--validating-webhook-key=%s" $w.key | quote }}
{{- else }}
- {{ printf "--validating-webhook-secret=$(POD_NAMESPACE)/%s" $name | quote }}
- {{ printf "--validating-webhook-configuration=%s" $name | quote }}
- {{ printf "--validating-webhook-names=%s,%s.%s,%s.%s.svc" $service $service $namespace $service $namespace | quote }}
{{- end }}
{{- end -}}

{{- define "narthex.controller.args" -}}
{{- $c := .Values.controller -}}
{{- $name := include "narthex.controller.fullname" . -}}
- run
- --work-dir=/run/narthex
{{- if not $c.enableAnnotationValidations }}
- --enable-annotation-validation=false
{{- end }}
{{- with include "narthex.controller.publishService" . }}
- {{ printf "--publish-service=%s" . | quote }}
{{- end }}
- {{ printf "--election-id=%s" (include "narthex.controller.electionID" .) | quote }}
- {{ printf "--controller-class=%s" $c.ingressClassResource.controllerValue | quote }}
{{- with $c.ingressClass }}
- {{ printf "--ingress-class=%s" . | quote }}
{{- end }}
- {{ printf "--configmap=%s/%s" (default "$(POD_NAMESPACE)" $c.configMapNamespace) $name | quote }}
{{- if $c.scope.enabled }}
- {{ printf "--watch-namespace=%s" (default "$(POD_NAMESPACE)" $c.scope.namespace) | quote }}
{{- else if $c.scope.namespaceSelector }}
- {{ printf "--watch-namespace-selector=%s" $c.scope.namespaceSelector | quote }}
{{- end }}
{{- if include "narthex.controller.webhook" . }}
{{- include "narthex.controller.webhook.args" . }}
{{- end }}
{{- with $c.healthCheckHost }}
- {{ printf "--healthz-host=%s" . | quote }}
{{- end }}
{{- if ne $c.healthCheckPath "/healthz" }}
- {{ printf "--health-check-path=%s" $c.healthCheckPath | quote }}
{{- end }}
{{- range $flag, $value := dict
  "ingress-class-by-name" $c.ingressClassByName
  "watch-ingress-without-class" $c.watchIngressWithoutClass
  "enable-metrics" $c.metrics.enabled
  "enable-topology-aware-routing" $c.enableTopologyAwareRouting
}}
{{- if $value }}
- {{ printf "--%s=true" $flag | quote }}
{{- end }}
{{- end }}
{{- include "narthex.extraArgs" $c.extraArgs }}
{{- end -}}

{{/* The rights in what is watched. */}}
{{- define "narthex.controller.rules" -}}
# Settings, certificates, users, headers.
- apiGroups: [""]
  resources: [configmaps, secrets]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [list, watch]
{{- if include "narthex.controller.writesStatus" . }}
- apiGroups: [networking.k8s.io]
  resources: [ingresses/status]
  verbs: [patch]
{{- end }}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* The rights in the release's namespace. */}}
{{- define "narthex.controller.ownRules" -}}
# Our own Pod: Events about it, its zone.
- apiGroups: [""]
  resources: [pods]
  verbs: {{ ternary (list "get" "list") (list "get") (ne (include "narthex.controller.publishesNodes" .) "") | toJson }}
{{- $watched := include "narthex.controller.watched" . }}
{{- if and $watched (ne $watched (include "narthex.namespace" .)) }}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
# The settings, and the Service whose addresses are published.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ include "narthex.controller.fullname" . | quote }}]
  verbs: [get, list, watch]
{{- if include "narthex.controller.publishService" . }}
- apiGroups: [""]
  resources: [services]
  resourceNames: [{{ include "narthex.controller.publishService" . | splitList "/" | last | quote }}]
  verbs: [list, watch]
{{- end }}
{{- end }}
{{- if and (include "narthex.controller.webhook" .) (not .Values.controller.admissionWebhooks.certManager.enabled) }}
# The certificate of the webhook.
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "narthex.controller.webhook.fullname" . | quote }}]
  verbs: [get, update]
{{- end }}
{{- if include "narthex.controller.writesStatus" . }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "narthex.controller.electionID" . | quote }}]
  verbs: [get, update]
{{- end }}
{{- end -}}

{{/* Fields of a Service that are written when they are set. Input: its values. */}}
{{- define "narthex.serviceFields" -}}
{{- range $key := list "clusterIP" "clusterIPs" "externalIPs" "loadBalancerIP" "loadBalancerSourceRanges" "loadBalancerClass" "healthCheckNodePort" "externalTrafficPolicy" "sessionAffinity" "trafficDistribution" "ipFamilyPolicy" "ipFamilies" }}
{{- with get $ $key }}
{{ $key }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- if hasKey . "allocateLoadBalancerNodePorts" }}
allocateLoadBalancerNodePorts: {{ .allocateLoadBalancerNodePorts }}
{{- end }}
{{- end -}}

{{/* Ports of the external or the internal Service. Input: a dict of `service` and `own`. */}}
{{- define "narthex.controller.servicePorts" -}}
{{- $s := .service -}}
{{- $own := .own -}}
{{- range $name := list "http" "https" }}
{{- if get $s (ternary "enableHttp" "enableHttps" (eq $name "http")) }}
- name: {{ $name }}
  port: {{ default (get $s.ports $name) (get $own.ports $name) }}
  targetPort: {{ default (get $s.targetPorts $name) (get $own.targetPorts $name) }}
  protocol: TCP
  {{- if $own.appProtocol }}
  appProtocol: {{ $name }}
  {{- end }}
  {{- if and (has (default $s.type $own.type) (list "NodePort" "LoadBalancer")) (get $own.nodePorts $name) }}
  nodePort: {{ get $own.nodePorts $name }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}
