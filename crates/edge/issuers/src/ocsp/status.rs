//! What a responder answered: read and checked (RFC 6960, 4.2 and 3.2).

use model::der::{BIT_STRING, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, element};
use x509_parser::asn1_rs::BitString;
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};
use x509_parser::verify::verify_signature;
use x509_parser::x509::AlgorithmIdentifier;

use super::target::{Target, key_hash};

const ENUMERATED: u8 = 0x0a;
/// `[0]` of another element.
const CONTEXT_0: u8 = 0xa0;
const CONTEXT_1: u8 = 0xa1;
const CONTEXT_2: u8 = 0xa2;
/// `[0] IMPLICIT NULL`.
const GOOD: u8 = 0x80;
/// `id-pkix-ocsp-basic`.
const BASIC: [u8; 9] = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x01];

/// Seconds by which a responder's clock may be ahead of ours.
const SKEW: i64 = 300;
/// Seconds for which a response is used that does not say when it ends.
const WITHOUT_END: i64 = 3600;

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("its OCSP responder answers with something else than an OCSP response")]
    Unreadable,
    #[error("its OCSP responder gives no response about it")]
    Refused,
    #[error("the response of its OCSP responder is about other certificates")]
    Other,
    #[error("the response of its OCSP responder is not signed by its issuer")]
    Signer,
    #[error("the signature of its OCSP responder's response is wrong, or of a kind that is not supported")]
    Signature,
    #[error("the response of its OCSP responder is not valid now")]
    Time,
    #[error("its issuer has revoked it")]
    Revoked,
    #[error("its OCSP responder does not know it")]
    Unknown,
}

/// When a response was made, and when it ends, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) since: i64,
    pub(crate) until: i64,
}

/// Checks an answer about a certificate at a time: its validity if it can be stapled.
pub(crate) fn check(answer: &[u8], target: &Target, now: i64) -> Result<Validity, Fault> {
    let basic = basic(answer)?;
    let response = Response::read(basic).ok_or(Fault::Unreadable)?;
    let (_, issuer) = X509Certificate::from_der(&target.issuer).map_err(|_| Fault::Signer)?;
    response.verify(&issuer, now)?;
    let (status, validity) = response.status(target).ok_or(Fault::Unreadable)?.ok_or(Fault::Other)?;
    if validity.since > now + SKEW || validity.until <= now {
        return Err(Fault::Time);
    }
    match status {
        GOOD => Ok(validity),
        CONTEXT_1 => Err(Fault::Revoked),
        _ => Err(Fault::Unknown),
    }
}

/// The `BasicOCSPResponse` in an `OCSPResponse { responseStatus, responseBytes [0] { type, OCTET STRING } }`.
fn basic(answer: &[u8]) -> Result<&[u8], Fault> {
    let read = || {
        let (SEQUENCE, content, []) = element(answer)? else { return None };
        let (ENUMERATED, status, rest) = element(content)? else { return None };
        if status != [0] {
            return Some(Err(Fault::Refused));
        }
        let (CONTEXT_0, bytes, _) = element(rest)? else { return None };
        let (SEQUENCE, bytes, _) = element(bytes)? else { return None };
        let (OBJECT_IDENTIFIER, kind, rest) = element(bytes)? else { return None };
        let (OCTET_STRING, response, _) = element(rest)? else { return None };
        (kind == BASIC).then_some(Ok(response))
    };
    read().unwrap_or(Err(Fault::Unreadable))
}

/// A `BasicOCSPResponse { tbsResponseData, signatureAlgorithm, signature, certs [0] OPTIONAL }`.
struct Response<'a> {
    /// What is signed.
    signed: &'a [u8],
    algorithm: AlgorithmIdentifier<'a>,
    signature: BitString<'a>,
    /// Certificates, one after the other.
    certificates: &'a [u8],
    /// The tag and the content of the name of who signed.
    responder: (u8, &'a [u8]),
    /// One `SingleResponse` after the other.
    responses: &'a [u8],
}

