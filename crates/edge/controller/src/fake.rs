//! The whole controller over an NGINX that writes down what it is asked for, for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use imbl::OrdMap;
use k8s_openapi::api::core::v1::ConfigMap;
use model::{BuildOptions, ConfigValues, Fixed, Ingress, ObjectKey, Problem, Snapshot, StreamPort, Table};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore, watch};

use crate::metrics::{Build, Identity};
use crate::port::{Loss, Old};
use crate::{
    Addresses, Adopted, Applied, ApplyError, Channel, Handle, Journal, LiveError, LiveState, Metrics, Nginx, Pace, Parts, Posted, Reporter,
    Tasks,
};

type Judge = dyn Fn(&Fixed) -> Result<(), ApplyError> + Send;
type SlowJudge = dyn Fn(&Fixed) -> Duration + Send;

#[derive(Default)]
pub(crate) struct World {
    /// `apply`, `reload`, `restart`, `replenish`.
    pub(crate) calls: Vec<&'static str>,
    /// The error of the next call.
    pub(crate) refuses: Option<ApplyError>,
    /// Its judgement of a text; `None`: it accepts every one.
    pub(crate) judge: Option<Box<Judge>>,
    /// Time that the test of a text takes; `None`: none.
    pub(crate) pace: Option<Box<SlowJudge>>,
    /// Time that every test takes, however patient the caller is.
    pub(crate) test_takes: Duration,
    /// Tests beside those of texts that were applied.
    pub(crate) tests: usize,
    /// Whether the master lives.
    pub(crate) up: bool,
    /// Old workers, each of which has a client that stays. `most` 0: they end at once.
    pub(crate) old: Old,
    /// The text that it runs.
    pub(crate) runs: Fixed,
    pub(crate) adopted: Option<Adopted>,
    /// Ports that other processes have.
    pub(crate) taken: BTreeSet<StreamPort>,
    /// Problems as they were reported last.
    pub(crate) problems: Vec<Problem>,
    /// Failures of reloads as they were reported.
    pub(crate) failures: Vec<String>,
    /// The records that it holds, by name, with the checksum.
    pub(crate) records: BTreeMap<String, u32>,
    /// Number of records that it has room for.
    pub(crate) room: Option<usize>,
    pub(crate) generation: Option<String>,
    /// Posts of records.
    pub(crate) posts: usize,
    /// Time that each of them takes.
    pub(crate) post_takes: Duration,
    /// Whether they fail.
    pub(crate) posts_fail: bool,
}

/// Each call takes a permit.
#[derive(Clone)]
pub(crate) struct Fake {
    world: Arc<Mutex<World>>,
    pub(crate) permits: Arc<Semaphore>,
    died: Arc<Notify>,
}

impl Fake {
    fn new(world: World, permits: usize) -> Self {
        Self { world: Arc::new(Mutex::new(world)), permits: Arc::new(Semaphore::new(permits)), died: Arc::default() }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock()
    }

    /// The master ends.
    pub(crate) fn die(&self) {
        self.world().up = false;
        self.died.notify_one();
    }

    /// Its workers end for good.
    pub(crate) fn lose_workers(&self) {
        self.died.notify_one();
    }

    async fn take(&self, how: &'static str, fixed: &Fixed) -> Result<Applied, ApplyError> {
        self.world().calls.push(how);
        self.permits.acquire().await.unwrap().forget();
        let mut world = self.world();
        let (started, revision) = (!world.up, world.calls.len().to_string());
        let mut judged = world.judge.as_ref().map_or(Ok(()), |judge| judge(fixed));
        if world.pace.as_ref().is_some_and(|pace| pace(fixed) > self.patience()) {
            judged = Err(ApplyError::Slow("the test took longer than 10s".into()));
        }
        match world.refuses.take().map_or(judged, Err) {
            Err(error) => Err(error),
            Ok(()) => {
                if !started && world.old.most > 0 {
                    let pid = world.old.workers.last().map_or(1, |(pid, _)| pid + 1);
                    world.old.workers.insert((pid, 0));
                }
                world.runs = fixed.clone();
                world.up = true;
                let taken = fixed.stream_services.keys().filter(|port| world.taken.contains(port));
                let closed = taken.map(|port| (*port, "another process has it".to_owned())).collect();
                Ok(Applied { revision, started, unchanged: false, duration: Duration::ZERO, closed })
            }
        }
    }
}

