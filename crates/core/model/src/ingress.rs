//! The frontend of Ingresses: annotations and rules parsed, what they name read, everything unusable reported and left out. What comes of it are rules.

pub(crate) mod accept;
mod canary;
pub(crate) mod fields;
mod inspect;
mod resolve;
mod variables;

use std::sync::{Arc, LazyLock};

use ngx_value::{HostName, Invalid};
use settings::{ClientTls, Config, FindingKind, Guards, ParseVerdict, Spec};

use self::inspect::inspect;
use self::resolve::{Lookup, Resolution, resolve};
use crate::key::{BackendId, BackendPort, ObjectKey, ObjectRef};
use crate::last_readable::LastReadable;
use crate::object::{Backend, Ingress, IngressPath, PortRef};
use crate::options::BuildOptions;
use crate::passes::weigh::weigh;
use crate::problem::{Problem, ProblemKind, of_value};
use crate::rule::{Backends, CATCH_ALL, Kind, Match, Origin, PathKind, Policy, Position, Rule, RuleSet, Tls};
use crate::snapshot::Snapshot;

/// Everything that an Ingress is read with.
pub(crate) struct World<'a> {
    pub(crate) config: &'a Config,
    pub(crate) options: &'a BuildOptions,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) last_readable: &'a LastReadable,
}

impl World<'_> {
    fn annotations(&self, ingress: &Ingress) -> settings::Parsed {
        let Self { config, options, .. } = *self;
        let policy = settings::Policy { prefix: &options.annotations_prefix, validation: options.annotation_validation, config };
        settings::parse(&ingress.annotations, &policy)
    }
}

/// The place of an Ingress among others.
pub(crate) fn origin(key: &ObjectKey, ingress: &Ingress) -> Origin {
    Origin::new(Kind::Ingress, ingress.created_seconds, key.clone())
}

/// Makes rules of an Ingress of our class. `None` when it is refused as a whole; the Problems say why.
pub(crate) fn parse(key: &ObjectKey, ingress: &Ingress, world: &World<'_>) -> (Option<RuleSet>, Vec<Problem>) {
    let mut problems = Problems::of(key);
    let said = annotations(ingress, world, &mut problems);
    let rules = said.and_then(|said| rules(key, ingress, said, world, &mut problems));
    (rules, problems.found)
}

/// What an Ingress that is refused leaves of itself where it protects: its paths, which answer 503, and what it says of its hosts' clients.
/// `None`: nothing in it protects, or it is a canary, which has no paths.
pub(crate) fn close(key: &ObjectKey, ingress: &Ingress, world: &World<'_>) -> Option<RuleSet> {
    let prefix = &world.options.annotations_prefix;
    if !Guards::of(&ingress.annotations, prefix).protect() {
        return None;
    }
    let Spec { path, names, client_tls, canary, .. } = world.annotations(ingress).spec;
    if canary.canary {
        return None;
    }
    let ClientTls { auth_tls_secret, auth_tls_verify_client, auth_tls_verify_depth, auth_tls_match_cn, .. } = (*client_tls).clone();
    let client_tls =
        ClientTls { auth_tls_secret, auth_tls_verify_client, auth_tls_verify_depth, auth_tls_match_cn, ..ClientTls::default() }.into();
    let said = Said { spec: Spec { path, names, client_tls, ..Spec::default() }, denied: true };
    // What is wrong was reported when it was refused.
    let rules = rules(key, ingress, said, world, &mut Problems::of(key))?;
    Some(RuleSet { closed: true, ..rules })
}

/// Problems of one Ingress.
struct Problems {
    object: ObjectRef,
    found: Vec<Problem>,
}

impl Problems {
    fn of(ingress: &ObjectKey) -> Self {
        Self { object: ObjectRef::ingress(ingress), found: Vec::new() }
    }

