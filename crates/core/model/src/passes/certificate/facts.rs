//! What is known of a certificate.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::{OID_PKIX_ACCESS_DESCRIPTOR_CA_ISSUERS, OID_PKIX_ACCESS_DESCRIPTOR_OCSP, Oid};
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};
use x509_parser::public_key::PublicKey;

use crate::key::ObjectKey;

/// Whether clients get all certificates between a certificate and one that they know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chain {
    /// As far as can be told.
    #[default]
    Whole,
    /// The issuer's certificate, which has an address, does not follow.
    Alone,
    /// One of them did not issue the one before it: its number, from 1.
    Broken(u32),
}

/// What is known of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CertificateFacts {
    /// The Secret that it is from; of several with the same content one of them. `None`: it was generated.
    pub secret: Option<ObjectKey>,
    /// Names that it is valid for, in lower case: the alternative names, or else the common name.
    pub names: Vec<String>,
    /// When it begins, in seconds since 1970.
    pub not_before: i64,
    /// When it ends, in seconds since 1970.
    pub not_after: i64,
    /// The attribute `serialNumber` of its issuer, which is mostly absent.
    pub issuer_serial_number: String,
    /// The first organisation of its issuer.
    pub issuer_organization: String,
    /// The common name of its issuer.
    pub issuer_common_name: String,
    /// Its serial number, decimal.
    pub serial_number: String,
    /// `RSA`, `ECDSA`, `Ed25519` or empty.
    pub public_key_algorithm: &'static str,
    /// Bits of its public key.
    pub key_bits: usize,
    /// Whether what follows it leads on.
    pub chain: Chain,
    /// Where its issuer answers about its status (OCSP): the first URL with `http://`.
    pub status_url: Option<Arc<str>>,
    /// Where the certificate of its issuer is: the first URL with `http://`.
    pub issuer_url: Option<Arc<str>>,
}

impl CertificateFacts {
    /// `others`: the certificates behind it.
    pub(super) fn of(certificate: &X509Certificate<'_>, others: &[CertificateDer<'_>]) -> Self {
        let issuer = certificate.issuer();
        let first = |mut attributes: Box<dyn Iterator<Item = &str> + '_>| attributes.next().unwrap_or_default().to_owned();
        let serial = issuer.iter_by_oid(&x509_parser::oid_registry::OID_X509_SERIALNUMBER);
        let (public_key_algorithm, key_bits) = key(certificate);
        Self {
            secret: None,
            names: super::names(certificate),
            not_before: certificate.validity().not_before.timestamp(),
            not_after: certificate.validity().not_after.timestamp(),
            issuer_serial_number: first(Box::new(serial.filter_map(|value| value.as_str().ok()))),
            issuer_organization: first(Box::new(issuer.iter_organization().filter_map(|value| value.as_str().ok()))),
            issuer_common_name: first(Box::new(issuer.iter_common_name().filter_map(|value| value.as_str().ok()))),
            serial_number: certificate.tbs_certificate.serial.to_string(),
            public_key_algorithm,
            key_bits,
            chain: chain(certificate, others),
            status_url: url(certificate, &OID_PKIX_ACCESS_DESCRIPTOR_OCSP).map(Into::into),
            issuer_url: issuer_url(certificate).map(Into::into),
        }
    }

    /// What is wrong with it, each with the key of the Secret that it is about. `time`: seconds since 1970; `None`: ends are not looked at.
    /// `missing`: why the certificate of its issuer can't be fetched.
    pub(crate) fn faults(&self, time: Option<i64>, missing: Option<&str>) -> Vec<(&'static str, String)> {
        let mut faults = Vec::new();
        if let Some(time) = time {
            let ends = || ASN1Time::from_timestamp(self.not_after).map(|end| end.to_string()).unwrap_or_default();
            if self.not_after <= time {
                faults
                    .push(("tls.crt", format!("its certificate ended at {}, expected one that is valid; it is used all the same", ends())));
            } else if self.not_after - time <= SOON {
                faults.push(("tls.crt", format!("its certificate ends at {}, in less than 10 days, expected a renewed one", ends())));
            }
        }
        match self.chain {
            Chain::Whole => {}
            Chain::Alone => faults.push((
                "tls.crt",
                format!(
                    "the certificate of the issuer does not follow{}; clients that don't know it refuse the certificate",
                    missing.map(|fault| format!(", and {fault}")).unwrap_or_default()
                ),
            )),
            Chain::Broken(number) => faults.push((
                "tls.crt",
                format!("certificate {number} of its chain did not issue the one before it, expected each to be followed by its issuer's; clients may refuse the chain"),
            )),
        }
        let least = match self.public_key_algorithm {
            "RSA" => 2048,
            "ECDSA" => 224,
            _ => 0,
        };
        if self.key_bits < least {
            let Self { public_key_algorithm, key_bits, .. } = self;
            faults.push((
                "tls.key",
                format!("its {public_key_algorithm} key has {key_bits} bits, expected {least} or more; where the level of security of OpenSSL (@SECLEVEL in ssl-ciphers) refuses it, hosts have the default certificate instead"),
            ));
        }
        faults
    }
}

/// Seconds before its end at which a certificate is to be renewed: 10 days.
const SOON: i64 = 10 * 86_400;

/// Compares names only: signatures are the clients' business.
fn chain(certificate: &X509Certificate<'_>, others: &[CertificateDer<'_>]) -> Chain {
    let mut issuer = certificate.issuer().as_raw().to_vec();
    for (number, other) in (2..).zip(others) {
        match X509Certificate::from_der(other) {
            Ok((_, other)) if other.subject().as_raw() == issuer => issuer = other.issuer().as_raw().to_vec(),
            _ => return Chain::Broken(number),
        }
    }
    let is_own = certificate.subject().as_raw() == certificate.issuer().as_raw();
    if others.is_empty() && !is_own && issuer_url(certificate).is_some() { Chain::Alone } else { Chain::Whole }
}

fn key(certificate: &X509Certificate<'_>) -> (&'static str, usize) {
    match certificate.public_key().parsed() {
        Ok(PublicKey::RSA(key)) => ("RSA", crate::der::bits(key.modulus)),
        Ok(PublicKey::EC(point)) => ("ECDSA", point.key_size()),
        _ if certificate.public_key().algorithm.algorithm == x509_parser::oid_registry::OID_SIG_ED25519 => ("Ed25519", 256),
        _ => ("", 0),
    }
}

/// Where the certificate of a certificate's issuer is.
pub fn issuer_url<'a>(certificate: &X509Certificate<'a>) -> Option<&'a str> {
    url(certificate, &OID_PKIX_ACCESS_DESCRIPTOR_CA_ISSUERS)
}

/// The first URL of HTTP at which its issuer offers something.
fn url<'a>(certificate: &X509Certificate<'a>, method: &Oid<'_>) -> Option<&'a str> {
    let extensions = certificate.extensions().iter();
    let access = extensions.filter_map(|extension| match extension.parsed_extension() {
        ParsedExtension::AuthorityInfoAccess(access) => Some(access),
        _ => None,
    });
    let mut urls = access.flat_map(|access| &access.accessdescs).filter(|description| description.access_method == *method);
    urls.find_map(|description| match description.access_location {
        GeneralName::URI(url) if url.len() <= LONGEST_URL && url.starts_with("http://") => Some(url),
        _ => None,
    })
}

/// Bytes of a URL in a certificate.
const LONGEST_URL: usize = 1024;
