//! The ports of the loopback address: the state of NGINX, and figures about the process.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use e2e::Case;
use serde_json::Value;
use testkit::http::{Request, Response};
use testkit::ports::Ports;

const HOST: &str = "status.example.com";

async fn get(address: SocketAddr, path: &str) -> anyhow::Result<Response> {
    Request::get(address, path).host("localhost").send().await
}

#[tokio::test]
async fn status_port_has_the_state_of_nginx_and_no_private_keys() -> anyhow::Result<()> {
    let case = Case::new("obs-status").await?;
    let _servers = case.echo(1).await?;
    let certificate = case.certificate(HOST, &[HOST]).await?;
    case.create(&e2e::rule("echo", HOST).tls(HOST, HOST).build()).await?;
    let port = SocketAddr::from((Ipv4Addr::LOCALHOST, Ports::one()?));
    let controller = case.controller().flag(&format!("--status-port={}", port.port())).start().await?;
    controller.until_certificate(HOST, &certificate).await?;

    for (path, status, part) in [
        ("/healthz", 200, ""),
        ("/is-dynamic-lb-initialized", 200, "OK"),
        ("/nginx_status", 200, "Active connections: "),
        ("/configuration/general", 200, "\"revision\""),
        ("/configuration/certs", 400, "hostname"),
        ("/configuration/certs?hostname=unknown.example.com", 404, "no certificate for the host"),
        ("/configuration/servers", 405, "read only"),
        ("/configuration/nothing", 404, "no such path"),
    ] {
        let answer = get(port, path).await?;
        assert!(answer.status == status && answer.text().contains(part), "{path}: {} {}", answer.status, answer.text());
    }
    let backends: Value = serde_json::from_slice(&get(port, "/configuration/backends").await?.body)?;
    let name = format!("{}-echo-80", case.ns());
    let backend = backends.as_array().and_then(|all| all.iter().find(|backend| backend["name"] == *name)).context("the backend")?;
    assert_eq!((&backend["port"], backend["endpoints"].as_array().map(Vec::len)), (&Value::from(80), Some(1)), "{backend}");

    let chain = get(port, &format!("/configuration/certs?hostname={HOST}")).await?.text();
    assert!(chain.starts_with("-----BEGIN CERTIFICATE-----") && !chain.contains("PRIVATE KEY"), "{chain}");
    for path in ["/configuration/backends", "/configuration/servers", "/configuration/general", "/configuration/certs"] {
        let answer = Request::new("POST", port, path).host("localhost").body("[]").send().await?;
        assert_eq!(answer.status, 405, "{path}");
    }
    assert_eq!(controller.endpoints(&format!("{}/echo:80", case.ns())).await?.len(), 1, "nothing was changed");
    Ok(())
}

#[tokio::test]
async fn profiling_has_figures_of_the_process_and_says_what_to_use_instead_of_the_rest() -> anyhow::Result<()> {
    let case = Case::new("obs-profiler").await?;
    let port = SocketAddr::from((Ipv4Addr::LOCALHOST, Ports::one()?));
    let launch = case.controller().flag("--profiling").flag(&format!("--profiler-port={}", port.port()));
    let _controller = launch.flag("--profiler-address=127.0.0.1").flag("--internal-logger-address=127.0.0.1:11514").start().await?;
    for (page, status, part) in [
        ("", 200, "/debug/pprof/heap"),
        ("cmdline", 200, "--profiling\0"),
        ("goroutine", 200, "tasks: "),
        ("heap", 200, "VmRSS:"),
        ("threadcreate", 200, "threads: "),
        ("profile?seconds=1", 410, "perf record"),
        ("trace", 410, "narthex_stage_seconds"),
        ("mutex", 410, "narthex_stage_seconds"),
        ("block", 410, "narthex_stage_seconds"),
        ("symbol", 410, "no profile"),
        ("nothing", 404, "no such page"),
    ] {
        let answer = get(port, &format!("/debug/pprof/{page}")).await?;
        assert!(answer.status == status && answer.text().contains(part), "{page}: {} {}", answer.status, answer.text());
    }
    Ok(())
}
