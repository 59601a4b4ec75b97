//! Golden traces of the state machine over a fake NGINX that does what the real one was seen to do.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::*;
use crate::data_plane::DataPlaneError;
use crate::error::Complaint;
use crate::live::Held;
use crate::procfs::Worker;

/// The reaction of the fake to a reload or a start.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    Obeys,
    /// A port is taken, and stays taken through all attempts.
    PortTaken,
    /// A port is taken, and becomes free before the last attempt.
    PortBecomesFree,
    /// Workers with the new revision never answer.
    Silent,
    /// New workers end at once, and old ones have ended.
    Barren,
    /// The new master dies.
    Dies,
    /// The master says no to something that the test let pass.
    Emerg,
    /// A worker says something terrible.
    WorkerEmerg,
}

struct World {
    trace: Vec<String>,
    mood: Mood,
    refuse: Option<&'static str>,
    /// Tests come to no end, and the master dies during the next one.
    tests_hang: bool,
    master: Option<Identity>,
    stray: Option<Identity>,
    workers: Vec<Worker>,
    orphans: Vec<Worker>,
    revision: Option<String>,
    next_pid: i32,
    /// Number of looks at the master since the last signal.
    attempts: u32,
    listening: bool,
    sockets: bool,
    /// Sockets for the next start.
    held: usize,
    /// Reloads that began and have not failed.
    closing: i32,
}

struct Fake {
    world: Mutex<World>,
    ended: Notify,
    paths: Paths,
}

impl Fake {
    fn say(&self, pid: i32, text: &str) {
        let mut log = OpenOptions::new().create(true).append(true).open(self.paths.error_log()).unwrap();
        writeln!(log, "2026/01/02 03:04:05 [emerg] {pid}#{pid}: {text}").unwrap();
    }

    fn revision_on_disk(&self) -> String {
        fs::read_to_string(self.paths.conf()).unwrap()
    }

    fn trace(&self, what: impl Into<String>) {
        self.world.lock().trace.push(what.into());
    }

    /// The reaction of a master to the configuration on disk.
    fn take(&self, world: &mut World, master: Identity) {
        let bind = "bind() to 0.0.0.0:8080 failed (98: Address already in use)";
        world.attempts = 0;
        match world.mood {
            Mood::Obeys => self.turn_over(world),
            Mood::PortTaken | Mood::PortBecomesFree => self.say(master.pid, bind),
            Mood::Silent => {
                world.revision = None;
                world.mood = Mood::Obeys;
            }
            Mood::Barren => {
                self.say(master.pid + 1, "malloc(3932160) failed (12: Cannot allocate memory)");
                (world.mood, world.revision) = (Mood::Obeys, None);
                world.workers.clear();
            }
            Mood::Dies => world.master = None,
            Mood::Emerg => self.say(master.pid, "open() \"/x\" failed (24: Too many open files)"),
            Mood::WorkerEmerg => {
                self.say(master.pid + 500, "init_worker_by_lua error");
                self.turn_over(world);
            }
        }
    }

    fn turn_over(&self, world: &mut World) {
        world.workers.iter_mut().for_each(|worker| worker.leaving = true);
        world.next_pid += 1;
        world.workers.push(Worker { id: Identity { pid: world.next_pid, start: 1 }, leaving: false });
        world.revision = Some(self.revision_on_disk());
    }
}

impl Process for Fake {
    async fn test(&self, _: Duration) -> Result<Tested, ApplyError> {
        if self.world.lock().tests_hang {
            self.world.lock().master = None;
            self.ended.notify_one();
            std::future::pending::<()>().await;
        }
        let conf = store::staged_conf(&self.paths);
        let text = fs::read_to_string(&conf).unwrap();
        self.trace(format!("test {text}"));
        let refuse = self.world.lock().refuse;
        let stderr = refuse.map(|text| text.replace("CONF", &conf.display().to_string()));
        let status = ExitStatus::from_raw(if refuse.is_some() { 1 << 8 } else { 0 });
        Ok(Tested { status, stderr: stderr.unwrap_or_else(|| "nginx: [warn] odd\n".into()) })
    }

    async fn start(&self) -> Result<Identity, ApplyError> {
        let mut world = self.world.lock();
        world.next_pid += 100;
        let master = Identity { pid: world.next_pid, start: 1 };
        let held = world.held;
        world.trace.push(format!("start {} with {held} sockets", self.revision_on_disk()));
        world.master = Some(master);
        world.listening = true;
        self.take(&mut world, master);
        Ok(master)
    }

