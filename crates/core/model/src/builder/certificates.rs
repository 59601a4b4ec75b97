//! The default certificate, chains that were completed, and what is wrong with certificates that are used all the same: they have ended or are about to, clients may not trust
//! them, their key is weak.

use std::sync::Arc;

use super::Builder;
use super::built::Subject;
use super::dirty::Dirty;
use super::state::set;
use crate::key::{ObjectKey, ObjectRef};
use crate::last_readable::INSTEAD;
use crate::passes::certificate::{CertificateFacts, Found};
use crate::problem::{Problem, ProblemKind};
use crate::rule::CATCH_ALL;

impl Builder {
    /// Reads the default certificate.
    pub(super) fn default_certificate(&mut self, dirty: &mut Dirty) {
        if !dirty.default_certificate {
            return;
        }
        let mut problems = Vec::new();
        let secret = self.options.default_ssl_certificate.clone();
        let chosen = secret.as_ref().and_then(|key| {
            let given = self.read_as_given(key);
            self.set_incomplete(key, given.as_ref());
            let (certificate, what) = match self.completed(key, given).unwrap_or_else(|| Err("it does not exist".to_owned())) {
                Ok((certificate, None)) => return Some(certificate),
                Ok((certificate, Some(fault))) => (Some(certificate), format!("{fault}; {INSTEAD}")),
                Err(fault) => (None, format!("{fault}; a generated certificate is used")),
            };
            problems.push(Problem {
                object: ObjectRef::namespaced("Secret", key),
                field: String::new(),
                kind: ProblemKind::Certificate,
                detail: format!("the Secret of --default-ssl-certificate can't be used: {what}"),
            });
            certificate
        });
        if let Some((key, certificate)) = secret.as_ref().zip(chosen.as_ref()) {
            problems.extend(self.faults_of(key, &certificate.facts));
        }
        let certificate = chosen.unwrap_or_else(|| self.fallback.clone());
        self.state.set_problems(Subject::DefaultCertificate, problems);
        if self.state.default_certificate.as_ref() != Some(&certificate) {
            let old = self.state.default_certificate.replace(certificate);
            if let Some(old) = old {
                let users = self.state.built.model.live.servers.iter().filter(|(_, id)| **id == old.id);
                dirty.hosts.extend(users.map(|(host, _)| host.clone()));
            }
            dirty.hosts.insert(CATCH_ALL.into());
        }
    }

    /// Judges the certificate of a Secret that Ingresses name.
    pub(super) fn judge_certificate(&mut self, key: &ObjectKey) {
        let read = self.state.certificates_read.get(key).and_then(|found| found.as_ref().ok());
        let problems = read.map(|(certificate, _)| self.faults_of(key, &certificate.facts)).unwrap_or_default();
        self.state.set_problems(Subject::Validity(key.clone()), problems);
    }

    /// Judges all of them again: it is later now.
    pub(super) fn judge_certificates(&mut self) {
        let keys: Vec<ObjectKey> = self.state.certificates_read.keys().cloned().collect();
        keys.iter().for_each(|key| self.judge_certificate(key));
    }

    /// The certificate of a Secret with what its chain lacked, if that is known and has room.
    pub(super) fn completed(&self, key: &ObjectKey, given: Option<Found>) -> Option<Found> {
        let fetched = self.state.snapshot.issuers.get(key).filter(|_| !self.state.without_issuers.contains(key));
        let issuers = fetched.and_then(|fetched| fetched.answer.as_ref()).map(|(_, issuers)| issuers);
        Some(given?.map(|(certificate, fault)| (certificate.completed(issuers), fault)))
    }

    /// Keeps what the chain of a Secret's certificate lacks. `given`: as it is in the Secret, where some host may get it.
    pub(super) fn set_incomplete(&mut self, key: &ObjectKey, given: Option<&Found>) {
        let lacks = given.and_then(|found| found.as_ref().ok()).and_then(|(certificate, _)| certificate.incomplete(key));
        if self.state.built.incomplete.get(key).map(|known| &**known) != lacks.as_ref() {
            set(&mut self.state.built.incomplete, key, lacks.map(Arc::new));
        }
    }

    /// The findings about a certificate.
    pub(super) fn faults_of(&self, key: &ObjectKey, facts: &CertificateFacts) -> Vec<Problem> {
        let fetched = self.state.snapshot.issuers.get(key);
        let missing = if self.state.without_issuers.contains(key) {
            Some("there is no room for it in NGINX's memory")
        } else {
            fetched.and_then(|fetched| fetched.fault.as_deref())
        };
        let details = facts.faults(self.state.snapshot.time, missing);
        let problem = |(field, detail): (&str, String)| Problem {
            object: ObjectRef::namespaced("Secret", key),
            field: format!("data[{field:?}]"),
            kind: ProblemKind::Certificate,
            detail,
        };
        details.into_iter().map(problem).collect()
    }
}
