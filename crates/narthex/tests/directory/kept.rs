//! Connections that clients keep, over reloads.

use std::process::Command;

use testkit::http::Request;
use testkit::load::Load;
use testkit::manifests::redirect;

use crate::bed::{Bed, settings};

/// Whether tests should take long.
pub(crate) fn soak() -> bool {
    std::env::var_os("NARTHEX_SOAK").is_some()
}

/// Reloads of one test.
pub(crate) fn reloads() -> u32 {
    if soak() { 1000 } else { 40 }
}

/// Requests that may meet a closed connection: none from NGINX 1.27.4 on, which has `keepalive_min_timeout`.
pub(crate) fn most_resent() -> u64 {
    let output = Command::new("nginx").arg("-v").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let version: Vec<u32> = text.trim().rsplit('/').next().unwrap().split('.').filter_map(|part| part.parse().ok()).collect();
    assert_eq!(version.len(), 3, "{text}");
    if version >= vec![1, 27, 4] { 0 } else { u64::from(reloads()) / 4 }
}

/// Without `keepalive_min_timeout` NGINX closes connections that are idle at the moment when a worker ends. Workers announce the end before, so what
/// is left are requests that a client sends in that very moment.
#[tokio::test(flavor = "multi_thread")]
async fn reloads_take_next_to_no_request_of_clients_that_send_none_again() {
    let mut bed = Bed::new();
    bed.write("settings.yaml", &settings("# nothing"));
    bed.write("a.yaml", &redirect("a", "https://one.example.com"));
    bed.start(&[]).await;
    let request = Request::get(bed.http(), "/").host("a.example.com");
    let load = Load { expected_status: 301, ..Load::new(request, 400) }.start();
    for _ in 0..reloads() {
        load.begin(40).await;
        assert_eq!(bed.reload().await.0, 200);
    }
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{report}");
    // A request that found its connection closed, which the load sends again: a client that does not loses it.
    println!("{report}");
    assert!(report.resent <= most_resent(), "{} of {} requests met a closed connection", report.resent, report.requests());
}