    async fn signal(&self, id: Identity, order: Order) -> Result<(), ApplyError> {
        let mut world = self.world.lock();
        let who = if world.master == Some(id) {
            "master"
        } else if world.stray.take_if(|stray| *stray == id).is_some() {
            "stray"
        } else {
            "worker"
        };
        world.trace.push(format!("{} {who}", order.signal().as_str()));
        match (order, who) {
            (Order::Reload, _) => self.take(&mut world, id),
            (Order::Quit, "master") => {
                world.workers.clear();
                world.master = None;
            }
            (Order::Kill, "master") => {
                world.master = None;
                world.orphans = std::mem::take(&mut world.workers);
            }
            _ => world.orphans.iter_mut().filter(|worker| worker.id == id).for_each(|worker| worker.leaving = true),
        }
        Ok(())
    }

    async fn alive(&self, id: Identity) -> bool {
        let mut world = self.world.lock();
        world.attempts += 1;
        if world.attempts == 5 {
            match world.mood {
                Mood::PortTaken => self.say(id.pid, "still could not bind()"),
                Mood::PortBecomesFree => self.turn_over(&mut world),
                _ => {}
            }
        }
        world.master == Some(id)
    }

    async fn exited(&self, id: Identity) {
        while self.world.lock().master == Some(id) {
            self.ended.notified().await;
        }
    }

    async fn exit_status(&self) -> Option<String> {
        self.world.lock().master.is_none().then(|| "exit status: 1".to_owned())
    }

    async fn masters(&self) -> Result<Vec<Identity>, DataPlaneError> {
        let world = self.world.lock();
        Ok(world.master.into_iter().chain(world.stray).collect())
    }

    async fn workers(&self, master: Identity) -> Vec<Worker> {
        let world = self.world.lock();
        if world.master == Some(master) { world.workers.clone() } else { Vec::new() }
    }

    async fn orphans(&self, master: Identity) -> Vec<Worker> {
        let world = self.world.lock();
        if world.master == Some(master) { Vec::new() } else { world.orphans.clone() }
    }

    async fn refresh(&self, workers: &[Identity]) -> Vec<Worker> {
        let world = self.world.lock();
        world.workers.iter().chain(&world.orphans).filter(|known| workers.contains(&known.id)).copied().collect()
    }

    async fn hold_listeners(&self, workers: &[Worker]) -> usize {
        let mut world = self.world.lock();
        world.held = usize::from(world.sockets && !workers.is_empty());
        world.held
    }

    async fn reachable(&self) -> bool {
        self.world.lock().listening
    }

    async fn state(&self) -> Option<NginxState> {
        let world = self.world.lock();
        let revision = world.revision.clone()?;
        serde_json::from_value(serde_json::json!({ "revision": revision })).ok()
    }

    async fn listener_on(&self, _: u16) -> Option<String> {
        None
    }

    async fn hold(&self) -> Held {
        Held::default()
    }

    async fn announce(&self, begins: bool) {
        let mut world = self.world.lock();
        world.closing += if begins { 1 } else { -1 };
    }

    async fn clear_sockets(&self, control: bool) {
        self.trace(if control { "clear all sockets" } else { "clear stale sockets" });
    }
}

struct Bed {
    _dir: tempfile::TempDir,
    cycle: Cycle<Fake>,
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths { work_dir: dir.path().to_owned() };
        fs::create_dir(paths.run_dir()).unwrap();
        let world = World {
            trace: Vec::new(),
            mood: Mood::Obeys,
            refuse: None,
            tests_hang: false,
            master: None,
            stray: None,
            workers: Vec::new(),
            orphans: Vec::new(),
            revision: None,
            next_pid: 1000,
            attempts: 0,
            listening: false,
            sockets: false,
            held: 0,
            closing: 0,
        };
        let fake = Fake { world: Mutex::new(world), ended: Notify::new(), paths: paths.clone() };
        let timeout = Duration::from_secs(3);
        let limits = Limits { start_timeout: timeout, confirm_timeout: timeout, flags: BTreeMap::from([(8080, "--http-port")]) };
        Self { _dir: dir, cycle: Cycle::new(fake, paths, limits, Vec::new()) }
    }

    /// A bed whose NGINX serves revision `one`.
    async fn serving() -> Self {
        let mut bed = Self::new();
        bed.cycle.apply(&set("one")).await.unwrap();
        bed.world(|world| world.trace.clear());
        bed
    }

    fn world<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.cycle.process.world.lock())
    }

    async fn apply(&mut self, revision: &str) -> Result<Applied, ApplyError> {
        self.cycle.apply(&set(revision)).await
    }

    #[track_caller]
    fn check(&self, trace: &[&str], on_disk: &str) {
        assert_eq!(self.world(|world| world.trace.clone()), trace);
        assert_eq!(self.cycle.process.revision_on_disk(), on_disk);
        assert!(!self.cycle.store.staged_conf().exists());
    }
}

