//! Services, ports, network policies, monitoring.

use serde_json::{Value, json};

use super::{ARGS, case, check};

const DEPLOYMENT: &str = "Deployment narthex-controller";
const SERVICE: &str = "Service narthex-controller";
const INTERNAL: &str = "Service narthex-controller-internal";
const METRICS: &str = "Service narthex-controller-metrics";

#[test]
fn two_services_lead_to_the_controller() -> anyhow::Result<()> {
    let publish = |name: &str| json!(format!("--publish-service=$(POD_NAMESPACE)/narthex-controller{name}"));
    let full = json!({"annotations": {"name": "{{ .Release.Name }}", "number": 1}, "labels": {"both": "x"}, "external": {"labels": {"one": "x"}},
        "loadBalancerClass": "c", "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": false, "trafficDistribution": "PreferClose",
        "nodePorts": {"http": 30080, "https": "30443"}, "ports": {"http": 8080}, "targetPorts": {"http": 80}, "enableHttps": false});
    check(&[
        case(json!({})).has(SERVICE, "/spec/ports", json!([
            {"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP", "appProtocol": "http"},
            {"name": "https", "port": 443, "targetPort": "https", "protocol": "TCP", "appProtocol": "https"},
        ])),
        case(json!({"controller": {"service": full}}))
            .has(SERVICE, "/metadata/annotations", json!({"name": "narthex", "number": "1"}))
            .has(SERVICE, "/metadata/labels/both", json!("x"))
            .has(SERVICE, "/metadata/labels/one", json!("x"))
            .has(SERVICE, "/spec/loadBalancerClass", json!("c"))
            .has(SERVICE, "/spec/allocateLoadBalancerNodePorts", json!(false))
            .has(SERVICE, "/spec/trafficDistribution", json!("PreferClose"))
            .has(SERVICE, "/spec/ports", json!([{"name": "http", "port": 8080, "targetPort": 80, "protocol": "TCP", "appProtocol": "http", "nodePort": 30080}])),
        case(json!({"controller": {"service": {"enabled": false, "internal": {"enabled": true, "annotations": {"a": "b"}}}}})).drops(&[SERVICE]),
        // Without annotations there is no internal one.
        case(json!({"controller": {"service": {"internal": {"enabled": true}}}})),
        case(json!({"controller": {"service": {"labels": {"both": "x"}, "internal": {"enabled": true, "annotations": {"a": "{{ .Release.Name }}"},
            "labels": {"in": "x"}, "type": "NodePort", "ports": {"https": 8443}, "nodePorts": {"https": 30444}, "appProtocol": false}}}}))
        .adds(&[INTERNAL])
        .has(DEPLOYMENT, ARGS, publish(""))
        .has(INTERNAL, "/metadata/annotations", json!({"a": "narthex"}))
        .has(INTERNAL, "/metadata/labels/in", json!("x"))
        .has(INTERNAL, "/metadata/labels/both", json!("x"))
        .has(INTERNAL, "/spec/type", json!("NodePort"))
        .has(INTERNAL, "/spec/ports/1", json!({"name": "https", "port": 8443, "targetPort": "https", "protocol": "TCP", "nodePort": 30444})),
        case(json!({"controller": {"service": {"external": {"enabled": false}, "internal": {"enabled": true, "annotations": {"a": "b"}}}}}))
            .drops(&[SERVICE])
            .adds(&[INTERNAL])
            .has(DEPLOYMENT, ARGS, publish("-internal"))
            .has(INTERNAL, "/spec/type", json!("LoadBalancer")),
        case(json!({"controller": {"publishService": {"pathOverride": "a/b"}}})).has(DEPLOYMENT, ARGS, json!("--publish-service=a/b")),
    ])
}

