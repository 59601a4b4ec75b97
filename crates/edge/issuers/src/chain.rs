//! Certificates that lie between a certificate and one that clients know, where the Secret lacks them (RFC 5280, 4.2.2.1).
//!
//! A certificate is used only if it is a CA's that is valid now, and has signed the one before it. The root is what clients know; it is left out.

mod answer;

use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use model::options::LocalEndpoints;
use model::snapshot::{Issuers, MissingIssuers};
use model::{Built, IncompleteChain, ObjectKey};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::watch;
use tracing::debug;

use crate::client::{self, Client};
use crate::keeper::{self, Asked, Known, Topic, unix_time};
use answer::{Fault, Issuer};

/// Certificates between a certificate and the root.
const MOST: usize = 3;
/// RFC 5280, 4.2.2.1 has the first two; the third is what many servers say.
const ACCEPT: &str = "application/pkix-cert, application/pkcs7-mime, */*;q=0.5";

/// Keeps the certificates up to date that the chains of certificates in use lack. Ends when nothing is built any more.
///
/// `local`: where requests do not go.
pub async fn run(built: watch::Receiver<Option<Arc<Built>>>, local: LocalEndpoints, issuers: watch::Sender<Issuers>) -> &'static str {
    keeper::run::<Chains>(built, local, issuers).await;
    "chain"
}

/// The chains that are to be completed: those of the last build.
#[derive(Default)]
struct Chains {
    followed: OrdMap<ObjectKey, Arc<IncompleteChain>>,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Fetch(#[from] client::Error),
    #[error(transparent)]
    Answer(#[from] Fault),
}

impl Topic for Chains {
    type Key = ObjectKey;
    type Subject = Arc<IncompleteChain>;
    type Answer = MissingIssuers;
    type Failure = Failure;
    const LOG: [&'static str; 2] = ["certificate chain completed", "certificate chain not completed"];

    fn follow(&mut self, built: Option<&Built>) -> (Asked<Self>, bool) {
        let wanted = built.map(|built| built.incomplete.clone()).unwrap_or_default();
        let before = std::mem::replace(&mut self.followed, wanted.clone());
        let asked = before.diff(&wanted).map(|item| match item {
            DiffItem::Remove(secret, _) => (secret.clone(), None),
            DiffItem::Add(secret, chain) | DiffItem::Update { new: (secret, chain), .. } => (secret.clone(), Some(chain.clone())),
        });
        (asked.collect(), false)
    }

    fn place(subject: &Arc<IncompleteChain>) -> (Option<&ObjectKey>, &str) {
        (Some(&subject.secret), &subject.url)
    }

    async fn ask(subject: &Arc<IncompleteChain>, client: &Client) -> Result<(i64, MissingIssuers), Failure> {
        let certificate = CertificateDer::from_pem_slice(subject.record.pair.chain.as_bytes()).map_err(|_| Fault::Unreadable)?;
        let mut issuers = vec![issuer(&subject.url, &certificate, client).await?];
        while let Some(url) = next(&issuers) {
            match issuer(url, &issuers[issuers.len() - 1].certificate, client).await {
                Ok(further) => issuers.push(further),
                // It may be what clients know. It is asked for again as all others are.
                Err(error) => {
                    debug!(secret = %subject.secret, url, %error, "the issuer of an issuer was not fetched");
                    break;
                }
            }
        }
        let until = issuers.iter().map(|issuer| issuer.until).min().unwrap_or_default();
        let between = issuers.into_iter().filter(|issuer| !issuer.is_root).map(|issuer| issuer.certificate.into());
        Ok((until, MissingIssuers { of: subject.id.clone(), certificates: between.collect() }))
    }

    fn public(failure: &Failure) -> Arc<str> {
        match failure {
            Failure::Fetch(error) if error.is_refusal() => format!("it is not fetched: {error}").into(),
            Failure::Fetch(_) => "its URL gives no answer".into(),
            Failure::Answer(fault) => fault.to_string().into(),
        }
    }

    fn fitting(&self, known: &Known<Self>, _owner: impl Fn(&ObjectKey) -> Arc<str>) -> Known<Self> {
        known.clone()
    }
}

/// Where the issuer of the last certificate is, unless the chain is complete or long enough.
fn next(issuers: &[Issuer]) -> Option<&str> {
    let last = issuers.last().filter(|last| !last.is_root && issuers.len() <= MOST)?;
    last.url.as_deref()
}

async fn issuer(url: &str, certificate: &[u8], client: &Client) -> Result<Issuer, Failure> {
    let answer = client.get(url, ACCEPT).await?;
    Ok(answer::issuer_of(certificate, &answer, unix_time())?)
}
