//! Requests at a constant rate, each on a connection of its own, while NGINX reloads: none is lost.

use std::net::SocketAddr;

use testkit::http::Request;
use testkit::load::Load;

use crate::bed::Bed;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_reloads_lose_no_request() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&["--debounce", "10ms"]).await;
    let address = SocketAddr::from(([127, 0, 0, 1], bed.port));
    let request = Request::get(address, "/pid").host("x").header("Connection", "close");
    let load = Load { connections: 8, ..Load::new(request, 200) }.start();
    for round in 0..50 {
        let text = format!("v{round}x");
        bed.write(&text);
        bed.serves(&text).await;
    }
    let report = load.stop().await;
    assert!(report.failures.is_empty() && report.requests() > 50, "{report}\n{}", bed.logs());
    assert!(bed.runs("applied").await >= 50);
}
