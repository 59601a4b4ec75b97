//! Measure the source.
#![allow(clippy::print_stdout)]
use std::sync::Arc;
use std::time::Instant;
use cluster::*;
fn rss() -> String {
    std::fs::read_to_string("/proc/self/status").unwrap().lines().filter(|l| l.starts_with("VmRSS") || l.starts_with("VmHWM")).collect::<Vec<_>>().join(" ")
}
fn cpu() -> f64 { let s = std::fs::read_to_string("/proc/self/stat").unwrap(); let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect(); (f[11].parse::<f64>().unwrap()+f[12].parse::<f64>().unwrap())/100.0 }
#[tokio::main]
async fn main() {
    let path = std::env::args().nth(1).unwrap();
    let client = connect(&ConnectOptions { kubeconfig: Some(path.into()), ..Default::default() }).await.unwrap();
    let mut tasks = Tasks::new();
    let start = Instant::now();
    let settings = model::Settings { configmap: model::ObjectKey::parse("default/main"), ..Default::default() };
    let mut handle = Source::spawn(client.clone(), SourceOptions::new(Arc::new(settings)), &mut tasks);
    handle.snapshots.wait_for(|s| s.is_some()).await.unwrap();
    println!("ready {:?} cpu {} {}", start.elapsed(), cpu(), rss());
    let mode = std::env::args().nth(2).unwrap_or_default();
    let lease = model::ObjectKey::new("default", "leader");
    let election = Election::spawn(client.clone(), ElectionOptions { lease, identity: "me".into(), ttl: std::time::Duration::from_secs(15) }, &mut tasks);
    let events = EventWriter::spawn(client.clone(), EventWriterOptions::new("me"), handle.snapshots.clone(), &mut tasks);
    let mut all = Vec::new();
    if mode == "write" {
        let s = handle.snapshots.borrow_and_update().clone().unwrap();
        let owned: imbl::OrdSet<_> = s.ingresses.keys().cloned().collect();
        let (tx, rx) = tokio::sync::watch::channel(owned);
        let a = std::env::args().nth(3).unwrap();
        let options = StatusOptions { addresses: AddressSource::Fixed(parse_addresses(&a).unwrap()), interval: std::time::Duration::from_secs(60), pod: model::ObjectKey::new("default", "me"), clear_on_shutdown: false, retry: Retry::default() };
        let _h = StatusWriter::spawn(client.clone(), options, rx, handle.statuses.clone(), election.leader.clone(), &mut tasks);
        let t = Instant::now();
        let want = parse_addresses(&a).unwrap();
        handle.statuses.wait_for(|m| m.values().all(|v| **v == *want)).await.unwrap();
        println!("{} statuses in {:?} cpu {} {}; snapshot changed: {}", s.ingresses.len(), t.elapsed(), cpu(), rss(), handle.snapshots.has_changed().unwrap());
        let key = s.ingresses.keys().next().unwrap().clone();
        events.warning(model::ObjectRef::ingress(&key), "ServiceMissing", "spec.rules[0]: nothing");
        let mut l = election.leader.clone(); l.wait_for(|l| *l).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        all.push(tx);
        election.stop().await;
        println!("dropped {}", events.dropped());
        return;
    }
    let mut last: Option<Arc<model::Snapshot>> = None;
    let mut status = handle.status.clone();
    loop {
        tokio::select! {
            _ = handle.snapshots.changed() => {
                let s = handle.snapshots.borrow_and_update().clone().unwrap();
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros();
                println!("{now} i {} s {} e {} sec {} cm {} cls {:?} p {}", s.ingresses.len(), s.services.len(), s.endpoint_slices.len(), s.secrets.len(), s.config_maps.len(), s.ingress_classes.as_ref().map(|c| c.len()), s.problems.len());
                last = Some(s);
            }
            _ = status.changed() => for f in &status.borrow_and_update().feeds { if let Some(e) = &f.error { println!("{} {}: {e}", f.kind, f.scope); } },
            _ = tokio::time::sleep(std::time::Duration::from_secs(5)) => println!("idle cpu {} {}", cpu(), rss()),
        }
    }
    #[allow(unreachable_code)] drop(last);
}
