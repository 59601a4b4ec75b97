//! A pid file that names another process than it did.

use std::fs::{self, File};
use std::process::{Child, Command, Output};
use std::time::{Duration, SystemTime};

use crate::bed::{Bed, Running, holds, until};

fn sleep() -> Running {
    Running(Command::new("sleep").arg("600").spawn().unwrap())
}

fn lives(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_none()
}

fn once(bed: &Bed, more: &[&str]) -> Output {
    let (conf, pid) = (bed.path("conf.d").display().to_string(), bed.path("nginx.pid").display().to_string());
    let mut words = vec!["watch", "--once", "--config-dir", &conf, "--pid-file", &pid];
    words.extend(more);
    bed.command(&words).output().unwrap()
}

#[tokio::test]
async fn a_stale_pid_file_signals_no_other_program() {
    let bed = Bed::new();
    let mut stranger = sleep();
    fs::write(bed.path("nginx.pid"), stranger.0.id().to_string()).unwrap();
    let output = once(&bed, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("is stale: process") && text.contains("\"sleep 600\", which is neither an NGINX master"), "{text}");
    let pid = bed.path("nginx.pid").display().to_string();
    assert_eq!(bed.command(&["quit", "--pid-file", &pid]).status().unwrap().code(), Some(1));
    assert!(holds(&bed.path("narthex.log"), "is stale: process"), "{}", bed.logs());
    // Nor one that is meant by its name, if the signal would only end it.
    let output = once(&bed, &["--process-name", "sleep", "--confirm-timeout", "50ms"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(1) && text.contains("has no handler for SIGHUP"), "{text}");
    assert_eq!(bed.command(&["quit", "--pid-file", &pid, "--process-name", "sleep"]).status().unwrap().code(), Some(1));
    assert!(lives(&mut stranger.0));
}

#[tokio::test]
async fn a_pid_file_that_is_older_than_the_nginx_it_names_is_stale() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    let workers = bed.workers();
    let old = SystemTime::now() - Duration::from_secs(3600);
    File::options().append(true).open(bed.path("nginx.pid")).unwrap().set_modified(old).unwrap();
    let output = once(&bed, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(1) && text.contains("is stale: it was written 3") && text.contains(" s before process"), "{text}");
    assert!(bed.workers().is_superset(&workers));
}

#[tokio::test]
async fn another_program_with_a_handler_is_signalled_when_it_is_named() {
    let bed = Bed::new();
    let signals = bed.path("signals").display().to_string();
    let script = format!("trap 'echo x >> {signals}' HUP; echo ready >> {signals}; while :; do sleep 0.02; done");
    let program = bed.path("proxy");
    fs::copy("/bin/bash", &program).unwrap();
    let child = Running(Command::new(&program).args(["-c", &script]).spawn().unwrap());
    until("it has its handler", || holds(&bed.path("signals"), "ready")).await;
    fs::write(bed.path("nginx.pid"), child.0.id().to_string()).unwrap();
    assert_eq!(once(&bed, &["--process-name", "proxy"]).status.code(), Some(0), "{}", bed.logs());
    until("it got the signal", || holds(&bed.path("signals"), "x")).await;
}
