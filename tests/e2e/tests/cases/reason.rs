//! Why Narthex itself answers: in the JSON log, in a header, in few lines of the error log; and how logs and traces join.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use serde_json::Value;
use testkit::http::{Request, Response, basic, raw};
use testkit::kube::{IngressBuilder, PathType, mk_ingress, mk_service, mk_slice};
use testkit::otlp::{Collector, attribute};
use testkit::{poll, ports};
use tokio::net::TcpListener;

use super::auth::external::gate;
use super::auth::{HASH, users};

const HOST: &str = "reason.example.com";
const HEADER: &str = "X-Narthex-Reason";

/// The lines of a JSON log; each must be one.
fn lines(log: &Path) -> anyhow::Result<Vec<Value>> {
    let bytes = std::fs::read(log)?;
    let text = std::str::from_utf8(&bytes).context("the log is no UTF-8")?;
    let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
    complete.lines().map(|line| serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))).collect()
}

/// The line of a request, once it is there.
async fn line(log: &Path, is_it: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
    poll(PATIENCE, || async {
        let lines = lines(log)?;
        let found = lines.iter().find(|line| is_it(line)).cloned();
        found.with_context(|| format!("no such line yet: {:?}", lines.last()))
    })
    .await
}

/// A controller whose access log is a file of JSON.
struct Logged {
    case: Case,
    _scratch: tempfile::TempDir,
    log: PathBuf,
    controller: Controller,
}

impl Logged {
    async fn start(case: Case, settings: &[(&str, &str)]) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let log = scratch.path().join("access.log");
        let path = log.display().to_string();
        let mut all = vec![("log-format-preset", "json"), ("access-log-path", path.as_str())];
        all.extend(settings);
        case.settings(&all).await?;
        let controller = case.controller().start().await?;
        Ok(Self { case, _scratch: scratch, log, controller })
    }
}

/// An Ingress of the class with a host of its own, for the Service `service`.
fn to(name: &str, service: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(&host(name)).path("/", PathType::Prefix, service, 80)
}

fn host(name: &str) -> String {
    format!("{name}.example.com")
}

/// Lines of the error log about refused requests.
fn refusals(controller: &Controller, of: &str) -> Vec<String> {
    let log = controller.log();
    log.lines().filter(|line| line.contains("narthex: answered ") && line.contains(of)).map(str::to_owned).collect()
}

