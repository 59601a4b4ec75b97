//! OCSP responses: each goes to NGINX with the key pair that it is about.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::built::Subject;
use super::state::{BuilderState, set};
use crate::key::ObjectRef;
use crate::problem::{Problem, ProblemKind};

impl BuilderState {
    /// Takes over what is known of the status of a certificate, if some host has it.
    pub(super) fn set_staple(&mut self, id: &Arc<str>) {
        let known = self.built.certificates.get(id).zip(self.snapshot.staples.get(id));
        let known = known.map(|(facts, staple)| (facts.clone(), staple.clone()));
        let response = known.as_ref().and_then(|(_, staple)| staple.answer.as_ref());
        let record = response.map(|(until, response)| format!("{until} {}", STANDARD.encode(response)).into());
        set(&mut self.built.model.live.staples, id, record);
        let problem = known.and_then(|(facts, staple)| {
            let fault = staple.fault.as_deref()?;
            let instead =
                if staple.answer.is_some() { "the last OCSP response stays stapled until it ends" } else { "no OCSP response is stapled" };
            let (object, detail) = (ObjectRef::namespaced("Secret", facts.secret.as_ref()?), format!("{fault}; {instead}"));
            Some(Problem { object, field: r#"data["tls.crt"]"#.into(), kind: ProblemKind::Certificate, detail })
        });
        self.set_problems(Subject::Staple(id.clone()), problem.into_iter().collect());
    }
}
