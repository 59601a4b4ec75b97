//! `auth-tls-secret`: the CA that clients' certificates must come from.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use settings::ClientCa;
use x509_parser::prelude::FromDer;
use x509_parser::revocation_list::CertificateRevocationList;

use super::backend_tls::check_authorities;
use super::{Lookup, Resolution};
use crate::fixed::TrustedClients;
use crate::problem::ProblemKind;
use crate::rule::ClientTrust;

const ANNOTATION: &str = "auth-tls-secret";

/// Reads the Secret. `None`: none is named.
pub(super) fn resolve(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) -> Option<ClientTrust> {
    // The parser has said what is wrong with a value that names none.
    let ClientCa::Secret(reference) = lookup.spec.client_tls.auth_tls_secret.as_ref()? else { return Some(ClientTrust::Unusable) };
    let read = || {
        let key = lookup.key(reference).map_err(|invalid| format!("\"{reference}\": {invalid}"))?;
        let secret = lookup.snapshot.secrets.get(&key).ok_or_else(|| format!("Secret {key}: expected one that exists"))?;
        trusted(secret).map_err(|what| format!("Secret {key}: {what}"))
    };
    Some(match read() {
        Ok(trusted) => ClientTrust::Trusted(Arc::new(trusted)),
        Err(what) => {
            let detail =
                format!("{what}; its paths answer 403, and so do the hosts that are of its namespace, as clients could not be told apart");
            outcome.problem(ANNOTATION, ProblemKind::AnnotationParsingFailed, detail);
            ClientTrust::Unusable
        }
    })
}

fn trusted(secret: &Secret) -> Result<TrustedClients, String> {
    let text = |key: &str| {
        let value = secret.data.as_ref().and_then(|data| data.get(key)).filter(|value| !value.0.is_empty())?;
        Some(String::from_utf8(value.0.clone()).map_err(|_| format!("its {key} is not PEM text")))
    };
    let ca = text("ca.crt").ok_or("expected a ca.crt")??;
    check_authorities(&ca)?;
    let revoked = text("ca.crl").transpose()?;
    revoked.as_deref().map_or(Ok(()), check_revoked)?;
    Ok(TrustedClients::new(ca, revoked))
}

/// At least one list, and nothing that is not one.
fn check_revoked(pem: &str) -> Result<(), String> {
    let lists: Vec<CertificateRevocationListDer<'_>> = CertificateRevocationListDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("its ca.crl is not a PEM list of revoked certificates ({error})"))?;
    if lists.is_empty() {
        return Err("its ca.crl holds no list of revoked certificates".to_owned());
    }
    let broken = lists.iter().find_map(|der| CertificateRevocationList::from_der(der.as_ref()).err());
    broken.map_or(Ok(()), |error| Err(format!("its ca.crl is not an X.509 list of revoked certificates ({error})")))
}
