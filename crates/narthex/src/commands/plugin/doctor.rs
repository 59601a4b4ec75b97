//! `kubectl narthex doctor`: what the controller finds itself, and what only the API server knows: its Pods, and whether the API server
//! reaches the admission webhook.

use std::process::ExitCode;

use anyhow::Context;
use serde_json::Value;

use super::kubectl::Kubectl;
use super::pod::{self, Target, text};
use super::{NARTHEX, exec};
use crate::args::{PluginDoctorArgs, TableFormat};
use crate::commands::doctor::{Finding, Level, exit_code, page};
use crate::output;
use crate::table::Palette;

/// Name of the Ingress that is reviewed and never stored.
const PROBE: &str = "narthex-doctor";
/// Begins the message of an API server that can't reach a webhook.
const UNREACHABLE: &str = "failed calling webhook";
/// Lines of the log of a container that has ended.
const LINES: &str = "--tail=3";

/// Examines the controller, and prints the findings.
pub(super) fn print(kubectl: &Kubectl, args: &PluginDoctorArgs) -> anyhow::Result<ExitCode> {
    let target = pod::choose(kubectl, &args.pod)?;
    let mut findings = match inside(kubectl, &target) {
        Ok(findings) => findings,
        Err(error) => vec![outside(kubectl, &target, &format!("{error:#}"))],
    };
    findings.extend(webhook(kubectl, &target));
    Finding::sort(&mut findings);
    match args.output {
        TableFormat::Json => output::line(serde_json::to_string_pretty(&findings)?)?,
        TableFormat::Table => {
            let head = format!("narthex in the Pod {}/{}", target.namespace, target.pod);
            output::text(page(&head, &findings, Palette::of_stdout()))?;
        }
    }
    Ok(exit_code(&findings))
}

/// What the controller finds itself.
fn inside(kubectl: &Kubectl, target: &Target) -> anyhow::Result<Vec<Finding>> {
    let answer = kubectl.run(&exec(target, &[], &[NARTHEX, "doctor", "--output=json"]))?;
    serde_json::from_slice(&answer.stdout).with_context(|| answer.message())
}

/// Why there is no way into the container.
fn outside(kubectl: &Kubectl, target: &Target, error: &str) -> Finding {
    let pod = kubectl.object(&["pods", "--namespace", &target.namespace, &target.pod]).unwrap_or_default();
    let mut evidence = state(&pod, &target.container);
    let log = kubectl.output(&target.words(&["logs", "--previous", LINES])).or_else(|_| kubectl.output(&target.words(&["logs", LINES])));
    evidence.extend(log.iter().flat_map(|log| String::from_utf8_lossy(log).lines().map(str::to_owned).collect::<Vec<_>>()));
    if evidence.is_empty() {
        evidence.push(error.to_owned());
    }
    let remedy = "kubectl describe the Pod, and look at its log; narthex doctor in the container says more once that runs";
    Finding::new(Level::Error, "the container of the controller does not run", evidence, remedy)
}

/// The state of a container, as its Pod has it.
fn state(pod: &Value, container: &str) -> Vec<String> {
    let statuses = pod.pointer("/status/containerStatuses").and_then(Value::as_array).into_iter().flatten();
    let own = statuses.filter(|status| text(status, "/name") == container);
    own.flat_map(|status| {
        let waiting = Some(text(status, "/state/waiting/reason")).filter(|reason| !reason.is_empty());
        let ended = status
            .pointer("/lastState/terminated")
            .map(|ended| format!("it ended with exit code {} ({})", ended["exitCode"], text(ended, "/reason")));
        waiting.map(|reason| format!("it waits: {reason}")).into_iter().chain(ended).collect::<Vec<_>>()
    })
    .collect()
}

