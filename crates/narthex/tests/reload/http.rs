//! Reloads that are asked for.

use std::fs;
use std::net::{IpAddr, SocketAddr};

use serde_json::Value;
use testkit::http::{Request, Response};
use testkit::ports::Ports;

use crate::bed::{Bed, LIMIT, count};

fn json(response: &Response) -> Value {
    serde_json::from_str(&response.text()).unwrap()
}

fn reload(address: SocketAddr) -> Request {
    Request::new("POST", address, "/reload").host("n").timeout(LIMIT)
}

async fn on(ip: [u8; 4], more: &[&str]) -> (Bed, SocketAddr) {
    on_port(ip, Ports::one().unwrap(), more).await
}

async fn on_port(ip: [u8; 4], port: u16, more: &[&str]) -> (Bed, SocketAddr) {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    let address = SocketAddr::from((ip, port));
    let text = address.to_string();
    let mut arguments = vec!["--listen", text.as_str()];
    if !more.contains(&"--allow") && !more.contains(&"--token-file") {
        arguments.extend(["--allow", "127.0.0.0/8"]);
    }
    arguments.extend(more);
    bed.watch(&arguments).await;
    (bed, address)
}

#[tokio::test]
async fn a_reload_says_what_it_did() {
    let (bed, address) = on([127, 0, 0, 1], &[]).await;
    for method in ["POST", "GET"] {
        let workers = bed.workers();
        let response = Request::new(method, address, "/reload").host("n").timeout(LIMIT).send().await.unwrap();
        let body = json(&response);
        assert_eq!((response.status, &body["ok"], &body["result"]), (200, &true.into(), &"applied".into()), "{body:#}");
        assert!(body["revision"].as_str().unwrap().len() == 16 && body["duration_ms"].is_u64(), "{body:#}");
        // It is served by new workers, and not only soon.
        assert!(bed.workers().is_disjoint(&workers));
    }
    fs::write(bed.path("conf.d/site.conf"), "nonsense on;\n").unwrap();
    let response = reload(address).send().await.unwrap();
    let body = json(&response);
    assert_eq!((response.status, &body["ok"], &body["result"]), (422, &false.into(), &"rejected".into()), "{body:#}");
    assert!(body["message"].as_str().unwrap().contains("unknown directive \"nonsense\""), "{body:#}");
    let get = |path: &'static str| async move { Request::get(address, path).host("n").send().await.unwrap() };
    assert_eq!(json(&get("/status").await)["result"], "rejected");
    assert_eq!(get("/healthz").await.status, 200);
    let metrics = get("/metrics").await.text();
    assert!(
        metrics.contains("narthex_watch_config_good 0") && metrics.contains("narthex_watch_triggers_total{trigger=\"http\"}"),
        "{metrics}"
    );
    assert_eq!(Request::new("DELETE", address, "/reload").host("n").send().await.unwrap().status, 405);
}

#[tokio::test]
async fn nobody_from_outside_the_list_reloads_whatever_headers_claim() {
    let (bed, address) = on([127, 0, 0, 1], &["--allow", "10.255.0.0/16"]).await;
    let runs = bed.status("the first run", |_| true).await["run"].clone();
    let claims = ["X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Client-IP", "True-Client-IP", "Via"];
    let mut request = reload(address).header("Narthex-Relayed", "1");
    for name in claims {
        request = request.header(name, if name == "Forwarded" { "for=10.255.0.1" } else { "10.255.0.1" });
    }
    let response = request.send().await.unwrap();
    assert_eq!((response.status, &json(&response)["result"]), (403, &"refused".into()));
    assert_eq!(Request::get(address, "/status").host("n").send().await.unwrap().status, 403);
    assert_eq!(bed.status("any", |_| true).await["run"], runs);
    // Probes and scrapers may come from anywhere.
    assert_eq!(Request::get(address, "/healthz").host("n").send().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_stranger_that_nginx_leads_to_the_port_reloads_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let token = scratch.path().join("token");
    fs::write(&token, "secret\n").unwrap();
    for (flags, refused) in [(vec![], 403), (vec!["--token-file", token.to_str().unwrap()], 401)] {
        let mut bed = Bed::new();
        let port = Ports::one().unwrap();
        let lead = format!("return 200 'v0'; }} location = /lead {{ proxy_pass http://127.0.0.1:{port}/reload; ");
        fs::write(bed.path("conf.d/site.conf"), bed.site("v0").replacen("return 200 'v0'; ", &lead, 1)).unwrap();
        bed.start_nginx().await;
        let text = format!("127.0.0.1:{port}");
        bed.watch(&[&["--listen", &text], &flags[..]].concat()).await;
        let workers = bed.workers();
        let response =
            Request::new("POST", SocketAddr::from(([127, 0, 0, 1], bed.port)), "/lead").host("n").timeout(LIMIT).send().await.unwrap();
        assert_eq!((response.status, &json(&response)["result"]), (refused, &"refused".into()), "{}", response.text());
        assert_eq!(bed.workers(), workers);
        // Probes need nothing.
        let address: SocketAddr = text.parse().unwrap();
        assert_eq!(Request::get(address, "/readyz").host("n").send().await.unwrap().status, 200);
        let log = bed.logs();
        assert_eq!(log.contains("/reload and /status are refused"), refused == 403, "{log}");
    }
}

#[tokio::test]
async fn a_token_is_asked_for_and_may_be_renewed() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("token");
    fs::write(&file, "first\n").unwrap();
    let (_bed, address) = on([127, 0, 0, 1], &["--token-file", file.to_str().unwrap()]).await;
    let with = |token: &'static str| async move {
        reload(address).header("Authorization", format!("Bearer {token}")).send().await.unwrap().status
    };
    assert_eq!(reload(address).send().await.unwrap().status, 401);
    assert_eq!((with("wrong").await, with("first").await), (401, 200));
    fs::write(&file, "second\n").unwrap();
    assert_eq!((with("first").await, with("second").await), (401, 200));
}

