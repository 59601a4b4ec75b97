//! The console: loopback alone without a token, and what leads to it with one.

use anyhow::ensure;
use e2e::helm::Helm;
use serde_json::{Value, json};
use testkit::bed::Bed;

use super::{ARGS, case, check};

const DEPLOYMENT: &str = "Deployment narthex-controller";
const SERVICE: &str = "Service narthex-controller-console";
const POLICY: &str = "NetworkPolicy narthex-controller";

fn console(console: Value, more: Value) -> super::Case {
    let mut controller = json!({"console": console});
    e2e::rollout::merge(&mut controller, more);
    case(json!({"controller": controller}))
}

#[test]
fn without_a_token_the_console_is_for_its_pod_alone() -> anyhow::Result<()> {
    let port = json!({"name": "console", "containerPort": 10244, "protocol": "TCP"});
    check(&[
        case(json!({})).has(DEPLOYMENT, "/spec/template/spec/containers/0/ports/3", Value::Null),
        console(json!({"enabled": true}), json!({"networkPolicy": {"enabled": true}}))
            .adds(&[POLICY])
            .has(DEPLOYMENT, ARGS, json!("--console-port=10244"))
            .has(DEPLOYMENT, ARGS, json!("--console-address=127.0.0.1"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/ports/*", port)
            .has(DEPLOYMENT, "/spec/template/spec/volumes/2", Value::Null)
            .has(POLICY, "/spec/ingress/0/ports/3", Value::Null),
        console(json!({"enabled": true, "address": "::1"}), json!({})).has(DEPLOYMENT, ARGS, json!("--console-address=::1")),
    ])
}

#[test]
fn with_a_token_the_console_has_a_service_and_nginx_no_token() -> anyhow::Result<()> {
    let mount = json!({"name": "console-token", "mountPath": "/etc/narthex/console", "readOnly": true});
    let volume = |key: &str| json!({"name": "console-token", "secret": {"secretName": "word", "optional": true, "items": [{"key": key, "path": "token"}]}});
    let token = json!({"enabled": true, "tokenSecret": {"name": "word"}});
    let mut full = json!({"port": 9000, "address": "::", "tokenSecret": {"key": "k"}, "service": {"annotations": {"a": "b"}, "labels": {"c": "d"}, "servicePort": 80}});
    e2e::rollout::merge(&mut full, token.clone());
    let mut loopback = json!({"address": "127.0.0.1"});
    e2e::rollout::merge(&mut loopback, token.clone());
    let mut alone = json!({"service": {"enabled": false}});
    e2e::rollout::merge(&mut alone, token.clone());
    check(&[
        console(token, json!({"networkPolicy": {"enabled": true}}))
            .adds(&[SERVICE, POLICY])
            .has(DEPLOYMENT, ARGS, json!("--console-address=0.0.0.0"))
            .has(DEPLOYMENT, ARGS, json!("--console-token-file=/etc/narthex/console/token"))
            .has(DEPLOYMENT, "/spec/template/spec/volumes/*", volume("token"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/volumeMounts/*", mount.clone())
            .has(SERVICE, "/spec/type", json!("ClusterIP"))
            .has(SERVICE, "/spec/ports", json!([{"name": "console", "port": 10244, "targetPort": "console", "protocol": "TCP"}]))
            .has(POLICY, "/spec/ingress/0/ports/*", json!({"protocol": "TCP", "port": 10244})),
        console(full, json!({"splitDataPlane": true}))
            .adds(&[SERVICE])
            .has(DEPLOYMENT, ARGS, json!("--console-port=9000"))
            .has(DEPLOYMENT, ARGS, json!("--console-address=::"))
            .has(DEPLOYMENT, "/spec/template/spec/volumes/*", volume("k"))
            .has(DEPLOYMENT, "/spec/template/spec/containers/0/volumeMounts/*", mount)
            .has(
                DEPLOYMENT,
                "/spec/template/spec/containers/1/volumeMounts",
                json!([{"name": "work", "mountPath": "/run/narthex"}, {"name": "nginx-tmp", "mountPath": "/tmp"}]),
            )
            .has(
                DEPLOYMENT,
                "/spec/template/spec/containers/0/ports/*",
                json!({"name": "console", "containerPort": 9000, "protocol": "TCP"}),
            )
            .has(SERVICE, "/metadata/annotations", json!({"a": "b"}))
            .has(SERVICE, "/metadata/labels/c", json!("d"))
            .has(SERVICE, "/spec/ports/0/port", json!(80)),
        console(loopback, json!({})).has(DEPLOYMENT, "/spec/template/spec/volumes/*", volume("token")),
        console(alone, json!({})).has(DEPLOYMENT, ARGS, json!("--console-address=0.0.0.0")),
    ])
}

#[test]
fn values_by_which_all_could_read_are_refused() -> anyhow::Result<()> {
    let helm = Helm::of(&Bed::from_env()?)?;
    let cases = [
        (json!({"address": "0.0.0.0"}), "controller.console.address is 0.0.0.0 without a token"),
        (json!({"address": "::"}), "controller.console.address is :: without a token"),
        (json!({"address": "127.example.com"}), "/controller/console/address"),
        (json!({"tokenSecret": {"name": "A b"}}), "/controller/console/tokenSecret/name"),
        // A token in the values would be in the release.
        (json!({"token": "a-token-that-is-long-enough"}), "'token'"),
    ];
    for (mut values, expected) in cases {
        e2e::rollout::merge(&mut values, json!({"enabled": true}));
        let error = helm.manifest("narthex", &json!({"controller": {"console": values}})).err().map(|error| error.to_string());
        ensure!(error.as_ref().is_some_and(|error| error.contains(expected)), "{values}: {error:?}");
    }
    Ok(())
}
