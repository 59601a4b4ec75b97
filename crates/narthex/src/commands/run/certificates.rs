//! Metrics of certificates: when they end, and what they are.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use model::{Built, CertificateFacts};
use ops::{Exposition, Family, Fetched, labels};
use tokio::sync::watch;

const EXPIRE: Family = Family::gauge("ssl_expire_time_seconds", "When the certificate of a host ends, in seconds since 1970.");
const INFO: Family = Family::gauge("ssl_certificate_info", "Certificates of hosts; constant 1.");

/// What they are made from.
pub(super) struct Certificates {
    pub(super) built: watch::Receiver<Option<Arc<Built>>>,
    /// `--controller-class`.
    pub(super) class: String,
    /// Whether we lead, as only the leader tells when certificates end; `None`: there are no others.
    pub(super) leader: Option<watch::Receiver<bool>>,
}

impl Fetched for Certificates {
    fn write<'a>(&'a self, out: &'a mut Exposition) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let leads = self.leader.as_ref().is_none_or(|leader| *leader.borrow());
        let built = self.built.borrow().clone();
        if let Some(built) = built {
            write(&built, &self.class, leads, out);
        }
        Box::pin(std::future::ready(()))
    }
}

fn write(built: &Built, class: &str, leads: bool, out: &mut Exposition) {
    let (mut expire, mut info) = (Vec::new(), Vec::new());
    for (host, id) in &built.model.live.servers {
        let Some(facts) = built.certificates.get(id) else { continue };
        let common = common(host, class, facts);
        let common: Vec<(&str, &str)> = common.iter().map(|(name, value)| (*name, value.as_str())).collect();
        if leads {
            expire.push((labels(&common), facts.not_after as f64));
        }
        let more = [
            ("issuer_organization", facts.issuer_organization.as_str()),
            ("issuer_common_name", &facts.issuer_common_name),
            ("serial_number", &facts.serial_number),
            ("public_key_algorithm", facts.public_key_algorithm),
        ];
        info.push((labels(&[&common[..], &more].concat()), 1.0));
    }
    if leads {
        EXPIRE.write(&expire, out);
    }
    INFO.write(&info, out);
}

fn common(host: &str, class: &str, facts: &CertificateFacts) -> [(&'static str, String); 5] {
    let secret = facts.secret.as_ref();
    [
        ("namespace", secret.map(|secret| secret.namespace.to_string()).unwrap_or_default()),
        ("class", class.to_owned()),
        ("host", host.to_owned()),
        ("secret_name", secret.map(|secret| secret.name.to_string()).unwrap_or_default()),
        ("identifier", format!("{}-{}", facts.issuer_serial_number, facts.serial_number)),
    ]
}