    fn push(&mut self, field: impl Into<String>, kind: ProblemKind, detail: String) {
        self.found.push(Problem { object: self.object.clone(), field: field.into(), kind, detail });
    }
}

/// What the annotations say.
struct Said {
    spec: Spec,
    /// A protecting annotation is unusable.
    denied: bool,
}

/// Reads the annotations. `None`: the Ingress is refused for them, or for what its rules look like.
fn annotations(ingress: &Ingress, world: &World<'_>, problems: &mut Problems) -> Option<Said> {
    let World { config, options, .. } = *world;
    let is_clean = !options.deep_inspect || inspect(ingress, problems);
    let parsed = world.annotations(ingress);
    for finding in parsed.findings {
        let kind = match finding.kind {
            FindingKind::Unknown | FindingKind::Unsupported => ProblemKind::UnknownAnnotation,
            FindingKind::Surprise => ProblemKind::Surprise,
            FindingKind::Risk | FindingKind::Blocked => ProblemKind::Refused,
            FindingKind::Invalid if parsed.verdict == ParseVerdict::Denied => ProblemKind::AnnotationParsingFailed,
            FindingKind::Invalid => ProblemKind::InvalidValue,
        };
        let detail = match finding.kind {
            FindingKind::Invalid => of_value(&finding.value, finding.detail),
            _ => finding.detail,
        };
        problems.push(format!("metadata.annotations[{:?}]", finding.key), kind, detail);
    }
    if parsed.verdict == ParseVerdict::Refused || !is_clean {
        return None;
    }

    let paths = ingress.rules.iter().flat_map(|rule| rule.paths.iter().map(|path| &*path.path));
    for (annotation, detail) in variables::unknown(&parsed.spec, config, paths) {
        let field = format!("metadata.annotations[{:?}]", format!("{}/{annotation}", options.annotations_prefix));
        problems.push(field, ProblemKind::Surprise, detail);
    }
    Some(Said { spec: parsed.spec, denied: parsed.verdict == ParseVerdict::Denied })
}

/// The rules of an Ingress whose annotations say this. `None`: it is refused for what they name.
fn rules(key: &ObjectKey, ingress: &Ingress, said: Said, world: &World<'_>, problems: &mut Problems) -> Option<RuleSet> {
    let World { config, options, snapshot, last_readable } = *world;
    let default_backend =
        ingress.default_backend.as_ref().and_then(|backend| parse_backend(&key.namespace, backend, "spec.defaultBackend", problems));
    let (paths, bare_hosts) = parse_rules(key, ingress, problems);

    let Said { mut spec, denied } = said;
    let lookup = Lookup { ingress: key, spec: &spec, config, options, snapshot, last_readable };
    let mut outcome = Resolution::new(&options.annotations_prefix, problems);
    let resolved = resolve(&lookup, &mut outcome);
    let Resolution { denied: unavailable, refused, mirror_refused, .. } = outcome;
    if refused {
        return None;
    }
    if mirror_refused {
        spec.mirror.mirror_target = None;
    }
    let backends = canary::backends(&spec);
    let adds = spec.canary.canary;
    let policy = share(Policy { spec, resolved, denied: denied || unavailable });
    let rule = |(matches, backend, at)| Rule { matches, backends: backends(backend), policy: policy.clone(), at };
    let tls = ingress.tls.iter().map(|tls| Tls {
        hosts: tls.hosts.iter().map(|host| host.to_ascii_lowercase().into()).collect(),
        secret: tls.secret.as_ref().map(|name| ObjectKey::new(key.namespace.clone(), name.clone())),
    });
    let mut rules = RuleSet {
        origin: origin(key, ingress),
        rules: paths.into_iter().map(rule).collect(),
        policy: policy.clone(),
        fallback: default_backend.map_or_else(Backends::default, &backends),
        bare_hosts,
        adds,
        closed: false,
        guards: Guards::of(&ingress.annotations, &options.annotations_prefix),
        tls: tls.collect(),
        claim: Arc::default(),
    };
    rules.claim = Arc::new(weigh(&rules, config));
    Some(rules)
}

