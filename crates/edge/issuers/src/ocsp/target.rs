//! What a responder is asked about: a certificate, as its issuer names it.

use model::der::{INTEGER, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, element};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha1::{Digest, Sha1};
use x509_parser::prelude::{FromDer, X509Certificate};

/// SHA-1, the one algorithm that every responder knows. It only names the issuer here; nothing depends on its strength.
const SHA1: [u8; 5] = [0x2b, 0x0e, 0x03, 0x02, 0x1a];

/// A certificate with its issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// The issuer's certificate, DER.
    pub(crate) issuer: Vec<u8>,
    id: CertificateId,
}

/// The `CertID` of RFC 6960, with SHA-1.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CertificateId {
    name_hash: [u8; 20],
    key_hash: [u8; 20],
    serial: Vec<u8>,
}

impl Target {
    /// The first certificate of a chain (PEM), with its issuer from the chain. The error says what is missing.
    pub(crate) fn of_chain(chain: &str) -> Result<Self, &'static str> {
        const UNREADABLE: &str = "its tls.crt can't be read";
        let chain: Vec<CertificateDer<'_>> =
            CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>().map_err(|_| UNREADABLE)?;
        let (leaf, others) = chain.split_first().ok_or(UNREADABLE)?;
        let (_, leaf) = X509Certificate::from_der(leaf).map_err(|_| UNREADABLE)?;
        let is_issuer = |other: &&CertificateDer<'_>| {
            X509Certificate::from_der(other).is_ok_and(|(_, other)| {
                other.subject().as_raw() == leaf.issuer().as_raw() && leaf.verify_signature(Some(other.public_key())).is_ok()
            })
        };
        let issuer = others.iter().find(is_issuer).ok_or("its tls.crt lacks the certificate of its issuer")?;
        let (_, parsed) = X509Certificate::from_der(issuer).map_err(|_| UNREADABLE)?;
        let id = CertificateId {
            name_hash: Sha1::digest(leaf.issuer().as_raw()).into(),
            key_hash: key_hash(&parsed),
            serial: leaf.raw_serial().to_vec(),
        };
        Ok(Self { issuer: issuer.to_vec(), id })
    }

    /// The request, DER: `OCSPRequest { tbsRequest { requestList { Request { reqCert CertID } } } }`.
    pub(crate) fn request(&self) -> Vec<u8> {
        let algorithm = write(SEQUENCE, &[write(OBJECT_IDENTIFIER, &SHA1), vec![0x05, 0x00]].concat());
        let CertificateId { name_hash, key_hash, serial } = &self.id;
        let id = [algorithm, write(OCTET_STRING, name_hash), write(OCTET_STRING, key_hash), write(INTEGER, serial)].concat();
        // CertID, Request, requestList, tbsRequest, OCSPRequest.
        (0..5).fold(id, |content, _| write(SEQUENCE, &content))
    }

    /// Whether a `CertID` (its content) names this certificate.
    pub(crate) fn is_named(&self, id: &[u8]) -> bool {
        let read = || {
            let (SEQUENCE, algorithm, rest) = element(id)? else { return None };
            let (OBJECT_IDENTIFIER, algorithm, _) = element(algorithm)? else { return None };
            let (OCTET_STRING, name_hash, rest) = element(rest)? else { return None };
            let (OCTET_STRING, key_hash, rest) = element(rest)? else { return None };
            let (INTEGER, serial, []) = element(rest)? else { return None };
            Some(algorithm == SHA1 && name_hash == self.id.name_hash && key_hash == self.id.key_hash && serial == self.id.serial)
        };
        read().unwrap_or(false)
    }
}

/// The SHA-1 of a certificate's public key, as responders name keys.
pub(crate) fn key_hash(certificate: &X509Certificate<'_>) -> [u8; 20] {
    Sha1::digest(&certificate.public_key().subject_public_key.data).into()
}

/// An element with a content of less than 64 KiB.
fn write(tag: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).unwrap_or(u16::MAX).to_be_bytes();
    let head = match (high, low) {
        (0, 0..=0x7f) => vec![tag, low],
        (0, _) => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    [&head, content].concat()
}
