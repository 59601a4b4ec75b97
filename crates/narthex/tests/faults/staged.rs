//! One fault at a time.

use std::net::{Ipv4Addr, SocketAddr};

use nix::sys::signal::Signal;
use serde_json::Value;
use testkit::http::Request;
use testkit::ports::Ports;
use testkit::processes::signal;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::bed::Bed;

const TARGET: &str = "https://one.example.com";
const OTHER: &str = "https://two.example.com";

#[tokio::test]
async fn killed_tests_at_the_first_start_cost_no_host_its_routes() {
    let mut bed = Bed::new(&[]);
    bed.settings("# nothing");
    for number in 0..40 {
        bed.host(&format!("h{number}"), TARGET, Some(number + 4));
    }
    bed.nginx.kill_tests(true);
    bed.start();
    bed.says("ended by SIGKILL").await;
    assert!(!bed.healthy().await);
    bed.nginx.kill_tests(false);
    bed.settled().await;
}

#[tokio::test]
async fn killed_tests_quarantine_no_new_ingress_and_keep_no_endpoint_waiting() {
    let mut bed = Bed::serving(4, &[]).await;
    bed.nginx.kill_tests(true);
    bed.host("new", TARGET, Some(99));
    bed.says("ended by SIGKILL").await;
    bed.host("h1", OTHER, None);
    bed.until("a change without a reload", || async {
        anyhow::ensure!(bed.target("h1").await? == OTHER);
        Ok(())
    })
    .await;
    assert!(bed.ready().await.unwrap().0, "what runs is the last known good configuration");
    bed.nginx.kill_tests(false);
    bed.settled().await;
}

#[tokio::test]
async fn a_refused_configmap_at_the_first_start_takes_no_route_and_its_repair_is_taken() {
    let mut bed = Bed::new(&[]);
    bed.settings("no_such_directive on;");
    for number in 0..40 {
        bed.host(&format!("h{number}"), TARGET, Some(number + 4));
    }
    bed.start();
    bed.until("all hosts answer beside the refused setting", || async {
        for host in bed.truth.keys() {
            anyhow::ensure!(bed.target(host).await? == TARGET, "{host}");
        }
        anyhow::ensure!(bed.healthy().await, "not healthy");
        Ok(())
    })
    .await;
    assert!(bed.log().contains("http-snippet") && !bed.log().contains("this Ingress asks for"), "{}", bed.log());
    // A new profile does not wait for the repair.
    bed.host("new", TARGET, Some(99));
    bed.until("a new profile", || async {
        anyhow::ensure!(bed.target("new").await? == TARGET);
        Ok(())
    })
    .await;
    bed.settings("# repaired");
    bed.settled().await;
}

#[tokio::test]
async fn a_controller_that_starts_on_a_refused_configmap_serves_changes() {
    let mut bed = Bed::serving(4, &[]).await;
    bed.settings("no_such_directive on;");
    bed.says("1 Ingresses or settings are quarantined").await;
    bed.kill_controller();
    bed.host("h1", OTHER, None);
    bed.start();
    bed.until("the change, and health", || async {
        anyhow::ensure!(bed.target("h1").await? == OTHER && bed.healthy().await);
        Ok(())
    })
    .await;
    // And when its master is killed.
    signal(bed.masters()[0], Signal::SIGKILL);
    bed.settings("# repaired");
    bed.settled().await;
}

#[tokio::test]
async fn a_master_that_is_killed_on_a_full_disk_is_started_again_and_stays_the_only_one() {
    let mut bed = Bed::serving(4, &[]).await;
    bed.fill_disk(true);
    for turn in 0..3 {
        let master = bed.masters()[0];
        signal(master, Signal::SIGKILL);
        bed.host("h1", if turn % 2 == 0 { OTHER } else { TARGET }, None);
        bed.until("another master serves", || async {
            let masters = bed.masters();
            anyhow::ensure!(masters.len() == 1 && masters[0] != master, "masters: {masters:?}");
            anyhow::ensure!(bed.target("h1").await? == bed.truth["h1"]);
            Ok(())
        })
        .await;
    }
    assert_eq!(bed.log().matches("could not be kept on disk").count(), 1, "{}", bed.log());
    bed.kill_controller();
    bed.host("h2", OTHER, None);
    bed.start();
    bed.until("the change", || async {
        anyhow::ensure!(bed.target("h2").await? == OTHER);
        Ok(())
    })
    .await;
    bed.fill_disk(false);
    bed.settled().await;
}

