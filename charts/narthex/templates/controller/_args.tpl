{{- define "narthex.controller.args" -}}
{{- $c := .Values.controller -}}
{{- $name := include "narthex.controller.fullname" . -}}
- run
- --work-dir=/run/narthex
{{- if include "narthex.controller.split" . }}
- --split-data-plane
{{- end }}
{{- if not $c.enableAnnotationValidations }}
- --enable-annotation-validation=false
{{- end }}
{{- if .Values.defaultBackend.enabled }}
- {{ printf "--default-backend-service=$(POD_NAMESPACE)/%s" (include "narthex.backend.fullname" .) | quote }}
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
{{- range $protocol := list "tcp" "udp" }}
{{- if get $.Values $protocol }}
- {{ printf "--%s-services-configmap=%s/%s-%s" $protocol (default "$(POD_NAMESPACE)" (get (default dict (get $c $protocol)) "configMapNamespace")) (include "narthex.fullname" $) $protocol | quote }}
{{- end }}
{{- end }}
{{- if $c.scope.enabled }}
- {{ printf "--watch-namespace=%s" (default "$(POD_NAMESPACE)" $c.scope.namespace) | quote }}
{{- else if $c.scope.namespaceSelector }}
- {{ printf "--watch-namespace-selector=%s" $c.scope.namespaceSelector | quote }}
{{- end }}
{{- if and $c.reportNodeInternalIp $c.hostNetwork }}
- --report-node-internal-ip-address=true
{{- end }}
{{- if include "narthex.controller.webhook" . }}
{{- include "narthex.controller.webhook.args" . }}
{{- end }}
{{- if $c.console.enabled }}
{{- include "narthex.controller.console.args" . }}
{{- end }}
{{- with $c.maxmindLicenseKey }}
- {{ printf "--maxmind-license-key=%s" . | quote }}
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
  "disable-leader-election" $c.disableLeaderElection
}}
{{- if $value }}
- {{ printf "--%s=true" $flag | quote }}
{{- end }}
{{- end }}
{{- with $c.electionTTL }}
- {{ printf "--election-ttl=%s" . | quote }}
{{- end }}
{{- include "narthex.extraArgs" $c.extraArgs }}
{{- end -}}
