//! The client of the control socket against a real NGINX.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::bed::{Bed, signal};
use nginx::{Key, LiveError, Retry};
use nix::sys::signal::Signal;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_posts_reuse_connections_and_survive_that_nginx_closes_them() {
    let bed = Bed::new().await;
    let mut supervisor = bed.open().await;
    supervisor.apply(&bed.set("one", "")).await.unwrap();
    let live = supervisor.live();
    for number in 0..1000 {
        let state = live.post(format!("=h\thost-{number}\t{{\"routes\":[]}}\n")).await.unwrap();
        assert_eq!(state.revision, "one");
    }
    let connections = live.connections().await.unwrap();
    assert!(connections.requests > 1000 && connections.accepted < 100, "{connections:?}");
    supervisor.quit(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_post_fails_while_nginx_reloads() {
    let bed = Bed::new().await;
    let mut supervisor = bed.open().await;
    supervisor.apply(&bed.set("0", "")).await.unwrap();
    let (live, stop, sent) = (supervisor.live(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let (stopped, counter) = (stop.clone(), sent.clone());
    let posts = tokio::spawn(async move {
        while !stopped.load(Ordering::Relaxed) {
            live.post("=b\tns/svc:80\t{}\n".to_owned()).await?;
            counter.fetch_add(1, Ordering::Relaxed);
        }
        Ok::<(), LiveError>(())
    });
    for revision in 1..6 {
        assert!(supervisor.apply(&bed.set(&revision.to_string(), "")).await.unwrap().reloaded);
    }
    stop.store(true, Ordering::Relaxed);
    posts.await.unwrap().unwrap();
    assert!(sent.load(Ordering::Relaxed) > 50);
    supervisor.quit(Duration::from_secs(5)).await.unwrap();
}

/// HTTP clients open a connection, and take another that becomes free meanwhile: NGINX would wait for a request on the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_without_a_request_does_not_hold_up_the_end() {
    let bed = Bed::new().await;
    let mut supervisor = bed.open().await;
    supervisor.apply(&bed.set("one", "")).await.unwrap();
    let unused = tokio::net::UnixStream::connect(bed.paths.run_dir().join("control.sock")).await.unwrap();
    // It is accepted, as one that came later is answered.
    for _ in 0..10 {
        supervisor.live().fresh_state().await.unwrap();
    }
    let begun = Instant::now();
    supervisor.quit(Duration::from_secs(60)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    drop(unused);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nginx_holds_is_read() {
    let bed = Bed::new().await;
    let mut supervisor = bed.open().await;
    let live = supervisor.live();
    let error = live.state().await.unwrap_err();
    assert!(matches!(error, LiveError::Unreachable { .. }) && error.retry() == Retry::Later, "{error}");
    supervisor.apply(&bed.set("one", "")).await.unwrap();
    let key = |table, key: &str| Key { table, key: key.to_owned() };
    assert_eq!(live.keys().await.unwrap(), [key('h', "foo.example.com"), key('b', "ns/svc:80")]);
    let recorded = live.record('h', "*.example.com").await.unwrap().unwrap();
    assert_eq!(recorded, format!("%2A.example.com {}", bed.master()));
    assert_eq!(live.audit().await.unwrap().revision, "one");
    assert_eq!(live.set_generation("g1").await.unwrap().generation, None);
    supervisor.quit(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_after_a_restart_is_meant_for_the_new_master() {
    let bed = Bed::new().await;
    let mut supervisor = bed.open().await;
    supervisor.apply(&bed.set("one", "")).await.unwrap();
    let (live, killed) = (supervisor.live(), bed.master());
    assert_eq!(live.record('h', "x").await.unwrap(), Some(format!("x {killed}")));
    signal(killed, Signal::SIGKILL);
    supervisor.exited().await;
    // Its workers serve, and take changes.
    assert_eq!(live.record('h', "x").await.unwrap(), Some(format!("x {killed}")));
    supervisor.restart().await.unwrap();
    assert_eq!(live.record('h', "x").await.unwrap(), Some(format!("x {}", bed.master())));
    drop(supervisor);
    // A controller that finds an NGINX running means that one.
    let supervisor = bed.open().await;
    assert_eq!(supervisor.live().record('h', "x").await.unwrap(), Some(format!("x {}", bed.master())));
    supervisor.quit(Duration::from_secs(5)).await.unwrap();
}
