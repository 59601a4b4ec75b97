{{/* NGINX has a container of its own; empty: no. */}}
{{- define "narthex.controller.split" -}}
{{- if .Values.controller.splitDataPlane -}}
{{- if .Values.controller.shareProcessNamespace -}}
{{- fail "controller.shareProcessNamespace is true with controller.splitDataPlane: expected false, because NGINX could look into the controller's container" -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{/* The token is mounted into the controller's container alone; empty: as the Pod has it, or not at all. */}}
{{- define "narthex.controller.ownToken" -}}
{{- if and (include "narthex.controller.split" .) .Values.serviceAccount.automountServiceAccountToken -}}
true
{{- end -}}
{{- end -}}

{{/* The volume that a kubelet would make for the ServiceAccount. */}}
{{- define "narthex.controller.tokenVolume" -}}
name: token
projected:
  sources:
    - serviceAccountToken:
        path: token
        expirationSeconds: 3607
    - configMap:
        name: kube-root-ca.crt
        items:
          - key: ca.crt
            path: ca.crt
    - downwardAPI:
        items:
          - path: namespace
            fieldRef:
              fieldPath: metadata.namespace
{{- end -}}

{{/* The ports of NGINX. */}}
{{- define "narthex.controller.trafficPorts" -}}
{{- range $name, $port := .Values.controller.containerPort }}
- name: {{ $name }}
  containerPort: {{ $port }}
  protocol: TCP
  {{- if $.Values.controller.hostPort.enabled }}
  hostPort: {{ default $port (get $.Values.controller.hostPort.ports $name) }}
  {{- end }}
{{- end }}
{{- if include "narthex.controller.http3" . }}
- name: http3
  containerPort: {{ .Values.controller.containerPort.https }}
  protocol: UDP
  {{- if .Values.controller.hostPort.enabled }}
  hostPort: {{ default .Values.controller.containerPort.https .Values.controller.hostPort.ports.https }}
  {{- end }}
{{- end }}
{{- range $protocol := list "tcp" "udp" }}
{{- range $port, $service := default dict (get $.Values $protocol) }}
- name: {{ include "narthex.controller.portName" (dict "root" $ "port" $port "protocol" $protocol) | quote }}
  containerPort: {{ $port }}
  protocol: {{ upper $protocol }}
  {{- if $.Values.controller.hostPort.enabled }}
  hostPort: {{ $port }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Flags of the controller that mean the same for NGINX's container. */}}
{{- define "narthex.controller.dataPlaneArgs" -}}
- data-plane
- --work-dir=/run/narthex
{{- range $flag := list "work-dir" "nginx-binary" "shutdown-grace-period" "drain-timeout" "log-level" "log-format" }}
{{- $given := default dict $.Values.controller.extraArgs }}
{{- if hasKey $given $flag }}
{{- include "narthex.extraArgs" (dict $flag (get $given $flag)) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Mounts of extraVolumeMounts whose volumes can hold no Secret. */}}
{{- define "narthex.controller.harmlessMounts" -}}
{{- $secret := list -}}
{{- range .Values.controller.extraVolumes -}}
{{- if or (hasKey . "secret") (hasKey . "projected") (hasKey . "csi") -}}
{{- $secret = append $secret (get . "name") -}}
{{- end -}}
{{- end -}}
{{- range .Values.controller.extraVolumeMounts }}
{{- if not (has (get . "name") $secret) }}
- {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Variables of extraEnvs that hold no Secret. */}}
{{- define "narthex.controller.harmlessEnvs" -}}
{{- range .Values.controller.extraEnvs }}
{{- if not (dig "valueFrom" "secretKeyRef" "" .) }}
- {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The container of NGINX: no token, no Secret, no access to the API server. */}}
{{- define "narthex.controller.dataPlane" -}}
{{- $c := .Values.controller -}}
name: {{ $c.dataPlane.containerName }}
image: {{ include "narthex.controller.image" . | quote }}
imagePullPolicy: {{ $c.image.pullPolicy }}
args:
  {{- include "narthex.controller.dataPlaneArgs" . | nindent 2 }}
{{- with include "narthex.controller.harmlessEnvs" . }}
env:
  {{- . | trim | nindent 2 }}
{{- end }}
ports:
  {{- include "narthex.controller.trafficPorts" . | trim | nindent 2 }}
{{- range $key := list "livenessProbe" "readinessProbe" "startupProbe" "resources" }}
{{- with get $c.dataPlane $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with $c.lifecycle }}
lifecycle:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "narthex.controller.securityContext" . | nindent 2 }}
volumeMounts:
  - name: work
    mountPath: /run/narthex
  - name: nginx-tmp
    mountPath: /tmp
  {{- if $c.extraModules }}
  - name: modules
    mountPath: /modules_mount
  {{- end }}
  {{- with include "narthex.controller.harmlessMounts" . }}
  {{- . | trim | nindent 2 }}
  {{- end }}
  {{- with $c.dataPlane.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
