{{- define "evenspread.labels" -}}
{{ include "evenspread.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "evenspread.selector" -}}
app.kubernetes.io/name: evenspread
app.kubernetes.io/instance: {{ .Values.name }}
{{- end }}

{{- define "evenspread.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* Namespaces that no verdict is made for; the webhooks leave out our own too. */}}
{{- define "evenspread.exempt" -}}
{{ concat (list "kube-system") .Values.exemptNamespaces | uniq | toJson }}
{{- end }}

{{/* The SpreadConfiguration: what the values say, in the form of the server. */}}
{{- define "evenspread.configuration" -}}
{{- $profiles := .Values.config.profiles -}}
{{- if and (not $profiles) .Values.schedulerConfiguration -}}
{{- $profiles = list (dict "name" "cluster" "schedulerConfiguration" "kube-scheduler.yaml") -}}
{{- end -}}
{{- $templates := list -}}
{{- range .Values.podTemplates }}{{ $templates = append $templates (omit . "resource") }}{{ end -}}
{{- $owners := list -}}
{{- range .Values.ownerSelectors }}{{ $owners = append $owners (omit . "resource") }}{{ end -}}
{{- $written := merge (dict
  "profiles" $profiles
  "podTemplates" $templates
  "ownerSelectors" $owners
  "exempt" (dict "namespaces" (include "evenspread.exempt" . | fromJsonArray))
) .Values.config -}}
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
{{- range $name, $value := $written }}
{{- if $value }}
{{ dict $name $value | toYaml }}
{{- end }}
{{- end }}
{{- end }}
