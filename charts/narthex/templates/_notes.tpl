{{/* What values say without an effect, a line each. */}}
{{- define "narthex.notes" -}}
{{- $c := .Values.controller }}
{{- $args := default dict $c.extraArgs }}
{{- $streams := dict "tcp" (default dict .Values.tcp) "udp" (default dict .Values.udp) }}
{{- range (.Files.Get "values.idle.yaml" | fromYaml).idle }}
{{- $value := $.Values }}
{{- range splitList "." .path }}
{{- $value = ternary (get $value .) "" (kindIs "map" $value) }}
{{- end }}
{{- include "narthex.notes.idle" (dict "path" .path "default" .default "value" $value "reason" .reason) }}
{{- end }}
{{- if include "narthex.controller.foreignImage" . }}
- controller.image names {{ $c.image.image }}, the image of ingress-nginx, and counts with its tag and digest as not set: the image is {{ include "narthex.controller.image" . }}
{{- end }}
{{- range $key, $value := default dict (get (default dict .Values.global) "image") }}
{{- if ne $key "registry" }}
- global.image.{{ $key }} is no value of this chart: registry is
{{- end }}
{{- end }}
{{- range $protocol := list "tcp" "udp" }}
{{- if and (not (get $streams $protocol)) (or (get (default dict (get $c $protocol)) "annotations") (get (default dict (get $c $protocol)) "configMapNamespace")) }}
- controller.{{ $protocol }} is for the ConfigMap that {{ $protocol }} makes, which is empty
{{- end }}
{{- range $which, $nodePorts := dict "controller.service.nodePorts" $c.service.nodePorts "controller.service.internal.nodePorts" $c.service.internal.nodePorts }}
{{- range $port, $nodePort := default dict (get (default dict $nodePorts) $protocol) }}
{{- if not (hasKey (get $streams $protocol) $port) }}
- {{ $which }}.{{ $protocol }}.{{ $port }} is {{ $nodePort }}, but {{ $protocol }} has no such port
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.portNamePrefix (not .Values.tcp) (not .Values.udp) }}
- portNamePrefix is for the ports of tcp and udp, and there are none
{{- end }}
{{- if and $c.autoscaling.enabled $c.keda.enabled }}
- controller.autoscaling.enabled and controller.keda.enabled are both true: neither object is made, and replicaCount counts
{{- end }}
{{- if and (eq $c.kind "DaemonSet") (or $c.autoscaling.enabled $c.keda.enabled) }}
- controller.autoscaling and controller.keda scale a Deployment, and controller.kind is DaemonSet
{{- end }}
{{- if and $c.service.internal.enabled (not $c.service.internal.annotations) }}
- controller.service.internal.enabled is true, but there is no internal Service without controller.service.internal.annotations
{{- end }}
{{- if and $c.service.internal.enabled (not $c.service.enabled) }}
- controller.service.internal.enabled is true, but controller.service.enabled is false, which leaves out both Services
{{- end }}
{{- if $c.splitDataPlane }}
{{- $given := list }}
{{- range splitList "\n" (include "narthex.controller.harmlessMounts" .) }}
{{- if contains "name: " . }}
{{- $given = append $given (trim . | trimPrefix "name: ") }}
{{- end }}
{{- end }}
{{- range $c.extraVolumeMounts }}
{{- if not (has .name $given) }}
- controller.extraVolumeMounts has {{ .name }}, whose volume may hold a Secret: the controller's container alone has it; NGINX's would have it by controller.dataPlane.extraVolumeMounts
{{- end }}
{{- end }}
{{- else }}
{{- $usual := dict "containerName" "nginx" "resources" (dict "requests" (dict "cpu" "100m" "memory" "90Mi")) }}
{{- range $key, $value := omit $c.dataPlane "readinessProbe" }}
{{- if ne (toJson (default "" $value)) (toJson (default "" (get $usual $key))) }}
- controller.dataPlane.{{ $key }} has an effect with controller.splitDataPlane only
{{- end }}
{{- end }}
{{- end }}
{{- if and $c.cleanup.enabled (include "narthex.controller.elects" .) (not (and .Values.rbac.create .Values.serviceAccount.create)) }}
- controller.cleanup.enabled is true, but without rbac.create and serviceAccount.create there is no Job: addresses and the Lease stay after `helm uninstall`
{{- end }}
{{- if and $c.reportNodeInternalIp (not $c.hostNetwork) }}
- controller.reportNodeInternalIp has an effect with controller.hostNetwork only
{{- end }}
{{- if and $c.scope.enabled $c.scope.namespaceSelector }}
- controller.scope.namespaceSelector has an effect without controller.scope.enabled only
{{- end }}
{{- if and $c.scope.namespace (not $c.scope.enabled) }}
- controller.scope.namespace has an effect with controller.scope.enabled only
{{- end }}
{{- range $which := list "serviceMonitor" "prometheusRule" "dashboards" }}
{{- if and (default dict (get $c.metrics $which)).enabled (not $c.metrics.enabled) }}
- controller.metrics.{{ $which }}.enabled is true, but controller.metrics.enabled is false
{{- end }}
{{- end }}
{{- if not $c.console.enabled }}
{{- range $key, $value := dict "address" $c.console.address "tokenSecret.name" $c.console.tokenSecret.name }}
{{- if $value }}
- controller.console.{{ $key }} is {{ $value }}, but controller.console.enabled is false
{{- end }}
{{- end }}
{{- else if not (include "narthex.controller.console.reachable" .) }}
{{- if or $c.console.service.annotations $c.console.service.labels }}
- controller.console.service is for a console that other Pods reach, and this one listens on {{ include "narthex.controller.console.address" . }}
{{- end }}
{{- end }}
{{- if and $c.metrics.enabled (ne (toString (default 10254 (get $args "healthz-port"))) (toString $c.metrics.port)) }}
- controller.metrics.port is {{ $c.metrics.port }}, but the metrics are at {{ default 10254 (get $args "healthz-port") }}: set controller.extraArgs.healthz-port
{{- end }}
{{- range $name, $port := dict "http" 80 "https" 443 }}
{{- $flag := toString (default $port (get $args (printf "%s-port" $name))) }}
{{- if ne $flag (toString (get $c.containerPort $name)) }}
- controller.containerPort.{{ $name }} is {{ get $c.containerPort $name }}, but the controller listens at {{ $flag }}: set controller.extraArgs.{{ $name }}-port
{{- end }}
{{- end }}
{{- range $name, $port := $c.hostPort.ports }}
{{- if not (hasKey $c.containerPort $name) }}
- controller.hostPort.ports.{{ $name }} is {{ $port }}, but controller.containerPort has no such port
{{- end }}
{{- end }}
{{- range $probe := list "livenessProbe" "readinessProbe" }}
{{- $path := dig "httpGet" "path" "" (default dict (get $c $probe)) }}
{{- if and $path (ne $path $c.healthCheckPath) (ne $c.healthCheckPath "/healthz") }}
- controller.healthCheckPath is {{ $c.healthCheckPath }}, but controller.{{ $probe }}.httpGet.path is {{ $path }}: the probe fails
{{- end }}
{{- end }}
{{- range $which, $namespace := dict "controller.configMapNamespace" $c.configMapNamespace "controller.tcp.configMapNamespace" (get (default dict $c.tcp) "configMapNamespace") "controller.udp.configMapNamespace" (get (default dict $c.udp) "configMapNamespace") }}
{{- if and $namespace (ne $namespace (include "narthex.namespace" $)) }}
- {{ $which }} is {{ $namespace }}, where the controller reads the ConfigMap; this chart makes it in {{ include "narthex.namespace" $ }}
{{- end }}
{{- end }}
{{- if not (semverCompare ">=1.33.0-0" .Capabilities.KubeVersion.Version) }}
{{- with $c.resizePolicy }}
- controller.resizePolicy needs Kubernetes 1.33 or newer, and is left out
{{- end }}
{{- end }}
{{- if not (semverCompare ">=1.31.0-0" .Capabilities.KubeVersion.Version) }}
{{- range $which, $own := dict "controller.service" $c.service "controller.service.internal" $c.service.internal }}
{{- if $own.trafficDistribution }}
- {{ $which }}.trafficDistribution needs Kubernetes 1.31 or newer, and is left out
{{- end }}
{{- end }}
{{- end }}
{{- if eq (include "narthex.controller.webhook" .) "controller" }}
{{- range $key, $default := dict "certificate" "/usr/local/certificates/cert" "key" "/usr/local/certificates/key" }}
{{- if ne (get $c.admissionWebhooks $key) $default }}
- controller.admissionWebhooks.{{ $key }} is {{ get $c.admissionWebhooks $key }}, but the controller makes the certificate itself and mounts no file
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Differences of an idle value from its default, a line for each leaf. Input: a dict of `path`, `default`, `value` and `reason`. */}}
{{- define "narthex.notes.idle" -}}
{{- if and (kindIs "map" .default) (kindIs "map" .value) }}
{{- range $key, $value := .value }}
{{- $default := get $.default $key }}
{{- if and (kindIs "map" $value) (not $default) }}
{{- $default = dict }}
{{- end }}
{{- include "narthex.notes.idle" (dict "path" (printf "%s.%s" $.path $key) "default" $default "value" $value "reason" $.reason) }}
{{- end }}
{{- else if and (ne (toJson .default) (toJson .value)) (not (and (empty .default) (empty .value))) }}
- {{ .path }} is {{ toJson .value }} and means nothing: {{ .reason }}
{{- end }}
{{- end -}}
