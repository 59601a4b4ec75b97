//! The page about findings: from the table of kinds, with examples that are built.

use std::sync::Arc;

use anyhow::{Context, Result};
use inspect::{KINDS, Severity};
use manifests::{Content, File};
use model::{BuildOptions, Builder, ObjectKey, ProblemKind};

use super::{NOTICE, row, sentences};
use crate::effects;

const HEAD: &str = "# Problems

A Problem is a finding about an object: what is imperfect is found, named and gone on from, and the last good state stays active.
It names the object, the field, the value, what was expected and what happens instead, and says what to do.

They show in `narthex doctor` (those with one cause together), `narthex get problems`, the [console](../console.md), `narthex check` (with file and line), \
Events of the object whose reason is the kind, the log, `kubectl narthex lint`, and the metric `narthex_problems` by `kind`.
What the [webhook](../webhook.md) refuses is such a finding before it is stored.

An error is about something that is not served as it should be. With a warning all is served, not all of it as its object asks.
What else `narthex doctor` finds, about the process, the API server or NGINX, [is listed there](../commands.md#doctor).

";

/// The objects around the examples.
const WORLD: &str = "
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: nginx}, spec: {controller: k8s.io/ingress-nginx}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, metadata: {namespace: shop, name: cart-1, labels: {kubernetes.io/service-name: cart}}, ports: [{port: 80}], endpoints: [{addresses: [10.0.0.1]}]}
---
";

/// The Ingress of the examples: annotations, and what replaces a part of its text.
const INGRESS: &str = "
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: shop, name: web, annotations: {@}}, spec: {ingressClassName: nginx, rules: [{host: shop.example.com, http: {paths: [{path: /cart, pathType: Prefix, backend: {service: {name: cart, port: {number: 80}}}}]}}]}}
---
";

/// A name without an address.
const UNKNOWN: &str = "cart.example.net";

/// How an object leads to a finding.
enum Cause {
    /// An annotation of the Ingress, without its prefix.
    Annotation(&'static str, &'static str),
    /// A part of the text of all objects is another one.
    Instead(&'static str, &'static str),
    /// One more object.
    Beside(&'static str),
    /// It takes an NGINX, or a cluster under pressure: the text of a test.
    Elsewhere,
}

fn cause(kind: ProblemKind) -> Cause {
    use Cause::{Annotation, Beside, Elsewhere, Instead};
    match kind {
        ProblemKind::InvalidValue => Annotation("proxy-read-timeout", "soon"),
        ProblemKind::Refused => Annotation("configuration-snippet", "return 200;"),
        ProblemKind::Unclaimed => Instead("ingressClassName: nginx", "ingressClassName: ngnix"),
        ProblemKind::AnnotationParsingFailed => Annotation("allowlist-source-range", "10.0.0.0/40"),
        ProblemKind::UnknownAnnotation => Annotation("proxy-raed-timeout", "60"),
        ProblemKind::Conflict => Beside(
            "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {namespace: shop, name: again}, spec: {ingressClassName: nginx, rules: [{host: shop.example.com, http: {paths: [{path: /cart, pathType: Prefix, backend: {service: {name: cart, port: {number: 80}}}}]}}]}}",
        ),
        ProblemKind::ServiceMissing => Instead("service: {name: cart,", "service: {name: card,"),
        ProblemKind::PortMissing => Instead("port: {number: 80}", "port: {number: 8080}"),
        ProblemKind::NoEndpoints => Instead("endpoints: [{addresses: [10.0.0.1]}]", "endpoints: []"),
        ProblemKind::ExternalName => {
            Instead("spec: {ports: [{port: 80}]}", "spec: {type: ExternalName, externalName: cart.example.net, ports: [{port: 80}]}")
        }
        ProblemKind::LocalEndpoint => Instead("10.0.0.1", "169.254.169.254"),
        ProblemKind::Certificate => Instead("rules: [", "tls: [{hosts: [shop.example.com], secretName: shop-tls}], rules: ["),
        ProblemKind::Unreadable => Instead("path: /cart,", "path: cart,"),
        ProblemKind::Configuration => {
            Beside("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ingress, name: settings}, data: {worker-processes: many}}")
        }
        ProblemKind::Surprise => Annotation("rewrite-target", "/$absent"),
        ProblemKind::NoRoom | ProblemKind::Quarantined => Elsewhere,
    }
}

/// The page.
pub(super) fn page() -> Result<String> {
    let mut page = NOTICE.replace("the tables in crates/core/settings", "the table in crates/core/inspect/src/kind.rs") + HEAD;
    row(&mut page, "| kind | severity | what is wrong |\n|---|---|---|");
    for facts in KINDS {
        let label = facts.kind.label();
        row(&mut page, &format!("| [`{label}`](#{}) | {} | {} |", label.to_lowercase(), severity(facts.severity), facts.one));
    }
    for facts in KINDS {
        row(&mut page, &format!("\n## {}\n\n{}.\n", facts.kind.label(), sentences(facts.meaning)));
        row(&mut page, &format!("- What to do: {}.", facts.fix));
        if let Some(example) = example(facts.kind).with_context(|| format!("{:?}", facts.kind))? {
            row(&mut page, &format!("- For example:\n\n```text\n{example}\n```"));
        }
    }
    Ok(page)
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// A finding of a kind, made by building objects that lead to it.
fn example(kind: ProblemKind) -> Result<Option<String>> {
    let all = |annotations: &str| format!("{WORLD}{}", INGRESS.replace('@', annotations));
    let text = match cause(kind) {
        Cause::Annotation(name, value) => all(&format!("nginx.ingress.kubernetes.io/{name}: {value:?}")),
        Cause::Instead(part, other) => all("").replace(part, other),
        Cause::Beside(object) => all("") + object,
        Cause::Elsewhere => return Ok(None),
    };
    let loaded = manifests::read([File { path: Arc::from("all.yaml"), content: Content::Bytes(text.into()) }], None);
    let options = BuildOptions {
        implied_class: true,
        watch_ingress_without_class: false,
        configmap: Some(ObjectKey::new("ingress", "settings")),
        ..effects::options()
    };
    // A name that was looked up, and has no address.
    let mut snapshot = loaded.snapshot.clone();
    snapshot.addresses.insert(UNKNOWN.into(), Arc::new([]));
    let built = Builder::new(options).build(&snapshot);
    let found = loaded.problems().iter().cloned().chain(built.problems()).find(|problem| problem.kind == kind);
    found.map(|problem| Some(problem.to_string())).context("the example leads to no such finding")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_section_with_what_to_do() {
        let page = page().unwrap();
        for facts in KINDS {
            let section = page.split(&format!("\n## {}\n", facts.kind.label())).nth(1).unwrap();
            assert!(section.split("\n## ").next().unwrap().contains(facts.fix), "{:?}", facts.kind);
        }
    }
}