/// One value for all Ingresses whose annotations ask for nothing: a value is some kilobytes, and there are thousands of them.
fn share(policy: Policy) -> Arc<Policy> {
    static NOTHING: LazyLock<Arc<Policy>> = LazyLock::new(Arc::default);
    if policy == **NOTHING { Arc::clone(&NOTHING) } else { Arc::new(policy) }
}

type Paths = Vec<(Match, BackendId, Position)>;
type BareHosts = Box<[(Arc<str>, u32)]>;

/// The paths of the rules, and hosts without any.
fn parse_rules(key: &ObjectKey, ingress: &Ingress, problems: &mut Problems) -> (Paths, BareHosts) {
    let (mut paths, mut bare_hosts) = (Paths::new(), Vec::new());
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
        let before = paths.len();
        for (j, path) in rule.paths.iter().enumerate() {
            let at = Position { rule: i as u32, item: j as u32 };
            let parsed = parse_path(&key.namespace, path, at, problems);
            paths.extend(parsed.map(|(path, kind, backend)| (Match { host: host.clone(), path, kind }, backend, at)));
        }
        if paths.len() == before {
            bare_hosts.push((host, i as u32));
        }
    }
    (paths, bare_hosts.into())
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

/// A host in lower case. Sources refuse most that are none; the name of the catch-all server is that of no host.
fn usable_host(host: &Arc<str>) -> Result<Arc<str>, Invalid> {
    match host.parse::<HostName>() {
        Ok(_) if **host == *CATCH_ALL => Err(Invalid::new("a host name such as www.example.com or *.example.com")),
        Ok(parsed) => Ok(Some(parsed.to_string()).filter(|parsed| *parsed != **host).map_or_else(|| host.clone(), Arc::from)),
        Err(invalid) => Err(invalid),
    }
}

fn parse_path(namespace: &Arc<str>, path: &IngressPath, at: Position, problems: &mut Problems) -> Option<(Arc<str>, PathKind, BackendId)> {
    let field = fields::path(at);
    let backend = parse_backend(namespace, &path.backend, &format!("{field}.backend"), problems)?;
    let text = if path.path.is_empty() { "/".into() } else { path.path.clone() };
    let kind = match &*path.path_type {
        "Exact" => PathKind::Exact,
        // `ImplementationSpecific` has no rendering of its own.
        "Prefix" | "ImplementationSpecific" | "" => PathKind::Prefix,
        other => {
            problems.push(
                format!("{field}.pathType"),
                ProblemKind::InvalidValue,
                format!("{other:?} is not a path type, expected Exact, Prefix or ImplementationSpecific; it is treated as Prefix"),
            );
            PathKind::Prefix
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
    Some((text, kind, backend))
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

    fn policy(annotation: &str, value: &str) -> Arc<Policy> {
        let key = ObjectKey::new("n", value);
        let ingress = Ingress { annotations: [(annotation.to_owned(), value.to_owned())].into(), ..Ingress::default() };
        let (config, options, snapshot, last_readable) = <_>::default();
        let (rules, _) =
            parse(&key, &ingress, &World { config: &config, options: &options, snapshot: &snapshot, last_readable: &last_readable });
        rules.expect("it is accepted").policy
    }

    #[test]
    fn ingresses_whose_annotations_ask_for_nothing_share_one_value() {
        let plain = policy("example.com/team", "a");
        assert!(Arc::ptr_eq(&plain, &policy("example.com/team", "b")));
        let special = policy("nginx.ingress.kubernetes.io/rewrite-target", "/x");
        assert!(!Arc::ptr_eq(&plain, &special) && special.spec.path.rewrite_target.is_some());
        assert!(size_of::<Policy>() < 8192, "{} bytes", size_of::<Policy>());
    }
}
