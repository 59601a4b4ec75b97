//! The whole controller over an NGINX that writes down what it is told.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

use imbl::OrdMap;
use k8s_openapi::api::core::v1::ConfigMap;
use model::{Fixed, ObjectKey, Problem, Settings, Snapshot};
use tokio::sync::Semaphore;

use super::*;
use crate::metrics::Identity;
use crate::{Addresses, Applied, Handle, LiveError, LiveNginx, LiveState, Metrics, Nginx, Pace, Parts, Report, Tasks};

#[derive(Default)]
struct World {
    /// `apply` or `reload`.
    told: Vec<&'static str>,
    refuses: Option<ApplyError>,
}

/// Each call takes a permit.
#[derive(Clone)]
struct Fake {
    world: Arc<Mutex<World>>,
    permits: Arc<Semaphore>,
}

impl Fake {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    async fn take(&self, how: &'static str) -> Result<Applied, ApplyError> {
        self.world().told.push(how);
        self.permits.acquire().await.unwrap().forget();
        let mut world = self.world();
        let (started, revision) = (world.told.len() == 1, world.told.len().to_string());
        match world.refuses.take() {
            Some(error) => Err(error),
            None => Ok(Applied { revision, started, unchanged: false, duration: Duration::ZERO }),
        }
    }
}

impl Nginx for Fake {
    fn runs(&self) -> bool {
        true
    }

    async fn apply(&mut self, _: &Fixed) -> Result<Applied, ApplyError> {
        self.take("apply").await
    }

    async fn reload(&mut self, _: &Fixed) -> Result<Applied, ApplyError> {
        self.take("reload").await
    }

    async fn test(&mut self, _: &Fixed) -> Result<(), ApplyError> {
        Ok(())
    }

    async fn restart(&mut self) -> Result<(), ApplyError> {
        Ok(())
    }

    async fn exited(&mut self) {
        std::future::pending().await
    }
}

#[derive(Clone)]
struct Away;

impl LiveNginx for Away {
    async fn audit(&self) -> Result<LiveState, LiveError> {
        Err(LiveError::Unreachable("away".into()))
    }

    async fn post(&self, _: String) -> Result<LiveState, LiveError> {
        self.audit().await
    }

    async fn keys(&self) -> Result<Vec<String>, LiveError> {
        Ok(Vec::new())
    }

    async fn set_generation(&self, _: &str) -> Result<(), LiveError> {
        Ok(())
    }
}

struct Nobody;

impl Addresses for Nobody {
    fn set(&self, _: OrdMap<Arc<str>, Arc<[IpAddr]>>) {}
}

impl Report for Nobody {
    fn problems(&self, _: &[Problem]) {}
    fn served(&self, _: Vec<ObjectKey>) {}
    fn reload(&self, _: Result<&str, &str>) {}
}

struct Bed {
    fake: Fake,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    handle: Handle,
    metrics: Metrics,
    _tasks: Tasks,
}

impl Bed {
    /// With room for so many calls of NGINX, and nothing read yet.
    fn new(permits: usize) -> Self {
        let fake = Fake { world: Arc::default(), permits: Arc::new(Semaphore::new(permits)) };
        let metrics = Metrics::new(&Identity::default(), "test");
        let snapshots = watch::Sender::new(None);
        let mut tasks = Tasks::new();
        let parts = Parts {
            settings: Settings { configmap: Some(ObjectKey::new("n", "settings")), ..Settings::default() },
            snapshots: snapshots.subscribe(),
            nginx: fake.clone(),
            live: Away,
            addresses: Arc::new(Nobody),
            report: Arc::new(Nobody),
            metrics: metrics.clone(),
            pace: Pace::default(),
        };
        let handle = crate::spawn(parts, &mut tasks);
        Self { fake, snapshots, handle, metrics, _tasks: tasks }
    }

