//! Published faults of ingress-nginx that only show on the wire or in the processes; `docs/security.md` has all of them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, Echo, PATIENCE, rule};
use testkit::echo::Seen;
use testkit::poll;

use super::auth::external::gate;

const HOST: &str = "guarded.example.com";

/// The error backend ignores `X-Code` and answers 200: that must not count as consent.
#[tokio::test]
async fn cve_2026_24513_auth_url_is_asked_whatever_custom_http_errors_take_over() -> anyhow::Result<()> {
    for status in ["401", "403"] {
        let case = Case::new("cve-2026-24513").await?;
        let (gate, servers) = (gate().await?, case.echo(1).await?);
        let _pages = case.deploy(&[Echo::named("pages")]).await?;
        case.settings(&[("custom-http-errors", "401,403,500")]).await?;
        let guarded = |name: &str, host: &str| rule(name, host).annotation("auth-url", &gate.url(&format!("/status/{status}")));
        case.create(&guarded("global", HOST).build()).await?;
        let own = guarded("own", "own.example.com").annotation("custom-http-errors", "401,403,500");
        case.create(&own.annotation("default-backend", "pages").build()).await?;
        case.serve("open.example.com").await?;
        let controller = case.controller().flag("--default-backend-service={NS}/pages").start().await?;
        controller.until("open.example.com", "/", 200).await?;
        let before = servers.requests();
        for host in [HOST, "own.example.com"] {
            let seen = poll(PATIENCE, || async {
                let seen = Seen::read(&controller.get(host, "/").await?.body)?;
                ensure!(seen.service == "pages", "{host}: {} answers", seen.service);
                Ok(seen)
            })
            .await?;
            assert_eq!(seen.header("x-code"), Some(status), "{host}");
        }
        assert_eq!(servers.requests(), before, "a request was allowed");
    }
    Ok(())
}

/// Master and workers of a controller's NGINX.
fn processes(controller: &Controller) -> anyhow::Result<Vec<PathBuf>> {
    let master = controller.nginx_pid()?;
    let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
    let pids = std::iter::once(master.to_string()).chain(children.split_whitespace().map(str::to_owned));
    Ok(pids.map(|pid| PathBuf::from("/proc").join(pid)).collect())
}

/// With a token, a tenant who makes NGINX run code (a snippet with Lua) had the cluster's Secrets.
#[tokio::test]
async fn cve_2021_25742_the_data_plane_holds_no_token() -> anyhow::Result<()> {
    const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.evil";
    let case = Case::new("cve-2021-25742").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().env("NARTHEX_TEST_TOKEN", TOKEN).start().await?;
    controller.until(HOST, "/", 200).await?;
    let processes = processes(&controller)?;
    assert!(processes.len() >= 2, "{processes:?}");
    for process in processes {
        let environment = String::from_utf8_lossy(&fs::read(process.join("environ"))?).into_owned();
        for secret in [TOKEN, "KUBECONFIG", "KUBERNETES_SERVICE"] {
            assert!(!environment.contains(secret), "{}: {environment:?}", process.display());
        }
        for entry in fs::read_dir(process.join("fd"))? {
            let Ok(target) = fs::read_link(entry?.path()) else { continue };
            let target = target.to_str().context("paths are UTF-8")?.to_owned();
            let ours = target.starts_with(controller.work_dir().to_str().context("paths are UTF-8")?);
            let known = ours || !target.starts_with('/') || target.starts_with("/dev/") || target.ends_with("/log");
            assert!(known, "{}: {target} is open", process.display());
        }
    }
    assert!(!controller.nginx_conf()?.contains(TOKEN));
    Ok(())
}
