//! A thousand requests a second while NGINX reloads and while it ends: none is lost.

use std::net::SocketAddr;
use std::process::{Output, Stdio};

use testkit::http::Request;
use testkit::load::{Load, LoadReport, Running};
use testkit::ports::Ports;

use crate::bed::Bed;

/// Requests a second of all loads together.
const RATE: u32 = 1000;

/// Loads at the same time: connections of their own, kept ones, and so on.
struct Loads(Vec<(&'static str, Running)>);

impl Loads {
    /// [`RATE`] in equal parts.
    fn start<const N: usize>(requests: [(&'static str, Request); N]) -> Self {
        let rate = RATE / u32::try_from(N).unwrap();
        Self(requests.map(|(name, request)| (name, Load { connections: 16, ..Load::new(request, rate) }.start())).into())
    }

    /// Waits until each has begun this many more.
    async fn begin(&self, count: u64) {
        for (_, load) in &self.0 {
            load.begin(count).await;
        }
    }

    /// Ends them. A machine that is too slow for the rate is reported, and is no failure.
    #[expect(clippy::print_stdout, reason = "figures of a test")]
    async fn all_answered(self, bed: &Bed) {
        let mut sum = 0.0;
        let mut reports: Vec<(&str, LoadReport)> = Vec::new();
        for (name, load) in self.0 {
            let report = load.stop().await;
            println!("{name}: {report}");
            sum += report.rate();
            reports.push((name, report));
        }
        if sum < 0.95 * f64::from(RATE) {
            println!("this machine sends {sum:.0} requests a second, not {RATE}");
        }
        for (name, report) in reports {
            assert!(report.failures.is_empty() && report.requests() > 50, "{name}: {report}\n{}", bed.logs());
        }
    }
}

/// A request to a port, its connection kept or not.
fn to(port: u16, keep: bool) -> Request {
    let request = Request::get(SocketAddr::from(([127, 0, 0, 1], port)), "/pid").host("x");
    if keep { request } else { request.header("Connection", "close") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_reloads_lose_no_request() {
    let mut bed = Bed::new();
    // A socket for each worker is another way through the kernel.
    let sharded = Ports::one().unwrap();
    let listen = format!("server {{ listen 127.0.0.1:{sharded} reuseport;");
    let site = |text: &str| bed.site(text).replacen("server {", &listen, 1);
    std::fs::write(bed.path("conf.d/site.conf"), site("v0")).unwrap();
    let texts: Vec<(String, String)> = (0..50).map(|round| format!("v{round}x")).map(|text| (site(&text), text)).collect();
    bed.start_nginx().await;
    bed.watch(&["--debounce", "10ms"]).await;
    let loads = Loads::start([
        ("fresh connections", to(bed.port, false)),
        ("kept connections", to(bed.port, true)),
        ("fresh connections, reuseport", to(sharded, false)),
        ("kept connections, reuseport", to(sharded, true)),
    ]);
    for (site, text) in texts {
        std::fs::write(bed.path("conf.d/site.conf"), site).unwrap();
        bed.serves(&text).await;
    }
    loads.all_answered(&bed).await;
    assert!(bed.runs("applied").await >= 50);
}

/// As in a cluster: the load balancer hears of the end while the hook waits, and kept connections stay on the old one until it closes them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_one_nginx_beside_another_loses_no_request() {
    let (mut leaving, mut staying) = (Bed::new(), Bed::new());
    leaving.start_nginx().await;
    staying.start_nginx().await;
    let loads = Loads::start([("fresh connections", to(leaving.port, false)), ("kept connections", to(leaving.port, true))]);
    loads.begin(500).await;

    let pid = leaving.path("nginx.pid").display().to_string();
    let quit = ["quit", "--delay", "2s", "--wait", "--timeout", "50s", "--pid-file", &pid];
    let hook = leaving.command(&quit).stdout(Stdio::piped()).spawn().unwrap();
    for ((_, load), keep) in loads.0.iter().zip([false, true]) {
        load.turn_to(to(staying.port, keep));
    }
    let Output { status, stdout, .. } = tokio::task::spawn_blocking(move || hook.wait_with_output().unwrap()).await.unwrap();
    assert!(status.success() && stdout.starts_with(b"gone after "), "{}", leaving.logs());
    loads.begin(100).await;
    loads.all_answered(&leaving).await;
}
