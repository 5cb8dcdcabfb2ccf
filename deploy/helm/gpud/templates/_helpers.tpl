{{- define "gpud.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "gpud.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "gpud.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "gpud.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gpud.selector" -}}
app.kubernetes.io/name: {{ include "gpud.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "gpud.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "gpud.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "gpud.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "gpud.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "gpud.address" -}}
{{- if eq .Values.listen "loopback" -}}127.0.0.1{{- end -}}:{{ .Values.port }}
{{- end -}}

{{- /* Lines of the capabilities that are added. One whose other right is switched off would give nothing. */ -}}
{{- define "gpud.capabilities" -}}
{{- $rights := .Values.rights -}}
{{- $needs := dict "SYSLOG" $rights.kernelLog "SYS_PTRACE" $rights.hostPID "DAC_READ_SEARCH" $rights.hostPID -}}
{{- $added := list -}}
{{- range $rights.capabilities }}{{ if get $needs . }}{{ $added = append $added . }}{{ end }}{{ end -}}
{{- if $rights.root }}{{ with concat $added $rights.extraCapabilities }}{{ toYaml (uniq .) }}{{ end }}{{ end -}}
{{- end -}}

{{- /* Labels, annotations and selectors: text, also where a value looks like a number or `true` (`--set` makes it so). */ -}}
{{- define "gpud.strings" -}}
{{- range $key, $value := . }}
{{ $key | quote }}: {{ $value | toString | quote }}
{{- end }}
{{- end -}}
