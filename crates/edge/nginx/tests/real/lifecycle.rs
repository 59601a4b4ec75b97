//! Start, reload, refusal, restart, adoption and end of a real NGINX.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Bed;
use crate::bed::{body, eventually, free_port, holds, signal};
use nginx::{ApplyError, Complaint, OpenError, Supervisor};
use nix::sys::signal::Signal;

const DRAIN: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn a_start_and_a_reload_are_confirmed_and_the_same_again_does_nothing() {
    let bed = Bed::new().await;
    let mut supervisor = bed.open().await;
    assert!(supervisor.adopted().is_none());
    let first = supervisor.apply(&bed.set("one", "")).await.unwrap();
    assert!(first.started && !first.reloaded);
    assert_eq!(bed.get().unwrap(), "one");
    let master = bed.master();
    assert_eq!(supervisor.pid().await, Some(master));
    let second = supervisor.apply(&bed.set("two", "")).await.unwrap();
    assert!(second.reloaded && !second.started);
    println!("confirmed: start {:?}, reload {:?}", first.duration, second.duration);
    for _ in 0..50 {
        assert_eq!(bed.get().unwrap(), "two");
    }
    assert!(holds(&bed.paths.work_dir.join("lua/marker.lua"), "two"));
    let third = supervisor.apply(&bed.set("two", "")).await.unwrap();
    assert!(!third.reloaded && !third.started);
    assert_eq!(bed.master(), master);
    supervisor.quit(DRAIN).await.unwrap();
    eventually("the end of the master", || bed.group(master).is_empty());
    assert!(bed.get().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_reload_reads_what_the_same_text_refers_to() {
    let bed = Bed::new().await;
    let extra = bed.paths.work_dir.with_extension("extra.conf");
    fs::write(&extra, "").unwrap();
    let set = bed.set("one", &format!("include {};", extra.display()));
    let mut supervisor = bed.open().await;
    supervisor.apply(&set).await.unwrap();
    // A start is confirmed by the first one.
    eventually("all workers", || bed.workers().len() == 2);
    let workers = bed.workers();
    fs::write(&extra, "server_tokens nonsense;").unwrap();
    assert!(!supervisor.apply(&set).await.unwrap().reloaded);
    let refused = supervisor.reload(&set).await.unwrap_err();
    assert!(matches!(&refused, ApplyError::Refused(complaint) if complaint.message.contains("nonsense")), "{refused}");
    assert_eq!((bed.workers(), bed.get().unwrap().as_str()), (workers.clone(), "one"));
    fs::write(&extra, "server_tokens off;").unwrap();
    let again = supervisor.reload(&set).await.unwrap();
    assert!(again.reloaded && !again.started && again.revision == set.revision);
    assert!(bed.workers().is_disjoint(&workers));
    assert_eq!(bed.get().unwrap(), "one");
    supervisor.quit(DRAIN).await.unwrap();
    fs::remove_file(extra).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_configuration_names_its_line_and_changes_nothing() {
    let bed = Bed::new().await;
    let mut supervisor = bed.serving().await;
    let before = bed.conf();
    let bad = bed.set("two", "no_such_directive on;");
    let wanted = bad.conf().split(|&byte| byte == b'\n').position(|line| line.starts_with(b"    no_such")).unwrap() as u32 + 1;
    match supervisor.apply(&bad).await.unwrap_err() {
        ApplyError::Refused(Complaint { message, file, line, stderr }) => {
            assert_eq!((message.as_str(), file.as_str(), line), ("unknown directive \"no_such_directive\"", "nginx.conf", Some(wanted)));
            assert!(stderr.contains(&format!("{}:{wanted}", bed.paths.conf().display())), "{stderr}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(bed.conf(), before);
    assert!(holds(&bed.paths.work_dir.join("lua/marker.lua"), "one"));
    assert!(!bed.paths.work_dir.join("nginx.conf.new").exists());
    assert_eq!(bed.get().unwrap(), "one");
    supervisor.quit(DRAIN).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_taken_at_a_reload_is_named_and_the_old_goes_on() {
    let bed = Bed::new().await;
    let mut supervisor = bed.serving().await;
    let before = bed.conf();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = supervisor.apply(&bed.set("two", &format!("server {{ listen 127.0.0.1:{port}; }}"))).await.unwrap_err();
    assert!(matches!(&error, ApplyError::PortTaken { address, port: named, .. } if address == "127.0.0.1" && *named == port), "{error}");
    assert_eq!(bed.conf(), before);
    assert_eq!(bed.get().unwrap(), "one");
    drop(taken);
    assert!(supervisor.apply(&bed.set("three", "")).await.unwrap().reloaded);
    assert_eq!(bed.get().unwrap(), "three");
    supervisor.quit(DRAIN).await.unwrap();
}

/// The name of this program, as the kernel has it.
fn comm() -> String {
    fs::read_to_string("/proc/self/comm").unwrap().trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_taken_at_the_start_is_named_with_its_flag_and_its_holder_at_once() {
    let bed = Bed::new().await;
    let mut supervisor = bed.open().await;
    let taken = TcpListener::bind(("127.0.0.1", bed.port)).unwrap();
    let began = Instant::now();
    let error = supervisor.apply(&bed.set("one", "")).await.unwrap_err();
    let expected = format!("port {} on 0.0.0.0 (--http-port sets it) is taken by {} (pid {})", bed.port, comm(), std::process::id());
    assert_eq!(error.to_string(), expected);
    assert!(began.elapsed() < Duration::from_secs(2), "NGINX's own attempts take 2.5 s, this took {:?}", began.elapsed());
    assert!(supervisor.pid().await.is_none());
    drop(taken);
    assert!(supervisor.apply(&bed.set("one", "")).await.unwrap().started);
    supervisor.quit(DRAIN).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn leftovers_of_an_earlier_run_are_no_obstacle() {
    let bed = Bed::new().await;
    fs::create_dir_all(bed.paths.run_dir()).unwrap();
    // Our own pid: a process that is not NGINX.
    fs::write(bed.paths.pid(), format!("{}\n", std::process::id())).unwrap();
    fs::write(bed.paths.run_dir().join("masters"), format!("[{{\"pid\":{},\"start\":5}}]", std::process::id())).unwrap();
    fs::write(bed.paths.run_dir().join("last-good"), "{\"revision\":\"x\",\"fil").unwrap();
    fs::write(bed.paths.conf(), "daemon off; http { serv").unwrap();
    fs::write(bed.paths.work_dir.join("nginx.conf.new"), "half").unwrap();
    drop(UnixListener::bind(bed.paths.control_socket()).unwrap());
    drop(UnixListener::bind(bed.paths.run_dir().join("other.sock")).unwrap());
    let kept = UnixListener::bind(bed.paths.run_dir().join("ours.sock")).unwrap();
    let mut supervisor = bed.open().await;
    assert!(supervisor.adopted().is_none());
    assert!(supervisor.apply(&bed.set("one", "")).await.unwrap().started);
    assert_eq!(bed.get().unwrap(), "one");
    assert!(!bed.paths.run_dir().join("other.sock").exists());
    assert!(bed.paths.run_dir().join("ours.sock").exists());
    drop(kept);
    // Half-written while NGINX runs: the next supervisor puts back what served.
    let served = bed.conf();
    drop(supervisor);
    fs::write(bed.paths.conf(), "half").unwrap();
    fs::write(bed.paths.pid(), "").unwrap();
    let mut supervisor = bed.open().await;
    assert_eq!(bed.conf(), served);
    assert_eq!(supervisor.adopted().map(|state| state.revision.as_str()), Some("one"));
    assert!(supervisor.apply(&bed.set("two", "")).await.unwrap().reloaded);
    supervisor.quit(DRAIN).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_is_gone_leaves_nginx_serving_and_the_next_adopts_it_without_a_reload() {
    let bed = Bed::new().await;
    let mut first = bed.open().await;
    first.apply(&bed.set("one", "")).await.unwrap();
    drop(first);
    assert_eq!(bed.get().unwrap(), "one");
    let master = bed.master();
    eventually("the second worker", || bed.group(master).len() == 3);
    let workers = bed.group(master);
    let mut second = bed.open().await;
    assert_eq!(second.adopted().map(|state| state.revision.as_str()), Some("one"));
    let applied = second.apply(&bed.set("one", "")).await.unwrap();
    assert!(!applied.started && !applied.reloaded);
    assert_eq!(bed.group(master), workers);
    let exited = second.exited();
    assert!(second.apply(&bed.set("two", "")).await.unwrap().reloaded);
    assert_eq!(bed.get().unwrap(), "two");
    second.quit(DRAIN).await.unwrap();
    exited.await;
    eventually("the end of the workers", || bed.group(master).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_master_is_noticed_and_replaced_while_its_orphans_serve() {
    let bed = Bed::new().await;
    let mut supervisor = bed.serving().await;
    let load = Load::start(bed.port);
    for round in 0..3 {
        let killed = bed.master();
        let exited = supervisor.exited();
        signal(killed, Signal::SIGKILL);
        exited.await;
        assert_eq!(bed.get().unwrap(), "one", "the orphans serve");
        let began = Instant::now();
        assert!(supervisor.restart().await.unwrap().started);
        assert!(began.elapsed() < Duration::from_secs(2), "round {round} took {:?}", began.elapsed());
        assert_ne!(bed.master(), killed);
        eventually("the end of the orphans", || bed.group(killed).is_empty());
        assert_eq!(bed.get().unwrap(), "one");
    }
    assert!(supervisor.apply(&bed.set("two", "")).await.unwrap().reloaded);
    let (served, failed, gap) = load.stop();
    println!("killed 3 masters under load: {served} served, {failed} failed, longest gap {gap:?}");
    assert!(served > 0 && gap < Duration::from_secs(1), "{served} served, {failed} failed, longest gap {gap:?}");
    supervisor.quit(DRAIN).await.unwrap();
}

/// Workers without a master and without a supervisor. The pid that the master had.
async fn orphaned(bed: &Bed) -> i32 {
    let mut first = bed.open().await;
    first.apply(&bed.set("one", "")).await.unwrap();
    let killed = bed.master();
    drop(first);
    signal(killed, Signal::SIGKILL);
    eventually("the end of the master", || !bed.group(killed).contains(&killed));
    killed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_master_and_a_killed_controller_leave_orphans_that_the_next_replaces() {
    let bed = Bed::new().await;
    let killed = orphaned(&bed).await;
    let mut second = bed.open().await;
    assert!(second.adopted().is_none());
    assert_eq!(bed.get().unwrap(), "one");
    assert!(second.apply(&bed.set("two", "")).await.unwrap().started);
    assert_eq!(bed.get().unwrap(), "two");
    eventually("the end of the orphans", || bed.group(killed).is_empty());
    second.quit(DRAIN).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_that_no_note_names_are_found_and_replaced() {
    let bed = Bed::new().await;
    let killed = orphaned(&bed).await;
    // As if the disk had been full when it was started.
    fs::remove_file(bed.paths.run_dir().join("masters")).unwrap();
    let mut second = bed.open().await;
    assert!(second.apply(&bed.set("two", "")).await.unwrap().started);
    assert_eq!(bed.get().unwrap(), "two");
    eventually("the end of the orphans", || bed.group(killed).is_empty());
    second.quit(DRAIN).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_and_all_its_workers_may_die() {
    let bed = Bed::new().await;
    let mut supervisor = bed.serving().await;
    let master = bed.master();
    let exited = supervisor.exited();
    signal(master, Signal::SIGSTOP);
    bed.group(master).into_iter().for_each(|pid| signal(pid, Signal::SIGKILL));
    exited.await;
    assert!(supervisor.restart().await.unwrap().started);
    assert_eq!(bed.get().unwrap(), "one");
    supervisor.quit(DRAIN).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_socket_that_was_deleted_leads_to_a_new_master() {
    let bed = Bed::new().await;
    let mut supervisor = bed.serving().await;
    let old = bed.master();
    fs::remove_file(bed.paths.control_socket()).unwrap();
    assert!(supervisor.apply(&bed.set("two", "")).await.unwrap().started);
    assert_ne!(supervisor.pid().await, Some(old));
    assert_eq!(bed.get().unwrap(), "two");
    supervisor.quit(DRAIN).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn quit_lets_a_request_in_flight_finish() {
    let bed = Bed::new().await;
    let supervisor = bed.serving().await;
    let master = bed.master();
    let mut stream = TcpStream::connect(("127.0.0.1", bed.port)).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\nX-Half: ").unwrap();
    // Answered requests after it show that the half request has been read.
    for _ in 0..20 {
        bed.get().unwrap();
    }
    let quit = tokio::spawn(supervisor.quit(DRAIN));
    eventually("the end of accepting", || bed.get().is_err());
    assert!(!quit.is_finished());
    stream.write_all(b"x\r\n\r\n").unwrap();
    assert_eq!(body(stream).unwrap(), "one");
    quit.await.unwrap().unwrap();
    eventually("the end of the workers", || bed.group(master).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn quit_does_not_wait_for_ever() {
    let bed = Bed::new().await;
    let supervisor = bed.serving().await;
    let master = bed.master();
    let mut stream = TcpStream::connect(("127.0.0.1", bed.port)).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\nX-Half: ").unwrap();
    supervisor.quit(Duration::from_millis(50)).await.unwrap();
    eventually("the end of the workers", || bed.group(master).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_supervisors_do_not_share_a_work_directory() {
    let bed = Bed::new().await;
    let first = bed.open().await;
    let error = Supervisor::open(bed.options()).await.unwrap_err();
    assert!(matches!(error, OpenError::Locked { pid: Some(pid), .. } if pid == std::process::id()), "{error}");
    drop(first);
    bed.open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_listen_port_is_opened_and_the_old_one_closed_by_a_reload() {
    let bed = Bed::new().await;
    let mut supervisor = bed.serving().await;
    let other = free_port();
    assert!(supervisor.apply(&bed.set_on(other, "two", "")).await.unwrap().reloaded);
    assert_eq!(crate::bed::get(other).unwrap(), "two");
    assert!(bed.get().is_err());
    supervisor.quit(DRAIN).await.unwrap();
}

/// Requests one after the other, each on a connection of its own.
struct Load {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<(u32, u32, Duration)>,
}

impl Load {
    fn start(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let (mut served, mut failed, mut gap, mut last) = (0, 0, Duration::ZERO, Instant::now());
            while !stopped.load(Ordering::Relaxed) {
                match crate::bed::get(port) {
                    Ok(_) => {
                        served += 1;
                        gap = gap.max(last.elapsed());
                        last = Instant::now();
                    }
                    Err(_) => failed += 1,
                }
            }
            (served, failed, gap)
        });
        Self { stop, thread }
    }

    fn stop(self) -> (u32, u32, Duration) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}
