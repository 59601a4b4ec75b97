{{/* The rights in what is watched. */}}
{{- define "narthex.controller.rules" -}}
# Settings, certificates, users, headers.
- apiGroups: [""]
  resources: [configmaps, secrets]
  verbs: [list, watch]
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
# Our own Pod: Events about it, its zone. Our replicas: the addresses of their nodes, and whether one is left that keeps statuses.
- apiGroups: [""]
  resources: [pods]
  verbs: {{ ternary (list "get" "list") (list "get") (ne (include "narthex.controller.writesStatus" .) "") | toJson }}
{{- $watched := include "narthex.controller.watched" . }}
{{- if and $watched (ne $watched (include "narthex.namespace" .)) }}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
# The settings and the headers that they name; the Service whose addresses are published, that of the default backend.
{{- $maps := list (include "narthex.controller.fullname" .) }}
{{- range $suffix, $headers := dict "custom-add-headers" .Values.controller.addHeaders "custom-proxy-headers" .Values.controller.proxySetHeaders }}
{{- if $headers }}
{{- $maps = append $maps (printf "%s-%s" (include "narthex.fullname" $) $suffix) }}
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: {{ toJson $maps }}
  verbs: [list, watch]
{{- $services := list }}
{{- with include "narthex.controller.publishService" . }}
{{- $services = append $services (splitList "/" . | last) }}
{{- end }}
{{- if .Values.defaultBackend.enabled }}
{{- $services = append $services (include "narthex.backend.fullname" .) }}
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
{{- end }}
{{- with $services }}
- apiGroups: [""]
  resources: [services]
  resourceNames: {{ toJson . }}
  verbs: [list, watch]
{{- end }}
{{- end }}
{{- if include "narthex.controller.elects" . }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "narthex.controller.electionID" . | quote }}]
  verbs: [get, update]
{{- end }}
{{- end -}}

{{/* Whether one of several replicas is elected; empty: no. */}}
{{- define "narthex.controller.elects" -}}
{{- if and (include "narthex.controller.writesStatus" .) (not .Values.controller.disableLeaderElection) -}}
true
{{- end -}}
{{- end -}}
