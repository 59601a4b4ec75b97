//! Metrics of certificates: when they end, and what they are.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use model::{Built, CertificateFacts};
use ops::{Exposition, Family, Fetched, labels};
use tokio::sync::watch;

const EXPIRE: Family = Family::gauge("ssl_expire_time_seconds", "When the certificate of a host ends, in seconds since 1970.");
const BY_DAYS: Family = Family::gauge(
    "narthex_certificates",
    "Certificates of hosts by the days that are left to them: fewer than these, and not fewer than the next.",
)
.without_prefix();
/// Upper bounds of the days.
const DAYS: [i64; 5] = [1, 7, 14, 30, 90];
const INFO: Family = Family::gauge("ssl_certificate_info", "Certificates of hosts; constant 1.");

/// Seconds.
const DAY: i64 = 86_400;

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
            write_days(built.certificates.values().map(|facts| facts.not_after), now(), out);
        }
        Box::pin(std::future::ready(()))
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

/// How many certificates end within so many days, each counted once.
fn write_days(ends: impl Iterator<Item = i64>, now: i64, out: &mut Exposition) {
    let mut counts = [0.0; DAYS.len() + 2];
    for end in ends {
        let left = end - now;
        let at = if left <= 0 { 0 } else { 1 + DAYS.iter().filter(|days| left >= *days * DAY).count() };
        counts[at] += 1.0;
    }
    let names = ["ended".to_owned()].into_iter().chain(DAYS.map(|days| days.to_string())).chain(["more".to_owned()]);
    let values: Vec<(String, f64)> = names.map(|name| labels(&[("days_left", &name)])).zip(counts).collect();
    BY_DAYS.write(&values, out);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_counted_by_the_days_that_are_left() {
        let mut out = Exposition::new(ops::Form::Text);
        let ends = [-5, 0, 1, DAY - 1, DAY, 6 * DAY, 89 * DAY, 90 * DAY, 400 * DAY];
        write_days(ends.into_iter().map(|left| 1_000 + left), 1_000, &mut out);
        let text = String::from_utf8(out.into_bytes()).unwrap();
        let counts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("narthex_certificates{days_left=")).collect();
        assert_eq!(counts, ["\"ended\"} 2", "\"1\"} 2", "\"7\"} 2", "\"14\"} 0", "\"30\"} 0", "\"90\"} 1", "\"more\"} 2"]);
    }
}