impl<'a> Response<'a> {
    fn read(basic: &'a [u8]) -> Option<Self> {
        let (SEQUENCE, content, _) = element(basic)? else { return None };
        let (SEQUENCE, data, rest) = element(content)? else { return None };
        let signed = content.strip_suffix(rest)?;
        let (rest, algorithm) = AlgorithmIdentifier::from_der(rest).ok()?;
        let (BIT_STRING, signature, rest) = element(rest)? else { return None };
        let (0, signature) = signature.split_first()? else { return None };
        let certificates = match element(rest) {
            Some((CONTEXT_0, list, _)) => match element(list)? {
                (SEQUENCE, certificates, _) => certificates,
                _ => return None,
            },
            _ => &[],
        };
        // ResponseData { version [0] DEFAULT v1, responderID, producedAt, responses, extensions [1] OPTIONAL }
        let (tag, name, rest) = match element(data)? {
            (CONTEXT_0, _, rest) => element(rest)?,
            first => first,
        };
        let (_, _, rest) = element(rest)?;
        let (SEQUENCE, responses, _) = element(rest)? else { return None };
        Some(Self { signed, algorithm, signature: BitString::new(0, signature), certificates, responder: (tag, name), responses })
    }

    /// Whether the issuer signed it, or one that the issuer certified for this.
    fn verify(&self, issuer: &X509Certificate<'_>, now: i64) -> Result<(), Fault> {
        let verify = |signer: &X509Certificate<'_>| {
            verify_signature(signer.public_key(), &self.algorithm, &self.signature, self.signed).map_err(|_| Fault::Signature)
        };
        if self.is_by(issuer) {
            return verify(issuer);
        }
        let mut rest = self.certificates;
        while let Ok((after, signer)) = X509Certificate::from_der(rest) {
            rest = after;
            let may_sign = || signer.extended_key_usage().is_ok_and(|usage| usage.is_some_and(|usage| usage.value.ocsp_signing));
            let is_valid = || ASN1Time::from_timestamp(now).is_ok_and(|now| signer.validity().is_valid_at(now));
            let is_certified =
                || signer.issuer().as_raw() == issuer.subject().as_raw() && signer.verify_signature(Some(issuer.public_key())).is_ok();
            if self.is_by(&signer) && may_sign() && is_valid() && is_certified() {
                return verify(&signer);
            }
        }
        Err(Fault::Signer)
    }

    /// Whether it names this certificate as that of who signed: `ResponderID { byName [1] | byKey [2] }`.
    fn is_by(&self, certificate: &X509Certificate<'_>) -> bool {
        match self.responder {
            (CONTEXT_1, name) => name == certificate.subject().as_raw(),
            (CONTEXT_2, key) => matches!(element(key), Some((OCTET_STRING, hash, _)) if hash == key_hash(certificate)),
            _ => false,
        }
    }

    /// What it says of a certificate: `SingleResponse { certID, certStatus, thisUpdate, nextUpdate [0] OPTIONAL, ... }`.
    /// Outside `None`: it can't be read; inside: it says nothing.
    fn status(&self, target: &Target) -> Option<Option<(u8, Validity)>> {
        let mut rest = self.responses;
        while !rest.is_empty() {
            let (SEQUENCE, single, after) = element(rest)? else { return None };
            rest = after;
            let (SEQUENCE, id, single) = element(single)? else { return None };
            if !target.is_named(id) {
                continue;
            }
            let (status, _, single) = element(single)?;
            let (single, since) = ASN1Time::from_der(single).ok()?;
            let until = match element(single) {
                Some((CONTEXT_0, until, _)) => ASN1Time::from_der(until).ok()?.1.timestamp(),
                _ => since.timestamp() + WITHOUT_END,
            };
            return Some(Some((status, Validity { since: since.timestamp(), until })));
        }
        Some(None)
    }
}

#[cfg(test)]
mod tests;
