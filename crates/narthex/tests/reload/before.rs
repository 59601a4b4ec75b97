//! The command of `--before`, its processes and its lock.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::Signal;
use testkit::http::Response;

use crate::bed::{Bed, holds, until};

/// Tells SIGTERM apart from SIGKILL, and takes a while to end. What it starts does the same.
const COMMAND: &str = r#"
family() { trap 'sleep 0.3; echo cleaned >> DIR/log; exit 1' TERM; echo $1 >> DIR/pids; while :; do sleep 0.02; done; }
(family $(sh -c 'echo $PPID')) & family $$"#;

/// A watch with this command and a lock file.
struct Renewal {
    bed: Bed,
    scratch: tempfile::TempDir,
}

impl Renewal {
    async fn start(more: &[&str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let mut bed = Bed::new();
        bed.start_nginx().await;
        let command = COMMAND.replace("DIR", &scratch.path().display().to_string());
        let lock = scratch.path().join("lock").display().to_string();
        let mut flags = vec!["--before", command.as_str(), "--lock-file", &lock];
        flags.extend(more);
        bed.watch(&flags).await;
        Self { bed, scratch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    async fn begun(&self) -> Vec<i32> {
        until("the command runs", || pids(&self.path("pids")).len() == 2).await;
        pids(&self.path("pids"))
    }

    /// Waits for the lock, and then which processes of the command live.
    fn contend(&self, pids: Vec<i32>) -> tokio::task::JoinHandle<Vec<i32>> {
        let path = self.path("lock");
        tokio::task::spawn_blocking(move || {
            let mut file = File::open(path).unwrap();
            loop {
                match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                    Ok(_) => return pids.into_iter().filter(|pid| lives(*pid)).collect(),
                    Err((back, Errno::EWOULDBLOCK)) => file = back,
                    Err((_, error)) => panic!("{error}"),
                }
                std::thread::yield_now();
            }
        })
    }
}

fn pids(path: &Path) -> Vec<i32> {
    fs::read_to_string(path).unwrap_or_default().lines().filter_map(|line| line.parse().ok()).collect()
}

/// A zombie does nothing any more.
fn lives(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn cleaned(renewal: &Renewal) -> usize {
    fs::read_to_string(renewal.path("log")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_gone_with_all_its_processes_before_its_lock_is_free() {
    let renewal = Renewal::start(&["--request-timeout", "1s"]).await;
    let asking = async { renewal.bed.ask("POST", "/reload").await };
    let watching = async {
        let pids = renewal.begun().await;
        renewal.contend(pids).await.unwrap()
    };
    let (response, living): (Response, _) = tokio::join!(asking, watching);
    assert_eq!(living, Vec::<i32>::new());
    assert_eq!(cleaned(&renewal), 2, "by SIGTERM, and waited for");
    assert_eq!(response.status, 500);
    let said = "took longer than 1s (--request-timeout): it was ended with all its processes";
    assert!(response.text().contains(said), "{}", response.text());
    // And for people who did not ask.
    assert!(renewal.bed.logs().contains(said), "{}", renewal.bed.logs());
}

#[tokio::test]
async fn a_watch_that_is_ended_keeps_the_lock_until_its_command_is_gone() {
    let mut renewal = Renewal::start(&["--before-every", "1h"]).await;
    let pids = renewal.begun().await;
    let contender = renewal.contend(pids);
    let pid = renewal.bed.narthex().id();
    renewal.bed.signal(pid, Signal::SIGTERM);
    assert_eq!(contender.await.unwrap(), Vec::<i32>::new());
    assert_eq!(cleaned(&renewal), 2, "by SIGTERM, and waited for");
    assert_eq!(renewal.bed.narthex().wait().unwrap().code(), Some(0));
    assert!(holds(&renewal.bed.path("narthex.log"), "ended with all its processes: narthex is stopping"), "{}", renewal.bed.logs());
}

#[tokio::test]
async fn a_peer_that_does_not_reload_is_in_the_log() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    // The discard port: nothing listens there.
    bed.watch(&["--peers", "127.0.0.9:9"]).await;
    let response = bed.ask("POST", "/reload").await;
    assert_eq!(response.status, 502);
    let log = fs::read_to_string(bed.path("narthex.log")).unwrap();
    let line = log.lines().find(|line| line.contains("a peer did not reload")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("127.0.0.9:9") && line.contains("unreachable") && line.contains("Connection refused"), "{line}");
}
