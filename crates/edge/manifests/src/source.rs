//! The directory as a source: follows it and publishes a snapshot for every change.
//!
//! Two tasks. The *reader* looks at the directory when something wakes it, once the writing has stopped; the *publisher* joins what was read
//! with the addresses of external names. Neither ends before the process does, unless there is no listener any more.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fs_watch::{Pacing, Wake, Watcher, settle};
use imbl::OrdMap;
use model::Snapshot;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::engine::{Engine, Turn};
use crate::load::names;
use crate::loaded::Loaded;

/// The directory to follow, and options.
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// The directory; it need not exist yet.
    pub directory: PathBuf,
    /// Interval of looks where changes can't be seen: on a network file system, or when inotify is out of watches.
    pub poll_interval: Duration,
    /// Look every [`Self::poll_interval`] and don't use inotify at all.
    pub force_polling: bool,
    /// Waiting times.
    pub pacing: Pacing,
}

impl SourceOptions {
    /// Follows a directory in the usual way: inotify, polling every 2 s where it is blind.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), poll_interval: Duration::from_secs(2), force_polling: false, pacing: Pacing::default() }
    }
}

/// Addresses of external names, by name.
pub type Addresses = OrdMap<Arc<str>, Arc<[IpAddr]>>;

/// The running source.
#[derive(Debug, Clone)]
pub struct SourceHandle {
    /// The snapshot that was last read, with the addresses. `None` until the directory could be read for the first time.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// The same, with the positions of objects; also renewed when only positions changed.
    pub loaded: watch::Receiver<Option<Arc<Loaded>>>,
    addresses: watch::Sender<Addresses>,
    rereads: Arc<Rereads>,
    reread: watch::Receiver<u64>,
}

/// Readings that are asked for, by number.
#[derive(Debug, Default)]
struct Rereads {
    wanted: AtomicU64,
    wake: Notify,
}

impl Rereads {
    /// Wants one that begins after now: its number.
    fn want(&self) -> u64 {
        let number = self.wanted.fetch_add(1, Ordering::Relaxed) + 1;
        self.wake.notify_one();
        number
    }
}

impl SourceHandle {
    /// Sets the addresses of external names; the next snapshot has them, and it comes at once when they differ.
    pub fn set_addresses(&self, addresses: Addresses) {
        self.addresses.send_if_modified(|held| {
            let changed = *held != addresses;
            *held = addresses;
            changed
        });
    }

    /// Reads every file again, at once, whatever the attributes say (SIGHUP).
    pub fn reload(&self) {
        self.rereads.want();
    }

    /// The same, and waits until a reading that began after the call is published: what was read. `None` while the directory could never be read.
    pub async fn reread(&self) -> Option<Arc<Loaded>> {
        let number = self.rereads.want();
        // An error means that the source has ended, and the process with it.
        let _ = self.reread.clone().wait_for(|done| *done >= number).await;
        self.loaded.borrow().clone()
    }
}

/// A directory of manifests.
#[derive(Debug)]
pub struct DirectorySource;

impl DirectorySource {
    /// Starts to follow a directory. The tasks go into `tasks`; one that ends gives its name.
    pub fn spawn(options: SourceOptions, tasks: &mut JoinSet<&'static str>) -> SourceHandle {
        // More wakes than fit say nothing new.
        let (wake, wakes) = mpsc::channel(256);
        let watcher = if options.force_polling {
            None
        } else {
            Watcher::open("the manifests", names(), wake.clone())
                .inspect_err(|error| tracing::warn!(%error, "inotify can't be used: the manifest directory is polled"))
                .ok()
        };
        let (read, loaded) = watch::channel(None);
        let (addresses, given) = watch::channel(Addresses::new());
        let (publish, snapshots) = watch::channel(None);
        let rereads = Arc::new(Rereads::default());
        let ((reread, through), (finish, reread_through)) = (watch::channel(0), watch::channel(0));
        let pacing = options.pacing;
        for hazard in fs_watch::mounts::look(&options.directory) {
            tracing::warn!(poll_interval = ?options.poll_interval, "{hazard}");
        }
        let engine = Some(Engine::new(options, watcher));
        let reader = Reader { engine, wakes, _wake: wake, rereads: rereads.clone(), reread, read, pacing };
        tasks.spawn(async move {
            reader.run().await;
            "manifest reader"
        });
        let following = loaded.clone();
        tasks.spawn(async move {
            publisher(following, given, through, Published { snapshots: publish, reread: finish }).await;
            "manifest publisher"
        });
        SourceHandle { snapshots, loaded, addresses, rereads, reread: reread_through }
    }
}

