//! Connections that clients keep, over reloads.

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
    assert!(report.resent <= u64::from(reloads()) / 4, "{} of {} requests met a closed connection", report.resent, report.requests());
}
