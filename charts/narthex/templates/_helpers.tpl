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

{{/* The registry before the images of this project: the global one, but for the Kubernetes project's, which has none of them. */}}
{{- define "narthex.registry" -}}
{{- $registry := dig "image" "registry" "" (default dict .Values.global) -}}
{{- if ne (default "" $registry) "registry.k8s.io" -}}
{{- $registry -}}
{{- end -}}
{{- end -}}

{{/* The name of an image. Input: a dict of `image`, and of `registry` and `tag` for an image that has none. */}}
{{- define "narthex.imageName" -}}
{{- $name := get .image "repository" -}}
{{- if not $name -}}
{{- $name = list (default .registry (get .image "registry")) .image.image | compact | join "/" -}}
{{- end -}}
{{- $name -}}
{{- with default .tag (get .image "tag") }}:{{ . }}{{ end -}}
{{- with get .image "digest" }}@{{ . }}{{ end -}}
{{- end -}}

{{/* The name of an image of this project. Input: a dict of `root` and `image`. */}}
{{- define "narthex.image" -}}
{{- include "narthex.imageName" (dict "image" .image "registry" (include "narthex.registry" .root) "tag" .root.Chart.AppVersion) -}}
{{- end -}}

{{/* The labels of a component's objects. Input: a dict of `root` and `component`. */}}
{{- define "narthex.componentLabels" -}}
{{ include "narthex.labels" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* Flags of a map: `--key=value`, or `--key` for an empty value. */}}
{{- define "narthex.extraArgs" -}}
{{- range $key, $value := . }}
- {{ ternary (printf "--%s" $key) (printf "--%s=%v" $key $value) (eq (toString $value) "") | quote }}
{{- end }}
{{- end -}}

{{/* Metrics by which an autoscaler counts. Input: its values. */}}
{{- define "narthex.utilization" -}}
{{- range $name := list "memory" "cpu" }}
{{- with get $ (ternary "targetCPUUtilizationPercentage" "targetMemoryUtilizationPercentage" (eq $name "cpu")) }}
- type: Resource
  resource:
    name: {{ $name }}
    target:
      type: Utilization
      averageUtilization: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Kubernetes 1.21 and 1.22 have the beta alone. */}}
{{- define "narthex.autoscaling" -}}
{{- ternary "autoscaling/v2" "autoscaling/v2beta2" (semverCompare ">=1.23.0-0" .Capabilities.KubeVersion.Version) -}}
{{- end -}}
