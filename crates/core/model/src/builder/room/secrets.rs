//! Certificates and users that are held back: of the namespaces above their share, the largest Secrets first.
//!
//! Without its certificate a host has the default one; without their users paths that ask for them answer 503.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::builder::Builder;
use crate::builder::built::Subject;
use crate::builder::dirty::Dirty;
use crate::builder::state::set;
use crate::key::{ObjectKey, ObjectRef};
use crate::live::bytes_of;
use crate::problem::{Problem, ProblemKind};
use crate::references::Reference;
use crate::shares::{Claim, Common, Resource};

const INSTEAD: &str = "until there is room, hosts have the default certificate instead, and paths that ask for its users answer 503";

impl Builder {
    /// Reads the certificates of the Secrets that changed or are named since now, and settles which Secrets have room.
    pub(in crate::builder) fn settle_secrets(&mut self, dirty: &mut Dirty) {
        if dirty.secrets.is_empty() {
            return;
        }
        // What chains lack may have room now.
        let without_issuers = std::mem::take(&mut self.state.without_issuers);
        dirty.secrets.extend(without_issuers.iter().cloned());
        std::mem::take(&mut dirty.secrets).iter().for_each(|key| self.read_secret(key));
        self.leave_out_issuers();
        for key in without_issuers.symmetric_difference(&self.state.without_issuers) {
            dirty.hosts.extend(
                self.state.secrets.values(key).filter_map(|object| self.state.built.rules.get(object)).flat_map(|rules| rules.hosts()),
            );
            dirty.default_certificate |= self.options.default_ssl_certificate.as_ref() == Some(key);
        }
        let large = self.state.large_secrets.iter().map(|(key, reason)| (key.clone(), reason.to_string()));
        let without_room = self.state.secret_shares.held(&self.state.capacity).into_iter();
        let without_room = without_room.map(|(key, held)| (key, format!("{}; its smaller Secrets have that", held.reason)));
        let held: BTreeMap<ObjectKey, String> = without_room.chain(large).collect();
        let before = std::mem::replace(&mut self.state.held_secrets, held.keys().cloned().collect());
        for key in before.symmetric_difference(&self.state.held_secrets) {
            let reference = Reference::Secret(key.clone());
            let named = self.state.referrers.values(&reference).chain(self.state.secrets.values(key));
            dirty.hosts.extend(named.filter_map(|object| self.state.built.rules.get(object)).flat_map(|rules| rules.hosts()));
        }
        for key in before.iter().filter(|key| !held.contains_key(*key)) {
            self.state.set_problems(Subject::Secret(key.clone()), Vec::new());
        }
        for (key, reason) in held {
            let object = ObjectRef::namespaced("Secret", &key);
            let problem = Problem { object, field: String::new(), kind: ProblemKind::NoRoom, detail: format!("{reason}; {INSTEAD}") };
            self.state.set_problems(Subject::Secret(key), vec![problem]);
        }
    }

    /// Reads the certificate of a Secret, if an object names it, and what its records take of what is finite.
    fn read_secret(&mut self, key: &ObjectKey) {
        let is_named = self.state.secrets.has(key);
        let is_used = is_named || self.options.default_ssl_certificate.as_ref() == Some(key);
        let given = if is_used { self.read_as_given(key) } else { None };
        self.set_incomplete(key, given.as_ref());
        let found = self.completed(key, given.filter(|_| is_named));
        set(&mut self.state.certificates_read, key, found);
        self.judge_certificate(key);
        let claim = self.claim_of_secret(key);
        let size: u64 = claim.common.iter().map(|common| common.amount).sum();
        let too_large = claim.too_large();
        self.state.secret_shares.set(key, (size > 0 && too_large.is_none()).then(|| (size, claim.into())));
        set(&mut self.state.large_secrets, key, too_large.map(Into::into));
    }

    /// Takes what chains lack out of the certificates of Secrets that would have no room with it.
    fn leave_out_issuers(&mut self) {
        let held = self.state.secret_shares.held(&self.state.capacity);
        let without_room = held.keys().chain(self.state.large_secrets.keys());
        let completed: Vec<ObjectKey> = without_room.filter(|key| self.is_completed(key)).cloned().collect();
        for key in completed {
            self.state.without_issuers.insert(key.clone());
            self.read_secret(&key);
        }
    }

    /// Whether the certificate of a Secret is used with more than the Secret has.
    fn is_completed(&self, key: &ObjectKey) -> bool {
        let used = self.state.certificates_read.get(key).and_then(|found| found.as_ref().ok());
        let lacks = self.state.built.incomplete.get(key);
        used.zip(lacks).is_some_and(|((certificate, _), lacks)| !Arc::ptr_eq(&certificate.record, &lacks.record))
    }

    /// The records that are made of a Secret: a certificate, and lists of users.
    fn claim_of_secret(&self, key: &ObjectKey) -> Claim {
        let certificate = self.state.certificates_read.get(key).and_then(|found| found.as_ref().ok()).map(|(certificate, _)| certificate);
        let certificate = certificate.map(|found| (found.id.clone(), bytes_of(&found.id, &found.record)));
        let first = (key.clone(), "".into(), 0);
        let lists = self.state.lists.keys_from(&first).take_while(|(secret, ..)| secret == key);
        let records = certificate.into_iter().chain(lists.map(|(_, id, bytes)| (id.clone(), *bytes)));
        let common = records.map(|(id, amount)| Common { resource: Resource::Secrets, id, amount });
        Claim { common: common.collect(), ..Claim::default() }
    }
}
