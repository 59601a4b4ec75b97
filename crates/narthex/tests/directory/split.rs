//! NGINX under `narthex data-plane`: what either of the two sides survives, and that faults are said as they are in one process.

use std::net::TcpListener;

use anyhow::ensure;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::http::Request;
use testkit::load::Load;
use testkit::manifests::redirect;

use crate::bed::{Bed, settings};

const SPLIT: [&str; 2] = ["--split-data-plane", "--enable-metrics"];

fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// A bed that serves one host.
async fn serving() -> Bed {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    bed.start_data_plane();
    bed.start(&SPLIT).await;
    bed.leads("a.example.com", "https://one.example.com").await;
    bed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_was_killed_comes_back_without_a_reload_and_no_request_is_lost() {
    let mut bed = serving().await;
    let (master, workers) = (bed.master(), bed.workers());
    let request = Request::get(bed.http(), "/").host("a.example.com");
    let load = Load { expected_status: 301, ..Load::new(request, 200) }.start();
    load.begin(100).await;
    bed.kill();
    load.begin(200).await;
    bed.start(&SPLIT).await;
    bed.says("NGINX runs already: adopted").await;
    bed.write("a.yaml", &redirect("a", "https://two.example.com"));
    bed.leads("a.example.com", "https://two.example.com").await;
    load.begin(50).await;
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!((bed.master(), bed.workers()), (master, workers), "{}", bed.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_container_of_nginx_was_killed_all_is_served_again_as_soon_as_it_is_back() {
    let mut bed = serving().await;
    let master = bed.master();
    // A container takes all of its processes along.
    let workers = bed.children();
    bed.data_plane().kill().unwrap();
    bed.data_plane().wait().unwrap();
    workers.into_iter().chain([master]).for_each(|pid| signal(pid, Signal::SIGKILL));
    bed.write("b.yaml", &redirect("b", "https://three.example.com"));
    bed.says("live update failed").await;
    bed.start_data_plane();
    bed.leads("a.example.com", "https://one.example.com").await;
    bed.leads("b.example.com", "https://three.example.com").await;
    assert_ne!(bed.master(), master);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_starts_first_waits_for_the_container_of_nginx() {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    bed.spawn_only(&SPLIT);
    bed.says("waiting for the container of NGINX").await;
    bed.start_data_plane();
    bed.leads("a.example.com", "https://one.example.com").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_alone_is_asked_to_end_leaves_nginx_serving() {
    let mut bed = serving().await;
    let master = bed.master();
    bed.signal(Signal::SIGTERM);
    assert_eq!(bed.ended().await, Some(0), "{}", bed.log());
    assert!(bed.log().contains("the container of NGINX goes on"), "{}", bed.log());
    assert_eq!(bed.target("a.example.com").await.unwrap(), "https://one.example.com");
    bed.start(&SPLIT).await;
    assert_eq!(bed.master(), master);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_both_containers_are_asked_to_end_nginx_ends_and_the_controller_after_it() {
    let mut bed = serving().await;
    let master = bed.master();
    signal(bed.data_plane().id().cast_signed(), Signal::SIGTERM);
    bed.signal(Signal::SIGTERM);
    assert_eq!(bed.ended().await, Some(0), "{}", bed.log());
    assert!(bed.log().contains("waiting for the container of NGINX, which finishes its open requests"), "{}", bed.log());
    assert_eq!(bed.data_plane().wait().unwrap().code(), Some(0));
    assert!(ngx_proc::procfs::identity(master).is_none(), "NGINX still runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_and_a_refused_setting_are_named_as_in_one_process() {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    let taken = TcpListener::bind(("0.0.0.0", bed.http_port())).unwrap();
    bed.start_data_plane();
    bed.spawn_only(&SPLIT);
    let port = bed.http_port();
    bed.says(&format!("port {port} on 0.0.0.0 (--http-port sets it) is taken by ")).await;
    bed.says(&format!("(pid {})", std::process::id())).await;
    drop(taken);
    bed.leads("a.example.com", "https://one.example.com").await;
    bed.write("settings.yaml", &settings("nonsense;"));
    bed.says("unknown directive").await;
    bed.says("http-snippet").await;
    bed.write("b.yaml", &redirect("b", "https://two.example.com"));
    bed.leads("b.example.com", "https://two.example.com").await;
    bed.until("NGINX's processes are counted", || async {
        let count = bed.metric("nginx_ingress_controller_nginx_process_num_procs", "").await;
        ensure!(count >= 2.0, "{count}");
        Ok(())
    })
    .await;
}
