{{- define "epochbridge.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* 52 characters: a StatefulSet's pods carry a hash of 11 behind its name. */ -}}
{{- define "epochbridge.fullname" -}}
{{- $name := include "epochbridge.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "epochbridge.selector" -}}
app.kubernetes.io/name: {{ include "epochbridge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "epochbridge.labels" -}}
{{ include "epochbridge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- /* The configuration file: what values of this chart say, and under it every key of `config`. */ -}}
{{- define "epochbridge.configuration" -}}
{{- $host := default (printf "%s.%s.svc" (include "epochbridge.fullname" .) .Release.Namespace) .Values.advertisedHost -}}
{{- $ports := list -}}
{{- $taken := list (int .Values.port) (int .Values.admin.port) -}}
{{- range .Values.brokers -}}
{{- if has (int .port) $taken -}}
{{- fail (printf "brokers: port %d is taken by another broker, by `port` or by `admin.port`" (int .port)) -}}
{{- end -}}
{{- $taken = append $taken (int .port) -}}
{{- $ports = append $ports (printf "%d=%d" (int .id) (int .port)) -}}
{{- end -}}
{{- if not .Values.bootstrap -}}
{{- fail "bootstrap: name at least one broker, HOST:PORT" -}}
{{- end -}}
{{- $own := dict "bootstrap" .Values.bootstrap "listen" (printf "0.0.0.0:%d" (int .Values.port)) "advertised.host" $host "admin.listen" (printf "0.0.0.0:%d" (int .Values.admin.port)) -}}
{{- if $ports -}}
{{- $_ := set $own "listen.ports" $ports -}}
{{- end -}}
{{- if and (eq .Values.service.type "NodePort") (not (regexMatch ":[0-9]+$" .Values.sni.pattern)) -}}
{{- fail "service.type: behind a NodePort clients would be told ports that the nodes have not; take LoadBalancer, or sni.pattern with the port of a node behind it" -}}
{{- end -}}
{{- if .Values.sni.pattern -}}
{{- if not .Values.tls.enabled -}}
{{- fail "sni.pattern: clients ask for hosts in TLS; set tls.enabled and tls.secretName" -}}
{{- end -}}
{{- if .Values.brokers -}}
{{- fail "sni.pattern: with hosts no broker has a port; remove brokers" -}}
{{- end -}}
{{- $_ := required "advertisedHost: the host that clients bootstrap to, beside sni.pattern" .Values.advertisedHost -}}
{{- $_ := set $own "listen.sni.pattern" .Values.sni.pattern -}}
{{- end -}}
{{- if .Values.journal.enabled -}}
{{- $_ := set $own "journal" "sqlite" -}}
{{- $_ := set $own "journal.path" "/var/lib/epochbridge/journal.db" -}}
{{- else -}}
{{- $_ := set $own "journal" "memory" -}}
{{- end -}}
{{- if ne .Values.upstreamSasl.mechanism "off" -}}
{{- $_ := set $own "upstream.sasl.mechanism" .Values.upstreamSasl.mechanism -}}
{{- $_ := set $own "upstream.sasl.username" (required "upstreamSasl.username: who the bridge is to the brokers" .Values.upstreamSasl.username) -}}
{{- $_ := set $own "upstream.sasl.password.path" (printf "/etc/epochbridge/login/%s" .Values.upstreamSasl.secretKey) -}}
{{- end -}}
{{- if .Values.listenSasl.mechanisms -}}
{{- if ne .Values.upstreamSasl.mechanism "off" -}}
{{- fail "listenSasl.mechanisms: with upstreamSasl the cluster has logins of its own, which clients make through the bridge" -}}
{{- end -}}
{{- if and (has "PLAIN" .Values.listenSasl.mechanisms) (not .Values.tls.enabled) -}}
{{- fail "listenSasl.mechanisms: PLAIN sends passwords as they are; set tls.enabled and tls.secretName, or take SCRAM alone" -}}
{{- end -}}
{{- $_ := set $own "listen.sasl.mechanisms" .Values.listenSasl.mechanisms -}}
{{- $_ := set $own "listen.sasl.clients.path" (printf "/etc/epochbridge/users/%s" .Values.listenSasl.secretKey) -}}
{{- if .Values.listenSasl.sessionMs -}}
{{- $_ := set $own "listen.sasl.session.ms" (int .Values.listenSasl.sessionMs) -}}
{{- end -}}
{{- end -}}
{{- if .Values.tls.enabled -}}
{{- $_ := set $own "listen.tls" true -}}
{{- $_ := set $own "listen.tls.certificate.path" "/etc/epochbridge/tls/tls.crt" -}}
{{- $_ := set $own "listen.tls.key.path" "/etc/epochbridge/tls/tls.key" -}}
{{- if ne .Values.tls.clientAuth "none" -}}
{{- $_ := set $own "listen.tls.client.auth" .Values.tls.clientAuth -}}
{{- $_ := set $own "listen.tls.trust.path" "/etc/epochbridge/tls/ca.crt" -}}
{{- end -}}
{{- end -}}
{{- if .Values.admin.tls.enabled -}}
{{- $_ := set $own "admin.tls" true -}}
{{- $_ := set $own "admin.tls.certificate.path" "/etc/epochbridge/admin-tls/tls.crt" -}}
{{- $_ := set $own "admin.tls.key.path" "/etc/epochbridge/admin-tls/tls.key" -}}
{{- if ne .Values.admin.tls.clientAuth "none" -}}
{{- $_ := set $own "admin.tls.client.auth" .Values.admin.tls.clientAuth -}}
{{- $_ := set $own "admin.tls.trust.path" "/etc/epochbridge/admin-tls/ca.crt" -}}
{{- end -}}
{{- end -}}
{{- if .Values.upstreamTls.enabled -}}
{{- $_ := set $own "upstream.tls" true -}}
{{- $_ := set $own "upstream.tls.trust.path" "/etc/epochbridge/upstream-tls/ca.crt" -}}
{{- if .Values.upstreamTls.clientCertificate -}}
{{- $_ := set $own "upstream.tls.certificate.path" "/etc/epochbridge/upstream-tls/tls.crt" -}}
{{- $_ := set $own "upstream.tls.key.path" "/etc/epochbridge/upstream-tls/tls.key" -}}
{{- end -}}
{{- end -}}
{{- range $key, $_ := .Values.config -}}
{{- if or (hasKey $own $key) (eq $key "groups") -}}
{{- fail (printf "config: %s is set by a value of this chart; set that one" $key) -}}
{{- end -}}
{{- end -}}
{{- $all := merge $own .Values.config -}}
{{- if .Values.groups -}}
{{- $_ := set $all "groups" .Values.groups -}}
{{- end -}}
{{- toYaml $all -}}
{{- end -}}