#[tokio::test]
async fn enable_reason_header_and_log_format_preset_say_why_no_endpoint_answers() -> anyhow::Result<()> {
    let case = Case::new("reason-all").await?;
    let (_servers, gate) = (case.echo(1).await?, gate().await?);
    case.create(&mk_service("none", 80, 8080, None)).await?;
    let dead = (ports::addresses(1)?[0], 8080).into();
    case.create(&mk_service("dead", 80, 8080, None)).await?;
    case.create(&mk_slice("dead", "dead", &[dead])).await?;
    let refused = gate.url("/status/403");
    let broken = gate.url("/status/500");
    for ingress in [
        to("good", "echo"),
        to("none", "none"),
        to("dead", "dead"),
        to("address", "echo").annotation("denylist-source-range", "127.0.0.0/8"),
        to("closed", "echo").annotation("auth-type", "basic").annotation("auth-secret", "missing"),
        to("rate", "echo").annotation("limit-rpm", "1").annotation("limit-burst-multiplier", "1"),
        to("body", "echo").annotation("proxy-body-size", "1k"),
        to("service", "echo").annotation("auth-url", &refused),
        to("broken", "echo").annotation("auth-url", &broken),
        to("moved", "echo").annotation("permanent-redirect", "http://a.example/"),
        mk_ingress("path").class("nginx").host(&host("path")).path("/only", PathType::Prefix, "echo", 80),
    ] {
        case.create(&ingress.build()).await?;
    }
    let settings = [("enable-reason-header", "true"), ("block-user-agents", "bad")];
    let Logged { case, log, controller, _scratch } = Logged::start(case, &settings).await?;
    controller.until(&host("good"), "/", 200).await?;
    controller.until(&host("dead"), "/", 502).await?;
    for _ in 0..3 {
        controller.get(&host("rate"), "/before").await?;
    }
    let cases = [
        ("absent", 404, "no-host"),
        ("path", 404, "no-path"),
        ("none", 503, "no-endpoints"),
        ("dead", 502, "upstream-failed"),
        ("address", 403, "source-address"),
        ("closed", 503, "protection-unusable"),
        ("rate", 503, "rate-limit"),
        ("service", 403, "auth-service"),
        ("broken", 500, "auth-service-failed"),
        ("moved", 301, "redirect"),
    ];
    for (name, status, reason) in cases {
        let path = format!("/{name}");
        let answer = controller.get(&host(name), &path).await?;
        ensure!((answer.status, answer.header(HEADER)) == (status, Some(reason)), "{name}: {} {:?}", answer.status, answer.headers);
        if name == "absent" {
            // Requests that no Ingress has are in no log unless that is asked for.
            continue;
        }
        let line = line(&log, |line| line["path"] == path && line["host"] == host(name)).await?;
        ensure!(line["status"] == status && line["reason"] == reason, "{line:#}");
    }
    for (name, length, chunked) in [("length", 2000, false), ("chunks", 2000, true)] {
        let body =
            if chunked { format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n") } else { format!("Content-Length: {length}\r\n\r\n") };
        let head = format!("POST /{name} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{body}", host("body"));
        let answer = raw(controller.http(), (head + &"x".repeat(length)).as_bytes()).await?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        ensure!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("X-Narthex-Reason: body-too-large\r\n"), "{name}: {answer}");
    }
    let blocked = controller.get_with(&host("good"), "/blocked", &[("User-Agent", "bad")]).await?;
    ensure!((blocked.status, blocked.header(HEADER)) == (403, Some("blocked")), "{:?}", blocked.headers);

    let good = |response: &Response| response.status == 200 && response.header(HEADER).is_none();
    let forged = controller.get_with(&host("good"), "/forged", &[("x-echo-header", "X-Narthex-Reason: rate-limit")]).await?;
    ensure!(good(&forged), "a backend made up a reason: {:?}", forged.headers);
    let own = controller.get(&host("good"), "/?status=503").await?;
    ensure!((own.status, own.header(HEADER)) == (503, None), "{:?}", own.headers);
    let line = line(&log, |line| line["path"] == "/forged").await?;
    let expected = [("reason", ""), ("namespace", case.ns()), ("ingress", "good"), ("service", "echo"), ("service_port", "80")];
    for (field, value) in expected {
        ensure!(line[field] == value, "{field}: {line:#}");
    }
    ensure!(line["seconds"].is_number() && line["bytes_sent"].as_u64() > Some(0) && line["upstream_status"] == "200", "{line:#}");
    ensure!(line["rule_path"] == "/" && line["method"] == "GET" && line["upstream_addr"].as_str().is_some_and(|at| at.ends_with(":8080")));
    Ok(())
}

#[tokio::test]
async fn enable_reason_header_says_what_gives_up() -> anyhow::Result<()> {
    let case = Case::new("reason-gives-up").await?;
    let _servers = case.echo(1).await?;
    let silent = TcpListener::bind((ports::addresses(1)?[0], 8080)).await?;
    case.create(&mk_service("silent", 80, 8080, None)).await?;
    case.create(&mk_slice("silent", "silent", &[silent.local_addr()?])).await?;
    // Of a cost that takes a while.
    case.create(&users("test", "auth", &format!("foo:{}", HASH.replace("$04$", "$10$")))).await?;
    let expression = |name: &str, path: &str| {
        mk_ingress(name)
            .class("nginx")
            .host(&host(name))
            .path(path, PathType::ImplementationSpecific, "echo", 80)
            .annotation("use-regex", "true")
    };
    for ingress in [
        to("good", "echo"),
        to("silent", "silent").annotation("proxy-read-timeout", "1"),
        to("snippet", "echo").annotation("configuration-snippet", "return 418;"),
        to("password", "echo").annotation("auth-type", "basic").annotation("auth-secret", "test"),
        expression("expression", "/(a+)+$"),
        expression("dots", "/of(.*)").annotation("rewrite-target", "/to/$1"),
    ] {
        case.create(&ingress.build()).await?;
    }
    let snippets = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    let settings = [&[("enable-reason-header", "true"), ("client-body-timeout", "1")], &snippets[..]].concat();
    let Logged { case: _case, log, controller, _scratch } = Logged::start(case, &settings).await?;
    controller.until(&host("good"), "/", 200).await?;
    controller.until(&host("dots"), "/of/it", 200).await?;
    let many = format!("/{}!", "a".repeat(60));
    let cases = [
        ("silent", "/", 504, "upstream-timeout"),
        ("snippet", "/", 418, "nginx"),
        ("expression", &many, 500, "path-regex-failed"),
        ("dots", "/of/../x", 404, "no-path"),
        ("dots", "/of../x", 400, "rewrite-failed"),
    ];
    for (name, path, status, reason) in cases {
        let answer = controller.get(&host(name), path).await?;
        ensure!((answer.status, answer.header(HEADER)) == (status, Some(reason)), "{name}: {} {:?}", answer.status, answer.headers);
    }
    let busy = poll(PATIENCE, || async {
        let guess = basic("foo", &format!("{:?}", std::time::Instant::now()));
        let answer = controller.get_with(&host("password"), "/", &[("authorization", &guess)]).await?;
        ensure!(answer.status == 503, "{}", answer.status);
        Ok(answer)
    });
    let busy = busy.await?;
    ensure!(busy.header(HEADER) == Some("password-busy") && busy.header("retry-after") == Some("1"), "{:?}", busy.headers);
    // NGINX resets the connection without an answer.
    let head = format!("POST /half HTTP/1.1\r\nHost: {}\r\nContent-Length: 9\r\n\r\nx", host("good"));
    ensure!(raw(controller.http(), head.as_bytes()).await.is_err());
    let line = line(&log, |line| line["path"] == "/half").await?;
    ensure!(line["status"] == 408 && line["reason"] == "client-timeout", "{line:#}");
    Ok(())
}

