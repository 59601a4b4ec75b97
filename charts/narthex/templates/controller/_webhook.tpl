{{/* Where the certificate of the webhook comes from: controller (which makes it), cert-manager, or secret (which the operator makes); empty: no webhook. */}}
{{- define "narthex.controller.webhook" -}}
{{- $w := .Values.controller.admissionWebhooks -}}
{{- if and .Values.controller.enabled $w.enabled -}}
{{- if $w.certManager.enabled -}}
cert-manager
{{- else if $w.patch.enabled -}}
controller
{{- else -}}
secret
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "narthex.controller.webhook.fullname" -}}
{{- printf "%s-%s" (include "narthex.fullname" .) .Values.controller.admissionWebhooks.name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "narthex.controller.webhook.service" -}}
{{- printf "%s-admission" (include "narthex.controller.fullname" .) -}}
{{- end -}}

{{/* The Secret with the certificate that the controller makes. Not the name of ingress-nginx's, which its Job leaves behind without an owner. */}}
{{- define "narthex.controller.webhook.secret" -}}
{{- printf "%s-certificate" (include "narthex.controller.webhook.fullname" . | trunc 51) -}}
{{- end -}}

{{/* Namespaces whose Ingresses are reviewed, as a selector; empty: all. */}}
{{- define "narthex.controller.webhook.namespaces" -}}
{{- $watched := include "narthex.controller.watched" . -}}
{{- if .Values.controller.admissionWebhooks.namespaceSelector -}}
{{- toYaml .Values.controller.admissionWebhooks.namespaceSelector -}}
{{- else if $watched -}}
matchLabels:
  kubernetes.io/metadata.name: {{ $watched | quote }}
{{- end -}}
{{- end -}}

{{- define "narthex.controller.webhook.labels" -}}
{{ include "narthex.componentLabels" (dict "root" . "component" "admission-webhook") }}
{{- end -}}

{{/* Of the rights for the certificate. */}}
{{- define "narthex.controller.webhook.rightsLabels" -}}
{{ include "narthex.controller.webhook.labels" . }}
{{- with .Values.controller.admissionWebhooks.patch.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "narthex.controller.webhook.args" -}}
{{- $w := .Values.controller.admissionWebhooks -}}
{{- $service := include "narthex.controller.webhook.service" . -}}
{{- $namespace := include "narthex.namespace" . }}
- {{ printf "--validating-webhook=:%v" $w.port | quote }}
{{- if eq (include "narthex.controller.webhook" .) "controller" }}
- {{ printf "--validating-webhook-secret=$(POD_NAMESPACE)/%s" (include "narthex.controller.webhook.secret" .) | quote }}
- {{ printf "--validating-webhook-configuration=%s" (include "narthex.controller.webhook.fullname" .) | quote }}
- {{ printf "--validating-webhook-names=%s,%s.%s,%s.%s.svc" $service $service $namespace $service $namespace | quote }}
{{- else }}
- {{ printf "--validating-webhook-certificate=%s" $w.certificate | quote }}
- {{ printf "--validating-webhook-key=%s" $w.key | quote }}
{{- end }}
{{- end -}}

{{/* The volume with the certificate, where the controller doesn't make it; empty: none. */}}
{{- define "narthex.controller.webhook.volume" -}}
{{- $w := .Values.controller.admissionWebhooks -}}
{{- $source := include "narthex.controller.webhook" . -}}
{{- if has $source (list "cert-manager" "secret") -}}
{{- if ne (dir $w.certificate) (dir $w.key) -}}
{{- fail (printf "controller.admissionWebhooks.key is %s and certificate is %s: expected the same directory, because one volume holds both" $w.key $w.certificate) -}}
{{- end -}}
name: webhook-cert
secret:
  secretName: {{ include "narthex.controller.webhook.fullname" . | quote }}
  # The controller starts without it, and reads it when it is there.
  optional: true
  items:
    - key: {{ ternary "tls.crt" "cert" (eq $source "cert-manager") }}
      path: {{ base $w.certificate }}
    - key: {{ ternary "tls.key" "key" (eq $source "cert-manager") }}
      path: {{ base $w.key }}
{{- end -}}
{{- end -}}
