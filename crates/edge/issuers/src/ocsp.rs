//! Stapled OCSP responses (RFC 6960).
//!
//! A response is used only if it is signed by the certificate's issuer, or by one that the issuer has named for it, is about this very certificate, is valid
//! now, and says that the certificate is good. Workers send none that has ended.

mod room;
mod status;
mod target;

use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use model::options::LocalEndpoints;
use model::snapshot::Staples;
use model::{Built, CertificateFacts, CertificateRecord, ObjectKey};
use tokio::sync::watch;

use crate::client::{self, Body, Client};
use crate::keeper::{self, Asked, Known, Topic, unix_time};
use status::Fault;
use target::Target;

/// Where NGINX has the responses; a quarter of it is for what does not fit well.
const DICTIONARY: &str = "ocsp_response_cache";

/// Keeps the responses of the certificates in use up to date, while `enable-ocsp` is on. Ends when nothing is built any more.
///
/// `local`: where requests do not go.
pub async fn run(built: watch::Receiver<Option<Arc<Built>>>, local: LocalEndpoints, staples: watch::Sender<Staples>) -> &'static str {
    keeper::run::<Statuses>(built, local, staples).await;
    "ocsp"
}

/// The certificates that are asked about.
#[derive(Default)]
struct Statuses {
    /// Those of the last build.
    followed: OrdMap<Arc<str>, Arc<CertificateFacts>>,
    /// Bytes that NGINX's memory has for responses.
    room: u64,
}

/// A certificate whose issuer has a responder.
struct Certificate {
    facts: Arc<CertificateFacts>,
    record: Arc<CertificateRecord>,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Chain(&'static str),
    #[error(transparent)]
    Fetch(#[from] client::Error),
    #[error(transparent)]
    Status(#[from] Fault),
}

impl Topic for Statuses {
    type Key = Arc<str>;
    type Subject = Certificate;
    type Answer = Arc<[u8]>;
    type Failure = Failure;
    const LOG: [&'static str; 2] = ["OCSP response stapled", "no new OCSP response"];

    fn follow(&mut self, built: Option<&Built>) -> (Asked<Self>, bool) {
        let built = built.filter(|built| built.model.fixed.globals.config.enable_ocsp);
        let dictionaries = built.map(|built| &built.model.fixed.globals.config.lua_shared_dicts);
        let dictionary = dictionaries.and_then(|all| all.iter().find(|(name, _)| name.as_str() == DICTIONARY));
        let room = dictionary.map_or(0, |(_, size)| size.bytes / 4 * 3);
        let wanted = built.map(|built| built.certificates.clone()).unwrap_or_default();
        let before = std::mem::replace(&mut self.followed, wanted.clone());
        let subject = |id: &Arc<str>, facts: &Arc<CertificateFacts>| {
            let record = built?.model.live.certificates.get(id).filter(|_| facts.status_url.is_some())?;
            Some(Certificate { facts: facts.clone(), record: record.clone() })
        };
        let asked = before.diff(&wanted).map(|item| match item {
            DiffItem::Remove(id, _) => (id.clone(), None),
            DiffItem::Add(id, facts) | DiffItem::Update { new: (id, facts), .. } => (id.clone(), subject(id, facts)),
        });
        (asked.collect(), std::mem::replace(&mut self.room, room) != room)
    }

    fn place(subject: &Certificate) -> (Option<&ObjectKey>, &str) {
        (subject.facts.secret.as_ref(), subject.facts.status_url.as_deref().unwrap_or_default())
    }

    async fn ask(subject: &Certificate, client: &Client) -> Result<(i64, Arc<[u8]>), Failure> {
        let target = Target::of_chain(&subject.record.pair.chain).map_err(Failure::Chain)?;
        let body = Body { content: target.request().into(), content_type: "application/ocsp-request" };
        let answer = client.post(Self::place(subject).1, body, "application/ocsp-response").await?;
        let validity = status::check(&answer, &target, unix_time())?;
        Ok((validity.until, answer.to_vec().into()))
    }

    fn public(failure: &Failure) -> Arc<str> {
        match failure {
            Failure::Chain(what) => (*what).into(),
            Failure::Fetch(error) if error.is_refusal() => format!("its OCSP responder is not asked: {error}").into(),
            Failure::Fetch(_) => "its OCSP responder gives no answer".into(),
            Failure::Status(fault) => fault.to_string().into(),
        }
    }

    fn ends(failure: &Failure) -> bool {
        matches!(failure, Failure::Status(Fault::Revoked | Fault::Unknown))
    }

    fn fitting(&self, known: &Known<Self>, owner: impl Fn(&Arc<str>) -> Arc<str>) -> Known<Self> {
        room::fit(known, owner, self.room)
    }
}
