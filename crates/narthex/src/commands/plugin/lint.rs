//! Findings about the Ingresses of a cluster, as a controller has them, and about the flags of controllers.

use std::collections::BTreeMap;
use std::process::ExitCode;

use manifests::{Content, File};
use model::{BuildOptions, Builder};
use serde_json::{Value, json};

use super::kubectl::Kubectl;
use super::pod::text;
use crate::args::{LintArgs, LintCommand, LintSubject, TableFormat};
use crate::output;

mod flags;

/// The Ingresses, and the kinds that they may refer to.
const KINDS: &[&str] = &[
    "ingresses.networking.k8s.io",
    "ingressclasses.networking.k8s.io",
    "services",
    "endpointslices.discovery.k8s.io",
    "configmaps",
    "secrets",
];
/// The workloads that a controller may be.
const WORKLOADS: &[&str] = &["deployments.apps", "daemonsets.apps"];

/// A finding about a field, or a flag, of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    kind: &'static str,
    field: String,
    detail: String,
}

/// The findings of each object, by its kind, namespace and name.
type Findings = BTreeMap<(String, String, String), Vec<Finding>>;

/// Prints them; the exit code says whether there is one.
pub(super) fn print(kubectl: &Kubectl, command: &LintCommand) -> anyhow::Result<ExitCode> {
    let (options, ingresses, workloads) = match &command.subject {
        None => (&command.options, true, true),
        Some(LintSubject::Ingresses(options)) => (options, true, false),
        Some(LintSubject::Deployments(options)) => (options, false, true),
    };
    for (flag, version) in [("--from-version", &options.from_version), ("--to-version", &options.to_version)] {
        if version.is_some() {
            output::remark(format_args!("narthex: note: {flag} has no effect: findings are those of this version"));
        }
    }
    let mut all = Findings::new();
    for (wanted, title, find) in [
        (ingresses, "Checking ingresses...", of_ingresses as fn(&Kubectl, &LintArgs) -> _),
        (workloads, "Checking deployments...", of_workloads),
    ] {
        if !wanted {
            continue;
        }
        let found = find(kubectl, options)?;
        if options.output == TableFormat::Table {
            let title = if command.subject.is_none() { format!("{title}\n") } else { String::new() };
            output::text(title + &shown(&found, options))?;
        }
        all.extend(found);
    }
    if options.output == TableFormat::Json {
        output::line(format_args!("{:#}", listed(&all)))?;
    }
    Ok(if all.values().all(Vec::is_empty) { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

fn shown(found: &Findings, options: &LintArgs) -> String {
    let mut lines = Vec::new();
    for ((_, namespace, name), findings) in found {
        let object = if options.all_namespaces { format!("{namespace}/{name}") } else { name.clone() };
        match findings.is_empty() {
            true if options.show_all => lines.push(format!("✓ {object}")),
            true => {}
            false => {
                lines.push(format!("✗ {object}"));
                for Finding { kind, field, detail } in findings {
                    let field = if field.is_empty() { String::new() } else { format!("{field}: ") };
                    lines.push(format!("  - {field}{detail}"));
                    lines.extend(options.verbose.then(|| format!("      {kind}")));
                }
                lines.push(String::new());
            }
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn listed(found: &Findings) -> Value {
    let of_object = |((object, namespace, name), findings): (&(String, String, String), &Vec<Finding>)| {
        let one = |Finding { kind, field, detail }: &Finding| json!({"object": object, "namespace": namespace, "name": name, "kind": kind, "field": field, "detail": detail});
        findings.iter().map(one).collect::<Vec<_>>()
    };
    found.iter().flat_map(of_object).collect()
}

/// Findings of the model, of all Ingresses that are looked at: an Ingress may lose to one of another namespace, and refer to objects there.
fn of_ingresses(kubectl: &Kubectl, options: &LintArgs) -> anyhow::Result<Findings> {
    let mut files = Vec::new();
    let mut found = Findings::new();
    let namespace = kubectl.namespace();
    for kind in KINDS {
        for (number, object) in widest(kubectl, kind)?.into_iter().enumerate() {
            let (of, name) = (text(&object, "/metadata/namespace"), text(&object, "/metadata/name"));
            if *kind == KINDS[0] && (options.all_namespaces || of == namespace) {
                found.insert(("Ingress".into(), of.into(), name.into()), Vec::new());
            }
            files.push(File { path: format!("{kind}/{number}.json").into(), content: Content::Bytes(object.to_string().into_bytes()) });
        }
    }
    let settings = BuildOptions { missing: Default::default(), ..options.model.settings(crate::fallback::generate()?, None)? };
    let loaded = manifests::read(files, None);
    let built = Builder::new(settings).build(&loaded.snapshot);
    for problem in loaded.problems().iter().cloned().chain(built.problems()) {
        let object = &problem.object;
        let key = (object.kind.to_string(), object.namespace.as_deref().unwrap_or_default().to_owned(), object.name.to_string());
        if let Some(findings) = found.get_mut(&key) {
            let finding = Finding { kind: problem.kind.label(), field: problem.field.to_string(), detail: problem.detail.to_string() };
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    Ok(found)
}

/// The objects of a kind in all namespaces; where these may not be listed, those of the own one, and a remark.
fn widest(kubectl: &Kubectl, kind: &str) -> anyhow::Result<Vec<Value>> {
    let refused = match kubectl.list(&[kind], true) {
        Ok(objects) => return Ok(objects),
        Err(error) => error,
    };
    match kubectl.list(&[kind], false) {
        Ok(objects) => {
            output::remark(format_args!(
                "narthex: note: only {kind} of this namespace are looked at ({refused}): what refers to others is reported as missing"
            ));
            Ok(objects)
        }
        Err(error) if kind == KINDS[0] => Err(error),
        Err(error) => {
            output::remark(format_args!("narthex: note: {error}: what refers to {kind} is reported as missing"));
            Ok(Vec::new())
        }
    }
}

/// Findings about the flags of controllers.
fn of_workloads(kubectl: &Kubectl, options: &LintArgs) -> anyhow::Result<Findings> {
    let mut found = Findings::new();
    for kind in WORKLOADS {
        for workload in kubectl.list(&[kind], options.all_namespaces)? {
            let containers = workload.pointer("/spec/template/spec/containers").and_then(Value::as_array).cloned().unwrap_or_default();
            let lines: Vec<_> = containers.iter().filter_map(flags::of_controller).collect();
            if lines.is_empty() {
                continue;
            }
            let key =
                [text(&workload, "/kind"), text(&workload, "/metadata/namespace"), text(&workload, "/metadata/name")].map(str::to_owned);
            found.insert(key.into(), lines.iter().flat_map(|line| flags::findings(line)).collect());
        }
    }
    Ok(found)
}