fn set(revision: &str) -> FileSet {
    let file = render::File { path: "nginx.conf".into(), mode: 0o644, bytes: revision.into() };
    FileSet { revision: revision.into(), files: vec![file], moves: false, origins: Vec::new() }
}

#[tokio::test(start_paused = true)]
async fn the_first_set_starts_and_the_next_reloads() {
    let mut bed = Bed::new();
    let first = bed.apply("one").await.unwrap();
    assert!(first.started && !first.reloaded);
    assert_eq!(first.warnings, ["odd"]);
    let second = bed.apply("two").await.unwrap();
    assert!(second.reloaded && !second.started);
    bed.check(&["test one", "clear all sockets", "start one with 0 sockets", "test two", "SIGHUP master"], "two");
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_runs_is_neither_tested_nor_signalled() {
    let mut bed = Bed::serving().await;
    let applied = bed.apply("one").await.unwrap();
    assert!(!applied.started && !applied.reloaded);
    bed.check(&[], "one");
}

#[tokio::test(start_paused = true)]
async fn a_refused_set_is_not_signalled() {
    let mut bed = Bed::serving().await;
    bed.world(|world| {
        world.refuse = Some("nginx: [emerg] unknown directive \"x\" in CONF:7\nnginx: configuration file CONF test failed\n")
    });
    let error = bed.apply("two").await.unwrap_err();
    assert_eq!(error.to_string(), "NGINX refuses the configuration at nginx.conf:7: unknown directive \"x\"");
    assert!(matches!(&error, ApplyError::Refused(complaint) if !complaint.stderr.contains(".new")));
    bed.check(&["test two"], "one");
}

#[tokio::test(start_paused = true)]
async fn a_test_changes_nothing() {
    let mut bed = Bed::serving().await;
    bed.cycle.test(&set("two"), Duration::MAX).await.unwrap();
    bed.world(|world| world.refuse = Some("nginx: [emerg] no in CONF:7"));
    assert!(matches!(bed.cycle.test(&set("three"), Duration::MAX).await, Err(ApplyError::Refused(Complaint { line: Some(7), .. }))));
    bed.check(&["test two", "test three"], "one");
}

#[tokio::test(start_paused = true)]
async fn a_test_ends_with_the_master_and_nothing_of_it_stays() {
    let mut bed = Bed::serving().await;
    bed.world(|world| world.tests_hang = true);
    let error = bed.apply("two").await.unwrap_err();
    assert!(matches!(error, ApplyError::Exited { .. }), "{error}");
    bed.check(&[], "one");
    let error = bed.cycle.test(&set("two"), Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(error, ApplyError::Exited { .. }), "it was not started again since: {error}");
    bed.world(|world| world.tests_hang = false);
    assert!(bed.cycle.restart().await.unwrap().started);
    bed.apply("two").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_taken_port_fails_a_reload_after_the_last_attempt_and_the_files_are_taken_back() {
    let mut bed = Bed::serving().await;
    bed.world(|world| world.mood = Mood::PortTaken);
    let error = bed.apply("two").await.unwrap_err();
    let expected = "port 8080 on 0.0.0.0 (--http-port sets it) is taken by another process";
    assert_eq!(error.to_string(), expected);
    bed.check(&["test two", "SIGHUP master"], "one");
}

#[tokio::test(start_paused = true)]
async fn a_port_that_becomes_free_in_time_confirms_the_reload() {
    let mut bed = Bed::serving().await;
    bed.world(|world| world.mood = Mood::PortBecomesFree);
    assert!(bed.apply("two").await.unwrap().reloaded);
    bed.check(&["test two", "SIGHUP master"], "two");
}

#[tokio::test(start_paused = true)]
async fn a_taken_port_fails_a_start_at_once() {
    let mut bed = Bed::new();
    bed.world(|world| world.mood = Mood::PortTaken);
    let error = bed.cycle.apply(&set("one")).await.unwrap_err();
    assert!(matches!(error, ApplyError::PortTaken { port: 8080, flag: Some("--http-port"), .. }), "{error}");
    assert_eq!(bed.world(|world| world.trace.clone()), ["test one", "clear all sockets", "start one with 0 sockets", "SIGKILL master"]);
    assert!(!bed.cycle.paths.conf().exists());
    assert!(bed.cycle.master().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_unconfirmed_reload_goes_back_to_what_served() {
    let mut bed = Bed::serving().await;
    bed.world(|world| world.mood = Mood::Silent);
    let error = bed.apply("two").await.unwrap_err();
    let expected = "revision two was not confirmed within 3.0s, workers answer nothing; the previous configuration goes on";
    assert_eq!(error.to_string(), expected);
    bed.check(&["test two", "SIGHUP master", "SIGHUP master"], "one");
    assert_eq!(bed.world(|world| world.revision.clone()).as_deref(), Some("one"));
    assert_eq!(bed.world(|world| world.closing), 1, "one reload failed, one succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_reload_whose_workers_end_at_once_fails_soon() {
    let mut bed = Bed::serving().await;
    bed.world(|world| world.mood = Mood::Barren);
    let error = bed.apply("two").await.unwrap_err().to_string();
    assert!(error.contains("not confirmed within 1.0s") && error.ends_with("Cannot allocate memory)"), "{error}");
    bed.check(&["test two", "SIGHUP master", "SIGHUP master"], "one");
}

#[tokio::test(start_paused = true)]
async fn a_master_that_dies_on_a_reload_is_told_and_started_again_with_what_served() {
    let mut bed = Bed::serving().await;
    bed.world(|world| world.mood = Mood::Dies);
    let error = bed.apply("two").await.unwrap_err();
    assert!(matches!(&error, ApplyError::Exited { status: Some(status), .. } if status == "exit status: 1"), "{error}");
    bed.world(|world| world.mood = Mood::Obeys);
    assert!(bed.cycle.restart().await.unwrap().started);
    bed.check(&["test two", "SIGHUP master", "clear all sockets", "start one with 0 sockets"], "one");
}

#[tokio::test(start_paused = true)]
async fn what_the_master_says_decides_and_what_a_worker_says_does_not() {
    let mut bed = Bed::serving().await;
    bed.world(|world| world.mood = Mood::Emerg);
    let error = bed.apply("two").await.unwrap_err();
    assert!(matches!(&error, ApplyError::NotTaken(message) if message.contains("Too many open files")), "{error}");
    bed.world(|world| world.mood = Mood::WorkerEmerg);
    assert!(bed.apply("two").await.unwrap().reloaded);
}

#[tokio::test(start_paused = true)]
async fn orphans_leave_just_before_the_start_or_after_it_if_their_sockets_can_be_had() {
    for (sockets, expected) in [
        (false, ["SIGQUIT worker", "clear all sockets", "start one with 0 sockets"]),
        (true, ["clear all sockets", "start one with 1 sockets", "SIGQUIT worker"]),
    ] {
        let mut bed = Bed::serving().await;
        bed.world(|world| {
            world.master = None;
            world.orphans = std::mem::take(&mut world.workers);
            world.sockets = sockets;
        });
        assert!(bed.cycle.restart().await.unwrap().started);
        bed.check(&expected, "one");
    }
}

#[tokio::test(start_paused = true)]
async fn a_master_without_a_control_socket_is_replaced() {
    let mut bed = Bed::serving().await;
    bed.world(|world| {
        world.listening = false;
        world.revision = None;
    });
    assert!(bed.apply("two").await.unwrap().started);
    bed.check(&["test two", "SIGKILL master", "SIGQUIT worker", "clear all sockets", "start two with 0 sockets"], "two");
}

#[tokio::test(start_paused = true)]
async fn there_is_nothing_to_restart_before_anything_served() {
    let mut bed = Bed::new();
    assert!(matches!(bed.cycle.restart().await, Err(ApplyError::NothingGood)));
    let mut bed = Bed::serving().await;
    assert!(!bed.cycle.restart().await.unwrap().started);
    bed.check(&[], "one");
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_takes_no_configuration_back_that_nginx_confirmed() {
    let mut bed = Bed::new();
    // A directory in the way stands for all that can go wrong with a note.
    for note in ["masters", "last-good"] {
        fs::create_dir(bed.cycle.paths.run_dir().join(note)).unwrap();
    }
    assert!(bed.apply("one").await.unwrap().started);
    assert!(bed.apply("two").await.unwrap().reloaded);
    bed.check(&["test one", "clear all sockets", "start one with 0 sockets", "test two", "SIGHUP master"], "two");
    assert!(bed.cycle.master().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_master_that_was_left_beside_ours_is_ended_before_another_starts() {
    let mut bed = Bed::serving().await;
    bed.world(|world| {
        world.master = None;
        world.workers.clear();
        world.stray = Some(Identity { pid: 77, start: 1 });
    });
    assert!(bed.cycle.restart().await.unwrap().started);
    bed.check(&["SIGKILL stray", "clear all sockets", "start one with 0 sockets"], "one");
}
