//! Wrong flags are reported at the start, with messages for people.

use std::fs;
use std::net::SocketAddr;

use testkit::http::Request;
use testkit::ports::Ports;

use crate::bed::Bed;

/// The end of a watch with these flags, for one that can't start.
fn refused(bed: &Bed, flags: &[&str]) -> (Option<i32>, String) {
    let conf = bed.path("conf.d").display().to_string();
    let listen = format!("unix:{}", bed.path("narthex.sock").display());
    let words = [&["watch", "--config-dir", &conf, "--listen", &listen], flags].concat();
    let status = bed.command(&words).env_remove("POD_NAMESPACE").env_remove("POD_NAME").status().unwrap();
    (status.code(), fs::read_to_string(bed.path("narthex.log")).unwrap())
}

#[tokio::test]
async fn a_token_that_can_t_be_read_and_a_lock_that_can_t_be_opened_are_errors_at_the_start() {
    let bed = Bed::new();
    let (code, log) = refused(&bed, &["--token-file", "/nonexistent/token"]);
    assert!(code == Some(1) && log.contains("--token-file can't be used: /nonexistent/token: No such file"), "{log}");
    let (code, log) = refused(&bed, &["--before", "true", "--lock-file", "/nonexistent/lock"]);
    assert!(code == Some(1) && log.contains("--lock-file /nonexistent/lock can't be used: No such file"), "{log}");
}

fn kubeconfig(bed: &Bed, namespace: &str) -> String {
    let path = bed.path("kubeconfig");
    // The discard port: nothing listens there.
    let text = format!(
        r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{{"name": "u", "user": {{}}}}],
        "clusters": [{{"name": "c", "cluster": {{"server": "http://127.0.0.9:9"}}}}],
        "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"{namespace}}}}}]}}"#
    );
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn a_lease_needs_a_namespace_that_was_chosen() {
    let mut bed = Bed::new();
    let path = kubeconfig(&bed, "");
    let flags = ["--before", "true", "--lock-lease", "renewal", "--kubeconfig", &path];
    let (code, log) = refused(&bed, &flags);
    assert!(code == Some(1) && log.contains("--lock-lease renewal: in which namespace? Expected POD_NAMESPACE"), "{log}");
    kubeconfig(&bed, r#", "namespace": "web""#);
    bed.start_nginx().await;
    bed.watch(&flags).await;
    let answer = bed.ask("POST", "/reload").await;
    assert!(answer.status == 500 && answer.text().contains("web/renewal"), "{}", answer.text());
}

#[tokio::test]
async fn a_request_that_is_refused_is_logged_in_words() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    let address = SocketAddr::from(([127, 0, 0, 1], Ports::one().unwrap()));
    bed.watch(&["--listen", &address.to_string(), "--allow", "10.0.0.0/8"]).await;
    let log = bed.logs();
    assert!(log.contains("--allow is in place of the loopback addresses"), "{log}");
    assert_eq!(Request::new("POST", address, "/reload").host("n").send().await.unwrap().status, 403);
    let log = bed.logs();
    let line = log.lines().find(|line| line.contains("a request is refused")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("127.0.0.1:") && line.contains("the address is not one of --allow"), "{line}");
    assert!(!log.contains("Some(") && !log.contains("Tcp("), "{log}");
}

#[tokio::test]
async fn what_was_tested_is_logged_in_words() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    let tested = bed.change("v1").await["tested"].as_str().unwrap().to_owned();
    let log = bed.logs();
    let line = log.lines().rfind(|line| line.contains("applied: new workers serve")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains(&format!("tested=\"{tested}\"")) || line.contains(&format!("\"tested\":\"{tested}\"")), "{line}");
}
