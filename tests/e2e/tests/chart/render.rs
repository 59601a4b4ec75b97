//! Helm alone: lint, templates, the schema of the values.

use std::process::Command;

use anyhow::{Context, ensure};
use e2e::helm::{Helm, alone, chart};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use testkit::bed::Bed;

fn helm() -> anyhow::Result<Helm> {
    Helm::of(&Bed::from_env()?)
}

/// Kind and name of all objects, sorted.
fn names(objects: &[DynamicObject]) -> Vec<String> {
    let kind = |object: &DynamicObject| object.types.as_ref().map(|types| types.kind.clone()).unwrap_or_default();
    let mut all: Vec<String> =
        objects.iter().map(|object| format!("{} {}", kind(object), object.metadata.name.clone().unwrap_or_default())).collect();
    all.sort();
    all
}

fn find<'a>(objects: &'a [DynamicObject], kind: &str) -> anyhow::Result<&'a DynamicObject> {
    objects.iter().find(|object| object.types.as_ref().is_some_and(|types| types.kind == kind)).with_context(|| format!("a {kind}"))
}

#[test]
fn helm_finds_nothing_wrong() -> anyhow::Result<()> {
    let helm = helm()?;
    let everything = json!({"rollout": {
        "enabled": true, "watchNamespace": "shop", "check": "command", "checkCommand": "true", "isArgoRollouts": true,
        "alerts": {"enabled": true, "webhookUrl": "https://hooks.example.com/x"}, "metrics": {"service": {"enabled": true}},
        "serviceMonitor": {"enabled": true, "scrapeTimeout": "5s"}, "pdb": {"maxUnavailable": "50%"},
    }});
    for values in [json!({}), json!({"rollout": {"enabled": true}}), everything] {
        helm.run(&["lint", "--strict", &chart().to_string_lossy()], &values)?;
    }
    Ok(())
}

