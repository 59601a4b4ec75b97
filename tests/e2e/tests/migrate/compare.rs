//! Findings of `narthex compare`, and differences that are none.

use std::io::Write;

use anyhow::ensure;
use e2e::{Case, Echo, PATIENCE};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ObjectMeta;
use serde_json::json;
use testkit::kube::PathType;
use testkit::poll;

use super::sides::{at, class, compare, differences, narthex, rule, start};

/// `bob:{PLAIN}secret`
async fn users(case: &Case) -> anyhow::Result<()> {
    let data = [("auth".to_owned(), ByteString(b"bob:{PLAIN}secret\n".to_vec()))].into();
    let metadata = ObjectMeta { name: Some("users".into()), ..Default::default() };
    case.create(&Secret { metadata, data: Some(data), ..Default::default() }).await?;
    Ok(())
}

/// Ten hosts, each with another difference between the sides, and one without.
async fn plant(case: &Case) -> anyhow::Result<()> {
    for side in ["old", "new"] {
        let new = side == "new";
        let pick = |old: &'static str, other: &'static str| if new { other } else { old };
        let one = |host: &str| rule(case, side, host);

        case.create(&one("equal.example").build()).await?;
        let status = at(case, side, "status.example", "/", PathType::Prefix, "echo");
        case.create(&if new { status } else { status.path("/gone", PathType::Prefix, "none", 80) }.build()).await?;
        case.create(&one("redirect.example").annotation("permanent-redirect", pick("https://a.example", "https://b.example")).build())
            .await?;
        let sticky = one("header.example");
        case.create(&if new { sticky } else { sticky.annotation("affinity", "cookie") }.build()).await?;
        case.create(&at(case, side, "backend.example", "/", PathType::Prefix, pick("echo", "other")).build()).await?;
        let secret = format!("certificate-{side}");
        case.certificate(&secret, &["certificate.example"]).await?;
        case.create(&one("certificate.example").tls("certificate.example", &secret).build()).await?;
        let rewrite = at(case, side, "rewrite.example", "/api(/|$)(.*)", PathType::ImplementationSpecific, "echo");
        case.create(&rewrite.annotation("rewrite-target", pick("/$2", "/v2/$2")).build()).await?;
        let kind = if new { PathType::Exact } else { PathType::Prefix };
        case.create(&at(case, side, "path.example", "/a", kind, "echo").build()).await?;
        let auth = one("auth.example");
        case.create(&if new { auth } else { auth.annotation("auth-type", "basic").annotation("auth-secret", "users") }.build()).await?;
        let cors = one("cors.example");
        case.create(&if new { cors } else { cors.annotation("enable-cors", "true") }.build()).await?;
        let data = [("hsts-max-age".to_owned(), pick("1000", "2000").to_owned())].into();
        let metadata = ObjectMeta { name: Some(format!("settings-{side}")), ..Default::default() };
        case.create(&ConfigMap { metadata, data: Some(data), ..Default::default() }).await?;
    }
    Ok(())
}

#[tokio::test]
async fn compare_finds_each_of_ten_planted_differences_and_nothing_beside_them() -> anyhow::Result<()> {
    let case = Case::new("compare-planted").await?;
    let _servers = case.deploy(&[Echo::named("echo"), Echo::named("other")]).await?;
    users(&case).await?;
    plant(&case).await?;
    let (old, new) = (start(&case, "old").await?, start(&case, "new").await?);
    for controller in [&old, &new] {
        controller.until("equal.example", "/", 200).await?;
    }

    let (code, report) = compare(&case, &old, &new, &["--echo", "--ignore", "header:strict-transport-security"]).await?;
    assert_eq!(code, Some(1));
    let expected = [
        "auth.example status",
        "backend.example backend",
        "certificate.example certificate",
        "cors.example header access-control-allow-credentials",
        "cors.example header access-control-allow-headers",
        "cors.example header access-control-allow-methods",
        "cors.example header access-control-allow-origin",
        "cors.example header access-control-max-age",
        "header.example header set-cookie",
        "path.example status",
        "redirect.example redirect",
        "rewrite.example rewrite",
        "status.example status",
    ];
    assert_eq!(differences(&report), expected, "{report:#}");
    assert!(report["ignored"].as_u64() > Some(10), "{report:#}");

    let (_, report) = compare(&case, &old, &new, &[]).await?;
    let found = differences(&report);
    assert!(found.contains(&"equal.example header strict-transport-security".to_owned()), "{found:?}");
    Ok(())
}

#[tokio::test]
async fn compare_finds_nothing_between_two_equal_controllers() -> anyhow::Result<()> {
    let case = Case::new("compare-equal").await?;
    let _servers = case.echo(2).await?;
    users(&case).await?;
    case.certificate("own", &["tls.example"]).await?;
    case.create(&rule(&case, "one", "tls.example").tls("tls.example", "own").build()).await?;
    case.create(&rule(&case, "one", "plain.example").annotation("affinity", "cookie").build()).await?;
    case.create(&rule(&case, "one", "www.example").annotation("from-to-www-redirect", "true").build()).await?;
    let auth = rule(&case, "one", "auth.example").annotation("auth-type", "basic").annotation("auth-secret", "users");
    case.create(&auth.annotation("enable-cors", "true").build()).await?;
    case.create(
        &at(&case, "one", "*.wild.example", "/a(/|$)(.*)", PathType::ImplementationSpecific, "echo")
            .annotation("rewrite-target", "/$2")
            .build(),
    )
    .await?;
    let (old, new) = (start(&case, "one").await?, start(&case, "one").await?);
    for controller in [&old, &new] {
        controller.until("plain.example", "/", 200).await?;
    }
    let (code, report) = compare(&case, &old, &new, &["--echo", "--all-methods", "--class", &class(&case, "one")]).await?;
    assert_eq!((code, differences(&report).len()), (Some(0), 0), "{report:#}");
    let explained: Vec<_> = report["explained"].as_array().unwrap().iter().map(|known| known["id"].clone()).collect();
    assert_eq!(explained, ["generated-certificate"], "{report:#}");

    // An echo server's body has the request's identity: it varies by itself.
    let (code, report) = compare(&case, &old, &new, &["--body", "--rate", "500", "--scheme", "http"]).await?;
    assert_eq!(code, Some(0), "{report:#}");
    assert!(
        report["varies"].as_array().unwrap().iter().any(|varies| varies["host"] == "plain.example" && varies["kind"] == "body"),
        "{report:#}"
    );
    Ok(())
}

