//! Reloads that are asked for.

use std::fs;

use testkit::http::{Peer, Request};
use testkit::manifests::redirect;
use testkit::ports::Ports;

use crate::bed::{Bed, LIMIT, json, settings};

/// A controller whose NGINX includes `extra.conf`: a server that answers `v0`.
async fn with_shared_file(more: &[&str]) -> Bed {
    let mut bed = Bed::new();
    bed.write("settings.yaml", &settings(&format!("include {};", bed.path("extra.conf").display())));
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    answer(&bed, "v0");
    bed.start(more).await;
    assert_eq!(served(&bed).await, "v0");
    // One that has just begun is not called a worker yet.
    bed.until("two workers", || async {
        anyhow::ensure!(bed.workers().len() == 2, "{:?}", bed.workers());
        Ok(())
    })
    .await;
    bed
}

/// A file that only a reload makes NGINX read: no manifest changes.
fn answer(bed: &Bed, text: &str) {
    let server = format!("server {{ listen {}; location / {{ return 200 '{text}'; }} }}\n", bed.own());
    fs::write(bed.path("extra.conf"), server).unwrap();
}

async fn served(bed: &Bed) -> String {
    Request::get(bed.own(), "/").host("x").header("Connection", "close").send().await.unwrap().text()
}

#[tokio::test]
async fn a_file_that_the_configuration_refers_to_is_served_when_the_answer_comes() {
    let bed = with_shared_file(&[]).await;
    for (method, text) in [("POST", "v1"), ("GET", "v2")] {
        let workers = bed.workers();
        answer(&bed, text);
        let response = bed.ask(method, "/reload").send().await.unwrap();
        let body = json(&response);
        assert_eq!((response.status, &body["ok"], &body["result"]), (200, &true.into(), &"applied".into()), "{body:#}");
        assert_eq!((&body["triggers"], &body["revision"]), (&serde_json::json!(["asked"]), &body["serving"]), "{body:#}");
        assert!(body["revision"].as_str().unwrap().len() == 16 && body["duration_ms"].is_u64(), "{body:#}");
        // Confirmed: new workers serve, and no old one.
        assert_eq!(served(&bed).await, text);
        assert!(bed.workers().is_disjoint(&workers));
    }
    assert_eq!(bed.metric("narthex_reloads_total{namespace=\"\",reason=\"asked\"", "success").await, 2.0);
    assert_eq!(bed.metric("nginx_ingress_controller_success", "").await, 3.0);
    assert_eq!(bed.ask("GET", "/readyz").send().await.unwrap().status, 200);
}

#[tokio::test]
async fn what_nginx_refuses_is_answered_and_costs_nobody_their_routes() {
    let bed = with_shared_file(&[]).await;
    let workers = bed.workers();
    fs::write(bed.path("extra.conf"), "nonsense on;\n").unwrap();
    let (status, body) = bed.reload().await;
    assert_eq!((status, &body["ok"], &body["result"]), (422, &false.into(), &"rejected".into()), "{body:#}");
    assert!(body["message"].as_str().unwrap().contains("unknown directive \"nonsense\""), "{body:#}");
    assert!(body["revision"].is_null() && body["serving"].is_string(), "{body:#}");
    assert_eq!((bed.workers(), served(&bed).await.as_str()), (workers, "v0"));
    assert_eq!(bed.target("a.example.com").await.unwrap(), "https://one.example.com");
    assert_eq!(json(&bed.ask("GET", "/status").send().await.unwrap())["result"], "rejected");
    assert_eq!(bed.metric("narthex_reloads_total{namespace=\"\",reason=\"asked\"", "failure").await, 1.0);
    answer(&bed, "v1");
    let (status, body) = bed.reload().await;
    assert_eq!((status, served(&bed).await.as_str()), (200, "v1"), "{body:#}");
}

#[tokio::test]
async fn the_manifests_are_read_again_first_and_their_faults_are_in_the_answer() {
    let bed = with_shared_file(&["--manifests-poll", "--manifests-poll-interval=3600"]).await;
    bed.write("a.yaml", &redirect("a", "https://two.example.com"));
    bed.write("b.yaml", "kind: [\n");
    answer(&bed, "v1");
    let (status, body) = bed.reload().await;
    assert_eq!((status, served(&bed).await.as_str()), (200, "v1"), "{body:#}");
    assert!(body["warnings"][0].as_str().unwrap().contains("b.yaml"), "{body:#}");
    bed.leads("a.example.com", "https://two.example.com").await;
}

#[tokio::test]
async fn many_callers_share_few_reloads() {
    let bed = with_shared_file(&[]).await;
    answer(&bed, "v1");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..50 {
        calls.spawn(bed.ask("POST", "/reload").send());
    }
    for response in calls.join_all().await {
        let response = response.unwrap();
        assert_eq!(response.status, 200, "{}", response.text());
    }
    assert_eq!(served(&bed).await, "v1");
    let reloads = bed.metric("narthex_reloads_total{namespace=\"\",reason=\"asked\"", "success").await;
    assert!((1.0..=10.0).contains(&reloads), "{reloads} reloads for 50 callers");
}

#[tokio::test]
async fn only_who_may_reloads_whatever_headers_claim() {
    let port = Ports::one().unwrap();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let mut bed = Bed::new();
    let token = bed.path("token");
    fs::write(&token, "secret\n").unwrap();
    let flags = [format!("--listen={address}"), format!("--token-file={}", token.display())];
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    bed.start_with(&[&flags[0], &flags[1], "--allow=127.0.0.2/32"]).await;
    let from = |source: [u8; 4]| {
        Request::new("POST", Peer::Tcp(address), "/reload").host("n").timeout(LIMIT).source(std::net::Ipv4Addr::from(source))
    };
    let outside = from([127, 0, 0, 1]).header("X-Forwarded-For", "127.0.0.2").header("Authorization", "Bearer secret");
    assert_eq!(outside.send().await.unwrap().status, 403);
    assert_eq!(from([127, 0, 0, 2]).send().await.unwrap().status, 401);
    assert_eq!(from([127, 0, 0, 2]).header("Authorization", "Bearer wrong").send().await.unwrap().status, 401);
    assert_eq!(bed.metric("narthex_reloads_total{namespace=\"\",reason=\"asked\"", "").await, 0.0);
    let inside = from([127, 0, 0, 2]).header("Authorization", "Bearer secret").send().await.unwrap();
    assert_eq!(inside.status, 200, "{}", inside.text());
}
