//! The start and the end, and what the log says of them.

use std::net::TcpListener;

use nix::sys::signal::Signal;
use testkit::manifests::redirect;

use crate::bed::Bed;

#[tokio::test]
async fn a_closed_log_neither_panics_nor_leaves_nginx_behind() {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    let reader = bed.start_piped().await;
    let master: i32 = std::fs::read_to_string(bed.path("work/run/nginx.pid")).unwrap().trim().parse().unwrap();
    drop(reader);
    // Something to say: a change, and the end.
    bed.write("a.yaml", &redirect("a", "https://two.example.com"));
    bed.leads("a.example.com", "https://two.example.com").await;
    bed.signal(Signal::SIGINT);
    assert_eq!(bed.ended().await, Some(0));
    // A process that inherits it may not have waited for it yet.
    assert!(ngx_proc::procfs::identity(master).is_none(), "NGINX still runs");
}

#[tokio::test]
async fn a_taken_port_at_the_first_start_is_said_as_it_is() {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    let taken = TcpListener::bind(("0.0.0.0", bed.http_port())).unwrap();
    bed.spawn_only(&[]);
    let port = bed.http_port();
    bed.says(&format!("port {port} on 0.0.0.0 (--http-port sets it) is taken by ")).await;
    bed.says(&format!("(pid {})", std::process::id())).await;
    bed.says("nginx does not run, so nothing is served yet").await;
    bed.signal(Signal::SIGTERM);
    assert_eq!(bed.ended().await, Some(0));
    let log = bed.log();
    assert!(log.contains("nginx does not run: there is nothing to end"), "{log}");
    for untrue in ["last known good", "goes on", "old configuration", " serving", "open requests"] {
        assert!(!log.contains(untrue), "{untrue}: {log}");
    }
    drop(taken);
}

#[tokio::test]
async fn an_empty_directory_is_mentioned() {
    let mut bed = Bed::new();
    bed.start(&[]).await;
    bed.says("the manifest directory holds no *.yaml, *.yml or *.json: nothing is served until it does").await;
}
