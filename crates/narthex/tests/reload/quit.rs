//! `narthex quit`.

use std::net::SocketAddr;

use testkit::echo::{self, Identity};
use testkit::http::Request;
use testkit::poll;

use crate::bed::{Bed, LIMIT};

#[tokio::test]
async fn open_requests_are_finished_before_it_says_that_nginx_is_gone() {
    let upstream = echo::start(([127, 0, 0, 1], 0).into(), Identity::named("slow")).await.unwrap();
    let mut bed = Bed::new();
    let slow = format!("location /slow {{ proxy_pass http://{}; }} location = / {{", upstream.address());
    std::fs::write(bed.path("conf.d/site.conf"), bed.site("v0").replace("location / {", &slow)).unwrap();
    bed.start_nginx().await;
    let pid = bed.path("nginx.pid").display().to_string();
    let address = SocketAddr::from(([127, 0, 0, 1], bed.port));
    let mut answers = tokio::task::JoinSet::new();
    for _ in 0..20 {
        answers.spawn(Request::get(address, "/slow?delay_ms=2000").host("x").header("Connection", "close").send());
    }
    poll(LIMIT, || async {
        anyhow::ensure!(upstream.requests() >= 20, "not begun");
        Ok(())
    })
    .await
    .unwrap();

    // Too short a time is reported, and nothing is cut off.
    let late = bed.command(&["quit", "--pid-file", &pid, "--wait", "--timeout", "1ms", "--output", "json"]).output().unwrap();
    assert_eq!(late.status.code(), Some(1), "{late:?}");
    assert!(String::from_utf8_lossy(&late.stdout).starts_with("{\"result\":\"late\",\"pids\":["), "{late:?}");

    let gone = bed.command(&["quit", "--pid-file", &pid, "--wait", "--timeout", "60s", "--delay", "10ms"]);
    let gone = tokio::task::spawn_blocking(move || {
        let mut gone = gone;
        gone.output().unwrap()
    });
    for answer in answers.join_all().await {
        assert_eq!(answer.unwrap().status, 200);
    }
    let gone = gone.await.unwrap();
    assert!(gone.status.success() && String::from_utf8_lossy(&gone.stdout).starts_with("gone after "), "{gone:?}");
    assert!(bed.body("/").await.is_err());

    let absent = bed.command(&["quit", "--pid-file", &pid]).output().unwrap();
    assert_eq!(absent.status.code(), Some(1));
    assert!(bed.logs().contains("narthex: there is nothing to quit: "), "{}", bed.logs());
    assert_eq!(bed.command(&["quit", "--process-name", "no-such-program"]).output().unwrap().status.code(), Some(1));
    assert_eq!(bed.command(&["quit", "--timeout", "soon"]).output().unwrap().status.code(), Some(2));
}
