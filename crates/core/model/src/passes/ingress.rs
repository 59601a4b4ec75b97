//! One Ingress, parsed: what later passes need of it, typed, with everything unusable reported and left out.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use ngx_value::{HostName, Invalid};
use settings::{ClientTls, Config, FindingKind, Guards, Policy, Spec, Verdict};

use super::inspect::inspect;
use super::resolve::{Lookup, Outcome, Resolved, resolve};
use super::variables;
use super::weigh::weigh;
use crate::key::{BackendId, BackendPort, ObjectKey, ObjectRef};
use crate::last_readable::LastReadable;
use crate::object::{Backend, Ingress, IngressPath, PortRef};
use crate::options::BuildOptions;
use crate::problem::{Problem, ProblemKind, of_value};
use crate::shares::Claim;
use crate::snapshot::Snapshot;

/// Name of the catch-all server.
pub(crate) const CATCH_ALL: &str = "_";

/// Precedence: older first; within a second the lexicographically greater `namespace/name` first, as users of the predecessor know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    created_seconds: i64,
    key: ObjectKey,
}

impl Ord for Order {
    fn cmp(&self, other: &Self) -> Ordering {
        fn text(key: &ObjectKey) -> impl Iterator<Item = u8> {
            key.namespace.bytes().chain([b'/']).chain(key.name.bytes())
        }
        let names = || match self.key.namespace == other.key.namespace {
            true => other.key.name.cmp(&self.key.name),
            false => text(&other.key).cmp(text(&self.key)),
        };
        self.created_seconds.cmp(&other.created_seconds).then_with(names)
    }
}

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Order {
    #[cfg(test)]
    pub(crate) fn new(created_seconds: i64, key: ObjectKey) -> Self {
        Self { created_seconds, key }
    }

    /// The precedence of an Ingress.
    pub(crate) fn of(key: &ObjectKey, ingress: &Ingress) -> Self {
        Self { created_seconds: ingress.created_seconds, key: key.clone() }
    }

    /// The Ingress itself.
    pub(crate) fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The Ingress in words, for one that comes after it.
    pub(crate) fn before(&self, later: &Self) -> String {
        match self.created_seconds.cmp(&later.created_seconds) {
            Ordering::Equal if self.created_seconds == 0 => format!("Ingress {} (without ages, the greater name comes first)", self.key),
            Ordering::Equal => format!("Ingress {} (of the same age, the greater name comes first)", self.key),
            _ => format!("the older Ingress {}", self.key),
        }
    }
}

/// An accepted Ingress.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) order: Order,
    /// What the annotations ask for. Nearly all Ingresses share one value: see [`share`].
    pub(crate) spec: Arc<Spec>,
    /// What the annotations name, read.
    pub(crate) resolved: Resolved,
    /// A protecting annotation is unusable: every location answers 503.
    pub(crate) denied: bool,
    /// It is refused, and only closes its paths.
    pub(crate) closed: bool,
    /// What it says about who may pass.
    pub(crate) guards: Guards,
    /// `spec.defaultBackend` where it names a Service.
    pub(crate) default_backend: Option<BackendId>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tls: Vec<Tls>,
    /// What it asks for of what is finite.
    pub(crate) claim: Arc<Claim>,
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
        self.spec.canary.canary
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
pub(crate) fn parse(key: &ObjectKey, ingress: &Ingress, world: &World<'_>) -> (Option<Entry>, Vec<Problem>) {
    let World { config, options, .. } = world;
    let mut problems = Problems::of(key);
    let entry = parse_into(key, ingress, config, options, &mut problems);
    let entry = entry.and_then(|entry| resolved(entry, world, &mut problems));
    (entry, problems.found)
}

/// What an Ingress that is refused leaves of itself where it protects: its paths, which answer 503, and what it says of its hosts' clients.
/// `None`: nothing in it protects, or it is a canary, which has no paths.
pub(crate) fn close(key: &ObjectKey, ingress: &Ingress, world: &World<'_>) -> Option<Entry> {
    let World { config, options, .. } = world;
    if !Guards::of(&ingress.annotations, &options.annotations_prefix).protect(&options.annotations_prefix) {
        return None;
    }
    let policy = Policy { prefix: &options.annotations_prefix, validation: options.annotation_validation, config };
    let Spec { path, names, client_tls, canary, .. } = settings::parse(&ingress.annotations, &policy).spec;
    if canary.canary {
        return None;
    }
    let ClientTls { auth_tls_secret, auth_tls_verify_client, auth_tls_verify_depth, auth_tls_match_cn, .. } = client_tls;
    let client_tls =
        ClientTls { auth_tls_secret, auth_tls_verify_client, auth_tls_verify_depth, auth_tls_match_cn, ..ClientTls::default() };
    // What is wrong was reported when it was refused.
    let mut reported = Problems::of(key);
    let entry = Entry {
        denied: true,
        closed: true,
        ..entry(key, ingress, Spec { path, names, client_tls, ..Spec::default() }, options, &mut reported)
    };
    resolved(entry, world, &mut reported)
}

