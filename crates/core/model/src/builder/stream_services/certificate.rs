//! TCP services whose TLS is decrypted: the annotation of a Service names a Secret of its own namespace.
//!
//! Where there is no usable certificate, connections are closed: what is to be encrypted never goes on as plain text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;

use super::{Builder, Handling};
use crate::builder::built::Subject;
use crate::fixed::{StreamCertificate, StreamPort, StreamService};
use crate::key::{ObjectKey, ObjectRef};
use crate::last_readable::INSTEAD;
use crate::object::{Protocol, TCP_TLS_SECRET};
use crate::passes::certificate::Certificate;
use crate::passes::stream::is_name;
use crate::problem::{Problem, ProblemKind, of_value};

/// Certificates of TCP services that NGINX refuses, by their content address, and what it last confirmed.
#[derive(Debug, Clone, Default)]
pub(in crate::builder) struct RefusedCertificates {
    reasons: BTreeMap<Arc<str>, Arc<str>>,
    confirmed: OrdMap<StreamPort, Arc<StreamService>>,
    /// A refusal began or ended since the last build.
    pub(super) changed: bool,
}

impl RefusedCertificates {
    pub(in crate::builder) fn confirm(&mut self, services: &OrdMap<StreamPort, Arc<StreamService>>) {
        self.confirmed = services.clone();
    }

    pub(in crate::builder) fn refuse(&mut self, id: &str, reason: &str) {
        self.reasons.insert(id.into(), reason.into());
        self.changed = true;
    }

    pub(in crate::builder) fn release(&mut self, id: &str) {
        self.changed |= self.reasons.remove(id).is_some();
    }

    /// The certificate that NGINX confirmed last for a port, from the same Secret.
    fn last(&self, port: StreamPort, secret: &ObjectKey) -> Option<Arc<StreamCertificate>> {
        let last = self.confirmed.get(&port)?.certificate.as_ref()?;
        (last.secret == *secret && !self.reasons.contains_key(&last.id)).then(|| last.clone())
    }
}

impl Builder {
    /// The Secret that the Service of an entry names. `None`: none, or it can't be the name of one.
    pub(super) fn stream_secret(&self, port: StreamPort, entry: &StreamService) -> Option<ObjectKey> {
        self.named_secret(port, entry)?.ok()
    }

    /// Whether a TCP service is decrypted with a Secret.
    pub(in crate::builder) fn is_stream_secret(&self, secret: &ObjectKey) -> bool {
        self.state.stream_entries.iter().any(|(port, entry)| self.stream_secret(*port, entry).as_ref() == Some(secret))
    }

    /// The Secret, or the value that can't be the name of one.
    fn named_secret(&self, port: StreamPort, entry: &StreamService) -> Option<Result<ObjectKey, &str>> {
        let key = &entry.backend.service;
        let service = self.state.snapshot.services.get(key).filter(|_| port.protocol == Protocol::Tcp)?;
        let value = service.tcp_tls_secret(&self.options.annotations_prefix)?;
        Some(if is_name(value) { Ok(ObjectKey::new(key.namespace.clone(), value)) } else { Err(value) })
    }

    /// Finds what connections to a service are decrypted with.
    pub(super) fn find_stream_certificate(&mut self, port: StreamPort, entry: &Arc<StreamService>) -> Handling {
        let mut problems = Vec::new();
        let (handling, certificate) = match self.named_secret(port, entry) {
            None => (Handling::Plain, None),
            Some(named) => match self.stream_certificate(port, entry, named, &mut problems) {
                Some(certificate) => (Handling::Decrypted, Some(certificate)),
                None => (Handling::Closed, None),
            },
        };
        self.state.set_problems(Subject::StreamCertificate(port), problems);
        let service = match certificate {
            Some(certificate) => Arc::new(StreamService { certificate: Some(certificate), ..(**entry).clone() }),
            None => entry.clone(),
        };
        let services = &mut self.state.built.model.fixed.stream_services;
        if services.get(&port) != Some(&service) {
            services.insert(port, service);
        }
        handling
    }

    /// The certificate of a Secret, or of its last accepted version. `None`: there is none that can be used.
    fn stream_certificate(
        &self,
        port: StreamPort,
        entry: &StreamService,
        named: Result<ObjectKey, &str>,
        problems: &mut Vec<Problem>,
    ) -> Option<Arc<StreamCertificate>> {
        let mut say = |value: &str, detail: String| {
            let field = format!("metadata.annotations[{:?}]", format!("{}/{TCP_TLS_SECRET}", self.options.annotations_prefix));
            let object = ObjectRef::namespaced("Service", &entry.backend.service);
            problems.push(Problem { object, field, kind: ProblemKind::Certificate, detail: of_value(value, detail) });
        };
        let closed = format!("connections to port {} are closed", port.number);
        let secret = match named {
            Ok(secret) => secret,
            Err(value) => {
                say(value, format!("expected the name of a Secret in the Service's own namespace, without a namespace; {closed}"));
                return None;
            }
        };
        let (certificate, fault) = match self.read_as_given(&secret).unwrap_or_else(|| Err("it does not exist".to_owned())) {
            Ok(found) => found,
            Err(fault) => {
                say(&secret.name, format!("Secret {secret}: {fault}, expected one with tls.crt and tls.key; {closed}"));
                return None;
            }
        };
        if let Some(fault) = fault {
            say(&secret.name, format!("Secret {secret}: {fault}; {INSTEAD}"));
        }
        let refusal = self.refused_certificates.reasons.get(&certificate.id);
        let last = refusal.map(|_| self.refused_certificates.last(port, &secret));
        if let Some((reason, last)) = refusal.zip(last.as_ref()) {
            let instead = if last.is_some() { INSTEAD } else { &closed };
            say(&secret.name, format!("Secret {secret}: NGINX refuses its certificate: {reason}; {instead}"));
        }
        if let Some(last) = last {
            return last;
        }
        problems.extend(self.faults_of(&secret, &certificate.facts));
        Some(Arc::new(stream_certificate(secret, &certificate)))
    }

    /// Forgets refusals of certificates that no service has any more.
    pub(super) fn forget_refused_certificates(&mut self) {
        if !self.refused_certificates.reasons.is_empty() {
            let secrets = self.state.stream_entries.iter().filter_map(|(port, entry)| self.stream_secret(*port, entry));
            let present: BTreeSet<Arc<str>> = secrets.filter_map(|secret| Some(self.read_as_given(&secret)?.ok()?.0.id)).collect();
            self.refused_certificates.reasons.retain(|id, _| present.contains(id));
        }
        let refused: BTreeSet<Arc<str>> = self.refused_certificates.reasons.keys().cloned().collect();
        if refused != *self.state.built.refused_certificates {
            self.state.built.refused_certificates = Arc::new(refused);
        }
    }
}

fn stream_certificate(secret: ObjectKey, certificate: &Certificate) -> StreamCertificate {
    StreamCertificate { id: certificate.id.clone(), secret, pair: certificate.record.pair.clone() }
}