#[test]
fn values_of_other_types_and_other_names_are_refused() -> anyhow::Result<()> {
    let helm = helm()?;
    for (values, expected) in [
        (json!({"rollout": {"replicas": "two"}}), "'/rollout/replicas': got string, want integer"),
        (json!({"rollout": {"replica": 2}}), "'/rollout': additional properties 'replica' not allowed"),
        (json!({"rollot": {"enabled": true}}), "additional properties 'rollot' not allowed"),
        (json!({"rollout": {"check": "vibes"}}), "'/rollout/check': value must be one of 'none', 'nginx', 'command'"),
        (json!({"rollout": {"electionTtl": "soon"}}), "'/rollout/electionTtl': 'soon' does not match"),
        (json!({"rollout": {"alerts": {"sink": "pager"}}}), "'/rollout/alerts/sink': value must be one of 'slack'"),
        (json!({"rollout": {"ignoredWorkloadTypes": ["pods"]}}), "'/rollout/ignoredWorkloadTypes/0': value must be one of 'jobs'"),
        (json!({"rollout": {"metrics": {"port": 90900}}}), "'/rollout/metrics/port': maximum: got 90,900, want 65,535"),
        (json!({"rollout": {"podLabels": {"a": 1}}}), "'/rollout/podLabels/a': got number, want string"),
        (json!({"rollout": {"enabled": true, "check": "command"}}), "expected the command in rollout.checkCommand"),
        (json!({"rollout": {"enabled": true, "enableHa": false}}), "rollout.replicas is 2 and rollout.enableHa is false"),
        (json!({"rollout": {"enabled": true, "alerts": {"enabled": true}}}), "expected rollout.alerts.webhookUrl or"),
        (json!({"rollout": {"enabled": true, "watchNamespace": "a", "namespaces": ["b"]}}), "are both set: expected one of them"),
        (json!({"controller": {"enabled": true, "kind": "Pod"}}), "'/controller/kind': value must be one of 'Deployment', 'DaemonSet'"),
        (
            json!({"controller": {"admissionWebhooks": {"failurePolicy": "Maybe"}}}),
            "'/controller/admissionWebhooks/failurePolicy': value must be one of 'Fail', 'Ignore'",
        ),
        (
            json!({"controller": {"enabled": true, "admissionWebhooks": {"key": "/b/key", "certManager": {"enabled": true}}}}),
            "expected the same directory, because one volume holds both",
        ),
        (
            json!({"dhParam": "QUJD", "controller": {"enabled": true, "scope": {"enabled": true, "namespace": "a"}}}),
            "outside of which the controller reads no Secret",
        ),
        (
            json!({"controller": {"admissionWebhooks": {"timeoutSeconds": 31}}}),
            "'/controller/admissionWebhooks/timeoutSeconds': maximum: got 31",
        ),
        (json!({"controller": {"admissionWebhooks": {"port": 0}}}), "'/controller/admissionWebhooks/port': minimum: got 0, want 1"),
        (json!({"controller": {"admissionWebhooks": {"namespaceSelector": []}}}), "namespaceSelector': got array, want object"),
        (json!({"controller": {"replicaCount": -1}}), "'/controller/replicaCount': minimum: got -1, want 0"),
        (json!({"controller": {"topologySpreadConstraints": {}}}), "'/controller/topologySpreadConstraints': got object, want array"),
        (json!({"controller": {"autoscaling": {"minReplicas": "x"}}}), "'/controller/autoscaling/minReplicas': got string, want integer"),
        (json!({"controller": {"autoscalingTemplate": {}}}), "'/controller/autoscalingTemplate': got object, want array"),
        (json!({"controller": {"minAvailable": {}}}), "'/controller/minAvailable': got object, want integer"),
        (json!({"controller": {"scope": {"enabled": "yes"}}}), "'/controller/scope/enabled': got string, want boolean"),
        (json!({"controller": {"service": {"type": "Other"}}}), "'/controller/service/type': value must be one of"),
        (json!({"controller": {"ingressClassResource": {"nam": "x"}}}), "additional properties 'nam' not allowed"),
        (json!({"rbac": {"scopes": true}}), "'/rbac': additional properties 'scopes' not allowed"),
        (json!({"tcp": {"dns": "dns/dns:53"}}), "invalid propertyName 'dns'"),
        (json!({"udp": {"53": ""}}), "'/udp/53': minLength: got 0, want 1"),
        (json!({"defaultBackend": {"imge": {}}}), "'/defaultBackend': additional properties 'imge' not allowed"),
        (
            json!({"defaultBackend": {"livenessProbe": {"path": "/"}}}),
            "'/defaultBackend/livenessProbe': additional properties 'path' not allowed",
        ),
        (json!({"controller": {"keda": {"enable": true}}}), "'/controller/keda': additional properties 'enable' not allowed"),
        (json!({"controller": {"extraModules": [{"name": "m"}]}}), "'/controller/extraModules/0': missing property 'image'"),
        (json!({"controller": {"service": {"nodePorts": {"tcp": {"9000": "high"}}}}}), "'/controller/service/nodePorts/tcp/9000'"),
        (json!({"controller": {"electionTTL": "soon"}}), "'/controller/electionTTL': 'soon' does not match"),
        (json!({"controller": {"hostname": {"a": "b"}}}), "'/controller/hostname'"),
        (
            json!({"controller": {"admissionWebhooks": {"patch": {"imag": {}}}}}),
            "'/controller/admissionWebhooks/patch': additional properties 'imag' not allowed",
        ),
        (
            json!({"controller": {"admissionWebhooks": {"createSecretJob": {"resource": {}}}}}),
            "'/controller/admissionWebhooks/createSecretJob': additional properties 'resource' not allowed",
        ),
        (
            json!({"controller": {"enabled": true, "splitDataPlane": true, "shareProcessNamespace": true}}),
            "controller.shareProcessNamespace is true with controller.splitDataPlane: expected false",
        ),
        (json!({"controller": {"enabled": true}, "rbac": {"scope": true}}), "rbac.scope is true and controller.scope.enabled is false"),
    ] {
        let refusal = helm.render("shop", &alone(values.clone())).err().with_context(|| format!("{values} was not refused"))?;
        ensure!(format!("{refusal:#}").contains(expected), "{values}: {refusal:#}");
    }
    Ok(())
}

