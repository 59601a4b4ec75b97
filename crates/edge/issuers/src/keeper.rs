//! The task that keeps what is known of one topic up to date.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use imbl::OrdMap;
use model::Built;
use model::options::LocalEndpoints;
use model::snapshot::Fetched;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::client::Client;
use crate::queue::Queue;

/// The wait after a first failure; each further one doubles it.
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LAST_RETRY: Duration = Duration::from_secs(3600);
/// Bounds of the time after which something is asked for again: half of what is left of it.
const SOONEST: Duration = Duration::from_secs(10);
const LATEST: Duration = Duration::from_secs(86_400);

/// All answers that are known, and what is wrong.
pub(crate) type Known<T> = OrdMap<<T as Topic>::Key, Arc<Fetched<<T as Topic>::Answer>>>;
/// What is asked about since a build: with `None` no longer.
pub(crate) type Asked<T> = Vec<(<T as Topic>::Key, Option<<T as Topic>::Subject>)>;

/// What issuers are asked for.
pub(crate) trait Topic: Send + 'static {
    /// What tells the subjects apart.
    type Key: Ord + Clone + Send + Sync + 'static;
    /// What is asked about.
    type Subject: Send + Sync + 'static;
    /// What is handed on of an answer.
    type Answer: Clone + Default + PartialEq + Send + Sync + 'static;
    /// Why there is none.
    type Failure: Display + Send + 'static;
    /// What the log says of a first answer, and of a failure.
    const LOG: [&'static str; 2];

    /// Goes over to a build: the subjects that changed, and whether to publish even if none did.
    fn follow(&mut self, built: Option<&Built>) -> (Asked<Self>, bool);
    /// The Secret that it is about, and the URL that is asked first.
    fn place(subject: &Self::Subject) -> (Option<&model::ObjectKey>, &str);
    /// Asks: the answer, and until when it is valid, in seconds since 1970.
    fn ask(subject: &Self::Subject, client: &Client) -> impl Future<Output = Result<(i64, Self::Answer), Self::Failure>> + Send;
    /// What tenants see of a failure.
    fn public(failure: &Self::Failure) -> Arc<str>;
    /// Whether the answer of before counts no more.
    fn ends(_failure: &Self::Failure) -> bool {
        false
    }
    /// What there is room for. `owner`: the namespace of a subject.
    fn fitting(&self, known: &Known<Self>, owner: impl Fn(&Self::Key) -> Arc<str>) -> Known<Self>;
}

