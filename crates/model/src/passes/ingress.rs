//! One Ingress, parsed: what later passes need of it, typed, with everything unusable reported and left out.

use std::cmp::Reverse;
use std::sync::{Arc, LazyLock};

use annotations::{Config, FindingKind, Policy, Spec, Verdict};
use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressBackend, IngressServiceBackend};
use ngx_value::{HostName, Invalid};

use super::inspect::suspicious;
use super::resolve::{Lookup, Outcome, Resolved, resolve};
use crate::key::{BackendId, BackendPort, ObjectKey, ObjectRef};
use crate::problem::{Problem, ProblemKind, of_value};
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// Name of the catch-all server.
pub(crate) const CATCH_ALL: &str = "_";

/// Precedence: older first; within a second the lexicographically greater `namespace/name` first, as users of the predecessor know it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Order {
    created_seconds: i64,
    name: Reverse<String>,
    key: ObjectKey,
}

impl Order {
    /// The Ingress itself.
    pub(crate) fn key(&self) -> &ObjectKey {
        &self.key
    }
}

/// An accepted Ingress.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) order: Order,
    /// Its uid, or without one its namespace and name: unlike any other's.
    pub(crate) identity: Arc<str>,
    /// What the annotations ask for. Nearly all Ingresses share one value: see [`share`].
    pub(crate) spec: Arc<Spec>,
    /// What the annotations name, read.
    pub(crate) resolved: Resolved,
    /// A protecting annotation is unusable: every location answers 503.
    pub(crate) denied: bool,
    /// `spec.defaultBackend` where it names a Service.
    pub(crate) default_backend: Option<BackendId>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tls: Vec<Tls>,
}

/// One rule. Its host is lower-case; an absent or empty one is the catch-all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    pub(crate) host: Arc<str>,
    pub(crate) paths: Vec<Path>,
}

/// One path of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    pub(crate) path: Arc<str>,
    /// Exact, or else Prefix: `ImplementationSpecific` has no rendering of its own.
    pub(crate) exact: bool,
    pub(crate) backend: BackendId,
    /// Position in the object, for Problems.
    pub(crate) at: (u32, u32),
}

/// One entry of `spec.tls`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tls {
    pub(crate) hosts: Vec<String>,
    pub(crate) secret: Option<ObjectKey>,
}

impl Entry {
    pub(crate) fn key(&self) -> &ObjectKey {
        &self.order.key
    }

    /// A canary adds to other Ingresses' locations and makes none of its own.
    pub(crate) fn is_canary(&self) -> bool {
        self.spec.canary.enabled
    }

    /// Whether it only has a default backend: then it takes over the catch-all location.
    pub(crate) fn is_catch_all(&self) -> bool {
        self.rules.is_empty() && self.default_backend.is_some()
    }

    /// Hosts it names, the catch-all included, without duplicates.
    pub(crate) fn hosts(&self) -> Vec<Arc<str>> {
        let mut hosts: Vec<Arc<str>> = self.rules.iter().map(|rule| rule.host.clone()).collect();
        if self.is_catch_all() || self.is_canary() && self.default_backend.is_some() {
            hosts.push(CATCH_ALL.into());
        }
        hosts.sort();
        hosts.dedup();
        hosts
    }

    /// Backends it refers to, without duplicates.
    pub(crate) fn backends(&self) -> Vec<BackendId> {
        let paths = self.rules.iter().flat_map(|rule| rule.paths.iter().map(|path| path.backend.clone()));
        let mut backends: Vec<BackendId> = paths.chain(self.default_backend.clone()).chain(self.resolved.default_backend.clone()).collect();
        backends.sort();
        backends.dedup();
        backends
    }

    /// Secrets it refers to, without duplicates.
    pub(crate) fn secrets(&self) -> Vec<ObjectKey> {
        let mut secrets: Vec<ObjectKey> = self.tls.iter().filter_map(|tls| tls.secret.clone()).collect();
        secrets.sort();
        secrets.dedup();
        secrets
    }
}

/// Parses an Ingress of our class. `None` when it is refused as a whole; the Problems say why.
pub(crate) fn parse(
    key: &ObjectKey,
    ingress: &Ingress,
    config: &Config,
    settings: &Settings,
    snapshot: &Snapshot,
) -> (Option<Entry>, Vec<Problem>) {
    let mut problems = Problems { object: ObjectRef::ingress(key), found: Vec::new() };
    let mut entry = parse_into(key, ingress, config, settings, &mut problems);
    if let Some(entry) = &mut entry {
        let lookup = Lookup { ingress: key, spec: &entry.spec, config, settings, snapshot };
        let mut outcome = Outcome { prefix: &settings.annotations_prefix, denied: false, refused: false, problems: &mut problems };
        entry.resolved = resolve(&lookup, &mut outcome);
        entry.denied |= outcome.denied;
        if outcome.refused {
            return (None, problems.found);
        }
    }
    (entry, problems.found)
}