impl Nginx for Fake {
    async fn apply(&mut self, fixed: &Fixed) -> Result<Applied, ApplyError> {
        self.take("apply", fixed).await
    }

    async fn reload(&mut self, fixed: &Fixed) -> Result<Applied, ApplyError> {
        self.take("reload", fixed).await
    }

    async fn is_free(&mut self, _: &Fixed, port: StreamPort) -> bool {
        !self.world().taken.contains(&port)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn test(&mut self, fixed: &Fixed, limit: Duration) -> Result<Duration, ApplyError> {
        let takes = self.world().test_takes;
        tokio::select! {
            biased;
            () = self.died.notified() => {
                self.died.notify_one();
                return Err(ApplyError::Failed("nginx ended while a configuration was tested".into()));
            }
            () = tokio::time::sleep(takes) => {}
        }
        let mut world = self.world();
        world.tests += 1;
        world.judge.as_ref().map_or(Ok(()), |judge| judge(fixed))?;
        let took = world.pace.as_ref().map_or(Duration::ZERO, |pace| pace(fixed));
        if took > limit { Err(ApplyError::Slow(format!("the test took longer than {limit:?}"))) } else { Ok(took) }
    }

    async fn restore(&mut self, loss: Loss) -> Result<bool, ApplyError> {
        let mut world = self.world();
        let started = loss == Loss::Master;
        world.calls.push(if started { "restart" } else { "replenish" });
        world.up = !started || world.refuses.is_none();
        world.refuses.take().map_or(Ok(started), Err)
    }

    fn adopted(&self) -> Option<Adopted> {
        self.world().adopted.clone()
    }

    fn keep(&mut self, _: &ConfigValues) {}

    async fn runs(&mut self) -> bool {
        self.world().up
    }

    async fn old(&mut self) -> Old {
        self.world().old.clone()
    }

    async fn lost(&mut self) -> Loss {
        self.died.notified().await;
        if self.world().up { Loss::Workers } else { Loss::Master }
    }
}

/// Takes every record, and counts.
impl Channel for Fake {
    const NAME: &'static str = "dictionaries";
    const LOST_WITH_NGINX: bool = true;
    const AUDIT_EVERY: Option<Duration> = None;

    fn carries(table: Table) -> bool {
        !matches!(table, Table::Passthrough | Table::StreamService)
    }

    async fn audit(&self) -> Result<LiveState, LiveError> {
        let world = self.world();
        let digest = world.records.values().map(|&crc| u64::from(crc)).sum();
        Ok(LiveState { generation: world.generation.clone(), digest, entries: world.records.len() as u64 })
    }

    async fn post(&self, lines: String) -> Result<Posted, LiveError> {
        let refused = {
            let mut world = self.world();
            world.posts += 1;
            if world.posts_fail {
                return Err(LiveError::Unreachable("no space left on device".into()));
            }
            let room = world.room.unwrap_or(usize::MAX);
            let mut refused = Vec::new();
            for line in lines.lines() {
                let (op, line) = line.split_at(1);
                let mut fields = line.splitn(3, '\t');
                let name = format!("{}\t{}", fields.next().unwrap(), fields.next().unwrap());
                if op == "-" {
                    world.records.remove(&name);
                } else if world.records.contains_key(&name) || world.records.len() < room {
                    world.records.insert(name, crc32(line.as_bytes()));
                } else {
                    refused.push(name);
                }
            }
            refused
        };
        let takes = self.world().post_takes;
        tokio::time::sleep(takes).await;
        Ok(Posted { state: self.audit().await?, refused })
    }

    async fn keys(&self) -> Result<Vec<String>, LiveError> {
        Ok(self.world().records.keys().cloned().collect())
    }

    async fn set_generation(&self, marker: &str) -> Result<(), LiveError> {
        self.world().generation = Some(marker.to_owned());
        Ok(())
    }
}

/// The files beside it.
#[derive(Clone)]
pub(crate) struct FakeFiles(pub(crate) Fake);

impl Channel for FakeFiles {
    const NAME: &'static str = "stream map";
    const LOST_WITH_NGINX: bool = false;
    const AUDIT_EVERY: Option<Duration> = Some(Duration::from_secs(30));

    fn carries(table: Table) -> bool {
        !Fake::carries(table)
    }