#[test]
fn nothing_is_rendered_that_nobody_asked_for() -> anyhow::Result<()> {
    let helm = helm()?;
    assert_eq!(names(&helm.render("shop", &alone(json!({})))?), Vec::<String>::new());
    let usual = helm.render("shop", &alone(json!({"rollout": {"enabled": true}})))?;
    let expected = [
        "ClusterRole shop-narthex-rollout",
        "ClusterRoleBinding shop-narthex-rollout",
        "Deployment shop-narthex-rollout",
        "PodDisruptionBudget shop-narthex-rollout",
        "Role shop-narthex-rollout-lease",
        "RoleBinding shop-narthex-rollout-lease",
        "ServiceAccount shop-narthex-rollout",
    ];
    assert_eq!(names(&usual), expected);
    let bare = json!({"nameOverride": "n", "rollout": {
        "enabled": true, "replicas": 1, "enableHa": false, "rbac": {"create": false}, "serviceAccount": {"create": false},
    }});
    assert_eq!(names(&helm.render("shop", &alone(bare))?), ["Deployment shop-n-rollout"]);
    let full = json!({"fullnameOverride": "full", "namespaceOverride": "there", "rollout": {
        "enabled": true, "namespaces": ["b", "a", "b"], "serviceMonitor": {"enabled": true}, "electionNamespace": "leases",
        "alerts": {"enabled": true, "webhookUrl": "https://hooks.example.com/x"},
    }});
    let full = helm.render("shop", &alone(full))?;
    let namespaces = |kind: &str| -> Vec<String> {
        let of_kind = full.iter().filter(|object| object.types.as_ref().is_some_and(|types| types.kind == kind));
        of_kind.filter_map(|object| object.metadata.namespace.clone()).collect()
    };
    assert_eq!((namespaces("Role"), namespaces("Secret")), (vec!["leases".into(), "a".into(), "b".into()], vec!["there".to_owned()]));
    assert!(
        names(&full).contains(&"ServiceMonitor full-rollout".to_owned())
            && names(&full).contains(&"Service full-rollout-metrics".to_owned())
    );
    assert!(!names(&full).iter().any(|name| name.starts_with("ClusterRole")), "{:?}", names(&full));
    Ok(())
}

