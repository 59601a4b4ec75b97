//! The task that keeps responses up to date.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hickory_resolver::TokioResolver;
use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use model::options::LocalEndpoints;
use model::snapshot::{Staple, Staples};
use model::{Built, CertificateFacts, CertificateRecord};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::fetch::{self, Error};
use crate::queue::Queue;
use crate::room;
use crate::status::{self, Fault, Validity};
use crate::target::Target;

/// Where NGINX has the responses; a quarter of it is for what does not fit well.
const DICTIONARY: &str = "ocsp_response_cache";

/// The wait after a first failure; each further one doubles it.
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LAST_RETRY: Duration = Duration::from_secs(3600);
/// Bounds of the time after which a response is asked for again: half of what is left of it.
const SOONEST: Duration = Duration::from_secs(10);
const LATEST: Duration = Duration::from_secs(86_400);

/// A certificate whose issuer has a responder.
struct Certificate {
    facts: Arc<CertificateFacts>,
    record: Arc<CertificateRecord>,
    /// When it is asked about; `None` while it is.
    due: Option<Instant>,
    failures: u32,
}

/// The end of a request.
struct Answered {
    id: Arc<str>,
    /// For a certificate that came back meanwhile.
    facts: Arc<CertificateFacts>,
    outcome: Result<(Validity, Arc<[u8]>), Failure>,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Chain(&'static str),
    #[error(transparent)]
    Fetch(#[from] Error),
    #[error(transparent)]
    Status(#[from] Fault),
}

impl Failure {
    /// What tenants see.
    fn public(&self) -> Arc<str> {
        match self {
            Self::Chain(what) => (*what).into(),
            Self::Fetch(error @ (Error::Url(_) | Error::Local(..))) => format!("its OCSP responder is not asked: {error}").into(),
            Self::Fetch(_) => "its OCSP responder gives no answer".into(),
            Self::Status(fault) => fault.to_string().into(),
        }
    }
}

/// Keeps the responses of the certificates in use up to date, while `enable-ocsp` is on. Ends when nothing is built any more.
///
/// `local`: where requests do not go.
pub async fn run(mut built: watch::Receiver<Option<Arc<Built>>>, local: LocalEndpoints, staples: watch::Sender<Staples>) -> &'static str {
    let mut keeper = Keeper { local: Arc::new(local), staples, ..Keeper::default() };
    loop {
        let next = keeper.queue.next_at();
        tokio::select! {
            changed = built.changed() => {
                if changed.is_err() { return "ocsp" }
                let newest = built.borrow_and_update().clone();
                keeper.follow(newest.as_deref());
            }
            Some(answered) = keeper.requests.join_next(), if !keeper.requests.is_empty() => match answered {
                Ok(answered) => keeper.learn(answered),
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => {}
            },
            () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => keeper.ask(),
        }
    }
}

#[derive(Default)]
struct Keeper {
    local: Arc<LocalEndpoints>,
    /// Those of the last build.
    followed: OrdMap<Arc<str>, Arc<CertificateFacts>>,
    certificates: BTreeMap<Arc<str>, Certificate>,
    queue: Queue,
    requests: JoinSet<Answered>,
    resolver: Option<TokioResolver>,
    known: Staples,
    /// Bytes that NGINX's memory has for them.
    room: u64,
    staples: watch::Sender<Staples>,
}

impl Keeper {
    /// Goes over to the certificates of a build.
    fn follow(&mut self, built: Option<&Built>) {
        let built = built.filter(|built| built.model.fixed.globals.config.enable_ocsp);
        let dictionaries = built.map(|built| &built.model.fixed.globals.config.lua_shared_dicts);
        let dictionary = dictionaries.and_then(|all| all.iter().find(|(name, _)| name.as_str() == DICTIONARY));
        let room = dictionary.map_or(0, |(_, size)| size.bytes / 4 * 3);
        let mut changed = std::mem::replace(&mut self.room, room) != room;
        let wanted = built.map(|built| built.certificates.clone()).unwrap_or_default();
        let before = std::mem::replace(&mut self.followed, wanted.clone());
        let now = Instant::now();
        for item in before.diff(&wanted) {
            changed = true;
            if let DiffItem::Remove(id, _) | DiffItem::Update { old: (id, _), .. } = item {
                self.forget(id);
            }
            if let DiffItem::Add(id, facts) | DiffItem::Update { new: (id, facts), .. } = item
                && facts.status_url.is_some()
                && let Some(record) = built.and_then(|built| built.model.live.certificates.get(id))
            {
                self.queue.put(&namespace(facts), id, now);
                let certificate = Certificate { facts: facts.clone(), record: record.clone(), due: Some(now), failures: 0 };
                self.certificates.insert(id.clone(), certificate);
            }
        }
        if changed {
            self.publish();
        }
    }

    fn forget(&mut self, id: &Arc<str>) {
        let Some(certificate) = self.certificates.remove(id) else { return };
        if let Some(due) = certificate.due {
            self.queue.remove(&namespace(&certificate.facts), id, due);
        }
        self.known.remove(id);
    }

    /// Begins what is due.
    fn ask(&mut self) {
        if self.resolver.is_none() {
            let built = TokioResolver::builder_tokio().and_then(|builder| builder.build());
            self.resolver = built.map_err(|error| warn!(%error, "can't set up the resolver from /etc/resolv.conf")).ok();
        }
        while let Some(id) = self.queue.take(Instant::now()) {
            let Some(certificate) = self.certificates.get_mut(&id) else { continue };
            certificate.due = None;
            let (facts, record) = (certificate.facts.clone(), certificate.record.clone());
            let (local, resolver) = (self.local.clone(), self.resolver.clone());
            self.requests.spawn(async move {
                let outcome = fetch(&facts, &record, &local, resolver.as_ref()).await;
                Answered { id, facts, outcome }
            });
        }
    }

    fn learn(&mut self, Answered { id, facts, outcome }: Answered) {
        let namespace = namespace(&facts);
        self.queue.done(&namespace);
        let Some(certificate) = self.certificates.get_mut(&id).filter(|certificate| Arc::ptr_eq(&certificate.facts, &facts)) else {
            return;
        };
        let before = self.known.get(&id).map(|staple| (**staple).clone()).unwrap_or_default();
        let (staple, wait) = match outcome {
            Ok((validity, response)) => {
                certificate.failures = 0;
                let left = Duration::from_secs(u64::try_from(validity.until - unix_time()).unwrap_or_default());
                (Staple { response: Some((validity.until, response)), fault: None }, (left / 2).clamp(SOONEST, LATEST))
            }
            Err(failure) => {
                let wait = FIRST_RETRY.saturating_mul(1 << certificate.failures.min(16)).min(LAST_RETRY);
                certificate.failures += 1;
                let is_usable = !matches!(failure, Failure::Status(Fault::Revoked | Fault::Unknown));
                let response = before.response.clone().filter(|(until, _)| is_usable && *until > unix_time());
                let staple = Staple { response, fault: Some(failure.public()) };
                if staple.fault != before.fault {
                    let secret = facts.secret.as_ref().map(ToString::to_string);
                    warn!(secret, url = facts.status_url.as_deref(), error = %failure, "no new OCSP response");
                }
                (staple, wait)
            }
        };
        if staple.fault.is_none() && before.response.is_none() {
            info!(secret = facts.secret.as_ref().map(ToString::to_string), "OCSP response stapled");
        }
        let due = Instant::now() + wait;
        certificate.due = Some(due);
        self.queue.put(&namespace, &id, due);
        if staple != before {
            self.known.insert(id, Arc::new(staple));
            self.publish();
        }
    }

    fn publish(&self) {
        let owner = |id: &Arc<str>| self.certificates.get(id).map(|certificate| namespace(&certificate.facts)).unwrap_or_default();
        let fitting = room::fit(&self.known, owner, self.room);
        self.staples.send_if_modified(|held| {
            let differs = *held != fitting;
            *held = fitting;
            differs
        });
    }
}

/// The namespace whose share a request takes.
fn namespace(facts: &CertificateFacts) -> Arc<str> {
    facts.secret.as_ref().map(|secret| secret.namespace.clone()).unwrap_or_default()
}

async fn fetch(
    facts: &CertificateFacts,
    record: &CertificateRecord,
    local: &LocalEndpoints,
    resolver: Option<&TokioResolver>,
) -> Result<(Validity, Arc<[u8]>), Failure> {
    let target = Target::of_chain(&record.pair.chain).map_err(Failure::Chain)?;
    let answer = fetch::post(facts.status_url.as_deref().unwrap_or_default(), target.request(), local, resolver).await?;
    let validity = status::check(&answer, &target, unix_time())?;
    Ok((validity, answer.to_vec().into()))
}

/// Seconds since 1970.
fn unix_time() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