/// Has the API server ask the webhooks about an Ingress that is not stored.
///
/// One that is asked warns about the annotation, which does not exist. So silence shows that nothing was asked, also where the API server
/// stores what it could not have reviewed.
fn webhook(kubectl: &Kubectl, target: &Target) -> Option<Finding> {
    let registered = kubectl.list(&["validatingwebhookconfigurations"], false).ok()?;
    let ours: Vec<&Value> = registered.iter().filter(|found| is_ours(found, &target.namespace)).collect();
    let first = ours.first()?;
    let probe = probe(&settings(kubectl, target));
    let answer = kubectl.run(&probe.iter().map(String::as_str).collect::<Vec<_>>()).ok()?;
    let name = text(first, "/metadata/name");
    let message = answer.message();
    let remedy = format!(
        "look at the Service and the port that kubectl get validatingwebhookconfiguration {name} -o yaml names, and at --validating-webhook of the controller"
    );
    if let Some(at) = message.find(UNREACHABLE) {
        let what = "the admission webhook is down: no Ingress can be stored";
        return Some(Finding::new(Level::Error, what, vec![message[at..].trim_end().to_owned()], remedy));
    }
    let (asked, forbidden) = (message.contains(PROBE), message.contains("orbidden"));
    if answer.success && !asked {
        let evidence = vec![format!("{name}: the API server did not ask about an Ingress that deserves a warning")];
        return Some(Finding::new(
            Level::Warning,
            "the admission webhook is down: Ingresses are stored without a review",
            evidence,
            remedy,
        ));
    }
    forbidden.then(|| {
        let remedy = "ask as a user who may create Ingresses";
        Finding::new(Level::Note, "the admission webhook was not tested", vec![message.trim_end().to_owned()], remedy)
    })
}

/// The flags of the controller; nothing where it does not answer.
fn settings(kubectl: &Kubectl, target: &Target) -> Vec<Value> {
    let answer = kubectl.output(&exec(target, &[], &[NARTHEX, "get", "settings", "--limit=0", "--output=json"]));
    answer.ok().and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
}

/// The words of kubectl that ask for an Ingress of the controller's class, in a namespace that it watches.
fn probe(settings: &[Value]) -> Vec<String> {
    let flag = |name: &str, default: &str| {
        let found = settings.iter().find(|setting| text(setting, "/name") == name).map(|setting| text(setting, "/value"));
        found.filter(|value| !value.is_empty()).unwrap_or(default).to_owned()
    };
    vec![
        "create".to_owned(),
        "ingress".to_owned(),
        PROBE.to_owned(),
        "--rule=narthex-doctor.invalid/*=narthex-doctor:80".to_owned(),
        format!("--annotation=kubernetes.io/ingress.class={}", flag("--ingress-class", "nginx")),
        format!("--annotation={}/{PROBE}=1", flag("--annotations-prefix", "nginx.ingress.kubernetes.io")),
        format!("--namespace={}", flag("--watch-namespace", "default")),
        "--dry-run=server".to_owned(),
        "--output=name".to_owned(),
    ]
}

/// Whether a registration is of a controller: by its label, or by a Service of the controller's namespace.
fn is_ours(registration: &Value, namespace: &str) -> bool {
    let label = registration.pointer("/metadata/labels/app.kubernetes.io~1name").and_then(Value::as_str);
    let webhooks = registration["webhooks"].as_array().into_iter().flatten();
    label == Some("narthex") || webhooks.map(|webhook| text(webhook, "/clientConfig/service/namespace")).any(|of| of == namespace)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_registration_is_known_by_its_label_or_its_service() {
        let by_label = json!({"metadata": {"labels": {"app.kubernetes.io/name": "narthex"}}});
        let by_service = json!({"webhooks": [{"clientConfig": {"service": {"namespace": "ingress"}}}]});
        assert!(is_ours(&by_label, "x") && is_ours(&by_service, "ingress") && !is_ours(&by_service, "other") && !is_ours(&json!({}), ""));
    }

    #[test]
    fn the_probe_is_of_the_controller_s_class_and_namespace() {
        let settings = [json!({"name": "--ingress-class", "value": "edge"}), json!({"name": "--watch-namespace", "value": "shop"})];
        let words = probe(&settings).join(" ");
        assert!(words.contains("ingress.class=edge ") && words.contains(" --namespace=shop "), "{words}");
        let words = probe(&[]).join(" ");
        assert!(words.contains("nginx.ingress.kubernetes.io/narthex-doctor=1 --namespace=default"), "{words}");
    }

    #[test]
    fn the_state_of_a_container_says_why_it_does_not_run() {
        let status = json!({
            "name": "controller",
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
        });
        let pod = json!({"status": {"containerStatuses": [{"name": "other"}, status]}});
        assert_eq!(state(&pod, "controller"), ["it waits: CrashLoopBackOff", "it ended with exit code 1 (Error)"]);
        assert!(state(&json!({}), "controller").is_empty());
    }
}
