//! One backend: a Service port, its endpoints and how one is chosen.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::{balancing, endpoints};
use crate::key::{BackendId, BackendPort, ObjectKey, ObjectRef};
use crate::live::{BackendRecord, Endpoint};
use crate::object::{Protocol, Service, ServicePort, Target};
use crate::options::BuildOptions;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{Choice, Field, Policy, RuleSet};
use crate::snapshot::Snapshot;
use ngx_value::is_local_name;
use settings::{Config, Effective};

/// Wire key of the default backend.
pub(crate) const DEFAULT_KEY: &str = "-";
/// Its name in logs.
pub(crate) const DEFAULT_NAME: &str = "upstream-default-backend";

/// What the pass reads.
pub(crate) struct Input<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) options: &'a BuildOptions,
    pub(crate) config: &'a Config,
    /// Names of the EndpointSlices of the Service.
    pub(crate) slices: &'a [ObjectKey],
    /// What it is for.
    pub(crate) purpose: Purpose,
}

/// What a backend serves: how its port is meant, and what happens without an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Requests of HTTP.
    Requests,
    /// Connections of a TCP service, or datagrams of a UDP service.
    Stream(Protocol),
}

impl Purpose {
    const fn protocol(self) -> Protocol {
        match self {
            Self::Requests => Protocol::Tcp,
            Self::Stream(protocol) => protocol,
        }
    }

    /// What happens without an endpoint.
    const fn without(self) -> &'static str {
        match self {
            Self::Requests => "requests get 503",
            Self::Stream(Protocol::Udp) => "datagrams are dropped",
            Self::Stream(_) => "connections are closed",
        }
    }

    fn port_of<'a>(self, service: &'a Service, wanted: &BackendPort) -> Option<&'a ServicePort> {
        match self {
            Self::Requests => endpoints::service_port(service, wanted),
            Self::Stream(protocol) => endpoints::stream_port(service, wanted, protocol),
        }
    }
}

/// What decides about a backend.
#[derive(Default)]
pub(crate) struct Users<'a> {
    /// The policy of the object that was first to refer to it.
    pub(crate) first: Option<&'a Policy>,
    /// Those of the oldest and the youngest that have cookie affinity.
    pub(crate) sticky: Option<(&'a Policy, &'a Policy)>,
    /// What takes some of its requests.
    pub(crate) choice: Option<&'a Choice>,
}

/// Builds a backend.
pub(crate) fn build(id: &BackendId, users: &Users<'_>, input: &Input<'_>) -> (BackendRecord, Vec<Problem>) {
    let own = users.first.map(|policy| policy.spec.upstream.clone()).unwrap_or_default();
    let global = &input.config.upstream;
    let service_upstream = *Effective::new(&own.service_upstream, &global.service_upstream).value();
    let load_balance = *Effective::new(&own.load_balance, &global.load_balance).value();
    let (endpoints, problems) = usable_endpoints(id, service_upstream, input);
    let endpoints = endpoints.into_iter().map(|(address, port)| Endpoint { address, port, weight: 1 }).collect();
    let sticky = users.sticky.and_then(|(oldest, youngest)| balancing::stickiness(&oldest.spec.affinity, &youngest.spec.affinity));
    let alternative = users.choice.map(|choice| balancing::alternative(choice, sticky.is_some()));
    let record = BackendRecord {
        name: id.log_name().into(),
        load_balance,
        hash: users.first.and_then(balancing::hash),
        affinity: sticky.map(Arc::new),
        alternative: alternative.map(Arc::new),
        endpoints,
    };
    (record, problems)
}

/// The endpoints of a backend, and what is wrong with them or its Service.
pub(crate) fn usable_endpoints(id: &BackendId, service_upstream: bool, input: &Input<'_>) -> (Vec<(IpAddr, u16)>, Vec<Problem>) {
    let mut problems = Vec::new();
    let endpoints = endpoints(id, service_upstream, input, &mut |kind, detail| {
        problems.push(Problem { object: ObjectRef::namespaced("Service", &id.service), field: String::new(), kind, detail });
    });
    let (endpoints, found) = usable(id, endpoints, input);
    problems.extend(found);
    (endpoints, problems)
}

/// What to say of each place where rules name a Service that does not exist.
pub(crate) fn missing(id: &BackendId, user: &RuleSet) -> Vec<Problem> {
    let named = user.backends_with_position().filter(|(_, backends)| {
        backends.primary.as_ref() == Some(id) || backends.choice.as_ref().is_some_and(|choice| choice.backend == *id)
    });
    let detail = format!("the Service {} does not exist; requests for {id} get 503", id.service);
    named.map(|(at, _)| user.origin.problem(Field::Service(at), ProblemKind::ServiceMissing, detail.clone())).collect()
}

fn endpoints(
    id: &BackendId,
    service_upstream: bool,
    input: &Input<'_>,
    problem: &mut dyn FnMut(ProblemKind, String),
) -> Vec<(IpAddr, u16)> {
    let Some(service) = input.snapshot.services.get(&id.service) else {
        problem(ProblemKind::ServiceMissing, format!("the Service does not exist; {}", input.purpose.without()));
        return Vec::new();
    };
    if external_name(service).is_some() {
        return external(id, service, input, problem);
    }
    if service_upstream {
        match cluster_ip(service, &id.port) {
            Some(endpoint) => return vec![endpoint],
            None => problem(
                ProblemKind::InvalidValue,
                format!("service-upstream is on, but the Service has no cluster IP or no port {}; its endpoints are used", id.port),
            ),
        }
    }
    let Some(port) = input.purpose.port_of(service, &id.port) else {
        problem(ProblemKind::PortMissing, no_port(id, service, input));
        return Vec::new();
    };
    let slices = input.slices.iter().filter_map(|key| input.snapshot.endpoint_slices.get(key)).map(|slice| &**slice);
    let found: Vec<_> = endpoints::resolve(service, port, slices, input.options.zone.as_deref()).into_iter().collect();
    if found.is_empty() {
        problem(ProblemKind::NoEndpoints, format!("port {} has no endpoint that is ready; {}", id.port, input.purpose.without()));
    }
    found
}

