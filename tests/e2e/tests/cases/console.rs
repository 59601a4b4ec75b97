//! The console and the inspection API of a controller that runs.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};
use testkit::http::{Peer, Request, Response};
use testkit::poll;
use testkit::ports::Ports;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HOST: &str = "console.example.com";
const TOKEN: &str = "a-token-that-is-long-enough";

/// A controller with a console, and a host with a certificate.
struct Console {
    case: Case,
    controller: Controller,
    address: SocketAddr,
    _servers: e2e::Servers,
}

impl Console {
    async fn start(id: &str, flags: &[&str]) -> anyhow::Result<Self> {
        let case = Case::new(id).await?;
        let servers = case.echo(2).await?;
        let certificate = case.certificate("cert", &[HOST]).await?;
        case.create(&rule("echo", HOST).tls(HOST, "cert").annotation("proxy-read-timeout", "31").build()).await?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, Ports::one()?));
        let launch = case.controller().flag(&format!("--console-port={}", address.port()));
        let controller = flags.iter().fold(launch, |launch, flag| launch.flag(flag)).start().await?;
        controller.until_certificate(HOST, &certificate).await?;
        Ok(Self { case, controller, address, _servers: servers })
    }

    async fn get(&self, path: &str) -> anyhow::Result<Response> {
        Request::get(self.address, path).host("localhost").send().await
    }

    /// An answer of the API.
    async fn api(&self, path: &str) -> anyhow::Result<Value> {
        read(self.get(&format!("/api/v1/{path}")).await?, path)
    }

    /// The same, by the socket of the command line.
    async fn by_socket(&self, path: &str) -> anyhow::Result<Value> {
        let socket: PathBuf = self.controller.work_dir().join("run/narthex.sock");
        read(Request::get(Peer::Unix(socket), format!("/api/v1/{path}")).host("narthex").send().await?, path)
    }

    fn ns(&self) -> &str {
        self.case.ns()
    }
}

fn read(answer: Response, path: &str) -> anyhow::Result<Value> {
    ensure!(answer.status == 200, "{path}: {} {}", answer.status, answer.text());
    serde_json::from_slice(&answer.body).with_context(|| format!("{path}: {}", answer.text()))
}

fn item<'a>(list: &'a Value, field: &str, wanted: &str) -> anyhow::Result<&'a Value> {
    let found = list["items"].as_array().and_then(|items| items.iter().find(|item| item[field] == *wanted));
    found.with_context(|| format!("{field} {wanted}: {list}"))
}

#[tokio::test]
async fn every_question_about_a_running_controller_has_its_answer() -> anyhow::Result<()> {
    let console = Console::start("console-api", &[]).await?;
    let (ns, backend) = (console.ns().to_owned(), format!("{}/echo:80", console.ns()));
    let now = console.api("now").await?;
    assert_eq!((&now["ready"], &now["source"], &now["counts"]["endpoints"]), (&json!(true), &json!("cluster"), &json!(2)), "{now}");
    assert_eq!(now["revision"]["running"], now["revision"]["wanted"], "{now}");

    let ingress = console.api("ingresses?q=ECHO").await?;
    let ingress = item(&ingress, "namespace", &ns)?;
    assert_eq!((&ingress["state"], &ingress["hosts"], &ingress["tls"]), (&json!("served"), &json!([HOST]), &json!(["cert"])));
    let hosts = console.api("hosts?q=console.").await?;
    let host = item(&hosts, "host", HOST)?;
    let digest = host["certificate"].as_str().context("it has a certificate")?;
    assert_eq!((&hosts["total"], &host["held"], &host["namespaces"]), (&json!(1), &json!(false), &json!([ns])));
    let detail = console.api(&format!("hosts/{HOST}")).await?;
    assert_eq!(detail["paths"][0]["backend"], *backend, "{detail}");
    let settings = json!({ "items": detail["settings"][format!("{ns}/echo")] });
    let timeout = item(&settings, "name", "proxy-read-timeout")?;
    assert_eq!((&timeout["value"], &timeout["from"]), (&json!("31"), &json!("annotation")));

    let detail = console.api(&format!("backends/{backend}")).await?;
    assert_eq!((&detail["endpoints"][0]["share"], &detail["backend"]["used_by_paths"]), (&json!(0.5), &json!(1)), "{detail}");
    let certificate = console.api("certificates").await?;
    let certificate = item(&certificate, "digest", digest)?;
    assert_eq!((&certificate["names"], &certificate["secret"]), (&json!([HOST]), &json!(format!("{ns}/cert"))), "{certificate}");
    assert!(certificate["days_left"].as_f64().is_some_and(|days| days > 0.0), "{certificate}");

    let flags = console.api("settings?changed=true&q=--console-port").await?;
    assert_eq!(item(&flags, "name", "--console-port")?["value"], console.address.port().to_string());
    let state = console.api("budgets").await?;
    assert!(item(&state, "resource", "state")?["capacity"].as_u64().is_some_and(|capacity| capacity > 0), "{state}");
    let workers = console.api("workers").await?;
    let worker = &workers["workers"][0];
    assert_eq!((&worker["generation"], &worker["revision"]), (&json!("current"), &now["revision"]["running"]), "{workers}");
    assert!(workers["dictionaries"].as_array().is_some_and(|all| all.iter().any(|of| of["name"] == "configuration_data")), "{workers}");

    let url = format!("request?url=https://{HOST}/&header=X-A:%20b");
    let decision = console.api(&url).await?;
    assert_eq!(decision["location"]["ingress"], format!("{ns}/echo"), "{decision}");
    for path in ["ingresses", "hosts", "settings", "problems", "revisions", &url] {
        assert_eq!(console.by_socket(path).await?, console.api(path).await?, "{path}");
    }
    for (path, status) in [("hosts/unknown.example.com", 404), ("backends/none", 404), ("request", 400), ("hosts?limit=-1", 400)] {
        let answer = console.get(&format!("/api/v1/{path}")).await?;
        assert!(answer.status == status && answer.text().contains("\"error\""), "{path}: {}", answer.text());
    }
    Ok(())
}

