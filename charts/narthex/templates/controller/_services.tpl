{{/* Fields of a Service that are written when they are set. Input: a dict of `root` and `own`, its values. */}}
{{- define "narthex.serviceFields" -}}
{{- $fields := list "clusterIP" "clusterIPs" "externalIPs" "loadBalancerIP" "loadBalancerSourceRanges" "loadBalancerClass" "healthCheckNodePort" "externalTrafficPolicy" "sessionAffinity" "ipFamilyPolicy" "ipFamilies" -}}
{{- if semverCompare ">=1.31.0-0" .root.Capabilities.KubeVersion.Version -}}
{{- $fields = append $fields "trafficDistribution" -}}
{{- end -}}
{{- range $key := $fields }}
{{- with get $.own $key }}
{{ $key }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- if hasKey .own "allocateLoadBalancerNodePorts" }}
allocateLoadBalancerNodePorts: {{ .own.allocateLoadBalancerNodePorts }}
{{- end }}
{{- end -}}

{{/* The name of the port of a TCP or UDP service. Input: a dict of `root`, `port` and `protocol`. */}}
{{- define "narthex.controller.portName" -}}
{{- list .root.Values.portNamePrefix .port .protocol | compact | join "-" -}}
{{- end -}}

{{/* Whether HTTP/3 is served, on the port of HTTPS: "true" or nothing. */}}
{{- define "narthex.controller.http3" -}}
{{- if and (eq (toString (get (default dict .Values.controller.config) "use-http3")) "true") (hasKey .Values.controller.containerPort "https") -}}
true
{{- end -}}
{{- end -}}

{{/* Ports of the external or the internal Service. Input: a dict of `root` and `own`. */}}
{{- define "narthex.controller.servicePorts" -}}
{{- $s := .root.Values.controller.service -}}
{{- $own := .own -}}
{{- range $name := list "http" "https" }}
{{- if get $s (ternary "enableHttp" "enableHttps" (eq $name "http")) }}
- name: {{ $name }}
  port: {{ default (get $s.ports $name) (get (default dict $own.ports) $name) }}
  targetPort: {{ default (get $s.targetPorts $name) (get (default dict $own.targetPorts) $name) }}
  protocol: TCP
  {{- if $own.appProtocol }}
  appProtocol: {{ $name }}
  {{- end }}
  {{- if and (has (default $s.type $own.type) (list "NodePort" "LoadBalancer")) (get $own.nodePorts $name) }}
  nodePort: {{ get $own.nodePorts $name }}
  {{- end }}
{{- end }}
{{- end }}
{{- if and $s.enableHttps (include "narthex.controller.http3" .root) }}
- name: http3
  port: {{ default $s.ports.https (get (default dict $own.ports) "https") }}
  targetPort: http3
  protocol: UDP
  {{- if and (has (default $s.type $own.type) (list "NodePort" "LoadBalancer")) $own.nodePorts.https }}
  nodePort: {{ $own.nodePorts.https }}
  {{- end }}
{{- end }}
{{- range $protocol := list "tcp" "udp" }}
{{- range $port, $service := default dict (get $.root.Values $protocol) }}
{{- $name := include "narthex.controller.portName" (dict "root" $.root "port" $port "protocol" $protocol) }}
- name: {{ $name | quote }}
  port: {{ $port }}
  targetPort: {{ $name | quote }}
  protocol: {{ upper $protocol }}
  {{- with get (default dict (get $own.nodePorts $protocol)) $port }}
  nodePort: {{ . }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}