/// The receivers of what the publisher makes.
struct Published {
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    /// The number of the last forced reading that is in them.
    reread: watch::Sender<u64>,
}

/// Joins objects and addresses.
async fn publisher(
    mut loaded: watch::Receiver<Option<Arc<Loaded>>>,
    mut addresses: watch::Receiver<Addresses>,
    mut through: watch::Receiver<u64>,
    out: Published,
) {
    let mut published = None;
    loop {
        // Before what was read, which is sent first: so it is in there.
        let number = *through.borrow_and_update();
        let newest = loaded.borrow_and_update().clone();
        let given = addresses.borrow_and_update().clone();
        if let Some(newest) = newest {
            let version = (newest.generation(), given.clone());
            if published.as_ref() != Some(&version) {
                let snapshot = Snapshot { addresses: given, ..newest.snapshot.clone() };
                out.snapshots.send_replace(Some(Arc::new(snapshot)));
                published = Some(version);
            }
        }
        out.reread.send_if_modified(|done| std::mem::replace(done, number) != number);
        tokio::select! {
            changed = loaded.changed() => if changed.is_err() { return },
            changed = addresses.changed() => if changed.is_err() { return },
            changed = through.changed() => if changed.is_err() { return },
            () = out.snapshots.closed() => return,
        }
    }
}

/// The task that looks.
struct Reader {
    /// `None` while a thread has it.
    engine: Option<Engine>,
    wakes: mpsc::Receiver<Wake>,
    /// Keeps the channel open when there is no watcher.
    _wake: mpsc::Sender<Wake>,
    rereads: Arc<Rereads>,
    /// The number of the last forced reading.
    reread: watch::Sender<u64>,
    read: watch::Sender<Option<Arc<Loaded>>>,
    pacing: Pacing,
}

impl Reader {
    async fn run(mut self) {
        let mut force = false;
        while let Some(mut engine) = self.engine.take() {
            // A caller that asks from now on gets another one.
            let number = self.rereads.wanted.load(Ordering::Relaxed);
            let looking = tokio::task::spawn_blocking(move || {
                let turn = engine.turn(force);
                (engine, turn)
            });
            let turn = match looking.await {
                Ok((engine, turn)) => {
                    self.engine = Some(engine);
                    turn
                }
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime is shutting down.
                    Err(_) => return,
                },
            };
            let Turn { loaded, again } = turn;
            if let Some(loaded) = loaded {
                if force {
                    tracing::info!(files = loaded.files().count(), problems = loaded.problems().len(), "every manifest was read again");
                }
                self.read.send_replace(Some(loaded));
            }
            if force {
                self.reread.send_replace(number);
            }
            match self.wait(again).await {
                Some(forced) => force = forced,
                None => return,
            }
        }
    }

    /// Waits for a reason to look again: `true` if it forces everything to be read. `None`: there is no listener any more.
    async fn wait(&mut self, again: Duration) -> Option<bool> {
        tokio::select! {
            () = self.read.closed() => None,
            () = self.rereads.wake.notified() => Some(true),
            wake = self.wakes.recv() => settle(&self.pacing, wake?, &mut self.wakes, &self.rereads.wake).await,
            () = sleep_until(Instant::now() + again) => Some(false),
        }
    }
}
