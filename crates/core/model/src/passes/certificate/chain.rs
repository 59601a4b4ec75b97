//! Chains that lack certificates, and the same with those that were fetched.

use std::fmt::Write;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Certificate, CertificateFacts, Chain, address};
use crate::key::ObjectKey;
use crate::live::CertificateRecord;
use crate::options::PemPair;
use crate::snapshot::MissingIssuers;

/// Characters of a line of PEM.
const LINE: usize = 64;

/// A certificate that its issuer's does not follow in the Secret.
#[derive(Debug, Clone, PartialEq)]
pub struct IncompleteChain {
    /// The Secret.
    pub secret: ObjectKey,
    /// The content address of the key pair as it is in the Secret.
    pub id: Arc<str>,
    /// Where the certificate of the issuer is.
    pub url: Arc<str>,
    /// The key pair as it is in the Secret.
    pub record: Arc<CertificateRecord>,
}

impl Certificate {
    /// What its chain lacks, if anything that has a URL.
    pub(crate) fn incomplete(&self, secret: &ObjectKey) -> Option<IncompleteChain> {
        let url = self.facts.issuer_url.clone().filter(|_| self.facts.chain == Chain::Alone)?;
        Some(IncompleteChain { secret: secret.clone(), id: self.id.clone(), url, record: self.record.clone() })
    }

    /// The same with the certificates that its chain lacks, if these were found for this very key pair.
    pub(crate) fn completed(self, issuers: Option<&MissingIssuers>) -> Self {
        let Some(issuers) = issuers.filter(|issuers| issuers.of == self.id && self.facts.chain == Chain::Alone) else { return self };
        let facts = Arc::new(CertificateFacts { chain: Chain::Whole, ..(*self.facts).clone() });
        // Its issuer is a root: nothing lacks.
        if issuers.certificates.is_empty() {
            return Self { facts, ..self };
        }
        let text = issuers.certificates.iter().fold(String::new(), |text, certificate| text + &pem(certificate));
        let PemPair { chain, key } = &self.record.pair;
        let pair = PemPair { chain: format!("{}\n{text}", chain.trim_end()), key: key.clone() };
        let id = address(&[self.id.as_bytes(), text.as_bytes()]);
        Self { id, facts, record: Arc::new(CertificateRecord { pair, other: None }) }
    }
}

fn pem(certificate: &[u8]) -> String {
    let encoded = STANDARD.encode(certificate);
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        writeln!(text, "{line}").expect("writing to a String can't fail");
        rest = after;
    }
    text + "-----END CERTIFICATE-----\n"
}