/// Problems of one Ingress.
pub(crate) struct Problems {
    object: ObjectRef,
    found: Vec<Problem>,
}

impl Problems {
    pub(crate) fn push(&mut self, field: impl Into<String>, kind: ProblemKind, detail: String) {
        self.found.push(Problem { object: self.object.clone(), field: field.into(), kind, detail });
    }
}

fn parse_into(key: &ObjectKey, ingress: &Ingress, config: &Config, settings: &Settings, problems: &mut Problems) -> Option<Entry> {
    let spec = ingress.spec.as_ref()?;
    if settings.disable_catch_all && spec.default_backend.is_some() {
        problems.push(
            "spec.defaultBackend",
            ProblemKind::Refused,
            "default backends are switched off by --disable-catch-all; the Ingress is not served".into(),
        );
        return None;
    }
    if settings.deep_inspect && !inspect(ingress, problems) {
        return None;
    }

    let empty = Default::default();
    let annotations = ingress.metadata.annotations.as_ref().unwrap_or(&empty);
    let policy = Policy { prefix: &settings.annotations_prefix, validation: settings.annotation_validation, config };
    let parsed = annotations::parse(annotations, &policy);
    for finding in parsed.findings {
        let kind = match finding.kind {
            FindingKind::Unknown | FindingKind::Unsupported => ProblemKind::UnknownAnnotation,
            FindingKind::Surprise => ProblemKind::Surprise,
            FindingKind::Risk | FindingKind::Blocked => ProblemKind::Refused,
            FindingKind::Invalid if parsed.verdict == Verdict::Denied => ProblemKind::AnnotationParsingFailed,
            FindingKind::Invalid => ProblemKind::InvalidValue,
        };
        let detail = match finding.kind {
            FindingKind::Invalid => of_value(&finding.value, finding.detail),
            _ => finding.detail,
        };
        problems.push(format!("metadata.annotations[{:?}]", finding.key), kind, detail);
    }
    if parsed.verdict == Verdict::Refused {
        return None;
    }

    let default_backend =
        spec.default_backend.as_ref().and_then(|backend| parse_backend(&key.namespace, backend, "spec.defaultBackend", problems));
    let mut rules = Vec::new();
    for (i, rule) in spec.rules.iter().flatten().enumerate() {
        let host = match rule.host.as_deref() {
            None | Some("") => CATCH_ALL.to_owned(),
            Some(host) => match usable_host(host) {
                Ok(host) => host,
                Err(invalid) => {
                    let detail = format!("{host:?} is not a host, expected {invalid}; the rule is left out");
                    problems.push(format!("spec.rules[{i}].host"), ProblemKind::InvalidValue, detail);
                    continue;
                }
            },
        };
        let mut paths = Vec::new();
        for (j, path) in rule.http.iter().flat_map(|http| &http.paths).enumerate() {
            paths.extend(parse_path(&key.namespace, path, (i as u32, j as u32), problems));
        }
        paths.shrink_to_fit();
        rules.push(Rule { host: host.into(), paths });
    }
    // They stay as long as the Ingress does, and most have one element.
    rules.shrink_to_fit();
    let tls = spec.tls.iter().flatten().map(|tls| Tls {
        hosts: tls.hosts.iter().flatten().map(|host| host.to_ascii_lowercase()).collect(),
        secret: tls.secret_name.as_deref().filter(|name| !name.is_empty()).map(|name| ObjectKey::new(key.namespace.clone(), name)),
    });
    let created_seconds = ingress.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second());
    Some(Entry {
        identity: ingress.metadata.uid.clone().unwrap_or_else(|| format!("{}/{}", key.namespace, key.name)).into(),
        order: Order { created_seconds, name: Reverse(key.to_string()), key: key.clone() },
        spec: share(parsed.spec),
        resolved: Resolved::default(),
        denied: parsed.verdict == Verdict::Denied,
        default_backend,
        rules,
        tls: tls.collect(),
    })
}

/// One value for all Ingresses whose annotations ask for nothing: a value is some kilobytes, and there are thousands of them.
fn share(spec: Spec) -> Arc<Spec> {
    static NOTHING: LazyLock<Arc<Spec>> = LazyLock::new(Arc::default);
    if spec == **NOTHING { Arc::clone(&NOTHING) } else { Arc::new(spec) }
}

/// A host in lower case. Sources refuse most that are none; the name of the catch-all server is nobody's.
fn usable_host(host: &str) -> Result<String, Invalid> {
    match host.parse::<HostName>() {
        Ok(_) if host == CATCH_ALL => Err(Invalid::new("a host name such as www.example.com or *.example.com")),
        parsed => parsed.map(|host| host.to_string()),
    }
}

