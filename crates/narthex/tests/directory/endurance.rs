//! Many reloads below clients that stay.

use std::fs;

use testkit::http::{Connection, Request};
use testkit::load::Load;
use testkit::manifests::{redirect, redirect_with};

use crate::bed::Bed;
use crate::kept::{most_resent, reloads, soak};
use crate::tunnels::{self, Tunnels};

/// Old workers for each current one with which no further reload begins.
const MOST_OLD: usize = 16;
const WORKERS: usize = 2;
/// The generations of workers that get websockets.
const LOTS: usize = 4;

/// A host of websockets that lead to the test, and one that redirects.
pub(crate) async fn bed() -> Bed {
    let mut bed = Bed::new();
    let settings =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {worker-processes: '2', worker-shutdown-timeout: 6h}\n";
    bed.write("settings.yaml", settings);
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    let (ip, port) = (bed.own().ip(), bed.own().port());
    bed.write(
        "echo.yaml",
        &format!(
            "{{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {{name: echo}}, spec: {{ingressClassName: nginx, rules: [{{host: echo.example.com, http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: echo, port: {{number: 80}}}}}}}}]}}}}]}}}}
---
{{apiVersion: v1, kind: Service, metadata: {{name: echo}}, spec: {{ports: [{{port: 80, targetPort: {port}}}]}}}}
---
{{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {{name: echo-1, labels: {{kubernetes.io/service-name: echo}}}}, addressType: IPv4, ports: [{{port: {port}}}], endpoints: [{{addresses: [{ip}]}}]}}
"
        ),
    );
    tunnels::echo(bed.own()).await;
    bed.start(&[]).await;
    bed.leads("a.example.com", "https://one.example.com").await;
    bed
}

/// Figures that must not grow: resident kilobytes and descriptors of the master, of these without the two for each worker, and the controller's.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    master_kilobytes: usize,
    master_descriptors: usize,
    controller_descriptors: usize,
}

impl Footprint {
    /// The footprint when workers without websockets have ended.
    async fn of(bed: &Bed) -> Self {
        bed.until("workers without websockets have ended", || async {
            let children = bed.children().len();
            anyhow::ensure!(children <= WORKERS * (1 + LOTS), "{children} workers");
            Ok(())
        })
        .await;
        let descriptors = |pid: i32| fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        let status = fs::read_to_string(format!("/proc/{}/status", bed.master())).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        Self {
            master_kilobytes: resident.trim().trim_end_matches(" kB").parse().unwrap(),
            master_descriptors: descriptors(bed.master()) - 2 * bed.children().len(),
            controller_descriptors: descriptors(bed.controller()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_reloads_end_no_websocket_lose_no_request_and_leave_nothing_behind() {
    let bed = bed().await;
    let mut tunnels = Vec::new();
    let in_a_lot = if soak() { 200 } else { 20 } / LOTS;
    // They ask once, and stay.
    let mut silent = Vec::new();
    let request = Request::get(bed.http(), "/").host("a.example.com");
    for _ in 0..10 {
        let mut connection = Connection::open(&request).await.unwrap();
        assert_eq!(connection.send(&request).await.unwrap().status, 301);
        silent.push(connection);
    }
    let load = Load { expected_status: 301, ..Load::new(request, 200) }.start();
    let mut warm = None;
    for turn in 0..reloads() {
        if tunnels.len() < LOTS {
            tunnels.push(Tunnels::open(bed.http(), "echo.example.com", in_a_lot).await);
        }
        load.begin(20).await;
        let (status, answer) = bed.reload().await;
        assert_eq!(status, 200, "{answer}");
        for lot in &mut tunnels {
            lot.check().unwrap_or_else(|error| panic!("after {turn} reloads: {error:#}"));
        }
        let children = bed.children().len();
        assert!(children < WORKERS * (2 + MOST_OLD), "{children} workers after {turn} reloads");
        if turn == reloads() / 4 {
            warm = Some(Footprint::of(&bed).await);
        }
    }
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{report}");
    // A client that never sends again loses these.
    assert!(report.resent <= most_resent(), "{report}");
    let end = Footprint::of(&bed).await;
    for lot in &mut tunnels {
        let before = lot.answered();
        bed.until("bytes go on through old workers", || async {
            anyhow::ensure!(lot.answered() > before);
            Ok(())
        })
        .await;
        lot.check().unwrap();
    }
    let warm = warm.unwrap();
    println!("{report}\nafter a quarter: {warm:?}\nat the end: {end:?}, {} workers", bed.children().len());
    assert!(end.master_kilobytes <= warm.master_kilobytes * 11 / 10 + 1024, "{warm:?} {end:?}");
    // A leak would show in each of the reloads between; a worker that is about to end has two.
    assert!(end.master_descriptors <= warm.master_descriptors + 4, "{warm:?} {end:?}");
    // A pool of connections to the control socket comes and goes.
    assert!(end.controller_descriptors <= warm.controller_descriptors + 4, "{warm:?} {end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_waits_while_many_old_workers_have_websockets_and_ends_none_of_them() {
    let bed = bed().await;
    let mut tunnels = Vec::new();
    let refusal = loop {
        // Enough for each worker to have some.
        tunnels.push(Tunnels::open(bed.http(), "echo.example.com", 8).await);
        let (status, answer) = bed.reload().await;
        if status != 200 {
            break answer;
        }
        assert!(tunnels.len() <= 4 * MOST_OLD, "no reload waits for {} workers", bed.children().len());
    };
    assert!(refusal.to_string().contains("old workers still finish connections"), "{refusal}");
    assert!(bed.children().len() < WORKERS * (2 + MOST_OLD), "{} workers", bed.children().len());
    for lot in &mut tunnels {
        lot.check().unwrap();
    }
    // A change that needs no reload is not affected; one that does takes effect when clients have left.
    bed.write("a.yaml", &redirect("a", "https://two.example.com"));
    bed.leads("a.example.com", "https://two.example.com").await;
    let large = redirect_with("b", "https://two.example.com", &[("proxy-buffer-size", "99k")]);
    bed.write("b.yaml", &large);
    bed.says("it is tried again").await;
    assert_ne!(bed.target("b.example.com").await.unwrap(), "https://two.example.com");
    tunnels.truncate(1);
    bed.leads("b.example.com", "https://two.example.com").await;
    tunnels[0].check().unwrap();
}
