//! What is at the URL of an issuer: read, and checked to be the issuer's certificate.

use model::der::{INTEGER, OBJECT_IDENTIFIER, SEQUENCE, element};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

const SET: u8 = 0x31;
const CONTEXT_0: u8 = 0xa0;
/// `id-signedData` (RFC 5652).
const SIGNED_DATA: [u8; 9] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const PEM: &[u8] = b"-----BEGIN ";

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("its URL answers with something else than a certificate")]
    Unreadable,
    #[error("what is at its URL has not signed the certificate, or in a way that is not supported")]
    Signature,
    #[error("what is at its URL is no certificate of a CA")]
    Authority,
    #[error("what is at its URL is not valid now")]
    Time,
}

/// The certificate of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issuer {
    /// DER.
    pub(super) certificate: Vec<u8>,
    /// It is its own issuer.
    pub(super) is_root: bool,
    /// Where that of its own issuer is.
    pub(super) url: Option<String>,
    /// When it ends, in seconds since 1970.
    pub(super) until: i64,
}

/// The issuer of a certificate (DER), from an answer at a time.
pub(super) fn issuer_of(certificate: &[u8], answer: &[u8], now: i64) -> Result<Issuer, Fault> {
    let (_, certificate) = X509Certificate::from_der(certificate).map_err(|_| Fault::Unreadable)?;
    let now = ASN1Time::from_timestamp(now).map_err(|_| Fault::Time)?;
    let found = certificates(answer);
    let parsed: Vec<X509Certificate<'_>> = found.iter().filter_map(|der| Some(X509Certificate::from_der(der).ok()?.1)).collect();
    if parsed.is_empty() {
        return Err(Fault::Unreadable);
    }
    // The most that one of them comes to says what is wrong with all.
    let mut fault = Fault::Signature;
    for issuer in &parsed {
        match check(issuer, &certificate, now) {
            Ok(()) => return Ok(Issuer::of(issuer)),
            Err(found) if fault == Fault::Signature => fault = found,
            Err(_) => {}
        }
    }
    Err(fault)
}

impl Issuer {
    fn of(issuer: &X509Certificate<'_>) -> Self {
        Self {
            certificate: issuer.as_raw().to_vec(),
            is_root: issuer.subject().as_raw() == issuer.issuer().as_raw(),
            url: model::issuer_url(issuer).map(str::to_owned),
            until: issuer.validity().not_after.timestamp(),
        }
    }
}

fn check(issuer: &X509Certificate<'_>, certificate: &X509Certificate<'_>, now: ASN1Time) -> Result<(), Fault> {
    let is_named = issuer.subject().as_raw() == certificate.issuer().as_raw();
    if !is_named || certificate.verify_signature(Some(issuer.public_key())).is_err() {
        return Err(Fault::Signature);
    }
    let may_sign = issuer.key_usage().is_ok_and(|usage| usage.is_none_or(|usage| usage.value.key_cert_sign()));
    if !issuer.is_ca() || !may_sign {
        return Err(Fault::Authority);
    }
    if issuer.validity().is_valid_at(now) { Ok(()) } else { Err(Fault::Time) }
}

/// The certificates (DER) of an answer: one, or those of a CMS message without signers (RFC 5280, 4.2.2.1), or as PEM, which some servers have.
fn certificates(answer: &[u8]) -> Vec<Vec<u8>> {
    if answer.trim_ascii_start().starts_with(PEM) {
        return CertificateDer::pem_slice_iter(answer).filter_map(|der| Some(der.ok()?.to_vec())).collect();
    }
    let mut rest = message(answer).unwrap_or(answer);
    let mut found = Vec::new();
    while let Ok((after, certificate)) = X509Certificate::from_der(rest) {
        found.push(certificate.as_raw().to_vec());
        rest = after;
    }
    found
}

/// The certificates in a `ContentInfo { contentType, [0] SignedData { version, digestAlgorithms, encapContentInfo, certificates [0], ... } }`.
fn message(answer: &[u8]) -> Option<&[u8]> {
    let (SEQUENCE, content, _) = element(answer)? else { return None };
    let (OBJECT_IDENTIFIER, kind, rest) = element(content)? else { return None };
    let (CONTEXT_0, data, _) = element(rest).filter(|_| kind == SIGNED_DATA)? else { return None };
    let (SEQUENCE, data, _) = element(data)? else { return None };
    let (INTEGER, _, rest) = element(data)? else { return None };
    let (SET, _, rest) = element(rest)? else { return None };
    let (SEQUENCE, _, rest) = element(rest)? else { return None };
    let (CONTEXT_0, certificates, _) = element(rest)? else { return None };
    Some(certificates)
}

#[cfg(test)]
mod tests;