#[tokio::test]
async fn a_hundred_callers_share_two_reloads() {
    let scratch = tempfile::tempdir().unwrap();
    let go = scratch.path().join("go");
    fs::write(&go, "").unwrap();
    let test = format!("while [ ! -e {} ]; do sleep 0.02; done", go.display());
    let (bed, address) = on([127, 0, 0, 1], &["--test-command", &test]).await;
    let metrics = || async { Request::get(address, "/metrics").host("n").send().await.unwrap().text() };
    let before = count(&metrics().await, "applied");
    fs::remove_file(&go).unwrap();
    bed.write("v1");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        calls.spawn(async move { reload(address).send().await.unwrap() });
    }
    // The first run waits for the test; all other requests wait for the one after it.
    testkit::poll(LIMIT, || async {
        let metrics = metrics().await;
        anyhow::ensure!(metrics.contains("narthex_watch_waiting_requests 100\n"), "{metrics}");
        Ok(())
    })
    .await
    .unwrap();
    fs::write(&go, "").unwrap();
    for response in calls.join_all().await {
        let body = json(&response);
        assert_eq!((response.status, &body["ok"]), (200, &true.into()), "{body:#}");
        // Written before the first request: every answer is about it.
        assert_eq!(body["revision"], body["serving"], "{body:#}");
    }
    assert_eq!(bed.body("/").await.unwrap(), "v1");
    let reloads = count(&metrics().await, "applied") - before;
    assert!((1..=2).contains(&reloads), "{reloads} reloads\n{}", bed.logs());
}

#[tokio::test]
async fn the_other_replicas_are_told_and_pass_nothing_on() {
    let (mut other, there) = on([127, 0, 0, 2], &[]).await;
    let peer = there.to_string();
    let (_bed, here) = on([127, 0, 0, 1], &["--peers", &peer]).await;
    let workers = other.workers();
    let response = reload(here).send().await.unwrap();
    let body = json(&response);
    assert_eq!(
        (response.status, &body["peers"][0]["ok"], &body["peers"][0]["address"]),
        (200, &true.into(), &peer.clone().into()),
        "{body:#}"
    );
    assert!(other.workers().is_disjoint(&workers));
    // A failure there is one here.
    fs::write(other.path("conf.d/site.conf"), "nonsense on;\n").unwrap();
    let body = json(&reload(here).send().await.unwrap());
    assert_eq!(
        (&body["ok"], &body["result"], &body["peers"][0]["result"]),
        (&false.into(), &"applied".into(), &"rejected".into()),
        "{body:#}"
    );
    other.narthex().kill().unwrap();
    other.narthex().wait().unwrap();
    let response = reload(here).send().await.unwrap();
    assert_eq!((response.status, &json(&response)["peers"][0]["result"]), (502, &"unreachable".into()));
    // A call that was passed on once is not again.
    let response = reload(here).header("Narthex-Relayed", "1").send().await.unwrap();
    assert_eq!((response.status, json(&response).get("peers")), (200, None));
    assert!(IpAddr::from([127, 0, 0, 2]) == there.ip());
}

#[tokio::test]
async fn a_command_before_the_reload_decides_whether_there_is_one() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("log");
    let command = format!("echo x >> {}; test ! -e {}", log.display(), scratch.path().join("stop").display());
    let lock = scratch.path().join("lock");
    let (bed, address) = on([127, 0, 0, 1], &["--before", &command, "--lock-file", lock.to_str().unwrap()]).await;
    let response = reload(address).send().await.unwrap();
    assert_eq!((response.status, &json(&response)["before"]), (200, &"done".into()));
    assert_eq!(fs::read_to_string(&log).unwrap(), "x\n");
    fs::write(scratch.path().join("stop"), "").unwrap();
    let workers = bed.workers();
    let response = reload(address).send().await.unwrap();
    assert_eq!((response.status, &json(&response)["result"]), (500, &"before-failed".into()));
    assert_eq!(bed.workers(), workers);
}

