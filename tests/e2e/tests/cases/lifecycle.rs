//! LIFE: how a controller starts, leads and ends.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Patch, PatchParams};
use nix::sys::signal::Signal;
use serde_json::json;
use testkit::api_proxy::{ApiProxy, Fault};
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress};
use testkit::load::Load;
use testkit::poll;
use testkit::ports::Ports;

use super::status::{addresses, status_is};

const HOST: &str = "life.example.com";

async fn health(controller: &Controller) -> anyhow::Result<u16> {
    Ok(Request::get(controller.health(), "/healthz").send().await?.status)
}

/// Waits until the health endpoint fails.
async fn unhealthy(controller: &Controller) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let status = health(controller).await?;
        ensure!(status == 500, "/healthz: {status}");
        Ok(())
    })
    .await
}

/// Waits until nothing accepts connections for HTTP.
async fn refuses(controller: &Controller) -> anyhow::Result<()> {
    let result = poll(PATIENCE, || async {
        ensure!(controller.get(HOST, "/").await.is_err(), "it answers");
        Ok(())
    });
    result.await.with_context(|| controller.log())
}

#[tokio::test]
async fn life_01_without_an_election_everything_is_served_and_no_lease_is_made() -> anyhow::Result<()> {
    let case = Case::new("life-01").await?;
    let _servers = case.echo(1).await?;
    let (a, b) = ("leader.election.disabled.com", "leader.election.disabled2.com");
    for (name, host, path) in [("a", a, "/foo"), ("b", b, "/ping")] {
        case.create(&mk_ingress(name).class("nginx").host(host).path(path, PathType::Prefix, "echo", 80).build()).await?;
    }
    let launch = case.controller().flag("--disable-leader-election=true").flag("--publish-status-address=192.0.2.1");
    let controller = launch.env("POD_NAME", "controller").env("POD_NAMESPACE", case.ns()).start().await?;
    for (host, path, status) in
        [(a, "/foo", 200), (a, "/bar", 404), (a, "/ping", 404), (b, "/foo", 404), (b, "/ping", 200), (b, "/pong", 404)]
    {
        controller.until(host, path, status).await?;
    }
    assert!(case.namespace.api::<Lease>().list(&Default::default()).await?.items.is_empty());
    assert!(addresses(&case, "a").await?.is_empty());
    assert!(controller.log().contains("--disable-leader-election: the status of Ingresses is not written"));
    Ok(())
}

#[tokio::test]
async fn life_02_in_the_grace_period_health_fails_and_everything_is_served() -> anyhow::Result<()> {
    let case = Case::new("life-02").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let mut controller = case.controller().flag("--shutdown-grace-period=90").start().await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(health(&controller).await?, 200);
    controller.signal(Signal::SIGTERM)?;
    unhealthy(&controller).await?;
    assert_eq!(Request::get(controller.health(), "/readyz").send().await?.status, 503);
    // Each answer ends its connection, so that the next one is made elsewhere.
    controller.until_that("the end of connections", HOST, "/", |answer| answer.header("connection") == Some("close")).await?;
    // What changes is followed.
    case.serve("meanwhile.example.com").await?;
    controller.until("meanwhile.example.com", "/", 200).await?;
    assert!(controller.runs()?);
    // A second signal ends the period.
    controller.signal(Signal::SIGTERM)?;
    assert_eq!(controller.ended().await?, Some(0));
    assert!(controller.get(HOST, "/").await.is_err());
    Ok(())
}

#[tokio::test]
async fn life_03_an_open_request_is_finished_and_without_one_the_end_comes_at_once() -> anyhow::Result<()> {
    let case = Case::new("life-03").await?;
    case.settings(&[("worker-shutdown-timeout", "600s")]).await?;
    let servers = case.echo(1).await?;
    case.serve(HOST).await?;
    for (signal, open) in [(Signal::SIGTERM, false), (Signal::SIGQUIT, true), (Signal::SIGINT, true)] {
        let mut controller = case.controller().flag("--drain-timeout=600").start().await?;
        controller.until(HOST, "/", 200).await?;
        let before = servers.requests();
        let slow = Request::get(controller.http(), "/?delay_ms=2000").host(HOST);
        let request = open.then(|| tokio::spawn(slow.send()));
        if open {
            poll(PATIENCE, || async {
                ensure!(servers.requests() > before, "the request has not arrived");
                Ok(())
            })
            .await?;
        }
        controller.signal(signal)?;
        refuses(&controller).await?;
        if let Some(request) = request {
            assert_eq!(request.await??.status, 200, "{signal}");
        }
        assert_eq!(controller.ended().await?, Some(0), "{signal}");
    }
    Ok(())
}