#[tokio::test]
async fn a_master_that_is_killed_while_a_configuration_is_tested_is_started_again_first() {
    let mut bed = Bed::serving(4, &[]).await;
    bed.nginx.hold_tests(true);
    bed.host("h1", OTHER, Some(99));
    bed.until("a test that waits", || async {
        anyhow::ensure!(bed.nginx.held());
        Ok(())
    })
    .await;
    let master = bed.masters();
    signal(master[0], Signal::SIGKILL);
    bed.until("another master", || async {
        anyhow::ensure!(bed.masters().len() == 1 && bed.masters() != master, "{:?}", bed.masters());
        Ok(())
    })
    .await;
    assert!(!bed.log().contains("longer than"), "the test was given up for the master: {}", bed.log());
    bed.nginx.hold_tests(false);
    bed.settled().await;
}

#[tokio::test]
async fn the_console_answers_and_remembers_while_the_disk_is_full() {
    let port = Ports::one().unwrap();
    let mut bed = Bed::serving(2, &[&format!("--console-port={port}")]).await;
    let api = async |path: &str| -> anyhow::Result<Value> {
        let answer =
            Request::get(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), format!("/api/v1/{path}")).host("localhost").send().await?;
        anyhow::ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.text());
        Ok(serde_json::from_slice(&answer.body)?)
    };
    let revision = api("now").await.unwrap()["revision"]["running"].clone();
    bed.fill_disk(true);
    bed.host("h1", OTHER, None);
    bed.until("the live change among the events", || async {
        let events = api("events").await?;
        let is_it = |event: &Value| event["kind"] == "live" && event.to_string().contains("h1");
        anyhow::ensure!(events["items"].as_array().is_some_and(|events| events.iter().any(is_it)), "{events}");
        Ok(())
    })
    .await;
    // A profile that is not loaded yet: its text finds no room.
    bed.host("h2", TARGET, Some(77));
    bed.until("why the reload waits", || async {
        let now = api("now").await?;
        anyhow::ensure!(now["reload"]["waits"].is_string() && now["reload"]["pending"][0].is_string(), "{now}");
        anyhow::ensure!(now["revision"]["running"] == revision && now["checks"].to_string().contains("degraded"), "{now}");
        Ok(())
    })
    .await;
    bed.fill_disk(false);
    bed.settled().await;
    let revisions = api("revisions").await.unwrap();
    let newest = &revisions["items"][0];
    assert!(newest["ok"] == true && newest["running"] == true && newest["revision"] != revision, "{revisions}");
    let diff = api("revisions/diff").await.unwrap();
    assert!(diff["diff"].as_str().is_some_and(|text| text.contains("77k")), "{diff}");
}

#[tokio::test]
async fn a_host_that_waits_for_a_reload_keeps_its_version_of_before_when_the_master_is_killed() {
    let mut bed = Bed::serving(2, &[]).await;
    bed.nginx.kill_tests(true);
    bed.host("h1", OTHER, Some(99));
    bed.says("ended by SIGKILL").await;
    let master = bed.masters();
    signal(master[0], Signal::SIGKILL);
    bed.until("another master serves what the last one did", || async {
        anyhow::ensure!(bed.masters().len() == 1 && bed.masters() != master, "{:?}", bed.masters());
        anyhow::ensure!(bed.log().matches("everything was sent to nginx").count() == 2);
        let target = bed.target("h1").await?;
        anyhow::ensure!(target == TARGET, "h1 leads to {target}");
        Ok(())
    })
    .await;
    bed.nginx.kill_tests(false);
    bed.settled().await;
}