/// The endpoints without those that no Pod can be, and what to say of these.
fn usable(id: &BackendId, endpoints: Vec<(IpAddr, u16)>, input: &Input<'_>) -> (Vec<(IpAddr, u16)>, Option<Problem>) {
    let refusal = |(address, port): (IpAddr, u16)| input.options.local.refusal(address, Some(port));
    let (refused, usable): (Vec<_>, Vec<_>) = endpoints.into_iter().partition(|endpoint| refusal(*endpoint).is_some());
    let Some(first) = refused.first() else { return (usable, None) };
    let what = format!("{} is {}, which no Pod is", SocketAddr::from(*first), refusal(*first).unwrap_or_default());
    let more = if refused.len() > 1 { format!(" (and {} more)", refused.len() - 1) } else { String::new() };
    let instead = if usable.is_empty() { input.purpose.without() } else { "it is left out" };
    let problem = Problem {
        object: ObjectRef::namespaced("Service", &id.service),
        field: String::new(),
        kind: ProblemKind::LocalEndpoint,
        detail: format!("{what}{more}; {instead}, as --allow-local-endpoints is not set"),
    };
    (usable, Some(problem))
}

fn no_port(id: &BackendId, service: &Service, input: &Input<'_>) -> String {
    let purpose = input.purpose;
    format!("the Service has no {} port {}, expected one of {}; {}", purpose.protocol(), id.port, ports(service), purpose.without())
}

fn ports(service: &Service) -> String {
    let list: Vec<String> = service
        .ports
        .iter()
        .map(|port| port.name.as_ref().map_or(port.port.to_string(), |name| format!("{} ({name})", port.port)))
        .collect();
    if list.is_empty() { "none: it declares no ports".into() } else { list.join(", ") }
}

fn cluster_ip(service: &Service, wanted: &BackendPort) -> Option<(IpAddr, u16)> {
    let address = service.cluster_ip?;
    let port = match wanted {
        BackendPort::Number(number) => *number,
        _ => u16::try_from(endpoints::service_port(service, wanted)?.port).ok()?,
    };
    Some((address, port))
}

/// The target of an ExternalName Service.
pub(crate) fn external_name(service: &Service) -> Option<&str> {
    service.external_name.as_deref()
}

/// Why a name may not be an ExternalName target; `None` if it may.
pub(crate) fn refused_name(name: &str) -> Option<&'static str> {
    if name.parse::<IpAddr>().is_ok() {
        return None;
    }
    let bare = name.strip_suffix('.').unwrap_or(name);
    if bare.is_empty() {
        return Some("it is empty");
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    (!(bare.len() <= 253 && bare.split('.').all(label))).then_some("it is not a lower-case DNS name")
}

fn external(id: &BackendId, service: &Service, input: &Input<'_>, problem: &mut dyn FnMut(ProblemKind, String)) -> Vec<(IpAddr, u16)> {
    let (name, without) = (external_name(service).unwrap_or_default(), input.purpose.without());
    if input.options.disable_external_name {
        let detail = format!("ExternalName Services are switched off by --disable-svc-external-name; {without}");
        problem(ProblemKind::ExternalName, detail);
        return Vec::new();
    }
    if is_local_name(name) && !input.options.local.allowed {
        let detail = format!("externalName {name:?} is this machine, which no Pod is; {without}, as --allow-local-endpoints is not set");
        problem(ProblemKind::LocalEndpoint, detail);
        return Vec::new();
    }
    if let Some(why) = refused_name(name) {
        problem(ProblemKind::ExternalName, format!("externalName {name:?} is refused: {why}; {without}"));
        return Vec::new();
    }
    let Some(port) = external_port(service, &id.port, input.purpose) else {
        problem(ProblemKind::PortMissing, no_port(id, service, input));
        return Vec::new();
    };
    if let Ok(address) = name.parse() {
        return vec![(address, port)];
    }
    let addresses = input.snapshot.addresses.get(name);
    if addresses.is_some_and(|addresses| addresses.is_empty()) {
        problem(ProblemKind::ExternalName, format!("externalName {name:?} does not resolve; {without}"));
    }
    let addresses: Option<&Arc<[IpAddr]>> = addresses;
    addresses.iter().flat_map(|addresses| addresses.iter()).map(|address| (*address, port)).collect()
}

/// The port on an ExternalName's target: that of the matching Service port, else the number that an Ingress names.
fn external_port(service: &Service, wanted: &BackendPort, purpose: Purpose) -> Option<u16> {
    match (purpose.port_of(service, wanted), wanted) {
        (Some(port), _) => match &port.target {
            Target::Number(target) => u16::try_from(*target).ok(),
            _ => u16::try_from(port.port).ok(),
        },
        (None, BackendPort::Number(number)) if purpose == Purpose::Requests => Some(*number),
        (None, _) => None,
    }
}
