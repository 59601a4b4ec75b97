{{/* Names. Each is cut to 63 characters, which is what a label may hold. */}}
{{- define "narthex.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "narthex.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "narthex.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "narthex.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "narthex.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* What selectors select by; a component's own label comes on top. */}}
{{- define "narthex.selectorLabels" -}}
app.kubernetes.io/name: {{ include "narthex.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "narthex.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "narthex.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ include "narthex.name" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The name of an image. Input: a dict of `root` and `image`. */}}
{{- define "narthex.image" -}}
{{- $name := .image.repository -}}
{{- if not $name -}}
{{- $registry := default .root.Values.global.image.registry .image.registry -}}
{{- $name = ternary (printf "%s/%s" $registry .image.image) .image.image (ne (default "" $registry) "") -}}
{{- end -}}
{{- $name -}}:{{ default .root.Chart.AppVersion .image.tag }}
{{- with .image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Flags of a map: `--key=value`, or `--key` for an empty value. */}}
{{- define "narthex.extraArgs" -}}
{{- range $key, $value := . }}
- {{ ternary (printf "--%s" $key) (printf "--%s=%v" $key $value) (eq (toString $value) "") | quote }}
{{- end }}
{{- end -}}
