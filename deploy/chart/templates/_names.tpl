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

{{/* Exempt namespaces; the webhooks exclude the own namespace too. */}}
{{- define "evenspread.exempt" -}}
{{ concat (list "kube-system") .Values.exemptNamespaces | uniq | toJson }}
{{- end }}

{{/* Not empty if pods are sent to the validating webhook, which does not check some rules. */}}
{{- define "evenspread.validatesPods" -}}
{{- $unchecked := list "TSC106" "TSC108" "TSC109" "TSC111" "TSC112" "TSC113" "TSC114" "TSC115" "TSC118" "TSC120" -}}
{{- $validates := eq (toString .Values.validatePods) "true" -}}
{{- if eq (toString .Values.validatePods) "auto" -}}
{{- range prepend .Values.config.profiles .Values.config -}}
{{- range $rule, $setting := .rules -}}
{{- $action := $setting -}}
{{- if kindIs "map" $setting }}{{ $action = $setting.action }}{{ end -}}
{{- if and (eq (toString $action) "deny") (not (has $rule $unchecked)) }}{{ $validates = true }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $validates }}true{{ end -}}
{{- end }}

{{/* The profiles whose pods keep their spread when they are scaled down; a SpreadPolicy is any. */}}
{{- define "evenspread.keepSpread" -}}
{{- $found := list -}}
{{- if .Values.policies.keepSpread }}{{ $found = list (dict) }}{{ end -}}
{{- range .Values.config.profiles -}}
{{- if eq (toString .scaleDown) "KeepSpread" }}{{ $found = append $found . }}{{ end -}}
{{- end -}}
{{ $found | toJson }}
{{- end }}

{{/* Expressions of the namespaceSelector of all webhooks. */}}
{{- define "evenspread.namespaces" -}}
# The own namespace too; otherwise no replica could be created while none answers.
- key: kubernetes.io/metadata.name
  operator: NotIn
  values:
    {{- append (include "evenspread.exempt" . | fromJsonArray) .Release.Namespace | uniq | toYaml | nindent 4 }}
{{- if eq .Values.scope "optIn" }}
- key: evenspread.io/enabled
  operator: In
  values: ["true"]
{{- end }}
{{- end }}

{{/* The volume with the CA of client certificates; empty without one. */}}
{{- define "evenspread.clientCA" -}}
{{- with .Values.certificate -}}
{{- $items := list (dict "key" .clientCA.key "path" "ca.crt") -}}
{{- if and .clientCA.configMapName .clientCA.secretName -}}
{{- fail "certificate.clientCA is in a ConfigMap or in a Secret: name one of them, not both" -}}
{{- else if .clientCA.configMapName -}}
{{ dict "configMap" (dict "name" .clientCA.configMapName "items" $items) | toYaml }}
{{- else if .clientCA.secretName -}}
{{ dict "secret" (dict "secretName" .clientCA.secretName "items" $items) | toYaml }}
{{- else if .clientNames -}}
{{- fail "certificate.clientNames needs certificate.clientCA: name the ConfigMap or Secret of the CA" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The SpreadConfiguration, built from the values. */}}
{{- define "evenspread.configuration" -}}
{{- $profiles := .Values.config.profiles -}}
{{- if and (not $profiles) .Values.schedulerConfiguration -}}
{{- $profiles = list (dict "name" "cluster" "schedulerConfiguration" "kube-scheduler.yaml") -}}
{{- end -}}
{{- $templates := list -}}
{{- range .Values.podTemplates }}{{ $templates = append $templates (omit . "resource") }}{{ end -}}
{{- $lists := list -}}
{{- range .Values.constraintLists }}{{ $lists = append $lists (omit . "resource") }}{{ end -}}
{{- $owners := list -}}
{{- range .Values.ownerSelectors }}{{ $owners = append $owners (omit . "resource") }}{{ end -}}
{{- $written := merge (dict
  "profiles" $profiles
  "podTemplates" $templates
  "constraintLists" $lists
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
