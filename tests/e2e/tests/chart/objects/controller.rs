//! The controller's workload, its scaling, settings, rights and webhook.

use serde_json::{Value, json};

use super::{ARGS, case, check};

const DEPLOYMENT: &str = "Deployment narthex-controller";

#[test]
fn the_workload_is_of_the_kind_and_size_that_is_asked_for() -> anyhow::Result<()> {
    const HPA: &str = "HorizontalPodAutoscaler narthex-controller";
    const SCALED: &str = "ScaledObject narthex-controller";
    const PDB: &str = "PodDisruptionBudget narthex-controller";
    let keda = json!({"enabled": true, "minReplicas": 2, "maxReplicas": 9, "fallback": {"failureThreshold": 5}, "behavior": {"a": 1},
        "triggers": [{"type": "cpu"}], "scaledObject": {"annotations": {"a": "b"}}});
    let older = json!({"controller": {"keda": {"enabled": true, "apiVersion": "keda.k8s.io/v1alpha1"}}});
    check(&[
        case(json!({"controller": {"kind": "DaemonSet", "replicaCount": 3, "autoscaling": {"enabled": true}, "updateStrategy": {"type": "OnDelete"}}}))
            .adds(&["DaemonSet narthex-controller"])
            .drops(&[DEPLOYMENT])
            .has("DaemonSet narthex-controller", "/spec/updateStrategy/type", json!("OnDelete"))
            .has("DaemonSet narthex-controller", "/spec/replicas", Value::Null),
        case(json!({"controller": {"replicaCount": 2}}))
            .adds(&[PDB])
            .has(DEPLOYMENT, "/spec/replicas", json!(2))
            .has(PDB, "/spec/minAvailable", json!(1)),
        case(json!({"controller": {"replicaCount": 2, "maxUnavailable": "50%", "unhealthyPodEvictionPolicy": "AlwaysAllow", "annotations": {"a": "b"}}}))
            .adds(&[PDB])
            .has(PDB, "/spec/minAvailable", Value::Null)
            .has(PDB, "/spec/maxUnavailable", json!("50%"))
            .has(PDB, "/metadata/annotations/a", json!("b"))
            .has(PDB, "/spec/unhealthyPodEvictionPolicy", json!("AlwaysAllow")),
        // Memory stands before the processor.
        case(json!({"controller": {"replicaCount": 5, "autoscaling": {"enabled": true, "targetMemoryUtilizationPercentage": 70}}}))
            .adds(&[HPA])
            .has(HPA, "/apiVersion", json!("autoscaling/v2"))
            .has(HPA, "/spec/metrics/0/resource", json!({"name": "memory", "target": {"type": "Utilization", "averageUtilization": 70}}))
            .has(HPA, "/spec/metrics/1/resource/name", json!("cpu"))
            .has(DEPLOYMENT, "/spec/replicas", Value::Null),
        case(json!({"controller": {"autoscaling": {"enabled": true, "minReplicas": 2, "targetMemoryUtilizationPercentage": 0}}}))
            .adds(&[HPA, PDB])
            .has(HPA, "/spec/metrics/0/resource/name", json!("cpu"))
            .has(HPA, "/spec/metrics/1", Value::Null),
        case(json!({"controller": {"keda": keda}}))
            .adds(&[SCALED, PDB])
            .has(DEPLOYMENT, "/spec/replicas", Value::Null)
            .has(SCALED, "/apiVersion", json!("keda.sh/v1alpha1"))
            .has(SCALED, "/metadata/annotations", json!({"a": "b"}))
            .has(SCALED, "/spec/scaleTargetRef", json!({"name": "narthex-controller"}))
            .has(SCALED, "/spec/fallback", json!({"failureThreshold": 5, "replicas": 9}))
            .has(SCALED, "/spec/triggers", json!([{"type": "cpu"}]))
            .has(SCALED, "/spec/pollingInterval", json!(30))
            .has(SCALED, "/spec/cooldownPeriod", json!(300))
            .has(SCALED, "/spec/minReplicaCount", json!(2))
            .has(SCALED, "/spec/maxReplicaCount", json!(9))
            .has(SCALED, "/spec/advanced/restoreToOriginalReplicaCount", json!(false))
            .has(SCALED, "/spec/advanced/horizontalPodAutoscalerConfig/behavior", json!({"a": 1})),
        case(older).adds(&[SCALED]).has(SCALED, "/spec/scaleTargetRef", json!({"deploymentName": "narthex-controller"})),
        // Both at once: neither.
        case(json!({"controller": {"keda": {"enabled": true}, "autoscaling": {"enabled": true, "minReplicas": 2}}}))
            .has(DEPLOYMENT, "/spec/replicas", json!(1)),
    ])
}