#[tokio::test]
async fn a_finding_has_its_value_and_is_gone_when_it_is_corrected() -> anyhow::Result<()> {
    let console = Console::start("console-problems", &[]).await?;
    let annotation = "nginx.ingress.kubernetes.io/proxy-send-timeout";
    let set = async |value: Value| {
        let patch = json!({ "metadata": { "annotations": { annotation: value } } });
        console.case.patch::<k8s_openapi::api::networking::v1::Ingress>("echo", patch).await
    };
    let found = async |total: u64| {
        poll(PATIENCE, || async {
            let list = console.api(&format!("problems?q=proxy-send-timeout&namespace={}", console.ns())).await?;
            ensure!(list["total"] == total, "{list}");
            Ok(list)
        })
        .await
    };
    set(json!("soon")).await?;
    let list = found(1).await?;
    let problem = &list["items"][0];
    assert_eq!((&problem["value"], &problem["kind"]), (&json!("soon"), &json!("InvalidValue")), "{problem}");
    assert!(problem["since"].as_f64().is_some_and(|since| since > 1e9) && problem["expected"].is_string(), "{problem}");
    set(Value::Null).await?;
    found(0).await?;
    let events = console.api("events").await?;
    item(&events, "kind", "problem")?;
    item(&events, "kind", "resolved")?;
    Ok(())
}

/// Reads server-sent events until one has all of these parts.
async fn until_event(stream: &mut TcpStream, parts: &[&str]) -> anyhow::Result<Value> {
    let (mut seen, mut buffer) = (String::new(), vec![0; 1 << 16]);
    loop {
        let number = tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.with_context(|| format!("{parts:?}: {seen}"))??;
        ensure!(number > 0, "the stream ended: {seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..number]));
        let data = seen.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| parts.iter().all(|part| data.contains(part)));
        if let Some(event) = data.and_then(|data| serde_json::from_str(data).ok()) {
            return Ok(event);
        }
    }
}