/// Keeps answers up to date. Ends when nothing is built any more.
///
/// `local`: where requests do not go.
pub(crate) async fn run<T: Topic + Default>(
    mut built: watch::Receiver<Option<Arc<Built>>>,
    local: LocalEndpoints,
    published: watch::Sender<Known<T>>,
) {
    let mut keeper = Keeper::<T>::new(local, published);
    loop {
        let next = keeper.queue.next_at();
        tokio::select! {
            changed = built.changed() => {
                if changed.is_err() { return }
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

/// Something to ask about.
struct Entry<S> {
    subject: Arc<S>,
    /// When it is asked about; `None` while it is.
    due: Option<Instant>,
    failures: u32,
}

/// The end of a request.
struct Answered<T: Topic> {
    key: T::Key,
    /// For one that came back meanwhile.
    subject: Arc<T::Subject>,
    outcome: Result<(i64, T::Answer), T::Failure>,
}

struct Keeper<T: Topic> {
    topic: T,
    local: LocalEndpoints,
    client: Option<Arc<Client>>,
    entries: BTreeMap<T::Key, Entry<T::Subject>>,
    queue: Queue<T::Key>,
    requests: JoinSet<Answered<T>>,
    known: Known<T>,
    published: watch::Sender<Known<T>>,
}

impl<T: Topic + Default> Keeper<T> {
    fn new(local: LocalEndpoints, published: watch::Sender<Known<T>>) -> Self {
        Self {
            topic: T::default(),
            local,
            client: None,
            entries: BTreeMap::new(),
            queue: Queue::default(),
            requests: JoinSet::new(),
            known: OrdMap::new(),
            published,
        }
    }

    /// Goes over to the subjects of a build.
    fn follow(&mut self, built: Option<&Built>) {
        let (asked, mut changed) = self.topic.follow(built);
        let now = Instant::now();
        for (key, subject) in asked {
            changed = true;
            self.forget(&key);
            if let Some(subject) = subject {
                self.queue.put(&namespace::<T>(&subject), &key, now);
                self.entries.insert(key, Entry { subject: Arc::new(subject), due: Some(now), failures: 0 });
            }
        }
        if changed {
            self.publish();
        }
    }

    fn forget(&mut self, key: &T::Key) {
        let Some(entry) = self.entries.remove(key) else { return };
        if let Some(due) = entry.due {
            self.queue.remove(&namespace::<T>(&entry.subject), key, due);
        }
        self.known.remove(key);
    }

    /// The client; without name servers it is tried again to find some.
    fn client(&mut self) -> Arc<Client> {
        let client = self.client.take().filter(|client| client.resolves()).unwrap_or_else(|| Arc::new(Client::new(self.local.clone())));
        self.client.insert(client).clone()
    }

    /// Begins what is due.
    fn ask(&mut self) {
        let client = self.client();
        while let Some(key) = self.queue.take(Instant::now()) {
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            entry.due = None;
            let (subject, client) = (entry.subject.clone(), client.clone());
            self.requests.spawn(async move {
                let outcome = T::ask(&subject, &client).await;
                Answered { key, subject, outcome }
            });
        }
    }

    fn learn(&mut self, Answered { key, subject, outcome }: Answered<T>) {
        let namespace = namespace::<T>(&subject);
        self.queue.done(&namespace);
        let Some(entry) = self.entries.get_mut(&key).filter(|entry| Arc::ptr_eq(&entry.subject, &subject)) else { return };
        let before = self.known.get(&key).map(|fetched| (**fetched).clone()).unwrap_or_default();
        let (secret, url) = T::place(&subject);
        let secret = secret.map(ToString::to_string);
        let [news, failed] = T::LOG;
        let (fetched, wait) = match outcome {
            Ok((until, answer)) => {
                entry.failures = 0;
                if before.answer.is_none() {
                    info!(secret, "{news}");
                }
                let left = Duration::from_secs(u64::try_from(until - unix_time()).unwrap_or_default());
                (Fetched { answer: Some((until, answer)), fault: None }, (left / 2).clamp(SOONEST, LATEST))
            }
            Err(failure) => {
                let wait = FIRST_RETRY.saturating_mul(1 << entry.failures.min(16)).min(LAST_RETRY);
                entry.failures += 1;
                let answer = before.answer.clone().filter(|(until, _)| !T::ends(&failure) && *until > unix_time());
                let fault = Some(T::public(&failure));
                if fault != before.fault {
                    warn!(secret, url, error = %failure, "{failed}");
                }
                (Fetched { answer, fault }, wait)
            }
        };
        let due = Instant::now() + wait;
        entry.due = Some(due);
        self.queue.put(&namespace, &key, due);
        if fetched != before {
            self.known.insert(key, Arc::new(fetched));
            self.publish();
        }
    }

    fn publish(&self) {
        let owner = |key: &T::Key| self.entries.get(key).map(|entry| namespace::<T>(&entry.subject)).unwrap_or_default();
        let fitting = self.topic.fitting(&self.known, owner);
        self.published.send_if_modified(|held| {
            let differs = *held != fitting;
            *held = fitting;
            differs
        });
    }
}

/// The namespace whose share a request takes.
fn namespace<T: Topic>(subject: &T::Subject) -> Arc<str> {
    T::place(subject).0.map(|secret| secret.namespace.clone()).unwrap_or_default()
}

/// Seconds since 1970.
pub(crate) fn unix_time() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