/// Two replicas with one volume: their configurations name a certificate, here a file that the command writes.
async fn replicas(flags: &[&str]) -> ((Bed, SocketAddr), (Bed, SocketAddr)) {
    let port = Ports::one().unwrap();
    // Not the address of an interface: those are this machine's own, and not notified.
    let (here, there) = ([127, 0, 0, 2], [127, 0, 0, 3]);
    let peers = [here, there].map(|ip| format!("{}:{port}", IpAddr::from(ip)));
    // Each tells the other.
    let first = on_port(here, port, &[flags, &["--peers", &peers[1]]].concat()).await;
    let second = on_port(there, port, &[flags, &["--peers", &peers[0]]].concat()).await;
    (first, second)
}

/// Waits until a replica has reloaded on request.
async fn asked(address: SocketAddr) {
    let seen = testkit::poll(LIMIT, || async {
        let metrics = Request::get(address, "/metrics").host("n").send().await?.text();
        anyhow::ensure!(metrics.contains("narthex_watch_triggers_total{trigger=\"http\"} 1"), "{metrics}");
        Ok(())
    });
    seen.await.unwrap();
}

fn renewals(path: &std::path::Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn of_two_replicas_one_renews_and_both_reload() {
    let shared = tempfile::tempdir().unwrap();
    let (log, go, lock) = (shared.path().join("log"), shared.path().join("go"), shared.path().join("lock"));
    let command = format!("echo x >> {}; while [ ! -e {} ]; do sleep 0.02; done", log.display(), go.display());
    let flags = ["--before", &command, "--lock-file", lock.to_str().unwrap()];
    let ((first, here), (second, there)) = replicas(&flags).await;
    let (old_first, old_second) = (first.workers(), second.workers());
    // Both are asked at once.
    let one = tokio::spawn(reload(here).send());
    testkit::poll(LIMIT, || async {
        anyhow::ensure!(renewals(&log) == 1, "not yet");
        Ok(())
    })
    .await
    .unwrap();
    let other = tokio::spawn(reload(there).send());
    // Held, and seen as held: a third one may not run it.
    let contender = fs::File::open(&lock).unwrap();
    assert!(nix::fcntl::Flock::lock(contender, nix::fcntl::FlockArg::LockExclusiveNonblock).is_err());
    fs::write(&go, "").unwrap();
    let (one, other) = (json(&one.await.unwrap().unwrap()), json(&other.await.unwrap().unwrap()));
    assert_eq!((&one["before"], &one["ok"], &one["peers"][0]["ok"]), (&"done".into(), &true.into(), &true.into()), "{one:#}");
    assert_eq!((&other["ok"], &other["peers"][0]["ok"]), (&true.into(), &true.into()), "{other:#}");
    assert!(first.workers().is_disjoint(&old_first) && second.workers().is_disjoint(&old_second));
    // The second one has waited, unless it asked too late to see the lock held.
    let expected = if other["before"] == "done elsewhere" { 1 } else { 2 };
    assert_eq!(renewals(&log), expected, "{other:#}");
}

#[tokio::test]
async fn by_the_clock_one_of_two_replicas_renews_and_tells_the_other() {
    let shared = tempfile::tempdir().unwrap();
    let (log, lock) = (shared.path().join("log"), shared.path().join("lock"));
    let command = format!("echo x >> {}", log.display());
    let flags = ["--before", &command, "--before-every", "1h", "--lock-file", lock.to_str().unwrap()];
    let port = Ports::one().unwrap();
    // The other one listens already, without a clock, so that it can be notified.
    let peer = format!("127.0.0.2:{port}");
    let (_second, there) = on_port([127, 0, 0, 2], port, &[]).await;
    let (_first, here) = on_port([127, 0, 0, 1], port, &[&flags[..], &["--peers", &peer]].concat()).await;
    asked(here).await;
    asked(there).await;
    assert_eq!(renewals(&log), 1);
    // One that starts later finds that it was done not long ago.
    let (third, address) = on_port([127, 0, 0, 3], port, &flags).await;
    assert_eq!(Request::get(address, "/healthz").host("n").send().await.unwrap().status, 200);
    let body = json(&reload(address).send().await.unwrap());
    // The command was asked for after the clock had asked: so that was over, and ran nothing.
    assert_eq!((&body["before"], renewals(&log)), (&"done".into(), 2), "{body:#}\n{}", third.logs());
}