#[tokio::test]
async fn a_stream_shows_a_change_of_an_endpoint_that_needed_no_reload_and_one_that_did() -> anyhow::Result<()> {
    let console = Console::start("console-stream", &[]).await?;
    let before = console.api("now").await?["revision"]["running"].clone();
    let mut stream = TcpStream::connect(console.address).await?;
    stream.write_all(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n").await?;
    until_event(&mut stream, &["\"time_to_effect\""]).await?;

    let reloads = console.controller.reloads().await?;
    let slice = json!({ "endpoints": [] });
    console.case.patch::<EndpointSlice>("echo", slice).await?;
    let backend = format!("{}/echo:80", console.ns());
    let event = until_event(&mut stream, &["posted live", &backend]).await?;
    assert_eq!((&event["lane"], &event["kind"], &event["records"]["endpoints"]), (&json!("live"), &json!("live"), &json!(1)), "{event}");
    assert!(event["text"].as_str().is_some_and(|text| text.contains("has 0 endpoints instead of 2")), "{event}");
    assert_eq!(console.controller.reloads().await?, reloads);

    console.case.settings(&[("keep-alive", "33")]).await?;
    let event = until_event(&mut stream, &["\"kind\":\"reload\"", "keep-alive"]).await?;
    let diff = console.api("revisions/diff").await?;
    assert_eq!((&diff["to"], &diff["from"]), (&event["revision"], &before), "{diff}");
    assert!(diff["diff"].as_str().is_some_and(|text| text.contains("\n+    keepalive_timeout 33")), "{diff}");
    // The text that Lua decodes is escaped; its revision always differs.
    assert!(diff["diff"].as_str().is_some_and(|text| !text.contains("\\034") && !text.contains("\"revision\"")), "{diff}");
    let revisions = console.api("revisions").await?;
    let newest = &revisions["items"][0];
    assert_eq!((&newest["revision"], &newest["running"], &newest["ok"]), (&event["revision"], &json!(true), &json!(true)), "{revisions}");
    Ok(())
}

#[tokio::test]
async fn console_token_file_keeps_others_out_and_names_of_other_sites_are_refused_without_one() -> anyhow::Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), TOKEN)?;
    let flag = format!("--console-token-file={}", file.path().display());
    let console = Console::start("console-token", &[&flag, "--console-address=0.0.0.0"]).await?;
    let with = async |name: &str, value: &str| {
        anyhow::Ok(Request::get(console.address, "/api/v1/now").host("x.example").header(name, value).send().await?.status)
    };
    assert_eq!(console.get("/api/v1/now").await?.status, 401);
    assert_eq!(with("Authorization", "Bearer another-token-of-mine").await?, 401);
    assert_eq!(with("Authorization", &format!("Bearer {TOKEN}")).await?, 200);
    let form = Request::new("POST", console.address, "/login").host("localhost");
    let form = form.header("Content-Type", "application/x-www-form-urlencoded").body(format!("token={TOKEN}"));
    let login = form.send().await?;
    let cookie = login.header("set-cookie").context("a cookie")?.split(';').next().unwrap_or_default().to_owned();
    assert_eq!((login.status, with("Cookie", &cookie).await?), (303, 200));
    // Another token ends sessions at once.
    std::fs::write(file.path(), "another-token-of-mine")?;
    assert_eq!(with("Cookie", &cookie).await?, 401);
    // Without one, nothing is read, whatever a client gives.
    std::fs::remove_file(file.path())?;
    for given in ["", TOKEN, "another-token-of-mine"] {
        assert_eq!(with("Authorization", &format!("Bearer {given}")).await?, 503, "{given}");
    }
    assert_eq!(with("Cookie", &cookie).await?, 503);

    let open = Console::start("console-open", &[]).await?;
    for (host, status) in [("localhost:1", 200), ("127.0.0.1", 200), ("rebound.example.com", 403)] {
        let answer = Request::get(open.address, "/api/v1/now").host(host).send().await?;
        assert_eq!(answer.status, status, "{host}");
        assert!(answer.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src 'none'")), "{host}");
    }
    Ok(())
}

#[tokio::test]
async fn requests_are_shown_by_host_ingress_and_backend() -> anyhow::Result<()> {
    let console = Console::start("console-traffic", &["--enable-metrics=true"]).await?;
    for _ in 0..20 {
        console.controller.get_tls(HOST, "/").await?;
    }
    let key = format!("{}/echo", console.ns());
    for (by, key) in [("host", HOST), ("ingress", &key), ("backend", &key)] {
        poll(PATIENCE, || async {
            let list = console.api(&format!("traffic?by={by}")).await?;
            let row = item(&list, "key", key)?;
            ensure!(row["requests"].as_u64() >= Some(20) && row["rate"].as_f64() > Some(0.0) && row["p99"].is_number(), "{row}");
            ensure!(row["bytes_rate"].as_f64() > row["rate"].as_f64(), "an answer has more than a byte: {row}");
            Ok(())
        })
        .await?;
    }
    let host = console.api(&format!("hosts/{HOST}")).await?;
    assert!(host["traffic"]["requests"].as_u64() >= Some(20), "{host}");
    Ok(())
}
