//! Clients that are no API server, and what they can't do.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use anyhow::{Context, ensure};
use e2e::{Controller, PATIENCE, rule};
use serde_json::{Value, json};
use testkit::http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::{Dry, Hook, PATH, bad, review, review_of};

/// Any client in a cluster can send reviews: none reaches NGINX, none writes a file.
#[tokio::test]
async fn cve_2025_1974_no_review_reaches_nginx_or_a_file() -> anyhow::Result<()> {
    let hook = Hook::new("cve-2025-1974", "Fail").await?;
    let _servers = hook.case.echo(1).await?;
    let allowed = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    hook.case.settings(&allowed).await?;
    let controller = hook.start(&[]).await?;
    hook.case.serve("served.example.com").await?;
    controller.until("served.example.com", "/", 200).await?;
    let (text, reloads, files) = (controller.nginx_conf()?, controller.reloads().await?, files(&controller)?);
    let injected = "a\"; } ssl_engine /proc/1/fd/9; #";
    for (annotation, value) in [
        ("configuration-snippet", "ssl_engine /tmp/evil;"),
        ("server-snippet", "} } ssl_engine /tmp/evil; http {"),
        ("auth-url", "http://a.example/#;load_module /tmp/evil.so;"),
        ("auth-tls-match-cn", "CN=a #(\n) ssl_engine evil;"),
        ("mirror-target", injected),
        ("mirror-host", injected),
        ("auth-secret", "../../../../tmp/evil"),
        ("rewrite-target", injected),
    ] {
        let mut object = serde_json::to_value(rule("evil", "evil.example.com").annotation(annotation, value).build())?;
        object["metadata"]["namespace"] = json!(hook.case.ns());
        object["metadata"]["uid"] = json!("a\n#} ssl_engine evil;");
        let answer = hook.post(review(&object)).await?;
        assert_eq!(answer.status, 200, "{annotation}: {}", answer.text());
    }
    hook.case.serve("after.example.com").await?;
    controller.until("after.example.com", "/", 200).await?;
    assert_eq!(controller.get("evil.example.com", "/").await?.status, 404);
    assert_eq!((controller.nginx_conf()?, controller.reloads().await?), (text, reloads));
    assert_eq!(self::files(&controller)?, files);
    Ok(())
}

/// The files that a controller has written, without logs.
fn files(controller: &Controller) -> anyhow::Result<Vec<String>> {
    let output = std::process::Command::new("find").arg(controller.work_dir()).args(["-type", "f", "-not", "-name", "*.log"]).output()?;
    let mut files: Vec<String> = String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect();
    files.sort();
    Ok(files)
}

#[tokio::test]
async fn garbage_large_bodies_and_clients_that_hang_keep_no_review_waiting() -> anyhow::Result<()> {
    let hook = Arc::new(Hook::new("adm-flood", "Fail").await?);
    let controller = hook.start(&[]).await?;
    for body in [&b"{"[..], b"null", b"\xff\xfe\x00", b"[[[[[[[["] {
        assert_eq!(hook.post(body.to_vec()).await?.status, 400);
    }
    // They say that a body follows, and send none.
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: hook\r\nContent-Length: 9000000\r\n\r\n");
    let hanging: Vec<_> = (0..50)
        .map(|_| {
            let (address, head) = (hook.address, head.clone());
            tokio::spawn(async move { testkit::http::raw_tls(address, "hook.example", head.as_bytes()).await })
        })
        .collect();
    let mut padded = review(&json!({"metadata": {"name": "a", "namespace": hook.case.ns()}, "spec": {}}));
    padded.resize((9 << 20) - 1, b' ');
    // Of the large ones some find no room, and are cut off. The small ones are all answered.
    let callers: Vec<_> = (0..50)
        .map(|i| {
            let (hook, padded) = (hook.clone(), padded.clone());
            tokio::spawn(async move {
                if i % 5 == 0 {
                    return Ok(hook.post(padded).await.is_ok());
                }
                let status = hook.request(b"{}".to_vec()).timeout(PATIENCE).send().await?.status;
                ensure!(status == 400, "{status}");
                Ok(true)
            })
        })
        .collect();
    for i in 0..20 {
        hook.case.create_dry(&rule(&format!("dry-{i}"), "dry.example.com").build()).await?;
    }
    for caller in callers {
        caller.await??;
    }
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
    assert_eq!(Request::get(controller.health(), "/healthz").send().await?.status, 200);
    Ok(())
}

fn good(hook: &Hook, name: &str) -> anyhow::Result<Value> {
    let mut object = serde_json::to_value(rule(name, &format!("{name}.example.com")).build())?;
    object["metadata"]["namespace"] = json!(hook.case.ns());
    Ok(object)
}

