# shellcheck shell=bash disable=SC2154
# Traces: the context to the backend, and the spans that wait.

complete
TRACING='"tracing":{"enable_opentelemetry":false,"opentelemetry_trust_incoming_span":true,"otel_sampler":"AlwaysOn","otel_sampler_ratio":0.5,"otel_sampler_parent_based":true,"otel_max_queuesize":3,"exports":true,"opentelemetry_operation_name":"HTTP $request_method $uri"}'
configure r2 ',"other"' ",$TRACING"
reload r2
backend n/a:80 "$A"
put h trace.test '{"prefix":{"/":0,"/named/":1,"/own/":2,"/off/":3},"policies":[{"namespace":"n","ingress":"i","tracing":{"enable_opentelemetry":true}},{"namespace":"n","tracing":{"enable_opentelemetry":true,"opentelemetry_operation_name":"my op"}},{"namespace":"n","tracing":{"enable_opentelemetry":true,"opentelemetry_trust_incoming_span":false}},{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/named","service":"a","port":"80","policy":1},{"path":"/own","service":"a","port":"80","policy":2},{"path":"/off","service":"a","port":"80","policy":3}]}'
spans() { control '/spans?n=100'; }
TRACE=0af7651916cd43dd8448eb211c80319c
parent() { get trace.test "$1" -H "traceparent: 00-$TRACE-b7ad6b7169203331-$2" -H 'tracestate: a=b'; }

sent=$(get trace.test /seen)
check "a request begins a trace, which the backend gets" 1 "$(grep -cE '^traceparent=00-[0-9a-f]{32}-[0-9a-f]{16}-01' <<<"$sent")"
span=$(spans)
check "opentelemetry: a span with the name that the settings give" 'HTTP GET \/seen' "$(field name <<<"$span")"
check "it has the id that the backend gets" "$(sed -nE 's/^traceparent=00-[0-9a-f]+-([0-9a-f]+)-.*/\1/p' <<<"$sent")" "$(field span <<<"$span")"
check "and status and Ingress" "1 1" "$(grep -c '"http.response.status_code":200' <<<"$span") $(grep -c '"k8s.ingress.name":"i"' <<<"$span")"
check "spans are fetched once" "" "$(spans)"

check "a trusted trace goes on" "$TRACE 1" "$(parent /seen 01 | sed -nE 's/^traceparent=00-([0-9a-f]+)-.*tracestate=a=b/\1 1/p')"
check "below the client's span" "b7ad6b7169203331" "$(spans | field parent)"
check "one that is not sampled is not recorded" "00 " "$(parent /seen 00 | sed -nE 's/^traceparent=.*-(0[01]) .*/\1/p') $(spans)"
check "opentelemetry_trust_incoming_span: one that is not trusted does not" "0 tracestate=" \
    "$(parent /own/seen 01 | sed -E "s/.*(tracestate=.*)/\1/; s/^/0 /")"
spans >/dev/null
for header in 00-$TRACE-b7ad6b7169203331 00-00000000000000000000000000000000-b7ad6b7169203331-01 ff-$TRACE-b7ad6b7169203331-01 "00-${TRACE^^}-b7ad6b7169203331-01" nonsense; do
    check "no context: $header" 0 "$(get trace.test /seen -H "traceparent: $header" | grep -c "$TRACE-b7\|nonsense\|00000000000000000000000000000000")"
    spans >/dev/null
done
get trace.test /named/ >/dev/null
check "opentelemetry_operation_name: the name that the Ingress gives" "my op" "$(spans | field name)"
get trace.test /off/ >/dev/null
check "a route without traces has none" "" "$(spans)"
for _ in 1 2 3 4 5; do get trace.test / >/dev/null; done
check "a full queue takes no more" 3 "$(spans | wc -l)"
get trace.test / -A $'\xff' >/dev/null
check "bytes that are no text" 1 "$(spans | grep -c '"user_agent.original":"?"')"

configure r3 ',"other"' ",${TRACING/AlwaysOn/AlwaysOff}"
reload r3
check "a sampler that takes none" "00 " "$(get trace.test /seen | sed -nE 's/^traceparent=.*-(0[01]) .*/\1/p') $(spans)"
configure r4 ',"other"' ",${TRACING/AlwaysOn/TraceIdRatioBased}"
reload r4
for _ in $(seq 60); do get trace.test /seen; done >"$PREFIX/sampled"
check "a sampler that takes half" 1 "$(grep -c -- '-01 ' "$PREFIX/sampled" | awk '{ print ($1 > 5 && $1 < 55) }')"