fn inspect(ingress: &Ingress, problems: &mut Problems) -> bool {
    let Some(spec) = ingress.spec.as_ref() else { return true };
    let mut texts: Vec<(String, &str)> = Vec::new();
    for (i, rule) in spec.rules.iter().flatten().enumerate() {
        texts.extend(rule.host.as_deref().map(|host| (format!("spec.rules[{i}].host"), host)));
        for (j, path) in rule.http.iter().flat_map(|http| &http.paths).enumerate() {
            texts.extend(path.path.as_deref().map(|path| (format!("spec.rules[{i}].http.paths[{j}].path"), path)));
        }
    }
    for (i, tls) in spec.tls.iter().flatten().enumerate() {
        texts.extend(tls.secret_name.as_deref().map(|name| (format!("spec.tls[{i}].secretName"), name)));
        texts.extend(tls.hosts.iter().flatten().map(|host| (format!("spec.tls[{i}].hosts"), host.as_str())));
    }
    let mut clean = true;
    for (field, text) in texts {
        if let Some(what) = suspicious(text) {
            clean = false;
            problems.push(
                field,
                ProblemKind::Refused,
                format!("{text:?} contains {what:?}, which no host, path or name needs; the Ingress is not served"),
            );
        }
    }
    clean
}

fn parse_path(namespace: &Arc<str>, path: &HTTPIngressPath, at: (u32, u32), problems: &mut Problems) -> Option<Path> {
    let field = format!("spec.rules[{}].http.paths[{}]", at.0, at.1);
    let backend = parse_backend(namespace, &path.backend, &format!("{field}.backend"), problems)?;
    let text = path.path.as_deref().filter(|text| !text.is_empty()).unwrap_or("/");
    let exact = match path.path_type.as_str() {
        "Exact" => true,
        "Prefix" | "ImplementationSpecific" | "" => false,
        other => {
            problems.push(
                format!("{field}.pathType"),
                ProblemKind::InvalidValue,
                format!("{other:?} is not a path type, expected Exact, Prefix or ImplementationSpecific; it is treated as Prefix"),
            );
            false
        }
    };
    if text.chars().any(|c| c.is_control()) {
        problems.push(
            format!("{field}.path"),
            ProblemKind::InvalidValue,
            format!("{text:?} contains a control character; the path is left out"),
        );
        return None;
    }
    Some(Path { path: text.into(), exact, backend, at })
}

fn parse_backend(namespace: &Arc<str>, backend: &IngressBackend, field: &str, problems: &mut Problems) -> Option<BackendId> {
    let Some(IngressServiceBackend { name, port }) = &backend.service else {
        problems.push(
            field,
            ProblemKind::InvalidValue,
            "only Services can be backends; the path is left out and what else matches answers".into(),
        );
        return None;
    };
    let port = port.as_ref();
    let port = match (port.and_then(|port| port.name.as_deref()).filter(|name| !name.is_empty()), port.and_then(|port| port.number)) {
        (Some(name), _) => BackendPort::Name(name.into()),
        (None, Some(number)) => BackendPort::Number(u16::try_from(number).ok().or_else(|| {
            problems.push(
                format!("{field}.service.port.number"),
                ProblemKind::InvalidValue,
                format!("{number} is not a port, expected 1 to 65535; the path is left out"),
            );
            None
        })?),
        (None, None) => {
            problems.push(
                format!("{field}.service.port"),
                ProblemKind::InvalidValue,
                "no port is named, expected a name or a number; the path is left out".into(),
            );
            return None;
        }
    };
    Some(BackendId { service: ObjectKey::new(namespace.clone(), name.as_str()), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(annotation: &str, value: &str) -> Arc<Spec> {
        let key = ObjectKey::new("n", value);
        let mut ingress = Ingress { spec: Some(Default::default()), ..Ingress::default() };
        ingress.metadata.annotations = Some([(annotation.to_owned(), value.to_owned())].into());
        let (entry, _) = parse(&key, &ingress, &Config::default(), &Settings::default(), &Snapshot::default());
        entry.expect("it is accepted").spec
    }

    #[test]
    fn ingresses_whose_annotations_ask_for_nothing_share_one_value() {
        let plain = spec("example.com/team", "a");
        assert!(Arc::ptr_eq(&plain, &spec("example.com/team", "b")));
        let special = spec("nginx.ingress.kubernetes.io/rewrite-target", "/x");
        assert!(!Arc::ptr_eq(&plain, &special) && special.path.rewrite_target.is_some());
        assert!(size_of::<Spec>() < 8192, "{} bytes", size_of::<Spec>());
    }
}