#[tokio::test]
async fn fifty_callers_at_a_time_are_all_answered() -> anyhow::Result<()> {
    let hook = Arc::new(Hook::new("adm-fifty", "Fail").await?);
    let controller = hook.start(&[]).await?;
    let callers: Vec<_> = (0..50)
        .map(|i| {
            let hook = hook.clone();
            tokio::spawn(async move {
                let own = rule(&format!("caller-{i}"), &format!("caller-{i}.example.com")).build();
                hook.case.create(&own).await?;
                hook.denied(&bad(&format!("bad-{i}")), "/etc/nginx").await?;
                let answer = hook.post(review(&good(&hook, &format!("direct-{i}"))?)).await?;
                ensure!(answer.status == 200 && answer.text().contains("\"allowed\":true"), "{}", answer.text());
                anyhow::Ok(())
            })
        })
        .collect();
    for caller in callers {
        caller.await?.with_context(|| controller.log())?;
    }
    Ok(())
}

#[tokio::test]
async fn a_body_is_too_large_before_it_is_read() -> anyhow::Result<()> {
    let hook = Hook::new("adm-head", "Fail").await?;
    let _controller = hook.start(&[]).await?;
    // The length alone: no byte of the body is sent.
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: hook\r\nContent-Length: {}\r\n\r\n", 9 << 20);
    let answer = testkit::http::raw_tls(hook.address, "hook.example", head.as_bytes()).await?;
    ensure!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    // Without a length, in chunks.
    let mut chunked = format!("POST {PATH} HTTP/1.1\r\nHost: hook\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..9 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.resize(chunked.len() + (1 << 20), b' ');
        chunked.extend_from_slice(b"\r\n");
    }
    let answer = testkit::http::raw_tls(hook.address, "hook.example", &chunked).await?;
    ensure!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    Ok(())
}

#[tokio::test]
async fn what_is_no_review_is_answered_with_what_is_expected() -> anyhow::Result<()> {
    let hook = Hook::new("adm-none", "Fail").await?;
    let controller = hook.start(&[]).await?;
    let whole = review(&good(&hook, "whole")?);
    for length in (0..whole.len()).step_by(37).chain([whole.len() - 1]) {
        let answer = hook.post(whole[..length].to_vec()).await?;
        ensure!(answer.status == 400, "{length} bytes of it: {}", answer.status);
    }
    let older = String::from_utf8(whole.clone())?.replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1");
    let answer = hook.post(older.into_bytes()).await?;
    ensure!(answer.status == 400 && answer.text().contains("admissionReviewVersions"), "{}: {}", answer.status, answer.text());
    for body in [review_of("CREATE", "Pod", &json!({})), review_of("UPDATE", "IngressClass", &json!({"metadata": {"name": "a"}}))] {
        let answer = hook.post(body).await?;
        ensure!(answer.status == 500 && answer.text().contains("expected an Ingress"), "{}: {}", answer.status, answer.text());
    }
    // What a client sends does not fill the log.
    let long = review_of("CREATE", &"x".repeat(1 << 20), &json!({}));
    assert_eq!(hook.post(long).await?.status, 500);
    ensure!(controller.log().lines().all(|line| line.len() < 2000), "a line of the log is as long as what a client sent");
    // A deletion is never refused, whatever is deleted.
    let mut object = serde_json::to_value(bad("bad"))?;
    object["metadata"]["namespace"] = json!(hook.case.ns());
    let answer = hook.post(review_of("DELETE", "Ingress", &object)).await?;
    ensure!(answer.status == 200 && answer.text().contains("\"allowed\":true"), "{}", answer.text());
    // Nor is there an answer without TLS.
    let plain = testkit::http::raw(hook.address, &[format!("POST {PATH} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes(), &whole].concat()).await;
    ensure!(plain.as_ref().map_or(true, |answer| !answer.starts_with(b"HTTP")), "{plain:?}");
    hook.case.create_dry(&rule("after", "after.example.com").build()).await?;
    Ok(())
}

/// Connects from an address that the API server does not have, and sends this.
async fn silent(hook: &Hook, bytes: &[u8]) -> anyhow::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9)), 0).into())?;
    let mut stream = socket.connect(hook.address).await?;
    stream.write_all(bytes).await?;
    Ok(stream)
}

#[tokio::test]
async fn connections_without_a_request_are_bounded_and_hold_up_no_review() -> anyhow::Result<()> {
    let hook = Hook::new("adm-slow", "Fail").await?;
    let controller = hook.start(&[]).await?;
    let fds = format!("/proc/{}/fd", controller.pid().context("it runs")?);
    let descriptors = || anyhow::Ok(std::fs::read_dir(&fds)?.count());
    let before = descriptors()?;
    // A byte of a handshake, or none.
    let mut open = Vec::new();
    for i in 0..400 {
        open.push(silent(&hook, if i % 2 == 0 { b"" } else { b"\x16" }).await?);
    }
    // A later connection has its answer: those before it have been accepted.
    assert_eq!(hook.post(review(&good(&hook, "later")?)).await?.status, 200);
    let more = descriptors()?.saturating_sub(before);
    ensure!(more < 300, "{more} connections of one address");
    for i in 0..20 {
        hook.case.create_dry(&rule(&format!("dry-{i}"), "dry.example.com").build()).await?;
    }
    // The oldest have made room, the others are given up by themselves.
    for stream in &mut open {
        let end = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut Vec::new())).await;
        ensure!(end.is_ok(), "a connection without a handshake stays open");
    }
    Ok(())
}