    async fn audit(&self) -> Result<LiveState, LiveError> {
        self.0.audit().await
    }

    async fn post(&self, lines: String) -> Result<Posted, LiveError> {
        self.0.post(lines).await
    }

    async fn keys(&self) -> Result<Vec<String>, LiveError> {
        self.0.keys().await
    }

    async fn set_generation(&self, marker: &str) -> Result<(), LiveError> {
        self.0.set_generation(marker).await
    }
}

impl Addresses for Fake {
    fn set(&self, _: OrdMap<Arc<str>, Arc<[IpAddr]>>) {}
}

impl Reporter for Fake {
    fn problems(&self, problems: &[Problem]) {
        self.world().problems = problems.to_vec();
    }

    fn served(&self, _: Vec<ObjectKey>) {}

    fn reload(&self, outcome: Result<&str, &str>) {
        self.world().failures.extend(outcome.err().map(str::to_owned));
    }
}

/// As `ngx.crc32_long`.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}

pub(crate) struct Bed {
    pub(crate) fake: Fake,
    /// The content of the files.
    pub(crate) files: Fake,
    pub(crate) snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    pub(crate) handle: Handle,
    pub(crate) journal: Journal,
    metrics: Metrics,
    _tasks: Tasks,
}

impl Bed {
    /// With room for so many calls of NGINX, and nothing read yet.
    pub(crate) fn new(permits: usize) -> Self {
        Self::over(World::default(), permits)
    }

    pub(crate) fn over(world: World, permits: usize) -> Self {
        Self::with(world, permits, None)
    }

    /// The same with TCP services, from the ConfigMap `n/tcp`.
    pub(crate) fn with_services(world: World) -> Self {
        Self::with(world, 1000, Some(ObjectKey::new("n", "tcp")))
    }

    fn with(world: World, permits: usize, tcp_services: Option<ObjectKey>) -> Self {
        let (fake, files) = (Fake::new(world, permits), Fake::new(World::default(), 0));
        let metrics = Metrics::new(&Identity::default(), &Build::default());
        let (snapshots, journal) = (watch::Sender::new(None), Journal::default());
        let mut tasks = Tasks::new();
        let parts = Parts {
            settings: BuildOptions {
                configmap: Some(ObjectKey::new("n", "settings")),
                tcp_services,
                passthrough_port: Some(442),
                ..BuildOptions::default()
            },
            snapshots: snapshots.subscribe(),
            nginx: fake.clone(),
            live: fake.clone(),
            stream_map: Some(FakeFiles(files.clone())),
            confirmed: ConfigValues::default(),
            addresses: Arc::new(fake.clone()),
            staples: watch::Sender::default().subscribe(),
            issuers: watch::Sender::default().subscribe(),
            report: Arc::new(fake.clone()),
            metrics: metrics.clone(),
            journal: journal.clone(),
            pace: Pace::default(),
            reviewer: None,
        };
        let handle = crate::spawn(parts, &mut tasks);
        Self { fake, files, snapshots, handle, journal, metrics, _tasks: tasks }
    }

    /// A source with this global setting.
    pub(crate) fn publish(&self, tokens: &str) {
        let map = ConfigMap { data: Some([("server-tokens".to_owned(), tokens.to_owned())].into()), ..ConfigMap::default() };
        let mut snapshot = Snapshot::default();
        snapshot.config_maps.insert(ObjectKey::new("n", "settings"), Arc::new(map));
        self.snapshots.send_replace(Some(Arc::new(snapshot)));
    }

    /// A source with these Ingresses.
    pub(crate) fn publish_ingresses(&self, ingresses: &[(ObjectKey, Arc<Ingress>)]) {
        let snapshot = Snapshot { ingresses: ingresses.iter().cloned().collect(), ..Snapshot::default() };
        self.snapshots.send_replace(Some(Arc::new(snapshot)));
    }

    pub(crate) async fn started(permits: usize) -> Self {
        let mut bed = Self::new(permits);
        bed.publish("true");
        bed.handle.loaded.wait_for(|loaded| loaded.starts == 1).await.unwrap();
        bed
    }

    pub(crate) fn calls(&self) -> Vec<&'static str> {
        self.fake.world().calls.clone()
    }

    pub(crate) fn counted(&self, reason: &str, result: &str) -> f64 {
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