#[tokio::test]
async fn after_the_end_of_nginx_metrics_answer_for_the_post_shutdown_grace_period() -> anyhow::Result<()> {
    let case = Case::new("life-post").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let mut controller = case.controller().flag("--post-shutdown-grace-period=90").start().await?;
    controller.until(HOST, "/", 200).await?;
    let master = controller.nginx_pid()?;
    controller.signal(Signal::SIGTERM)?;
    poll(PATIENCE, || async {
        ensure!(!std::path::Path::new(&format!("/proc/{master}")).exists(), "NGINX runs");
        Ok(())
    })
    .await?;
    assert_eq!(controller.reloads().await?, 0.0);
    assert_eq!(health(&controller).await?, 500);
    assert!(controller.runs()?);
    controller.signal(Signal::SIGTERM)?;
    assert_eq!(controller.ended().await?, Some(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_ends_loses_no_request_of_clients_that_go_elsewhere() -> anyhow::Result<()> {
    let case = Case::new("life-loss").await?;
    let _servers = case.echo(2).await?;
    case.serve(HOST).await?;
    let mut old = case.controller().flag("--shutdown-grace-period=90").flag("--drain-timeout=60").start().await?;
    let new = case.controller().start().await?;
    for controller in [&old, &new] {
        controller.until(HOST, "/", 200).await?;
    }
    let request = |controller: &Controller| Request::get(controller.http(), "/").host(HOST);
    let kept = Load::new(request(&old), 200).start();
    let fresh = Load::new(request(&old).header("Connection", "close"), 100).start();
    kept.begin(100).await;
    old.signal(Signal::SIGTERM)?;
    unhealthy(&old).await?;
    kept.begin(100).await;
    kept.turn_to(request(&new));
    fresh.turn_to(request(&new).header("Connection", "close"));
    // Those over kept connections end with the answers.
    kept.begin(200).await;
    old.signal(Signal::SIGTERM)?;
    assert_eq!(old.ended().await?, Some(0));
    kept.begin(100).await;
    for load in [kept, fresh] {
        let report = load.stop().await;
        assert!(
            report.failures.is_empty(),
            "{} of {} failed, first {:?}",
            report.failures.len(),
            report.requests(),
            report.failures.first()
        );
    }
    Ok(())
}

#[tokio::test]
async fn life_04_the_nginx_that_is_used_serves_by_lua_without_the_controller() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let version = Command::new("nginx").arg("-V").output()?;
    let text = String::from_utf8_lossy(&version.stderr).into_owned();
    let modules = text.split("--modules-path=").nth(1).and_then(|rest| rest.split_whitespace().next()).context("no --modules-path")?;
    let address = std::net::SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, Ports::one()?));
    let conf = scratch.path().join("nginx.conf");
    let directory = scratch.path().display();
    write!(
        std::fs::File::create(&conf)?,
        "daemon off; user root; pid {directory}/pid; error_log stderr;
        load_module {modules}/ndk_http_module.so; load_module {modules}/ngx_http_lua_module.so;
        events {{}}
        http {{ access_log off; server {{ listen {address}; location / {{ content_by_lua_block {{ ngx.print('ok') }} }} }} }}"
    )?;
    let mut nginx = Command::new("nginx").arg("-c").arg(&conf).stdin(Stdio::null()).spawn()?;
    let answer = poll(PATIENCE, || async { Request::get(address, "/").host("any").send().await }).await;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(nginx.id().cast_signed()), Signal::SIGTERM)?;
    nginx.wait()?;
    let answer = answer?;
    assert_eq!((answer.status, answer.text().as_str()), (200, "ok"));
    Ok(())
}

/// The predecessor builds NGINX without the directive `root`. Debian's has it, and what tenants write doesn't.
#[tokio::test]
async fn life_05_nothing_that_a_tenant_writes_has_nginx_serve_files() -> anyhow::Result<()> {
    let case = Case::new("life-05").await?;
    case.allow_snippets().await?;
    let _servers = case.echo(1).await?;
    for (name, annotation, text) in [
        ("a", "configuration-snippet", "root /etc;"),
        ("b", "server-snippet", "location /files { root /etc; }"),
        ("c", "configuration-snippet", "alias /etc;"),
    ] {
        let host = format!("{name}.example.com");
        case.create(
            &mk_ingress(name).class("nginx").host(&host).path("/", PathType::Prefix, "echo", 80).annotation(annotation, text).build(),
        )
        .await?;
    }
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    for path in ["/passwd", "/files/passwd", "/etc/passwd"] {
        for host in ["a.example.com", "b.example.com", "c.example.com"] {
            let answer = controller.get(host, path).await?;
            ensure!(answer.status >= 400, "{host}{path}: {}", answer.status);
        }
    }
    let text = controller.nginx_conf()?;
    ensure!(!text.contains("root /etc") && !text.contains("alias /etc"), "{text}");
    Ok(())
}

#[tokio::test]
async fn life_06_after_a_cut_the_status_and_the_lease_are_written_again() -> anyhow::Result<()> {
    let case = Case::new("life-06").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let proxy = ApiProxy::start(case.bed.info()).await?;
    let launch = case.controller().flag("--publish-status-address=1.1.0.0").flag("--update-status").flag("--election-ttl=4s");
    let controller = launch.env("POD_NAME", "controller").env("POD_NAMESPACE", case.ns()).start_as(proxy.kubeconfig()).await?;
    status_is(&case, HOST, &["1.1.0.0"]).await?;
    proxy.set(Fault::Gone);
    let empty = json!({"status": {"loadBalancer": {"ingress": null}}});
    case.namespace.api::<Ingress>().patch_status(HOST, &PatchParams::default(), &Patch::Merge(empty)).await?;
    case.delete::<Lease>("ingress-controller-leader").await?;
    assert!(addresses(&case, HOST).await?.is_empty());
    proxy.set(Fault::None);
    status_is(&case, HOST, &["1.1.0.0"]).await?;
    poll(Duration::from_secs(60), || async {
        let lease = case.namespace.api::<Lease>().get("ingress-controller-leader").await?;
        let holder = lease.spec.and_then(|spec| spec.holder_identity);
        ensure!(holder.as_deref() == Some("controller"), "{holder:?} leads");
        Ok(())
    })
    .await?;
    controller.until(HOST, "/", 200).await?;
    Ok(())
}