#[test]
fn tcp_and_udp_services_have_ports_everywhere() -> anyhow::Result<()> {
    let port = |protocol: &str, more: Value| {
        let mut port = json!({"name": format!("pre-53-{}", protocol.to_lowercase()), "protocol": protocol});
        e2e::rollout::merge(&mut port, more);
        port
    };
    let controller = json!({
        "tcp": {"annotations": {"a": "b"}, "configMapNamespace": "conf"}, "networkPolicy": {"enabled": true},
        "service": {"nodePorts": {"tcp": {"53": 30053}}, "internal": {"enabled": true, "annotations": {"a": "b"}, "nodePorts": {"udp": {"53": "30054"}}}},
    });
    check(&[case(json!({"tcp": {"53": "{{ .Release.Name }}/dns:53"}, "udp": {"53": "dns/dns:53"}, "portNamePrefix": "pre", "controller": controller}))
        .adds(&["ConfigMap narthex-tcp", "ConfigMap narthex-udp", INTERNAL, "NetworkPolicy narthex-controller"])
        .has("ConfigMap narthex-tcp", "/data", json!({"53": "narthex/dns:53"}))
        .has("ConfigMap narthex-tcp", "/metadata/annotations", json!({"a": "b"}))
        .has("ConfigMap narthex-tcp", "/metadata/namespace", json!("narthex"))
        .has("ConfigMap narthex-udp", "/metadata/annotations", Value::Null)
        .has(DEPLOYMENT, ARGS, json!("--tcp-services-configmap=conf/narthex-tcp"))
        .has(DEPLOYMENT, ARGS, json!("--udp-services-configmap=$(POD_NAMESPACE)/narthex-udp"))
        .has(DEPLOYMENT, "/spec/template/spec/containers/0/ports/*", port("TCP", json!({"containerPort": 53})))
        .has(DEPLOYMENT, "/spec/template/spec/containers/0/ports/*", port("UDP", json!({"containerPort": 53})))
        .has(SERVICE, "/spec/ports/*", port("TCP", json!({"port": 53, "targetPort": "pre-53-tcp", "nodePort": 30053})))
        .has(SERVICE, "/spec/ports/*", port("UDP", json!({"port": 53, "targetPort": "pre-53-udp"})))
        .has(INTERNAL, "/spec/ports/*", port("TCP", json!({"port": 53, "targetPort": "pre-53-tcp"})))
        .has(INTERNAL, "/spec/ports/*", port("UDP", json!({"port": 53, "targetPort": "pre-53-udp", "nodePort": 30054})))
        .has("NetworkPolicy narthex-controller", "/spec/ingress/0/ports/*", json!({"protocol": "UDP", "port": 53}))])
}

#[test]
fn http_3_has_the_port_of_https_everywhere() -> anyhow::Result<()> {
    let controller = json!({
        "config": {"use-http3": "true"}, "networkPolicy": {"enabled": true}, "hostPort": {"enabled": true},
        "service": {"nodePorts": {"https": 30443}, "ports": {"https": 8443}, "internal": {"enabled": true, "annotations": {"a": "b"}}},
    });
    check(&[
        case(json!({"controller": {"config": {"use-http3": "false"}}})).has(SERVICE, "/spec/ports/2", Value::Null),
        case(json!({"controller": controller}))
            .adds(&[INTERNAL, "NetworkPolicy narthex-controller"])
            .has(
                DEPLOYMENT,
                "/spec/template/spec/containers/0/ports/*",
                json!({"name": "http3", "containerPort": 443, "hostPort": 443, "protocol": "UDP"}),
            )
            .has(
                SERVICE,
                "/spec/ports/2",
                json!({"name": "http3", "port": 8443, "targetPort": "http3", "protocol": "UDP", "nodePort": 30443}),
            )
            .has(INTERNAL, "/spec/ports/2", json!({"name": "http3", "port": 8443, "targetPort": "http3", "protocol": "UDP"}))
            .has("NetworkPolicy narthex-controller", "/spec/ingress/0/ports/*", json!({"protocol": "UDP", "port": 443})),
    ])
}

