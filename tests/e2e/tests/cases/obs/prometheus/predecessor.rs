//! The queries of the two dashboards of ingress-nginx, with "All" chosen for each variable.

/// What both filter by.
const A: &str = r#"controller_pod=~".*",controller_class=~".*",namespace=~".*""#;
const B: &str = r#"controller_pod=~".*",controller_class=~".*",controller_namespace=~".*""#;
const I: &str = r#"exported_namespace=~".*",ingress=~".*""#;
const N: &str = r#"ingress!="""#;
const ONE: &str = r#"ingress=~".*""#;

/// Panels of "NGINX Ingress controller". `P_` is the prefix of the families.
const OVERVIEW: [(&str, &str); 26] = [
    ("$namespace", "count by (controller_namespace) (P_config_hash)"),
    ("$controller_class", r#"count by (controller_class) (P_config_hash{namespace=~".*"})"#),
    ("$controller", r#"count by (controller_pod) (P_config_hash{namespace=~".*",controller_class=~".*"})"#),
    ("$exported_namespace", r#"count by (exported_namespace) (P_requests{namespace=~".*",controller_class=~".*",controller_pod=~".*"})"#),
    ("$ingress", r#"count by (ingress) (P_requests{namespace=~".*",controller_class=~".*",controller_pod=~".*"})"#),
    (
        "Config Reloads (annotation)",
        r#"sum by (controller_class) (changes(P_config_last_reload_successful_timestamp_seconds{instance!="unknown",controller_class=~".*",namespace=~".*"}[30s]))"#,
    ),
    ("Controller Request Volume", "round(sum(irate(P_requests{A}[2m])), 0.001)"),
    ("Controller Connections", r#"sum(avg_over_time(P_nginx_process_connections{B,state="active"}[2m]))"#),
    ("Controller Success Rate", r#"sum(rate(P_requests{A,status!~"[4-5].*"}[2m])) / sum(rate(P_requests{A}[2m]))"#),
    ("Config Reloads", "avg(irate(P_success{B}[1m])) * 60"),
    ("Last Config Failed", r#"count(P_config_last_reload_successful{controller_pod=~".*",controller_namespace=~".*"} == 0) OR vector(0)"#),
    ("Ingress Request Volume", "round(sum by (ingress) (irate(P_requests{B,I}[2m])), 0.001)"),
    (
        "Ingress Success Rate",
        r#"sum by (ingress) (rate(P_requests{A,I,status!~"[4-5].*"}[2m])) / sum by (ingress) (rate(P_requests{A,I}[2m]))"#,
    ),
    ("Network I/O pressure, received", "sum(irate(P_request_size_sum{B}[2m]))"),
    ("Network I/O pressure, sent", "- sum(irate(P_response_size_sum{B}[2m]))"),
    ("Average Memory Usage", "avg(P_nginx_process_resident_memory_bytes{B})"),
    ("Average CPU Usage", "avg(rate(P_nginx_process_cpu_seconds_total{B}[2m]))"),
    ("Percentiles, 0.50", "histogram_quantile(0.50, sum by (le, ingress) (rate(P_request_duration_seconds_bucket{B,I,N}[2m])))"),
    ("Percentiles, 0.90", "histogram_quantile(0.90, sum by (le, ingress) (rate(P_request_duration_seconds_bucket{B,I,N}[2m])))"),
    ("Percentiles, 0.99", "histogram_quantile(0.99, sum by (le, ingress) (rate(P_request_duration_seconds_bucket{B,I,N}[2m])))"),
    ("Transfer rates, in", "sum by (ingress) (irate(P_request_size_sum{B,I,N}[2m]))"),
    ("Transfer rates, out", "sum by (ingress) (irate(P_response_size_sum{B,I,N}[2m]))"),
    ("Response Times, 0.80", "histogram_quantile(0.80, sum by (le) (rate(P_request_duration_seconds_bucket{B,I,N}[2m])))"),
    ("Response Times, 0.99", "histogram_quantile(0.99, sum by (le) (rate(P_request_duration_seconds_bucket{B,I,N}[2m])))"),
    ("Latency Heatmap", "sum by (le) (increase(P_request_duration_seconds_bucket{B,I,N}[2m]))"),
    (
        "Certificate Expiry",
        r#"avg by (host) (P_ssl_expire_time_seconds{kubernetes_pod_name=~".*",namespace=~".*",ingress=~".*"}) - time()"#,
    ),
];

/// Panels of "Request Handling Performance".
const PERFORMANCE: [(&str, &str); 15] = [
    ("$ingress", "count by (ingress) (P_requests)"),
    ("Latency, 0.5", "histogram_quantile(0.5, sum by (le) (rate(P_request_duration_seconds_bucket{ONE}[5m])))"),
    ("Latency, 0.95", "histogram_quantile(0.95, sum by (le) (rate(P_request_duration_seconds_bucket{ONE}[5m])))"),
    ("Latency, 0.99", "histogram_quantile(0.99, sum by (le) (rate(P_request_duration_seconds_bucket{ONE}[5m])))"),
    ("Upstream, 0.5", "histogram_quantile(0.5, sum by (le) (rate(P_response_duration_seconds_bucket{ONE}[5m])))"),
    ("Upstream, 0.95", "histogram_quantile(0.95, sum by (le) (rate(P_response_duration_seconds_bucket{ONE}[5m])))"),
    ("Upstream, 0.99", "histogram_quantile(0.99, sum by (le) (rate(P_response_duration_seconds_bucket{ONE}[5m])))"),
    ("Request Rate", "sum by (method, host, path) (rate(P_request_duration_seconds_count{ONE}[5m]))"),
    ("Median Upstream", "histogram_quantile(0.5, sum by (le, method, host, path) (rate(P_response_duration_seconds_bucket{ONE}[5m])))"),
    (
        "Error Rate, share",
        r#"sum by (method, host, path) (rate(P_request_duration_seconds_count{ONE,status=~"[4-5].*"}[5m])) / sum by (method, host, path) (rate(P_request_duration_seconds_count{ONE}[5m]))"#,
    ),
    ("Upstream Time", "sum by (method, host, path) (rate(P_response_duration_seconds_sum{ONE}[5m]))"),
    ("Error Rate", r#"sum by (method, host, path, status) (rate(P_request_duration_seconds_count{ONE,status=~"[4-5].*"}[5m]))"#),
    ("Response Size, sum", "sum by (method, host, path) (rate(P_response_size_sum{ONE}[5m]))"),
    ("Response Size, count", "sum by (method, host, path) (rate(P_response_size_count{ONE}[5m]))"),
    ("Response Size, buckets", "sum by (le) (rate(P_response_size_bucket{ONE}[5m]))"),
];

/// Each with its panel.
pub(super) fn queries() -> Vec<(String, String)> {
    let filters = [("{A", A), ("{B", B), ("{ONE", ONE)];
    let filled = |query: &str| {
        let query = filters
            .iter()
            .fold(query.replace("P_", "nginx_ingress_controller_"), |query, (name, filter)| query.replace(name, &format!("{{{filter}")));
        query.replace(",I", &format!(",{I}")).replace(",N}", &format!(",{N}}}"))
    };
    OVERVIEW.iter().chain(&PERFORMANCE).map(|(panel, query)| (format!("ingress-nginx, {panel}"), filled(query))).collect()
}