#[test]
fn with_two_containers_nginx_has_the_ports_and_the_controller_alone_the_token_and_secrets() -> anyhow::Result<()> {
    let token = json!({"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true});
    let volumes =
        json!([{"name": "s", "secret": {"secretName": "s"}}, {"name": "p", "projected": {}}, {"name": "g", "configMap": {"name": "g"}}]);
    let mounts = json!([{"name": "s", "mountPath": "/s"}, {"name": "p", "mountPath": "/p"}, {"name": "g", "mountPath": "/g"}]);
    let secret = json!({"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}});
    let full = json!({
        "extraEnvs": [{"name": "TZ", "value": "UTC"}, secret], "extraVolumes": volumes, "extraVolumeMounts": mounts,
        "extraArgs": {"drain-timeout": "7", "v": "3"}, "extraModules": [{"name": "otel", "image": {"image": "otel"}}],
        "hostPort": {"enabled": true},
        "dataPlane": {"containerName": "edge", "extraVolumeMounts": [{"name": "x", "mountPath": "/x"}], "resources": {"limits": {"cpu": "2"}}},
    });
    let split = |more: Value| {
        let mut controller = more;
        controller["splitDataPlane"] = json!(true);
        case(json!({"controller": controller}))
    };
    check(&[
        case(json!({})).has(DEPLOYMENT, "/spec/template/spec/automountServiceAccountToken", json!(true)).has(
            DEPLOYMENT,
            "/spec/template/spec/containers/1",
            Value::Null,
        ),
        split(json!({}))
            .has(DEPLOYMENT, "/spec/template/spec/automountServiceAccountToken", json!(false))
            .has(DEPLOYMENT, ARGS, json!("--split-data-plane"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/volumeMounts/*", token.clone())
            .has(
                DEPLOYMENT,
                "/spec/template/spec/containers/0/ports",
                json!([{"name": "webhook", "containerPort": 8443, "protocol": "TCP"}]),
            )
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/args", json!(["data-plane", "--work-dir=/run/narthex"]))
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/env", Value::Null)
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/lifecycle/preStop/exec/command", json!(["/wait-shutdown"]))
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/readinessProbe/tcpSocket/port", json!("http"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/securityContext/runAsUser", json!(101))
            .has(
                DEPLOYMENT,
                "/spec/template/spec/containers/1/volumeMounts",
                json!([{"name": "work", "mountPath": "/run/narthex"}, {"name": "nginx-tmp", "mountPath": "/tmp"}]),
            ),
        split(full)
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/name", json!("edge"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/args", json!(["data-plane", "--work-dir=/run/narthex", "--drain-timeout=7"]))
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/env", json!([{"name": "TZ", "value": "UTC"}]))
            .has(DEPLOYMENT, "/spec/template/spec/containers/1/resources/limits/cpu", json!("2"))
            .has(
                DEPLOYMENT,
                "/spec/template/spec/containers/1/ports/*",
                json!({"name": "https", "containerPort": 443, "protocol": "TCP", "hostPort": 443}),
            )
            .has(
                DEPLOYMENT,
                "/spec/template/spec/containers/1/volumeMounts",
                json!([
                    {"name": "work", "mountPath": "/run/narthex"}, {"name": "nginx-tmp", "mountPath": "/tmp"},
                    {"name": "modules", "mountPath": "/modules_mount"}, {"name": "g", "mountPath": "/g"}, {"name": "x", "mountPath": "/x"},
                ]),
            ),
        // Its own way to the API server is mounted by an operator who wants none of the kubelet's.
        case(json!({"controller": {"splitDataPlane": true}, "serviceAccount": {"automountServiceAccountToken": false}})).has(
            DEPLOYMENT,
            "/spec/template/spec/containers/0/volumeMounts/2",
            Value::Null,
        ),
    ])
}

#[test]
fn the_pod_is_as_the_values_say() -> anyhow::Result<()> {
    let module = json!({"name": "otel", "image": {"image": "otel", "tag": "v1", "digest": format!("sha256:{}", "1".repeat(64))}});
    let plain = json!({"name": "more", "image": {"repository": "r.example.com/more", "distroless": true}});
    check(&[
        case(json!({}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/image", json!("narthex:0.1.0"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/lifecycle/preStop/exec/command", json!(["/wait-shutdown"]))
            .has(DEPLOYMENT, "/spec/template/spec/terminationGracePeriodSeconds", json!(300))
            .has(DEPLOYMENT, "/spec/template/spec/hostname", Value::Null),
        case(json!({"controller": {"lifecycle": {"preStop": null}}})).has(DEPLOYMENT, "/spec/template/spec/containers/0/lifecycle", Value::Null),
        // The predecessor's image is none of ours, wherever it is mirrored; its registry is, unless it is the Kubernetes project's.
        case(json!({"global": {"image": {"registry": "registry.k8s.io"}}, "controller": {"image": {
            "image": "ingress-nginx/controller", "tag": "v1.15.1", "digest": format!("sha256:{}", "2".repeat(64)),
        }}}))
        .has(DEPLOYMENT, "/spec/template/spec/containers/0/image", json!("narthex:0.1.0")),
        case(json!({"global": {"image": {"registry": "r.example.com"}}, "controller": {"image": {"tag": "v9"}}}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/image", json!("r.example.com/narthex:v9")),
        case(json!({"global": {"image": {"registry": "r.example.com"}}, "controller": {"image": {"registry": "own.example.com", "image": "a/b"}}}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/image", json!("own.example.com/a/b:0.1.0")),
        case(json!({"controller": {"image": {"repository": "r.example.com/x", "tag": "v1", "digest": format!("sha256:{}", "3".repeat(64))}}}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/image", json!(format!("r.example.com/x:v1@sha256:{}", "3".repeat(64)))),
        // A chroot adds no rights: there is none.
        case(json!({"controller": {"image": {"chroot": true}}}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/securityContext/allowPrivilegeEscalation", json!(false))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/securityContext/capabilities", json!({"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]})),
        case(json!({"controller": {"containerSecurityContext": {"runAsUser": 7}}}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/securityContext", json!({"runAsUser": 7})),
        case(json!({"controller": {"hostname": "edge", "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["{{ .Release.Name }}.local"]}],
            "affinity": {"podAffinity": {"x": "{{ .Chart.Name }}"}}, "topologySpreadConstraints": [{"topologyKey": "{{ .Release.Name }}"}]}}))
        .has(DEPLOYMENT, "/spec/template/spec/hostname", json!("edge"))
        .has(DEPLOYMENT, "/spec/template/spec/hostAliases/0/hostnames/0", json!("narthex.local"))
        .has(DEPLOYMENT, "/spec/template/spec/affinity/podAffinity/x", json!("narthex"))
        .has(DEPLOYMENT, "/spec/template/spec/topologySpreadConstraints/0/topologyKey", json!("narthex")),
        case(json!({"controller": {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}})).has(
            DEPLOYMENT,
            "/spec/template/spec/containers/0/resizePolicy",
            json!([{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
        ),
        case(json!({"controller": {"extraModules": [module, plain], "extraInitContainers": [{"name": "{{ .Release.Name }}"}]}}))
            .has(DEPLOYMENT, "/spec/template/spec/initContainers/0/name", json!("narthex"))
            .has(DEPLOYMENT, "/spec/template/spec/initContainers/1/image", json!(format!("otel:v1@sha256:{}", "1".repeat(64))))
            .has(DEPLOYMENT, "/spec/template/spec/initContainers/1/command", json!(["sh", "-c", "/usr/local/bin/init_module.sh"]))
            .has(DEPLOYMENT, "/spec/template/spec/initContainers/2/image", json!("r.example.com/more"))
            .has(DEPLOYMENT, "/spec/template/spec/initContainers/2/command", json!(["/init_module"]))
            .has(DEPLOYMENT, "/spec/template/spec/volumes/*", json!({"name": "modules", "emptyDir": {}}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/volumeMounts/*", json!({"name": "modules", "mountPath": "/modules_mount"})),
        case(json!({"controller": {"hostPort": {"enabled": true, "ports": {"http": 8080}}, "containerPort": {"extra": 9}}, "tcp": {"5000": "a/b:1"}}))
            .adds(&["ConfigMap narthex-tcp"])
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/ports/*", json!({"name": "http", "containerPort": 80, "protocol": "TCP", "hostPort": 8080}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/ports/*", json!({"name": "extra", "containerPort": 9, "protocol": "TCP", "hostPort": 9}))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/ports/*", json!({"name": "5000-tcp", "containerPort": 5000, "protocol": "TCP", "hostPort": 5000})),
    ])
}

#[test]
fn flags_follow_from_values() -> anyhow::Result<()> {
    let flags = |values: Value, flags: &[&str]| flags.iter().fold(case(values), |case, flag| case.has(DEPLOYMENT, ARGS, json!(flag)));
    check(&[
        flags(
            json!({}),
            &[
                "--publish-service=$(POD_NAMESPACE)/narthex-controller",
                "--election-id=narthex-leader",
                "--controller-class=k8s.io/ingress-nginx",
                "--ingress-class=nginx",
                "--configmap=$(POD_NAMESPACE)/narthex-controller",
            ],
        ),
        flags(
            json!({"controller": {"enableAnnotationValidations": false, "electionID": "e", "electionTTL": "20s", "disableLeaderElection": true, "maxmindLicenseKey": "k"}}),
            &["--enable-annotation-validation=false", "--election-id=e", "--election-ttl=20s", "--disable-leader-election=true", "--maxmind-license-key=k"],
        )
        .has("Role narthex", "/rules/1", Value::Null),
        flags(
            json!({"controller": {"ingressClassByName": true, "watchIngressWithoutClass": true, "enableTopologyAwareRouting": true, "healthCheckPath": "/h", "healthCheckHost": "::1"}}),
            &["--ingress-class-by-name=true", "--watch-ingress-without-class=true", "--enable-topology-aware-routing=true", "--health-check-path=/h", "--healthz-host=::1"],
        ),
        flags(
            json!({"controller": {"hostNetwork": true, "reportNodeInternalIp": true, "publishService": {"enabled": false}}}),
            &["--report-node-internal-ip-address=true"],
        ),
        flags(json!({"controller": {"scope": {"enabled": true}}}), &["--watch-namespace=$(POD_NAMESPACE)"]),
        flags(json!({"controller": {"scope": {"namespaceSelector": "a=b"}}}), &["--watch-namespace-selector=a=b"]),
        flags(
            json!({"controller": {"configMapNamespace": "c", "extraArgs": {"v": 3, "enable-ssl-passthrough": "", "http-port": "8080"}}}),
            &["--configmap=c/narthex-controller", "--v=3", "--enable-ssl-passthrough", "--http-port=8080"],
        ),
    ])
}

#[test]
fn settings_are_objects_beside_the_controller() -> anyhow::Result<()> {
    const MAP: &str = "ConfigMap narthex-controller";
    check(&[
        case(json!({"controller": {"allowSnippetAnnotations": true, "config": {"a": "{{ .Release.Name }}", "b": true, "c": 1}, "configAnnotations": {"x": "y"}}}))
            .has(MAP, "/data", json!({"allow-snippet-annotations": "true", "a": "narthex", "b": "true", "c": "1"}))
            .has(MAP, "/metadata/annotations", json!({"x": "y"})),
        case(json!({"controller": {"addHeaders": {"A": "a"}, "proxySetHeaders": {"B": "b"}}}))
            .adds(&["ConfigMap narthex-custom-add-headers", "ConfigMap narthex-custom-proxy-headers"])
            .has(MAP, "/data", json!({"add-headers": "narthex/narthex-custom-add-headers", "proxy-set-headers": "narthex/narthex-custom-proxy-headers"}))
            .has("ConfigMap narthex-custom-add-headers", "/data", json!({"A": "a"})),
        case(json!({"dhParam": "QUJD"}))
            .adds(&["Secret narthex-controller"])
            .has("Secret narthex-controller", "/data", json!({"dhparam.pem": "QUJD"}))
            .has(MAP, "/data", json!({"ssl-dh-param": "narthex/narthex-controller"})),
        // What an operator says wins over what the chart derives.
        case(json!({"controller": {"allowSnippetAnnotations": true, "config": {"allow-snippet-annotations": "false"}}}))
            .has(MAP, "/data", json!({"allow-snippet-annotations": "false"})),
        case(json!({"controller": {"ingressClassResource": {"enabled": false}}})).drops(&["IngressClass nginx"]),
        case(json!({"controller": {"ingressClassResource": {"aliases": ["old"], "default": true, "annotations": {"a": "b"}}}}))
            .adds(&["IngressClass old"])
            .has("IngressClass nginx", "/metadata/annotations/ingressclass.kubernetes.io~1is-default-class", json!("true"))
            .has("IngressClass old", "/metadata/annotations", json!({"a": "b"})),
    ])
}

#[test]
fn rights_are_no_wider_than_the_scope() -> anyhow::Result<()> {
    const CLUSTER: [&str; 2] = ["ClusterRole narthex", "ClusterRoleBinding narthex"];
    let named = |resource: &str, names: Value, verbs: Value| json!({"apiGroups": [""], "resources": [resource], "resourceNames": names, "verbs": verbs});
    check(&[
        case(json!({"rbac": {"create": false}})).drops(&CLUSTER).drops(&["Role narthex", "RoleBinding narthex"]),
        case(json!({"rbac": {"scope": true}, "controller": {"scope": {"enabled": true}}})).drops(&CLUSTER),
        // The Roles have one name, in two namespaces.
        case(json!({"controller": {"scope": {"enabled": true, "namespace": "shop"}, "addHeaders": {"A": "a"}}, "defaultBackend": {"enabled": true}}))
            .adds(&["Role narthex", "RoleBinding narthex", "ConfigMap narthex-custom-add-headers"])
            .has("Role narthex", "/rules/*", named("configmaps", json!(["narthex-controller", "narthex-custom-add-headers"]), json!(["list", "watch"])))
            .adds(&["Deployment narthex-defaultbackend", "Service narthex-defaultbackend", "ServiceAccount narthex-backend"])
            .has("Role narthex", "/metadata/namespace", json!("narthex"))
            .has(
                "Role narthex",
                "/rules/*",
                named("services", json!(["narthex-controller", "narthex-defaultbackend"]), json!(["list", "watch"])),
            )
            .has(
                "Role narthex",
                "/rules/*",
                json!({"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}),
            ),
    ])
}

#[test]
fn the_webhook_has_rights_for_one_secret_and_one_registration() -> anyhow::Result<()> {
    const RIGHTS: [&str; 4] = [
        "ClusterRole narthex-admission",
        "ClusterRoleBinding narthex-admission",
        "Role narthex-admission",
        "RoleBinding narthex-admission",
    ];
    const SECRET: &str = "Secret narthex-admission-certificate";
    const SOURCE: &str = "/spec/template/spec/volumes/2/secret";
    const REGISTRATION: &str = "ValidatingWebhookConfiguration narthex-admission";
    let webhook = |values: Value| case(json!({"controller": {"admissionWebhooks": values}}));
    let files = ["--validating-webhook-certificate=/usr/local/certificates/cert", "--validating-webhook-key=/usr/local/certificates/key"];
    let files = |case: super::Case| files.iter().fold(case, |case, flag| case.has(DEPLOYMENT, ARGS, json!(flag)));
    let namespace = |name: &str| json!({"matchLabels": {"kubernetes.io/metadata.name": name}});
    check(&[
        webhook(json!({"patch": {"labels": {"a": "b"}}}))
            .has("ClusterRole narthex-admission", "/metadata/labels/a", json!("b"))
            .has("ClusterRole narthex-admission", "/rules/0/resourceNames", json!(["narthex-admission"]))
            .has("Role narthex-admission", "/rules/0/resourceNames", json!(["narthex-admission-certificate"]))
            .has(REGISTRATION, "/webhooks/0/failurePolicy", json!("Ignore"))
            .has(REGISTRATION, "/webhooks/0/namespaceSelector", Value::Null)
            .has(REGISTRATION, "/webhooks/0/timeoutSeconds", Value::Null)
            .has(DEPLOYMENT, SOURCE, Value::Null),
        webhook(json!({"enabled": false})).drops(&RIGHTS).drops(&[SECRET, REGISTRATION, "Service narthex-controller-admission"]).has(
            DEPLOYMENT,
            "/spec/template/spec/containers/0/ports/2",
            Value::Null,
        ),
        // As the predecessor reads an empty one.
        webhook(json!({"failurePolicy": ""})).has(REGISTRATION, "/webhooks/0/failurePolicy", json!("Fail")),
        webhook(
            json!({"namespaceSelector": {"matchLabels": {"a": "b"}}, "timeoutSeconds": 3, "objectSelector": {"matchLabels": {"c": "d"}}}),
        )
        .has(REGISTRATION, "/webhooks/0/namespaceSelector", json!({"matchLabels": {"a": "b"}}))
        .has(REGISTRATION, "/webhooks/0/objectSelector", json!({"matchLabels": {"c": "d"}}))
        .has(REGISTRATION, "/webhooks/0/timeoutSeconds", json!(3)),
        webhook(json!({"patch": {"rbac": {"create": false}}})).drops(&RIGHTS),
        // The operator's own certificate.
        files(webhook(json!({"patch": {"enabled": false}})))
            .drops(&RIGHTS)
            .drops(&[SECRET])
            .has(DEPLOYMENT, "/spec/template/spec/volumes/2/secret/secretName", json!("narthex-admission"))
            .has(
                DEPLOYMENT,
                "/spec/template/spec/volumes/2/secret/items",
                json!([{"key": "cert", "path": "cert"}, {"key": "key", "path": "key"}]),
            ),
        files(webhook(json!({"certManager": {"enabled": true}})))
            .drops(&RIGHTS)
            .drops(&[SECRET])
            .adds(&[
                "Certificate narthex-admission",
                "Certificate narthex-root-cert",
                "Issuer narthex-root-issuer",
                "Issuer narthex-self-signed-issuer",
            ])
            .has("Certificate narthex-root-cert", "/spec/duration", json!("43800h0m0s"))
            .has("Certificate narthex-admission", "/spec/duration", json!("8760h0m0s"))
            .has("Certificate narthex-admission", "/metadata/labels", Value::Null)
            .has(DEPLOYMENT, "/spec/template/spec/volumes/2/secret/items/0/key", json!("tls.crt")),
        // Without roles of the cluster for the controller, the one for the registration stays; nothing of other namespaces is reviewed.
        case(json!({"rbac": {"scope": true}, "controller": {"scope": {"enabled": true}}}))
            .drops(&["ClusterRole narthex", "ClusterRoleBinding narthex"])
            .has(REGISTRATION, "/webhooks/0/namespaceSelector", namespace("narthex")),
        case(json!({"controller": {"scope": {"enabled": true, "namespace": "shop"}}}))
            .adds(&["Role narthex", "RoleBinding narthex"])
            .has(REGISTRATION, "/webhooks/0/namespaceSelector", namespace("shop"))
            .has(REGISTRATION, "/webhooks/1/namespaceSelector", namespace("narthex")),
    ])
}
