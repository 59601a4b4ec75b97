{{/* The address that the console listens on. */}}
{{- define "narthex.controller.console.address" -}}
{{- $console := .Values.controller.console -}}
{{- default (ternary "0.0.0.0" "127.0.0.1" (ne $console.tokenSecret.name "")) $console.address -}}
{{- end -}}

{{/* Other Pods can connect to the console; empty: no. */}}
{{- define "narthex.controller.console.reachable" -}}
{{- $console := .Values.controller.console -}}
{{- $address := include "narthex.controller.console.address" . -}}
{{- if and .Values.controller.enabled $console.enabled (not (or (hasPrefix "127." $address) (eq $address "::1"))) -}}
{{- if not $console.tokenSecret.name -}}
{{- fail (printf "controller.console.address is %s without a token: expected controller.console.tokenSecret.name, or a loopback address" $address) -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{- define "narthex.controller.console.args" -}}
{{- $console := .Values.controller.console }}
- {{ printf "--console-port=%v" $console.port | quote }}
- {{ printf "--console-address=%s" (include "narthex.controller.console.address" .) | quote }}
{{- if include "narthex.controller.console.volume" . }}
- --console-token-file=/etc/narthex/console/token
{{- end }}
{{- end -}}

{{/* The volume with the token, of the controller's container alone; empty: none. */}}
{{- define "narthex.controller.console.volume" -}}
{{- $console := .Values.controller.console -}}
{{- if and $console.enabled $console.tokenSecret.name -}}
name: console-token
secret:
  secretName: {{ $console.tokenSecret.name | quote }}
  # Clients are served without it; the console answers 503 until it is there.
  optional: true
  items:
    - key: {{ $console.tokenSecret.key | quote }}
      path: token
{{- end -}}
{{- end -}}