#[tokio::test]
async fn workers_of_a_killed_master_end_also_when_the_controller_is_killed_before_it_ends_them() {
    let mut bed = Bed::serving(2, &[]).await;
    let orphans = bed.workers();
    bed.nginx.hold_start(true);
    signal(bed.masters()[0], Signal::SIGKILL);
    bed.until("the next master is about to begin", || async {
        anyhow::ensure!(bed.nginx.held());
        Ok(())
    })
    .await;
    bed.kill_controller();
    bed.nginx.hold_start(false);
    bed.until("it serves", || async {
        anyhow::ensure!(!bed.workers().is_empty());
        Ok(())
    })
    .await;
    bed.host("h1", OTHER, None);
    bed.start();
    bed.settled().await;
    bed.until("no worker has the state of before", || async {
        anyhow::ensure!(orphans.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()), "{orphans:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn workers_that_find_no_memory_are_replaced_when_there_is_some() {
    let mut bed = Bed::serving(2, &[]).await;
    let master = bed.masters();
    bed.no_memory(true);
    bed.workers().into_iter().for_each(|worker| signal(worker, Signal::SIGKILL));
    bed.until("the master starts no other worker", || async {
        anyhow::ensure!(bed.log().contains("cannot be respawned") && bed.workers().is_empty());
        Ok(())
    })
    .await;
    bed.says("starts no workers").await;
    bed.host("new", TARGET, Some(99));
    bed.no_memory(false);
    bed.settled().await;
    assert_eq!(bed.masters(), master, "the same master goes on\n{}", bed.log());
}

#[tokio::test]
async fn a_reload_without_memory_costs_no_request_and_blames_no_ingress() {
    let mut bed = Bed::serving(2, &[]).await;
    bed.no_memory(true);
    let load = bed.load("h1", 100);
    bed.host("new", TARGET, Some(99));
    bed.until("the fault shows", || async {
        anyhow::ensure!(bed.ready().await?.1.contains("degraded"));
        Ok(())
    })
    .await;
    load.begin(100).await;
    bed.host("h0", OTHER, None);
    bed.until("a change without a reload", || async {
        anyhow::ensure!(bed.target("h0").await? == OTHER);
        Ok(())
    })
    .await;
    assert!(!bed.log().contains("is quarantined"), "{}", bed.log());
    bed.no_memory(false);
    bed.settled().await;
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{report}\n{}", bed.log());
}

#[tokio::test]
async fn idle_connections_to_the_health_port_take_nothing_away() {
    let mut bed = Bed::serving(2, &[]).await;
    bed.descriptors("256");
    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(TcpStream::connect(bed.address(2)).await.unwrap());
    }
    bed.host("new", TARGET, Some(99));
    bed.settled().await;
}

#[tokio::test]
async fn a_controller_without_descriptors_forgets_no_master() {
    let mut bed = Bed::serving(2, &[]).await;
    let master = bed.masters();
    bed.descriptors("3");
    bed.host("new", TARGET, Some(99));
    let load = bed.load("h1", 50);
    load.begin(150).await;
    bed.until("the fault shows", || async {
        anyhow::ensure!(bed.log().contains("Too many open files"));
        Ok(())
    })
    .await;
    bed.descriptors("4096");
    bed.settled().await;
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(bed.masters(), master, "the same master goes on\n{}", bed.log());
}

#[tokio::test]
async fn a_dictionary_that_is_too_small_serves_what_it_has_room_for_and_says_what_is_held_back() {
    let mut bed = Bed::new(&[]);
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  worker-processes: '1'\n  lua-shared-dicts: 'configuration_data: 1'\n";
    std::fs::write(bed.path("manifests/settings.yaml"), text).unwrap();
    for number in 0..1500 {
        bed.host(&format!("h{number}"), &format!("https://one.example.com/{}", "x".repeat(900)), None);
    }
    bed.start();
    bed.until("most hosts are served", || async {
        let mut served = 0;
        for number in (0..1500).step_by(50) {
            served += usize::from(bed.target(&format!("h{number}")).await?.starts_with(TARGET));
        }
        let (_, body) = bed.ready().await?;
        anyhow::ensure!(served >= 5 && body.contains("0 records find no room"), "{served} of 30 are served: {body}");
        anyhow::ensure!(body.contains("Ingresses, Secrets and Services are beyond the share of their namespace"), "{body}");
        anyhow::ensure!(bed.healthy().await, "not healthy");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn foreign_text_in_the_pid_file_is_corrected() {
    let mut bed = Bed::serving(1, &[]).await;
    bed.kill_controller();
    let path = format!("/proc/{}/root{}", bed.masters()[0], bed.path("work/run/nginx.pid").display());
    std::fs::write(&path, "1\n").unwrap();
    bed.start();
    bed.settled().await;
    assert_eq!(std::fs::read_to_string(&path).unwrap().trim(), bed.masters()[0].to_string());
    // Beside a running controller, too: a reload looks at it.
    std::fs::write(&path, "1\n").unwrap();
    bed.host("new", TARGET, Some(99));
    bed.settled().await;
    assert_eq!(std::fs::read_to_string(&path).unwrap().trim(), bed.masters()[0].to_string());
}

/// A limit so low that hardly a connection finds room.
#[tokio::test]
async fn a_low_limit_of_descriptors_is_said_once_and_what_is_refused_fills_no_log() {
    for most in [24, 64, 256] {
        let mut bed = Bed::new(&["--enable-metrics"]);
        bed.most_descriptors = Some(most);
        bed.settings("# nothing");
        bed.host("h0", TARGET, None);
        bed.start();
        bed.settled().await;
        let before = bed.log().lines().count();
        let mut kept = Vec::new();
        for _ in 0..600 {
            let mut stream = TcpStream::connect(bed.address(0)).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: h0.example.com\r\n\r\n").await.unwrap();
            kept.push(stream);
        }
        bed.until("no descriptor is left", || async {
            anyhow::ensure!(bed.log().contains("accept4() failed (24: Too many open files)"));
            Ok(())
        })
        .await;
        // What finds room later is answered.
        drop(kept);
        bed.settled().await;
        let log = bed.log();
        let (answered, other): (Vec<&str>, Vec<&str>) = log.lines().skip(before).partition(|line| line.contains("\"GET / HTTP/1.1\""));
        assert!(answered.len() <= 2000 && other.len() <= 300, "{} and {} lines at a limit of {most}\n{log}", answered.len(), other.len());
        assert_eq!(log.matches("few file descriptors").count(), 1, "{log}");
        assert!(!log.contains("setrlimit"), "{log}");
    }
}

#[tokio::test]
async fn counting_requests_of_many_hosts_writes_no_warning() {
    const HOSTS: usize = 150;
    let bed = Bed::serving(HOSTS, &["--enable-metrics"]).await;
    for _ in 0..4 {
        for host in bed.truth.keys() {
            bed.target(host).await.unwrap();
        }
    }
    bed.until("all hosts are counted", || async {
        let text = Request::get(bed.address(2), "/metrics").send().await?.text();
        let counted = text.lines().filter(|line| line.starts_with("nginx_ingress_controller_requests{")).count();
        anyhow::ensure!(counted >= HOSTS, "{counted} of {HOSTS}");
        Ok(())
    })
    .await;
    assert!(!bed.log().contains("sleep"), "{}", bed.log());
}

#[tokio::test]
async fn routes_that_need_another_profile_after_a_restart_are_answered_throughout() {
    let mut bed = Bed::new(&[]);
    bed.host("h1", TARGET, Some(50));
    bed.serve(1).await;
    let load = bed.fresh_load("h1", 300);
    for size in [60, 70, 80] {
        bed.kill_controller();
        bed.host("h1", if size == 70 { TARGET } else { OTHER }, Some(size));
        bed.start();
        bed.settled().await;
    }
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "of {}: {:?}", report.requests(), report.failures);
}

#[tokio::test]
async fn an_nginx_that_reads_records_of_another_format_serves_until_its_successor_has_all() {
    let mut bed = Bed::serving(2, &[]).await;
    bed.kill_controller();
    let before = bed.workers();
    bed.change_format();
    bed.until("other workers serve", || async {
        anyhow::ensure!(bed.workers().iter().all(|worker| !before.contains(worker)) && bed.target("h0").await? == TARGET);
        Ok(())
    })
    .await;
    let load = bed.fresh_load("h0", 300);
    bed.host("h1", OTHER, None);
    bed.start();
    bed.settled().await;
    assert!(bed.log().contains("reads records of another format"), "{}", bed.log());
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "of {}: {:?}", report.requests(), report.failures);
}
