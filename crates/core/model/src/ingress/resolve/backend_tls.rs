//! `proxy-ssl-secret`: CAs to trust, and a certificate for endpoints.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Lookup, Resolution};
use crate::key::ObjectKey;
use crate::passes::certificate::Certificate;
use crate::profile::TlsMaterial;
use crate::rule::BackendSecret;

const ANNOTATION: &str = "proxy-ssl-secret";
const NOTHING_TO_VERIFY: &str = "expected a ca.crt to verify endpoints with";

/// Reads the Secret that is named. One that is out of reach, missing or unusable closes the locations.
pub(super) fn read(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) -> Option<BackendSecret> {
    let tls = &lookup.spec.backend_tls;
    let reference = tls.proxy_ssl_secret.as_ref()?;
    let key = match reference.resolve(&lookup.ingress.namespace, lookup.config.allow_cross_namespace_resources) {
        Ok((namespace, name)) => ObjectKey::new(namespace, name),
        Err(invalid) => {
            outcome.deny(ANNOTATION, &format!("\"{reference}\": {invalid}"));
            return None;
        }
    };
    let read = |secret: &Secret| match material(secret)? {
        // Serving without the check would be worse than not serving.
        None if tls.proxy_ssl_verify => Err(NOTHING_TO_VERIFY.to_owned()),
        material => Ok(material),
    };
    match lookup.secret(&key, ANNOTATION, outcome, read) {
        None => outcome.deny(ANNOTATION, &format!("Secret {key}: expected one that exists")),
        Some(Ok(material)) => return Some(BackendSecret { material }),
        Some(Err(what)) => {
            let annotation = if what == NOTHING_TO_VERIFY { "proxy-ssl-verify" } else { ANNOTATION };
            outcome.deny(annotation, &format!("Secret {key}: {what}"));
        }
    }
    None
}

/// CAs, and a key pair if there is one.
fn material(secret: &Secret) -> Result<Option<Arc<TlsMaterial>>, String> {
    let has = |key: &str| secret.data.as_ref().is_some_and(|data| data.get(key).is_some_and(|value| !value.0.is_empty()));
    let pair = (has("tls.crt") || has("tls.key")).then(|| Certificate::from_secret(secret)).transpose()?;
    if !has("ca.crt") {
        return if pair.is_some() { Ok(None) } else { Err("expected a ca.crt, or tls.crt and tls.key".to_owned()) };
    }
    let bytes = secret.data.as_ref().and_then(|data| data.get("ca.crt")).map(|value| value.0.clone()).unwrap_or_default();
    let ca = String::from_utf8(bytes).map_err(|_| "its ca.crt is not PEM text".to_owned())?;
    check_authorities(&ca)?;
    let pair = pair.map(|certificate| certificate.record.pair.clone());
    Ok(Some(Arc::new(TlsMaterial::new(ca, pair))))
}

/// At least one certificate, and nothing that is not one.
pub(super) fn check_authorities(pem: &str) -> Result<(), String> {
    let certificates: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("its ca.crt is not a PEM certificate ({error})"))?;
    if certificates.is_empty() {
        return Err("its ca.crt holds no certificate".to_owned());
    }
    let broken = certificates.iter().find_map(|der| X509Certificate::from_der(der).err());
    broken.map_or(Ok(()), |error| Err(format!("its ca.crt is not an X.509 certificate ({error})")))
}
