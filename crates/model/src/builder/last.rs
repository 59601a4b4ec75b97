//! When the versions before of ConfigMaps and Secrets are used, and when they are forgotten.

use super::Builder;
use crate::key::ObjectKey;
use crate::last;
use crate::passes::certificate::{Certificate, Found};
use crate::references::Reference;

impl Builder {
    /// The certificate of a Secret; of one that can't be read any more that of the version before. `None`: there is no such Secret.
    pub(super) fn certificate(&self, key: &ObjectKey) -> Option<Found> {
        let present = self.state.snapshot.secrets.get(key)?;
        Some(last::read(key, &**present, &self.last.secrets, Certificate::from_secret))
    }

    /// Forgets the versions before that this build did not use.
    pub(super) fn forget_last(&mut self) {
        if self.last.is_empty() {
            return;
        }
        let mut last = std::mem::take(&mut self.last);
        let certificates: Vec<ObjectKey> = last.secrets.keys().filter(|key| self.is_certificate(key)).cloned().collect();
        let replaced = |key: &ObjectKey| {
            let read =
                self.state.snapshot.secrets.get(key).map(|present| last::read(key, &**present, &last.secrets, Certificate::from_secret));
            matches!(read, Some(Ok((_, Some(_)))))
        };
        let replaced: Vec<ObjectKey> = certificates.into_iter().filter(replaced).collect();
        last.retain(|reference| self.was_used(reference) || matches!(reference, Reference::Secret(key) if replaced.contains(key)));
        self.last = last;
    }

    /// Whether some host may get its certificate there.
    fn is_certificate(&self, secret: &ObjectKey) -> bool {
        self.settings.default_ssl_certificate.as_ref() == Some(secret) || self.state.secrets.values(secret).next().is_some()
    }

    /// Whether what an annotation names was read as it was before.
    fn was_used(&self, reference: &Reference) -> bool {
        let mut entries = self.state.referrers.values(reference).filter_map(|ingress| self.state.built.entries.get(ingress));
        entries.any(|entry| entry.resolved.last.contains(reference))
    }
}