#[test]
fn metrics_have_a_port_a_service_and_monitors() -> anyhow::Result<()> {
    const MONITOR: &str = "ServiceMonitor narthex-controller";
    const RULE: &str = "PrometheusRule narthex-controller";
    let monitor = json!({"enabled": true, "scrapeTimeout": "5s", "honorLabels": true, "jobLabel": "job", "targetLabels": ["t"], "labelLimit": 7,
        "sampleLimit": 9, "additionalLabels": {"a": "b"}, "relabelings": [{"action": "drop"}], "metricRelabelings": [{"action": "keep"}]});
    check(&[
        case(json!({"controller": {"metrics": {"serviceMonitor": {"enabled": true}, "prometheusRule": {"enabled": true}}}})),
        case(json!({"controller": {"metrics": {"enabled": true, "service": {"enabled": false}}}}))
            .has(DEPLOYMENT, ARGS, json!("--enable-metrics=true"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/ports/*", json!({"name": "metrics", "containerPort": 10254, "protocol": "TCP"})),
        case(json!({"controller": {"metrics": {"enabled": true, "portName": "m", "service": {"type": "NodePort", "nodePort": 30254}}}}))
            .adds(&[METRICS])
            .has(METRICS, "/spec/ports", json!([{"name": "m", "port": 10254, "targetPort": "m", "protocol": "TCP", "nodePort": 30254}])),
        case(json!({"controller": {"metrics": {"enabled": true, "serviceMonitor": monitor}}}))
            .adds(&[METRICS, MONITOR])
            .has(MONITOR, "/metadata/labels/a", json!("b"))
            .has(MONITOR, "/spec/namespaceSelector", json!({"matchNames": ["narthex"]}))
            .has(MONITOR, "/spec/jobLabel", json!("job"))
            .has(MONITOR, "/spec/labelLimit", json!(7))
            .has(MONITOR, "/spec/sampleLimit", json!(9))
            .has(MONITOR, "/spec/targetLimit", Value::Null)
            .has(MONITOR, "/spec/endpoints/0", json!({"port": "metrics", "interval": "30s", "scrapeTimeout": "5s", "honorLabels": true,
                "relabelings": [{"action": "drop"}], "metricRelabelings": [{"action": "keep"}]})),
        // No rules, no group.
        case(json!({"controller": {"metrics": {"enabled": true, "prometheusRule": {"enabled": true}}}}))
            .adds(&[METRICS, RULE])
            .has(RULE, "/spec", json!({})),
        case(json!({"controller": {"metrics": {"enabled": true, "prometheusRule": {"enabled": true, "namespace": "there", "rules": [{"alert": "A"}]}}}}))
            .adds(&[METRICS, RULE])
            .has(RULE, "/metadata/namespace", json!("there"))
            .has(RULE, "/spec/groups", json!([{"name": "narthex", "rules": [{"alert": "A"}]}])),
        case(json!({"controller": {"metrics": {"enabled": true, "prometheusRule": {"enabled": true, "defaultRules": true, "rules": [{"alert": "A"}]}}}}))
            .adds(&[METRICS, RULE])
            .has(RULE, "/spec/groups/0/rules/0/alert", json!("NarthexConfigurationRefused"))
            // Templates of Prometheus are none of Helm's.
            .has(RULE, "/spec/groups/0/rules/0/annotations/summary", json!("{{ $labels.instance }}: NGINX does not take the newest configuration"))
            .has(RULE, "/spec/groups/1", json!({"name": "narthex-own", "rules": [{"alert": "A"}]})),
    ])
}

#[test]
fn dashboards_are_config_maps_that_a_sidecar_finds() -> anyhow::Result<()> {
    const MAPS: [&str; 3] = [
        "ConfigMap narthex-controller-dashboard-health",
        "ConfigMap narthex-controller-dashboard-reloads",
        "ConfigMap narthex-controller-dashboard-requests",
    ];
    let metrics = |dashboards: Value| json!({"controller": {"metrics": {"enabled": true, "dashboards": dashboards}}});
    let content = std::fs::read_to_string(e2e::helm::chart().join("dashboards/reloads.json"))?;
    check(&[
        case(json!({"controller": {"metrics": {"dashboards": {"enabled": true}}}})),
        case(metrics(json!({"enabled": true})))
            .adds(&[METRICS])
            .adds(&MAPS)
            .has(MAPS[1], "/metadata/labels/grafana_dashboard", json!("1"))
            .has(MAPS[1], "/data/narthex-reloads.json", json!(content)),
        case(metrics(json!({"enabled": true, "namespace": "grafana", "labels": {"board": "yes"}, "annotations": {"folder": "edge"}})))
            .adds(&[METRICS])
            .adds(&MAPS)
            .has(MAPS[0], "/metadata/namespace", json!("grafana"))
            .has(MAPS[0], "/metadata/labels/board", json!("yes"))
            .has(MAPS[0], "/metadata/annotations", json!({"folder": "edge"})),
    ])
}