#[tokio::test]
async fn without_enable_reason_header_clients_learn_nothing() -> anyhow::Result<()> {
    let case = Case::new("reason-off").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("closed", HOST).annotation("denylist-source-range", "127.0.0.0/8").build()).await?;
    let controller = case.controller().start().await?;
    let answer = controller.until(HOST, "/", 403).await?;
    ensure!(answer.header(HEADER).is_none(), "{:?}", answer.headers);
    Ok(())
}

#[tokio::test]
async fn a_line_of_the_log_has_the_ids_of_the_trace_that_is_exported() -> anyhow::Result<()> {
    let case = Case::new("reason-trace").await?;
    let (_servers, collector) = (case.echo(1).await?, Collector::start().await?);
    case.create(&rule("echo", HOST).build()).await?;
    case.create(&to("refused", "echo").annotation("denylist-source-range", "127.0.0.0/8").build()).await?;
    let port = collector.address().port().to_string();
    let settings = [
        ("enable-opentelemetry", "true"),
        ("otlp-collector-host", "127.0.0.1"),
        ("otlp-collector-port", &*port),
        ("otel-schedule-delay-millis", "20"),
    ];
    let Logged { log, controller, case: _case, _scratch } = Logged::start(case, &settings).await?;
    controller.until(HOST, "/", 200).await?;
    let refused = host("refused");
    controller.until(&refused, "/", 403).await?;
    for (host, path, reason) in [(HOST, "/served", None), (&*refused, "/refused", Some("source-address"))] {
        controller.get(host, path).await?;
        let span = collector.until_span(PATIENCE, "url.path", path).await?;
        let line = line(&log, |line| line["path"] == path).await?;
        ensure!(
            line["trace_id"] == span["traceId"] && line["span_id"] == span["spanId"] && line["trace_flags"] == "01",
            "{line:#}\n{span:#}"
        );
        ensure!(attribute(&span, "narthex.request.id").as_deref() == line["request_id"].as_str(), "{line:#}\n{span:#}");
        ensure!(attribute(&span, "narthex.reason").as_deref() == reason, "{span:#}");
    }
    let seen = controller.seen(HOST, "/joined").await?;
    let line = line(&log, |line| line["path"] == "/joined").await?;
    let parent = format!("00-{}-{}-01", line["trace_id"].as_str().unwrap_or_default(), line["span_id"].as_str().unwrap_or_default());
    ensure!(seen.header("traceparent") == Some(parent.as_str()) && seen.header("x-request-id") == line["request_id"].as_str(), "{line:#}");
    ensure!(refusals(&controller, "source-address").iter().all(|line| line.contains(" trace_id=\"")), "{}", controller.log());
    Ok(())
}

