{{- define "narthex.rollout.fullname" -}}
{{- printf "%s-%s" (include "narthex.fullname" .) .Values.rollout.name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "narthex.rollout.selectorLabels" -}}
{{ include "narthex.selectorLabels" . }}
app.kubernetes.io/component: rollout
{{- end -}}

{{- define "narthex.rollout.labels" -}}
{{ include "narthex.labels" . }}
app.kubernetes.io/component: rollout
{{- with .Values.rollout.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "narthex.rollout.serviceAccountName" -}}
{{- if .Values.rollout.serviceAccount.create -}}
{{- default (include "narthex.rollout.fullname" .) .Values.rollout.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.rollout.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "narthex.rollout.metricsName" -}}
{{- printf "%s-metrics" (include "narthex.rollout.fullname" . | trunc 55) -}}
{{- end -}}

{{/* Whom roles are given to. */}}
{{- define "narthex.rollout.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "narthex.rollout.serviceAccountName" . | quote }}
    namespace: {{ include "narthex.namespace" . | quote }}
{{- end -}}

{{/* The namespaces that are watched, as JSON; none: all. */}}
{{- define "narthex.rollout.scope" -}}
{{- $r := .Values.rollout -}}
{{- if and $r.watchNamespace $r.namespaces -}}
{{- fail "rollout.watchNamespace and rollout.namespaces are both set: expected one of them" -}}
{{- end -}}
{{- if $r.watchNamespace -}}
{{- list $r.watchNamespace | toJson -}}
{{- else -}}
{{- $r.namespaces | uniq | sortAlpha | toJson -}}
{{- end -}}
{{- end -}}

{{- define "narthex.rollout.electionNamespace" -}}
{{- default (include "narthex.namespace" .) .Values.rollout.electionNamespace -}}
{{- end -}}

{{- define "narthex.rollout.args" -}}
{{- $r := .Values.rollout -}}
{{- if and (eq $r.check "command") (not $r.checkCommand) -}}
{{- fail "rollout.check is command: expected the command in rollout.checkCommand" -}}
{{- end -}}
{{- if and (gt (int $r.replicas) 1) (not $r.enableHa) -}}
{{- fail (printf "rollout.replicas is %d and rollout.enableHa is false, so that all would act: expected 1 or true" (int $r.replicas)) -}}
{{- end -}}
- rollout
- {{ printf "--metrics-addr=:%d" (int $r.metrics.port) | quote }}
- {{ printf "--log-format=%s" $r.logFormat | quote }}
- {{ printf "--log-level=%s" $r.logLevel | quote }}
- {{ printf "--stop-timeout=%s" $r.stopTimeout | quote }}
- {{ printf "--reload-strategy=%s" $r.reloadStrategy | quote }}
- {{ printf "--check=%s" $r.check | quote }}
- {{ printf "--check-timeout=%d" (int $r.checkTimeout) | quote }}
- {{ printf "--watch-rollouts=%d" (int $r.watchRollouts) | quote }}
{{- if $r.enableHa }}
- "--enable-ha=true"
- {{ printf "--election-id=%s" $r.electionId | quote }}
- {{ printf "--election-ttl=%s" $r.electionTtl | quote }}
- {{ printf "--leader-election-release-on-cancel=%t" $r.leaderElectionReleaseOnCancel | quote }}
{{- with $r.electionNamespace }}
- {{ printf "--leader-election-namespace=%s" . | quote }}
{{- end }}
{{- end }}
{{- range $flag, $value := dict
  "auto-reload-all" $r.autoReloadAll
  "reload-on-create" $r.reloadOnCreate
  "reload-on-delete" $r.reloadOnDelete
  "sync-after-restart" $r.syncAfterRestart
  "is-Argo-Rollouts" $r.isArgoRollouts
  "alert-on-reload" $r.alerts.enabled
  "alert-structured" $r.alerts.structured
}}
{{- if $value }}
- {{ printf "--%s=true" $flag | quote }}
{{- end }}
{{- end }}
{{- range $flag, $value := dict
  "webhook-url" $r.webhookUrl
  "watch-namespace" $r.watchNamespace
  "namespaces" (join "," $r.namespaces)
  "namespaces-to-ignore" (join "," $r.namespacesToIgnore)
  "namespace-selector" $r.namespaceSelector
  "resource-label-selector" $r.resourceLabelSelector
  "resources-to-ignore" $r.resourcesToIgnore
  "ignored-workload-types" (join "," $r.ignoredWorkloadTypes)
  "auto-annotation" $r.autoAnnotation
  "configmap-auto-annotation" $r.configmapAutoAnnotation
  "secret-auto-annotation" $r.secretAutoAnnotation
  "configmap-annotation" $r.configmapAnnotation
  "secret-annotation" $r.secretAnnotation
  "configmap-exclude-annotation" $r.configmapExcludeAnnotation
  "secret-exclude-annotation" $r.secretExcludeAnnotation
  "auto-search-annotation" $r.autoSearchAnnotation
  "search-match-annotation" $r.searchMatchAnnotation
  "ignore-annotation" $r.ignoreAnnotation
  "pause-deployment-annotation" $r.pauseDeploymentAnnotation
  "pause-deployment-time-annotation" $r.pauseDeploymentTimeAnnotation
  "check-command" $r.checkCommand
  "health-addr" $r.healthAddr
}}
{{- if $value }}
- {{ printf "--%s=%s" $flag $value | quote }}
{{- end }}
{{- end }}
{{- if $r.alerts.enabled }}
{{- range $flag, $value := dict
  "alert-sink" $r.alerts.sink
  "alert-proxy" $r.alerts.proxy
  "alert-additional-info" $r.alerts.additionalInfo
}}
{{- if $value }}
- {{ printf "--%s=%s" $flag $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- include "narthex.extraArgs" $r.extraArgs }}
{{- end -}}

{{/* The Secret with the address of alerts; empty: none. */}}
{{- define "narthex.rollout.alertSecret" -}}
{{- $a := .Values.rollout.alerts -}}
{{- if $a.enabled -}}
{{- if $a.existingSecret.name -}}
{{- $a.existingSecret.name -}}
{{- else if $a.webhookUrl -}}
{{- include "narthex.rollout.fullname" . -}}
{{- else -}}
{{- fail "rollout.alerts.enabled is true: expected rollout.alerts.webhookUrl or rollout.alerts.existingSecret.name" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether that Secret is the chart's; empty: no. */}}
{{- define "narthex.rollout.makesSecret" -}}
{{- if and .Values.rollout.enabled .Values.rollout.alerts.enabled (not .Values.rollout.alerts.existingSecret.name) -}}
true
{{- end -}}
{{- end -}}

{{/* The rights in what is watched. */}}
{{- define "narthex.rollout.rules" -}}
{{- $r := .Values.rollout -}}
{{- $sources := without (list "configmaps" "secrets") (lower $r.resourcesToIgnore) -}}
{{- $ignored := $r.ignoredWorkloadTypes -}}
{{- $tells := ne $r.webhookUrl "" -}}
{{- $reads := list "list" "watch" -}}
{{- if not (or $tells $r.resourceLabelSelector) -}}
{{- $reads = prepend $reads "get" -}}
{{- end -}}
{{- $apps := list -}}
{{- range list "deployments" "statefulsets" "daemonsets" -}}
{{- if not (has . $ignored) -}}
{{- $apps = append $apps . -}}
{{- end -}}
{{- end -}}
# What is compared, and read again before a rollout.
- apiGroups: [""]
  resources: {{ $sources | toJson }}
  verbs: {{ $reads | toJson }}
{{- if not $tells }}
# What is rolled out.
{{- if $apps }}
- apiGroups: [apps]
  resources: {{ $apps | toJson }}
  verbs: [get, list, watch, patch]
{{- end }}
{{- if not (has "cronjobs" $ignored) }}
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [get, list, watch, patch]
{{- end }}
{{- if not (has "jobs" $ignored) }}
# Deleted and made again; a CronJob's change makes one.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, patch, create, delete]
{{- else if not (has "cronjobs" $ignored) }}
# A CronJob's change makes one.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create]
{{- end }}
{{- if and $r.isArgoRollouts (not (has "rollouts" $ignored)) }}
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [get, list, watch, patch]
{{- end }}
{{- if and (gt (int $r.watchRollouts) 0) $apps }}
# The first new Pods of a rollout.
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}
{{- end -}}
