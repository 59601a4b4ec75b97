//! Whether a private key belongs to a certificate, for every key that OpenSSL can use.

use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::der::{BIT_STRING, INTEGER, OCTET_STRING, SEQUENCE, element, magnitude};

/// Whether the key belongs to the certificate with this public key, as far as the key says; NGINX compares it again. The error says why it is no key.
pub(super) fn belongs(key: &PrivateKeyDer<'_>, certified: &SubjectPublicKeyInfo<'_>) -> Result<bool, &'static str> {
    if let Ok(signer) = any_supported_type(key) {
        return Ok(signer.public_key().is_none_or(|public| *public == *certified.raw));
    }
    // Ours has no use for short RSA keys and other curves, OpenSSL has.
    let certified = &*certified.subject_public_key.data;
    let public = match key {
        PrivateKeyDer::Pkcs1(key) => modulus(key.secret_pkcs1_der()).map(Public::Modulus),
        PrivateKeyDer::Sec1(key) => Some(point(key.secret_sec1_der())),
        PrivateKeyDer::Pkcs8(key) => {
            inner(key.secret_pkcs8_der()).map(|inner| modulus(inner).map_or_else(|| point(inner), Public::Modulus))
        }
        _ => None,
    };
    Ok(match public.ok_or("its tls.key is not a usable private key")? {
        Public::Modulus(own) => modulus_of(certified) == Some(own),
        Public::Point(own) => own == certified,
        Public::Unknown => true,
    })
}

/// The public part of a private key.
enum Public<'a> {
    Modulus(&'a [u8]),
    Point(&'a [u8]),
    /// It is not in there.
    Unknown,
}

/// The key in a `PrivateKeyInfo { version, algorithm, key OCTET STRING }` (RFC 5958).
fn inner(bytes: &[u8]) -> Option<&[u8]> {
    let (SEQUENCE, content, _) = element(bytes)? else { return None };
    let (INTEGER, _, rest) = element(content)? else { return None };
    let (SEQUENCE, _, rest) = element(rest)? else { return None };
    let (OCTET_STRING, key, _) = element(rest)? else { return None };
    Some(key)
}

/// The modulus of an `RSAPrivateKey { version, modulus, publicExponent, privateExponent, ... }` (RFC 8017).
fn modulus(bytes: &[u8]) -> Option<&[u8]> {
    let (SEQUENCE, content, _) = element(bytes)? else { return None };
    let (INTEGER, _, rest) = element(content)? else { return None };
    let (INTEGER, modulus, _) = element(rest)? else { return None };
    Some(magnitude(modulus))
}

/// The modulus of an `RSAPublicKey { modulus, publicExponent }`.
fn modulus_of(bytes: &[u8]) -> Option<&[u8]> {
    let (SEQUENCE, content, _) = element(bytes)? else { return None };
    let (INTEGER, modulus, _) = element(content)? else { return None };
    Some(magnitude(modulus))
}

/// The point in an `ECPrivateKey { version, privateKey, parameters [0] OPTIONAL, publicKey [1] BIT STRING OPTIONAL }` (RFC 5915).
fn point(bytes: &[u8]) -> Public<'_> {
    const PARAMETERS: u8 = 0xa0;
    const PUBLIC_KEY: u8 = 0xa1;
    let read = || {
        let (SEQUENCE, content, _) = element(bytes)? else { return None };
        let (INTEGER, _, rest) = element(content)? else { return None };
        let (OCTET_STRING, _, rest) = element(rest)? else { return None };
        let (tag, found, rest) = element(rest)?;
        let (PUBLIC_KEY, found, _) = (if tag == PARAMETERS { element(rest)? } else { (tag, found, rest) }) else { return None };
        let (BIT_STRING, bits, _) = element(found)? else { return None };
        // The first byte counts bits that are not used.
        bits.split_first().map(|(_, point)| point)
    };
    read().map_or(Public::Unknown, Public::Point)
}