    /// A source with this global setting.
    fn publish(&self, tokens: &str) {
        let map = ConfigMap { data: Some([("server-tokens".to_owned(), tokens.to_owned())].into()), ..ConfigMap::default() };
        let mut snapshot = Snapshot::default();
        snapshot.config_maps.insert(ObjectKey::new("n", "settings"), Arc::new(map));
        self.snapshots.send_replace(Some(Arc::new(snapshot)));
    }

    async fn started(permits: usize) -> Self {
        let mut bed = Self::new(permits);
        bed.publish("true");
        bed.handle.loaded.wait_for(|loaded| loaded.starts == 1).await.unwrap();
        bed
    }

    fn told(&self) -> Vec<&'static str> {
        self.fake.world().told.clone()
    }

    fn counted(&self, reason: &str, result: &str) -> f64 {
        let labels = [("reason", reason), ("result", result)];
        let families = self.metrics.registry().gather();
        let family = families.iter().find(|family| family.name() == "narthex_reloads_total");
        let metric = family.and_then(|family| {
            family.get_metric().iter().find(|metric| {
                labels.iter().all(|(name, value)| metric.get_label().iter().any(|l| l.name() == *name && l.value() == *value))
            })
        });
        metric.map_or(0.0, |metric| metric.get_counter().get_value())
    }
}

#[tokio::test(start_paused = true)]
async fn requests_at_one_time_share_a_reload_and_later_ones_get_another() {
    let bed = Bed::started(1).await;
    let ask = |bed: &Bed| {
        let asking = bed.handle.asking.clone();
        tokio::spawn(async move { asking.reload().await })
    };
    let first: Vec<_> = (0..50).map(|_| ask(&bed)).collect();
    while bed.told().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // It is under way: these are about a later time.
    let second: Vec<_> = (0..50).map(|_| ask(&bed)).collect();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(bed.told(), ["apply", "reload"]);
    bed.fake.permits.add_permits(2);
    for (waiting, revision) in [(first, "2"), (second, "3")] {
        for answer in waiting {
            let answer = answer.await.unwrap();
            assert_eq!((answer.result.clone().unwrap().as_str(), answer.serving.as_str()), (revision, revision));
            assert_eq!(answer.reasons, ["asked"]);
        }
    }
    assert_eq!(bed.told(), ["apply", "reload", "reload"]);
    assert_eq!(bed.counted("asked", "success"), 2.0);
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_goes_with_what_is_pending_and_knows_what_was_there_before() {
    let bed = Bed::started(9).await;
    bed.publish("false");
    let answer = bed.handle.asking.reload().await;
    assert_eq!(answer.reasons, ["asked", "globals"]);
    assert_eq!((bed.told(), bed.counted("globals", "success")), (vec!["apply", "reload"], 1.0));
    assert_eq!(bed.handle.asking.last().unwrap().run, 2);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_an_answer_and_sets_nobody_aside() {
    let bed = Bed::started(9).await;
    bed.fake.world().refuses = Some(ApplyError::Refused { message: "no such file".into(), culprit: None });
    let answer = bed.handle.asking.reload().await;
    assert!(matches!(&answer.result, Err(ApplyError::Refused { message, .. }) if message == "no such file"), "{answer:?}");
    assert_eq!((answer.serving.as_str(), answer.set_aside.len()), ("1", 0));
    // It is not tried again by itself: what runs is the wanted text.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((bed.told().len(), bed.counted("asked", "failure")), (2, 1.0));
    assert_eq!(bed.handle.asking.reload().await.result.clone().unwrap(), "3");
}

#[tokio::test(start_paused = true)]
async fn before_the_source_is_complete_a_request_waits_for_the_first_start() {
    let bed = Bed::new(9);
    let asking = bed.handle.asking.clone();
    let waiting = tokio::spawn(async move { asking.reload().await });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(bed.told().is_empty() && !waiting.is_finished());
    bed.publish("true");
    assert_eq!(waiting.await.unwrap().reasons, ["asked", "start"]);
    assert_eq!(bed.told(), ["reload"]);
}
