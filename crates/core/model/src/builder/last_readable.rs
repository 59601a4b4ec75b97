//! When the last readable versions of ConfigMaps and Secrets are used, and when they are forgotten.

use super::Builder;
use crate::key::ObjectKey;
use crate::last_readable;
use crate::passes::certificate::{Certificate, Found};
use crate::references::Reference;

impl Builder {
    /// The certificate of a Secret that an Ingress names. `None`: there is no such Secret.
    pub(super) fn certificate(&self, key: &ObjectKey) -> Option<Found> {
        if self.state.held_secrets.contains(key) {
            return Some(Err("there is no room for it in NGINX's memory".to_owned()));
        }
        self.state.certificates_read.get(key).cloned()
    }

    /// Reads the certificate of a Secret; of one that can't be read any more that of the last readable version. `None`: there is no such Secret.
    pub(super) fn read_as_given(&self, key: &ObjectKey) -> Option<Found> {
        let present = self.state.snapshot.secrets.get(key)?;
        let found = last_readable::read(key, &**present, &self.last_readable.secrets, Certificate::from_secret);
        Some(found.map(|(certificate, fault)| (certificate.of(key), fault)))
    }

    /// Forgets the last readable versions that this build did not use.
    pub(super) fn forget_last_readable(&mut self) {
        if self.last_readable.is_empty() {
            return;
        }
        let mut last = std::mem::take(&mut self.last_readable);
        let certificates: Vec<ObjectKey> = last.secrets.keys().filter(|key| self.is_certificate(key)).cloned().collect();
        let replaced = |key: &ObjectKey| {
            let read = self
                .state
                .snapshot
                .secrets
                .get(key)
                .map(|present| last_readable::read(key, &**present, &last.secrets, Certificate::from_secret));
            matches!(read, Some(Ok((_, Some(_)))))
        };
        let replaced: Vec<ObjectKey> = certificates.into_iter().filter(replaced).collect();
        last.retain(|reference| self.was_used(reference) || matches!(reference, Reference::Secret(key) if replaced.contains(key)));
        self.last_readable = last;
    }

    /// Whether some host or TCP service may get its certificate there.
    fn is_certificate(&self, secret: &ObjectKey) -> bool {
        self.options.default_ssl_certificate.as_ref() == Some(secret)
            || self.state.secrets.values(secret).next().is_some()
            || self.is_stream_secret(secret)
    }

    /// Whether the last readable version of what an annotation names was read.
    fn was_used(&self, reference: &Reference) -> bool {
        let mut sets = self.state.referrers.values(reference).filter_map(|object| self.state.built.rules.get(object));
        sets.any(|rules| rules.policies().any(|policy| policy.resolved.last_readable.contains(reference)))
    }
}