#[tokio::test]
async fn compare_sends_the_requests_of_an_access_log() -> anyhow::Result<()> {
    let case = Case::new("compare-log").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule(&case, "old", "shop.example").build()).await?;
    case.create(&at(&case, "new", "shop.example", "/item", PathType::Prefix, "echo").build()).await?;
    let (old, new) = (start(&case, "old").await?, start(&case, "new").await?);
    old.until("shop.example", "/", 200).await?;
    new.until("shop.example", "/item", 200).await?;
    let paths = ["/item/1?a=b", "/item/2?a=c", "/basket"];
    for path in paths {
        old.get("shop.example", path).await?;
    }
    // Its own log says what was asked of it, in the default format; workers write it each in their own time.
    let lines = poll(PATIENCE, || async {
        let lines: Vec<String> = old.log().lines().filter(|line| line.contains(" HTTP/1.1\" ")).map(str::to_owned).collect();
        let logged = |path: &str| lines.iter().any(|line| line.contains(&format!("GET {path} ")));
        ensure!(paths.iter().all(|path| logged(path)), "{lines:?}");
        Ok(lines)
    })
    .await?;
    let mut log = tempfile::NamedTempFile::new()?;
    writeln!(log, "{}\n10.0.0.1 - - [21/Nov/2026:18:00:00 +0000] \"POST /item HTTP/1.1\" 200 1 \"-\" \"-\"", lines.join("\n"))?;
    let path = log.path().display().to_string();
    let (code, report) =
        compare(&case, &old, &new, &["--no-probes", "--access-log", &path, "--scheme", "http", "--class", &class(&case, "old")]).await?;
    assert_eq!(code, Some(1));
    assert_eq!(differences(&report), ["shop.example status"]);
    let mut shown: Vec<_> = report["differences"][0]["requests"].as_array().unwrap().iter().map(|sent| sent["request"].clone()).collect();
    shown.sort_by_key(ToString::to_string);
    assert_eq!(shown, ["http://shop.example/", "http://shop.example/basket"], "{report:#}");
    assert!(report["requests"].as_u64() >= Some(4), "{report:#}");

    // The same as JSON, with names of their own.
    let object = |path: &str| json!({"site": "shop.example", "uri": path, "request_method": "GET"}).to_string();
    std::fs::write(log.path(), paths.map(object).join("\n"))?;
    let json = [
        "--no-probes",
        "--access-log",
        &path,
        "--access-log-format",
        "json:host=site",
        "--scheme",
        "http",
        "--class",
        &class(&case, "old"),
    ];
    let (code, again) = compare(&case, &old, &new, &json).await?;
    assert_eq!((code, differences(&again)), (Some(1), vec!["shop.example status".to_owned()]));
    assert_eq!(again["requests"], 3, "{again:#}");
    assert!(report["notes"].to_string().contains("another method than GET and HEAD"), "{report:#}");
    Ok(())
}

#[tokio::test]
async fn compare_says_what_it_can_not_ask() -> anyhow::Result<()> {
    let case = Case::new("compare-none").await?;
    let kubeconfig = format!("--kubeconfig={}", case.bed.kubeconfig().display());
    let ask = async |more: &[&str]| narthex(&[&["compare", &kubeconfig, "--namespace", case.ns()], more].concat()).await;
    let output = ask(&["--old", "127.0.0.1:1", "--new", "127.0.0.1:1"]).await?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("there is nothing to compare: there are no Ingresses"), "{text}");

    case.create(&rule(&case, "old", "shop.example").build()).await?;
    // Each wrong address is named once, and not every request.
    let plain = testkit::echo::start(([127, 0, 0, 1], 0).into(), testkit::echo::Identity::named("plain")).await?;
    let good = plain.address().to_string();
    let check = async |old: &str, new: &str, expected: &[&str]| {
        let output = ask(&["--old", old, "--new", new, "--retries", "0", "--timeout", "2"]).await?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(output.stdout.is_empty() && text.lines().count() == expected.len(), "{text}");
        for (line, part) in text.lines().zip(expected) {
            assert!(line.starts_with("narthex: ") && line.contains(part), "{text}");
        }
        anyhow::Ok(())
    };
    let refused = "--old 127.0.0.1:1 can't be reached over http: no connection: 127.0.0.1 port 1: Connection refused";
    check("127.0.0.1:1", &good, &[refused]).await?;
    check("127.0.0.1:1", "127.0.0.1:1", &[refused, "--new 127.0.0.1:1 can't be reached"]).await?;
    check(&good, "nobody.invalid:80", &["--new nobody.invalid:80 can't be reached over http: no connection: nobody.invalid port 80: "])
        .await?;
    let port = plain.address().port();
    check(&format!("127.0.0.1:,{port}"), &format!("127.0.0.1:,{port}"), &["over https: no TLS: ", "over https: no TLS: "]).await?;

    let output = ask(&["--old", "nowhere:x", "--new", "127.0.0.1"]).await?;
    assert_eq!(output.status.code(), Some(2));
    Ok(())
}