/// Everything that an Ingress is read with.
pub(crate) struct World<'a> {
    pub(crate) config: &'a Config,
    pub(crate) options: &'a BuildOptions,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) last_readable: &'a LastReadable,
}

/// With what the annotations name. `None`: it is refused for that.
fn resolved(mut entry: Entry, world: &World<'_>, problems: &mut Problems) -> Option<Entry> {
    let World { config, options, snapshot, last_readable } = *world;
    let lookup = Lookup { ingress: &entry.order.key, spec: &entry.spec, config, options, snapshot, last_readable };
    let mut outcome = Outcome { prefix: &options.annotations_prefix, denied: false, refused: false, last_readable: Vec::new(), problems };
    let resolved = resolve(&lookup, &mut outcome);
    let (denied, refused) = (outcome.denied, outcome.refused);
    entry.resolved = resolved;
    entry.denied |= denied;
    entry.claim = Arc::new(weigh(&entry, config));
    (!refused).then_some(entry)
}

/// Problems of one Ingress.
pub(crate) struct Problems {
    object: ObjectRef,
    found: Vec<Problem>,
}

impl Problems {
    fn of(ingress: &ObjectKey) -> Self {
        Self { object: ObjectRef::ingress(ingress), found: Vec::new() }
    }

    pub(crate) fn push(&mut self, field: impl Into<String>, kind: ProblemKind, detail: String) {
        self.found.push(Problem { object: self.object.clone(), field: field.into(), kind, detail });
    }
}

fn parse_into(key: &ObjectKey, ingress: &Ingress, config: &Config, options: &BuildOptions, problems: &mut Problems) -> Option<Entry> {
    let is_clean = !options.deep_inspect || inspect(ingress, problems);
    let policy = Policy { prefix: &options.annotations_prefix, validation: options.annotation_validation, config };
    let parsed = settings::parse(&ingress.annotations, &policy);
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
    if parsed.verdict == Verdict::Refused || !is_clean {
        return None;
    }

    let paths = ingress.rules.iter().flat_map(|rule| rule.paths.iter().map(|path| &*path.path));
    for (annotation, detail) in variables::unknown(&parsed.spec, config, paths) {
        let field = format!("metadata.annotations[{:?}]", format!("{}/{annotation}", options.annotations_prefix));
        problems.push(field, ProblemKind::Surprise, detail);
    }

    Some(Entry { denied: parsed.verdict == Verdict::Denied, ..entry(key, ingress, parsed.spec, options, problems) })
}

/// The Ingress with these values of its annotations.
fn entry(key: &ObjectKey, ingress: &Ingress, spec: Spec, options: &BuildOptions, problems: &mut Problems) -> Entry {
    let default_backend =
        ingress.default_backend.as_ref().and_then(|backend| parse_backend(&key.namespace, backend, "spec.defaultBackend", problems));
    let mut rules = Vec::new();
    for (i, rule) in ingress.rules.iter().enumerate() {
        let host = match &rule.host {
            host if host.is_empty() => CATCH_ALL.into(),
            host => match usable_host(host) {
                Ok(host) => host,
                Err(invalid) => {
                    let detail = format!("{host:?} is not a host, expected {invalid}; the rule is left out");
                    problems.push(format!("spec.rules[{i}].host"), ProblemKind::InvalidValue, detail);
                    continue;
                }
            },
        };
        let mut paths = Vec::new();
        for (j, path) in rule.paths.iter().enumerate() {
            paths.extend(parse_path(&key.namespace, path, (i as u32, j as u32), problems));
        }
        paths.shrink_to_fit();
        rules.push(Rule { host, paths });
    }
    // They stay as long as the Ingress does, and most have one element.
    rules.shrink_to_fit();
    let tls = ingress.tls.iter().map(|tls| Tls {
        hosts: tls.hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
        secret: tls.secret.as_ref().map(|name| ObjectKey::new(key.namespace.clone(), name.clone())),
    });
    Entry {
        order: Order::of(key, ingress),
        spec: share(spec),
        resolved: Resolved::default(),
        denied: false,
        closed: false,
        guards: Guards::of(&ingress.annotations, &options.annotations_prefix),
        default_backend,
        rules,
        tls: tls.collect(),
        claim: Arc::default(),
    }
}

