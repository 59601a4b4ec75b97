//! TCP and UDP services: ports from the operator's ConfigMaps, which are text, and their endpoints, which are data.

mod certificate;

use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::Entry;
use k8s_openapi::api::core::v1::ConfigMap;

use super::built::Subject;
use super::changes::Changes;
use super::state::set;
use super::{Builder, Dirty};
use crate::fixed::{StreamPort, StreamService};
use crate::key::{ObjectKey, ObjectRef};
use crate::live;
use crate::object::Protocol;
use crate::passes::backend::{self, Purpose};
use crate::passes::stream;
use crate::problem::{Problem, ProblemKind, of_value};

pub(super) use certificate::RefusedCertificates;

type Services = OrdMap<StreamPort, Arc<StreamService>>;

/// How connections to a service are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handling {
    Plain,
    Decrypted,
    /// They are to be decrypted, and can't be.
    Closed,
}

impl Builder {
    /// Brings them up to date. Cost: their number, and the endpoints and certificates of those that changed.
    pub(super) fn set_stream_services(&mut self, changes: &Changes, dirty: &Dirty) {
        let before = self.state.stream_entries.clone();
        if dirty.everything || self.options.stream_config_maps().any(|(_, _, key)| changes.config_maps.contains(key)) {
            self.read_stream_services();
        }
        let now = self.state.stream_entries.clone();
        for port in before.keys().filter(|port| !now.contains_key(*port)) {
            self.state.built.model.fixed.stream_services.remove(port);
            self.set_stream_endpoints(*port, None);
            self.state.built.stream_names.remove(port);
            self.state.set_problems(Subject::StreamService(*port), Vec::new());
            self.state.set_problems(Subject::StreamCertificate(*port), Vec::new());
        }
        let rejudged = std::mem::take(&mut self.refused_certificates.changed);
        for (port, entry) in &now {
            let changed = dirty.everything || before.get(port) != Some(entry) || dirty.services.contains(&entry.backend.service);
            let secret = || self.stream_secret(*port, entry).is_some_and(|secret| changes.secrets.contains(&secret));
            let resolved = || self.state.built.stream_names.get(port).is_some_and(|name| changes.addresses.contains(name));
            if changed || rejudged || changes.is_later || resolved() || secret() {
                let handling = self.find_stream_certificate(*port, entry);
                self.find_stream_endpoints(*port, entry, handling);
            }
        }
        self.forget_refused_certificates();
        self.report_closed_ports();
    }

    fn report_closed_ports(&mut self) {
        for (port, reason) in self.closed_ports.clone() {
            let found = self.options.stream_config_maps().find(|(protocol, _, _)| *protocol == port.protocol);
            let entry = found.filter(|_| self.state.stream_entries.contains_key(&port)).and_then(|(_, _, key)| {
                let data = self.state.snapshot.config_maps.get(key)?.data.as_ref()?;
                data.get_key_value(&*port.number.to_string()).map(|(name, value)| (key, name, value))
            });
            let problem = entry.map(|(key, name, value)| {
                let detail =
                    format!("port {} can't be opened: {reason}; the entry is left out, and tried again once the port is free", port.number);
                problem(key, name, of_value(value, detail))
            });
            self.state.set_problems(Subject::ClosedPort(port), problem.into_iter().collect());
        }
    }

    /// Reads the ConfigMaps.
    fn read_stream_services(&mut self) {
        let options = self.options.clone();
        let mut services = Services::new();
        for (protocol, flag, key) in options.stream_config_maps() {
            let mut problems = Vec::new();
            match self.state.snapshot.config_maps.get(key) {
                Some(map) => self.read_entries(protocol, key, map, &mut services, &mut problems),
                None => {
                    let detail = format!("the ConfigMap of {flag} does not exist; no {protocol} service is served");
                    problems.push(problem(key, "", detail));
                }
            }
            if let Some(module) = options.missing_for_stream() {
                services.clear();
                problems = vec![problem(key, "", format!("NGINX lacks {}; no {protocol} service is served", module.describe()))];
            }
            self.state.set_problems(Subject::StreamServices(protocol), problems);
        }
        self.state.stream_entries = services;
    }

    fn read_entries(&self, protocol: Protocol, key: &ObjectKey, map: &ConfigMap, services: &mut Services, problems: &mut Vec<Problem>) {
        for (name, value) in map.data.iter().flatten() {
            let mut say = |detail: String| problems.push(problem(key, name, detail));
            let entry = stream::port(protocol, name).and_then(|port| {
                if let Some(flag) = self.options.reserved_ports.get(&port.number) {
                    return Err(format!("port {} is that of {flag}, expected one that this controller does not use itself", port.number));
                }
                Ok((port, stream::service(protocol, value)?))
            });
            match entry {
                Err(fault) => say(of_value(value, format!("{fault}; the entry is left out"))),
                Ok((port, (service, remark))) => match services.entry(port) {
                    Entry::Occupied(_) => say(of_value(value, format!("port {} has another entry; this one is left out", port.number))),
                    Entry::Vacant(vacant) => {
                        vacant.insert(Arc::new(service));
                        remark.into_iter().for_each(|remark| say(of_value(value, remark)));
                    }
                },
            }
        }
    }

    fn find_stream_endpoints(&mut self, port: StreamPort, service: &StreamService, handling: Handling) {
        let backend = &service.backend;
        let slices: Vec<ObjectKey> = self.state.slices.values(&backend.service).cloned().collect();
        let input = self.backend_input(&slices, Purpose::Stream(port.protocol));
        let (endpoints, mut problems) = backend::usable_endpoints(backend, false, &input);
        // What the operator wrote; all else is about the Service itself.
        for problem in problems.iter_mut().filter(|problem| matches!(problem.kind, ProblemKind::ServiceMissing | ProblemKind::PortMissing))
        {
            if let Some((_, _, key)) = self.options.stream_config_maps().find(|(protocol, _, _)| *protocol == port.protocol) {
                problem.object = ObjectRef::namespaced("ConfigMap", key);
                problem.field = field(&port.number.to_string());
                problem.detail = format!("Service {}: {}", backend.service, problem.detail);
            }
        }
        let name = self.external_name(&backend.service);
        self.state.set_problems(Subject::StreamService(port), problems);
        set(&mut self.state.built.stream_names, &port, name);
        let text = live::stream::encode(endpoints);
        self.set_stream_endpoints(port, Some((handling, text)).filter(|_| handling != Handling::Closed));
    }

    /// Replaces the record of a service: that of its handling, none of another.
    fn set_stream_endpoints(&mut self, port: StreamPort, new: Option<(Handling, Arc<str>)>) {
        let held = &mut self.state.built.model.live.stream_services;
        for handling in [Handling::Plain, Handling::Decrypted].into_iter().take(if port.protocol == Protocol::Tcp { 2 } else { 1 }) {
            let key = port.endpoints_key(handling == Handling::Decrypted);
            match &new {
                Some((wanted, text)) if *wanted == handling => {
                    if held.get(&key) != Some(text) {
                        held.insert(key, text.clone());
                    }
                }
                _ => {
                    held.remove(&key);
                }
            }
        }
    }
}

fn field(entry: &str) -> String {
    format!("data[{entry:?}]")
}

/// A finding about a ConfigMap. `entry`: empty where it is about the whole.
fn problem(key: &ObjectKey, entry: &str, detail: String) -> Problem {
    let field = if entry.is_empty() { String::new() } else { field(entry) };
    Problem { object: ObjectRef::namespaced("ConfigMap", key), field, kind: ProblemKind::Configuration, detail }
}