#[tokio::test]
async fn what_clients_send_breaks_no_line() -> anyhow::Result<()> {
    let case = Case::new("reason-hostile").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("echo", HOST).build()).await?;
    case.create(&mk_service("none", 80, 8080, None)).await?;
    for name in ["none", "hostile"] {
        case.create(&to(name, "none").build()).await?;
    }
    let Logged { log, controller, case: _case, _scratch } = Logged::start(case, &[]).await?;
    controller.until(HOST, "/", 200).await?;
    controller.until(&host("none"), "/", 503).await?;
    let send = |host: &str, mark: &str| {
        let mut bytes = format!("GET /{mark}\"\\\",\"reason\":\"forged\"").into_bytes();
        bytes.extend(b"\xff\xc3\xa9 HTTP/1.1\r\nUser-Agent: a\x1b\x01\xfe\"}\r\nReferer: \x80\r\nX-Request-ID: \"\\\xff\r\nConnection: close\r\nHost: ");
        bytes.extend(host.as_bytes());
        bytes.extend(b"\r\n\r\n");
        bytes
    };
    for (host, mark, reason) in [(HOST.to_owned(), "served", ""), (host("hostile"), "refused", "no-endpoints")] {
        raw(controller.http(), &send(&host, mark)).await?;
        let line = line(&log, |line| line["path"].as_str().is_some_and(|path| path.contains(mark))).await?;
        ensure!(line["path"] == format!("/{mark}\"\\\",\"reason\":\"forged\"\\xFF\\xC3\\xA9"), "{line:#}");
        ensure!(
            line["user_agent"] == "a\u{1b}\u{1}\\xFE\"}" && line["referer"] == "\\x80" && line["request_id"] == "\"\\\\xFF",
            "{line:#}"
        );
        ensure!(line["reason"] == reason && line["host"] == host, "{line:#}");
    }
    // What is no request has a line, too.
    raw(controller.http(), b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n").await?;
    line(&log, |line| line["status"] == 400 && line["reason"] == "bad-request").await?;

    let said = refusals(&controller, "path=\"/refused");
    let text = said.first().with_context(|| format!("no line: {}", controller.log()))?;
    ensure!(text.contains(r#" path="/refused\x22\x5C\x22,\x22reason\x22:\x22forged\x22\xFF\xC3\xA9", client: "#), "{text}");
    ensure!(text.contains(r#" request_id="\x22\x5C\xFF" "#), "{text}");
    Ok(())
}

#[tokio::test]
async fn log_reasons_says_a_flood_in_few_lines_and_hides_no_other() -> anyhow::Result<()> {
    let case = Case::new("reason-flood").await?;
    let _servers = case.echo(1).await?;
    case.create(&mk_service("none", 80, 8080, None)).await?;
    for ingress in [to("flood", "none"), to("calm", "echo").annotation("denylist-source-range", "127.0.0.0/8")] {
        case.create(&ingress.build()).await?;
    }
    let controller = case.controller().start().await?;
    controller.until(&host("flood"), "/", 503).await?;
    for number in 0..500 {
        controller.get(&host("flood"), &format!("/{number}")).await?;
    }
    controller.until(&host("calm"), "/", 403).await?;
    poll(PATIENCE, || async {
        ensure!(!refusals(&controller, "reason=source-address ").is_empty(), "the other tenant has no line yet");
        Ok(())
    })
    .await?;
    // A minute may have ended meanwhile.
    let flood = refusals(&controller, "reason=no-endpoints ");
    ensure!((1..=3).contains(&flood.len()), "{} lines: {flood:?}", flood.len());
    let expected = format!("status=503 reason=no-endpoints ingress=\"{}/flood\" service=\"none:80\" ", case.ns());
    ensure!(flood[0].contains(&expected) && flood[0].contains("[warn]"), "{}", flood[0]);

    let reloads = controller.reloads().await?;
    case.settings(&[("log-reasons", "false")]).await?;
    poll(PATIENCE, || async {
        ensure!(controller.reloads().await? > reloads, "not loaded yet");
        Ok(())
    })
    .await?;
    case.create(&to("late", "echo").annotation("denylist-source-range", "127.0.0.0/8").build()).await?;
    controller.until(&host("late"), "/", 403).await?;
    ensure!(refusals(&controller, "/late\"").is_empty(), "{}", controller.log());
    Ok(())
}

#[tokio::test]
async fn a_quarantined_ingress_serves_its_last_version_and_a_new_one_is_no_host() -> anyhow::Result<()> {
    let case = Case::new("reason-quarantine").await?;
    let _servers = case.echo(1).await?;
    case.create(&to("kept", "echo").build()).await?;
    let allowed = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    case.settings(&[&[("enable-reason-header", "true")], &allowed[..]].concat()).await?;
    let controller = case.controller().start().await?;
    controller.until(&host("kept"), "/", 200).await?;
    let bad = "no_such_directive on;";
    case.create(&to("new", "echo").annotation("configuration-snippet", bad).build()).await?;
    let annotations = serde_json::json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/configuration-snippet": bad}}});
    case.patch::<k8s_openapi::api::networking::v1::Ingress>("kept", annotations).await?;
    poll(PATIENCE, || async {
        ensure!(controller.metric("narthex_quarantined").await? >= 2.0, "{}", controller.log());
        Ok(())
    })
    .await?;
    let new = controller.get(&host("new"), "/").await?;
    ensure!((new.status, new.header(HEADER)) == (404, Some("no-host")), "{} {:?}", new.status, new.headers);
    let kept = Request::get(controller.http(), "/").host(host("kept")).send().await?;
    ensure!((kept.status, kept.header(HEADER)) == (200, None), "{} {:?}", kept.status, kept.headers);
    Ok(())
}