/// One value for all Ingresses whose annotations ask for nothing: a value is some kilobytes, and there are thousands of them.
fn share(spec: Spec) -> Arc<Spec> {
    static NOTHING: LazyLock<Arc<Spec>> = LazyLock::new(Arc::default);
    if spec == **NOTHING { Arc::clone(&NOTHING) } else { Arc::new(spec) }
}

/// Hosts that an Ingress names, whether it is accepted or not.
pub(crate) fn claimed_hosts(ingress: &Ingress) -> Vec<Arc<str>> {
    let of_rules = ingress.rules.iter().filter_map(|rule| match &rule.host {
        host if host.is_empty() => Some(CATCH_ALL.into()),
        host => usable_host(host).ok(),
    });
    let catch_all = (ingress.rules.is_empty() && ingress.default_backend.is_some()).then(|| CATCH_ALL.into());
    let mut hosts: Vec<Arc<str>> = of_rules.chain(catch_all).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

/// A host in lower case. Sources refuse most that are none; the name of the catch-all server is nobody's.
fn usable_host(host: &Arc<str>) -> Result<Arc<str>, Invalid> {
    match host.parse::<HostName>() {
        Ok(_) if **host == *CATCH_ALL => Err(Invalid::new("a host name such as www.example.com or *.example.com")),
        Ok(parsed) => Ok(Some(parsed.to_string()).filter(|parsed| *parsed != **host).map_or_else(|| host.clone(), Arc::from)),
        Err(invalid) => Err(invalid),
    }
}

fn parse_path(namespace: &Arc<str>, path: &IngressPath, at: (u32, u32), problems: &mut Problems) -> Option<Path> {
    let field = format!("spec.rules[{}].http.paths[{}]", at.0, at.1);
    let backend = parse_backend(namespace, &path.backend, &format!("{field}.backend"), problems)?;
    let text = if path.path.is_empty() { "/".into() } else { path.path.clone() };
    let exact = match &*path.path_type {
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
    Some(Path { path: text, exact, backend, at })
}

fn parse_backend(namespace: &Arc<str>, backend: &Backend, field: &str, problems: &mut Problems) -> Option<BackendId> {
    let Backend::Service { name, port } = backend else {
        problems.push(
            field,
            ProblemKind::InvalidValue,
            "only Services can be backends; the path is left out and what else matches answers".into(),
        );
        return None;
    };
    let port = match port {
        PortRef::Name(name) => BackendPort::Name(name.clone()),
        PortRef::Number(number) => BackendPort::Number(u16::try_from(*number).ok().or_else(|| {
            problems.push(
                format!("{field}.service.port.number"),
                ProblemKind::InvalidValue,
                format!("{number} is not a port, expected 1 to 65535; the path is left out"),
            );
            None
        })?),
        PortRef::None => {
            problems.push(
                format!("{field}.service.port"),
                ProblemKind::InvalidValue,
                "no port is named, expected a name or a number; the path is left out".into(),
            );
            return None;
        }
    };
    Some(BackendId { service: ObjectKey::new(namespace.clone(), name.clone()), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(annotation: &str, value: &str) -> Arc<Spec> {
        let key = ObjectKey::new("n", value);
        let ingress = Ingress { annotations: [(annotation.to_owned(), value.to_owned())].into(), ..Ingress::default() };
        let (config, options, snapshot, last_readable) = <_>::default();
        let (entry, _) =
            parse(&key, &ingress, &World { config: &config, options: &options, snapshot: &snapshot, last_readable: &last_readable });
        entry.expect("it is accepted").spec
    }

    #[test]
    fn older_ones_come_first_and_within_a_second_the_greater_name() {
        let order = |created_seconds, namespace, name| Order { created_seconds, key: ObjectKey::new(namespace, name) };
        let sorted =
            [order(1, "a", "a"), order(2, "b", "a"), order(2, "a", "b"), order(2, "a", "a"), order(2, "a-b", "a"), order(3, "a", "z")];
        let mut orders = sorted.to_vec();
        orders.reverse();
        orders.sort();
        assert_eq!(orders, sorted, "as texts: `a/a` is greater than `a-b/a`");
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