#[test]
fn labels_and_the_pod_are_as_the_values_say() -> anyhow::Result<()> {
    let values = json!({"commonLabels": {"team": "web"}, "imagePullSecrets": [{"name": "pull"}], "rollout": {
        "enabled": true, "replicas": 3, "podLabels": {"a": "b"}, "podAnnotations": {"c": "d"}, "priorityClassName": "high",
        "image": {"registry": "r.example.com", "image": "x/narthex", "tag": "v9", "digest": format!("sha256:{}", "0".repeat(64))},
        "tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity": {}}, "nodeSelector": {"disk": "ssd"},
        "extraArgs": {"log-level": "debug", "alone": ""}, "extraEnvs": [{"name": "E", "value": "1"}], "resources": {"limits": {"cpu": 1}},
    }});
    let objects = helm()?.render("shop", &alone(values))?;
    for object in &objects {
        let labels = object.metadata.labels.clone().unwrap_or_default();
        let of = |name: &str| labels.get(name).map(String::as_str);
        assert_eq!(
            (of("team"), of("app.kubernetes.io/component"), of("app.kubernetes.io/instance")),
            (Some("web"), Some("rollout"), Some("shop"))
        );
        assert_eq!((of("app.kubernetes.io/name"), of("helm.sh/chart")), (Some("narthex"), Some("narthex-0.1.0")));
    }
    let deployment: Value = serde_json::to_value(find(&objects, "Deployment")?)?;
    let (template, selector) = (&deployment["spec"]["template"], &deployment["spec"]["selector"]["matchLabels"]);
    // What a selector holds can't be changed by an upgrade.
    let expected =
        json!({"app.kubernetes.io/name": "narthex", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/component": "rollout"});
    assert_eq!((selector, &deployment["spec"]["replicas"]), (&expected, &json!(3)));
    assert_eq!((&template["metadata"]["labels"]["a"], &template["metadata"]["annotations"]["c"]), (&json!("b"), &json!("d")));
    let (spec, container) = (&template["spec"], &template["spec"]["containers"][0]);
    assert_eq!(container["image"], format!("r.example.com/x/narthex:v9@sha256:{}", "0".repeat(64)));
    let security = &container["securityContext"];
    assert_eq!((&security["runAsNonRoot"], &security["readOnlyRootFilesystem"]), (&json!(true), &json!(true)));
    assert_eq!((&security["capabilities"], &security["allowPrivilegeEscalation"]), (&json!({"drop": ["ALL"]}), &json!(false)));
    assert_eq!((&spec["priorityClassName"], &spec["tolerations"][0]["operator"]), (&json!("high"), &json!("Exists")));
    assert_eq!((&spec["nodeSelector"]["disk"], &spec["imagePullSecrets"][0]["name"]), (&json!("ssd"), &json!("pull")));
    assert_eq!((&spec["affinity"], &container["resources"]["limits"]["cpu"]), (&json!({"nodeAffinity": {}}), &json!(1)));
    let args = container["args"].as_array().context("args")?;
    assert!(args.contains(&json!("--log-level=debug")) && args.contains(&json!("--alone")), "{args:?}");
    assert!(container["env"].as_array().context("env")?.contains(&json!({"name": "E", "value": "1"})));
    Ok(())
}

#[test]
fn the_manifest_in_deploy_is_what_the_chart_renders() -> anyhow::Result<()> {
    let root = chart().join("../..");
    let output = Command::new(root.join("scripts/manifests.sh")).arg("--print").env("HELM", helm()?.binary()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rendered = String::from_utf8(output.stdout)?;
    ensure!(
        rendered == std::fs::read_to_string(root.join("deploy/rollout.yaml"))?,
        "deploy/rollout.yaml is not current: run `make manifests`"
    );
    Ok(())
}

#[test]
fn the_controller_has_the_objects_that_its_values_ask_for() -> anyhow::Result<()> {
    let helm = helm()?;
    let usual = helm.render("ingress", &json!({"nameOverride": "ingress-nginx", "fullnameOverride": "ingress-nginx"}))?;
    let expected = [
        "ClusterRole ingress-nginx",
        "ClusterRole ingress-nginx-admission",
        "ClusterRoleBinding ingress-nginx",
        "ClusterRoleBinding ingress-nginx-admission",
        "ConfigMap ingress-nginx-controller",
        "Deployment ingress-nginx-controller",
        "IngressClass nginx",
        "Role ingress-nginx",
        "Role ingress-nginx-admission",
        "RoleBinding ingress-nginx",
        "RoleBinding ingress-nginx-admission",
        "Secret ingress-nginx-admission-certificate",
        "Service ingress-nginx-controller",
        "Service ingress-nginx-controller-admission",
        "ServiceAccount ingress-nginx",
        "ValidatingWebhookConfiguration ingress-nginx-admission",
    ];
    assert_eq!(names(&usual), expected);
    let controller = json!({
        "replicaCount": 3, "addHeaders": {"A": "b"}, "ingressClassResource": {"aliases": ["old"], "default": true}, "networkPolicy": {"enabled": true},
        "service": {"internal": {"enabled": true, "annotations": {"lb": "{{ .Release.Name }}"}, "type": "NodePort", "nodePorts": {"https": 30443}}},
        "metrics": {"enabled": true, "serviceMonitor": {"enabled": true}, "prometheusRule": {"enabled": true, "rules": [{"alert": "A", "expr": "1"}]}},
    });
    let full = helm.render("narthex", &json!({"controller": controller}))?;
    let more = [
        "ConfigMap narthex-custom-add-headers",
        "IngressClass old",
        "NetworkPolicy narthex-controller",
        "PodDisruptionBudget narthex-controller",
        "PrometheusRule narthex-controller",
        "Service narthex-controller-internal",
        "Service narthex-controller-metrics",
        "ServiceMonitor narthex-controller",
    ];
    for name in more {
        assert!(names(&full).contains(&name.to_owned()), "{name} is not in {:?}", names(&full));
    }
    let internal = full.iter().find(|object| object.metadata.name.as_deref() == Some("narthex-controller-internal")).context("Service")?;
    assert_eq!((&internal.data["spec"]["type"], &internal.data["spec"]["ports"][1]["nodePort"]), (&json!("NodePort"), &json!(30443)));
    assert_eq!(internal.metadata.annotations.as_ref().and_then(|all| all.get("lb")).map(String::as_str), Some("narthex"));
    let set = helm.render(
        "narthex",
        &json!({"controller": {"kind": "DaemonSet", "updateStrategy": {"type": "OnDelete"}, "autoscaling": {"enabled": true}}}),
    )?;
    assert_eq!(find(&set, "DaemonSet")?.data["spec"]["updateStrategy"]["type"], "OnDelete");
    assert!(!names(&set).iter().any(|name| name.starts_with("HorizontalPodAutoscaler")), "{:?}", names(&set));
    let scaled = helm.render("narthex", &json!({"controller": {"autoscaling": {"enabled": true, "minReplicas": 2}}}))?;
    let target = &find(&scaled, "HorizontalPodAutoscaler")?.data["spec"]["scaleTargetRef"]["name"];
    assert_eq!((target, &find(&scaled, "Deployment")?.data["spec"]["replicas"]), (&json!("narthex-controller"), &Value::Null));
    find(&scaled, "PodDisruptionBudget")?;
    let everything = json!({"controller": {"hostNetwork": true, "hostPort": {"enabled": true}, "sysctls": {"a.b": 1}, "dnsConfig": {"nameservers": ["1.1.1.1"]},
        "startupProbe": {"httpGet": {"path": "/healthz", "port": 10254}}, "extraInitContainers": [{"name": "{{ .Release.Name }}"}], "podAnnotations": {"n": 1}}});
    let pod = &find(&helm.render("narthex", &everything)?, "Deployment")?.data["spec"]["template"].clone();
    assert_eq!(
        (&pod["spec"]["containers"][0]["ports"][0]["hostPort"], &pod["spec"]["initContainers"][0]["name"]),
        (&json!(80), &json!("narthex"))
    );
    assert_eq!((&pod["spec"]["securityContext"]["sysctls"][0]["value"], &pod["metadata"]["annotations"]["n"]), (&json!("1"), &json!("1")));
    helm.run(&["lint", "--strict", &chart().to_string_lossy()], &everything)?;
    Ok(())
}

#[test]
fn the_webhook_has_the_objects_that_its_values_ask_for() -> anyhow::Result<()> {
    let helm = helm()?;
    let render = |more: Value| helm.render("shop", &json!({"controller": {"admissionWebhooks": more, "networkPolicy": {"enabled": true}}}));
    let of_kind = |objects: &[DynamicObject], kind: &str| -> Vec<Value> {
        let of_kind = objects.iter().filter(|object| object.types.as_ref().is_some_and(|types| types.kind == kind));
        of_kind
            .map(|object| json!({"name": object.metadata.name, "annotations": object.metadata.annotations, "data": object.data}))
            .collect()
    };
    let own = render(json!({"timeoutSeconds": 3, "port": 9443, "objectSelector": {"matchLabels": {"a": "b"}}}))?;
    for name in [
        "Service shop-narthex-controller-admission",
        "Secret shop-narthex-admission-certificate",
        "ValidatingWebhookConfiguration shop-narthex-admission",
    ] {
        assert!(names(&own).contains(&name.to_owned()), "{name} is not in {:?}", names(&own));
    }
    assert!(!names(&own).iter().any(|name| name.starts_with("Job") || name.starts_with("Certificate")), "{:?}", names(&own));
    let registration = of_kind(&own, "ValidatingWebhookConfiguration").remove(0);
    let webhook = &registration["data"]["webhooks"][0];
    assert_eq!((&webhook["name"], &webhook["failurePolicy"]), (&json!("validate.nginx.ingress.kubernetes.io"), &json!("Ignore")));
    assert_eq!((&webhook["timeoutSeconds"], &webhook["objectSelector"]["matchLabels"]["a"]), (&json!(3), &json!("b")));
    let service =
        json!({"name": "shop-narthex-controller-admission", "namespace": "shop", "port": 443, "path": "/networking/v1/ingresses"});
    assert_eq!(webhook["clientConfig"]["service"], service);
    // The settings never wait for a review.
    assert_eq!(registration["data"]["webhooks"][1]["failurePolicy"], "Ignore");
    let deployment = of_kind(&own, "Deployment").remove(0);
    let container = &deployment["data"]["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().context("args")?;
    for arg in [
        "--validating-webhook=:9443",
        "--validating-webhook-secret=$(POD_NAMESPACE)/shop-narthex-admission-certificate",
        "--validating-webhook-configuration=shop-narthex-admission",
    ] {
        assert!(args.contains(&json!(arg)), "{arg} is not in {args:?}");
    }
    assert!(
        container["ports"].as_array().context("ports")?.contains(&json!({"name": "webhook", "containerPort": 9443, "protocol": "TCP"}))
    );
    let policy = of_kind(&own, "NetworkPolicy").remove(0);
    assert!(policy["data"]["spec"]["ingress"][0]["ports"].as_array().context("ports")?.contains(&json!({"protocol": "TCP", "port": 9443})));

    let managed = render(json!({"certManager": {"enabled": true, "admissionCert": {"duration": "24h0m0s"}}}))?;
    for name in [
        "Certificate shop-narthex-admission",
        "Certificate shop-narthex-root-cert",
        "Issuer shop-narthex-root-issuer",
        "Issuer shop-narthex-self-signed-issuer",
    ] {
        assert!(names(&managed).contains(&name.to_owned()), "{name} is not in {:?}", names(&managed));
    }
    assert!(!names(&managed).iter().any(|name| name.starts_with("Secret")));
    let registration = of_kind(&managed, "ValidatingWebhookConfiguration").remove(0);
    assert_eq!(registration["annotations"]["cert-manager.io/inject-ca-from"], "shop/shop-narthex-admission");
    let deployment = of_kind(&managed, "Deployment").remove(0);
    let spec = &deployment["data"]["spec"]["template"]["spec"];
    let items = json!([{"key": "tls.crt", "path": "cert"}, {"key": "tls.key", "path": "key"}]);
    let volume =
        spec["volumes"].as_array().context("volumes")?.iter().find(|volume| volume["name"] == "webhook-cert").context("a volume")?;
    assert_eq!(volume["secret"]["items"], items);
    let issued = render(json!({"certManager": {"enabled": true, "issuerRef": {"name": "ours", "kind": "ClusterIssuer"}}}))?;
    assert!(!names(&issued).iter().any(|name| name.starts_with("Issuer")), "{:?}", names(&issued));
    Ok(())
}
