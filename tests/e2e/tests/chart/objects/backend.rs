//! The default backend.

use serde_json::{Value, json};

use super::{ARGS, Case, case, check};

const DEPLOYMENT: &str = "Deployment narthex-defaultbackend";
const SERVICE: &str = "Service narthex-defaultbackend";
const ACCOUNT: &str = "ServiceAccount narthex-backend";
const HPA: &str = "HorizontalPodAutoscaler narthex-defaultbackend";
const PDB: &str = "PodDisruptionBudget narthex-defaultbackend";

fn backend(more: Value) -> Case {
    let mut values = json!({"enabled": true});
    e2e::rollout::merge(&mut values, more);
    case(json!({"defaultBackend": values})).adds(&[DEPLOYMENT, SERVICE])
}

#[test]
fn the_default_backend_is_a_deployment_with_a_service() -> anyhow::Result<()> {
    let probe = |initial: u8, failures: u8, period: u8| {
        json!({"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "initialDelaySeconds": initial, "failureThreshold": failures,
            "periodSeconds": period, "successThreshold": 1, "timeoutSeconds": 5})
    };
    let security = json!({"runAsNonRoot": true, "runAsUser": 65534, "runAsGroup": 65534, "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}});
    let policy = json!({"podSelector": {"matchLabels": {"app.kubernetes.io/name": "narthex", "app.kubernetes.io/instance": "narthex",
        "app.kubernetes.io/component": "default-backend"}}, "policyTypes": ["Ingress", "Egress"], "ingress": [{"ports": [{"protocol": "TCP", "port": 8080}]}]});
    check(&[
        backend(json!({}))
            .adds(&[ACCOUNT])
            .has("Deployment narthex-controller", ARGS, json!("--default-backend-service=$(POD_NAMESPACE)/narthex-defaultbackend"))
            .has(DEPLOYMENT, "/spec/replicas", json!(1))
            .has(DEPLOYMENT, "/spec/template/spec/serviceAccountName", json!("narthex-backend"))
            .has(DEPLOYMENT, "/spec/template/spec/terminationGracePeriodSeconds", json!(60))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/name", json!("narthex-default-backend"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/image", json!("registry.k8s.io/defaultbackend-amd64:1.5"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/livenessProbe", probe(30, 3, 10))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/readinessProbe", probe(0, 6, 5))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/securityContext", security)
            .has(SERVICE, "/spec/type", json!("ClusterIP"))
            .has(SERVICE, "/spec/ports", json!([{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP", "appProtocol": "http"}])),
        backend(json!({"serviceAccount": {"create": false}, "image": {"repository": "r.example.com/b", "tag": "v2"}, "extraArgs": {"a": "b"}, "labels": {"l": "1"},
            "containerSecurityContext": {"runAsUser": 5}, "affinity": {"a": "{{ .Release.Name }}"}, "extraVolumes": [{"name": "{{ .Release.Name }}"}], "podLabels": {"p": "1"}}))
        .has(DEPLOYMENT, "/spec/template/spec/serviceAccountName", json!("default-backend"))
        .has(DEPLOYMENT, "/spec/template/spec/containers/0/image", json!("r.example.com/b:v2"))
        .has(DEPLOYMENT, "/spec/template/spec/containers/0/securityContext", json!({"runAsUser": 5}))
        .has(DEPLOYMENT, ARGS, json!("--a=b"))
        .has(DEPLOYMENT, "/metadata/labels/l", json!("1"))
        .has(DEPLOYMENT, "/spec/template/metadata/labels/p", json!("1"))
        .has(DEPLOYMENT, "/spec/template/spec/affinity/a", json!("narthex"))
        .has(DEPLOYMENT, "/spec/template/spec/volumes", json!([{"name": "narthex"}])),
        backend(json!({"replicaCount": 2, "maxUnavailable": 1})).adds(&[ACCOUNT, PDB]).has(PDB, "/spec/maxUnavailable", json!(1)).has(PDB, "/spec/minAvailable", Value::Null),
        backend(json!({"replicaCount": 2, "autoscaling": {"enabled": true}}))
            .adds(&[ACCOUNT, HPA])
            .has(DEPLOYMENT, "/spec/replicas", Value::Null)
            .has(HPA, "/spec/maxReplicas", json!(2))
            .has(HPA, "/spec/metrics/0/resource/name", json!("memory")),
        backend(json!({"autoscaling": {"enabled": true, "minReplicas": 2}})).adds(&[ACCOUNT, HPA, PDB]).has(PDB, "/spec/minAvailable", json!(1)),
        backend(json!({"networkPolicy": {"enabled": true}})).adds(&[ACCOUNT, "NetworkPolicy narthex-defaultbackend"]).has("NetworkPolicy narthex-defaultbackend", "/spec", policy),
        backend(json!({"extraConfigMaps": [{"name": "pages", "labels": {"k": "v"}, "data": {"index.html": "gone"}}]}))
            .adds(&[ACCOUNT, "ConfigMap pages"])
            .has("ConfigMap pages", "/data", json!({"index.html": "gone"}))
            .has("ConfigMap pages", "/metadata/labels/k", json!("v")),
    ])
}
