//! Shared dictionaries of another size, while requests are served.

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use testkit::http::Request;
use testkit::load::Load;
use testkit::poll;

const HOST: &str = "sized.example.com";
const REQUESTS: &str = "nginx_ingress_controller_requests";
/// Hosts whose records have no room in a mebibyte together.
const LARGE: usize = 40;

/// So many networks that the record has about 35 KB, the last of which is that of the test.
fn networks() -> String {
    let others = (0..2500).map(|n| format!("10.{}.{}.0/24,", n / 250, n % 250));
    others.collect::<String>() + "127.0.0.0/8"
}

fn host(n: usize) -> String {
    format!("large-{n}.example.com")
}

/// How many of the large hosts are served.
async fn served(controller: &Controller) -> anyhow::Result<usize> {
    let mut count = 0;
    for n in 0..LARGE {
        count += usize::from(controller.get(&host(n), "/").await?.status == 200);
    }
    Ok(count)
}

/// Waits until the text has a dictionary of this name and size.
async fn has(controller: &Controller, dictionary: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let conf = controller.nginx_conf()?;
        ensure!(conf.contains(&format!("lua_shared_dict {dictionary};")), "{dictionary} is not in the text yet");
        Ok(())
    })
    .await
    .with_context(|| format!("log of the controller:\n{}", controller.log()))
}

async fn sizes(case: &Case, routes: &str, others: &str) -> anyhow::Result<()> {
    let text =
        format!("configuration_data:{routes},certificate_data:{others},limit_req:{others},limit_conn:{others},request_metrics:{others}");
    case.settings(&[("lua-shared-dicts", &text)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn lua_shared_dicts_of_another_size_lose_no_request_no_record_and_no_count() -> anyhow::Result<()> {
    let case = Case::new("dict-size").await?;
    let servers = case.echo(1).await?;
    sizes(&case, "1", "1").await?;
    let limited = rule("echo", HOST).annotation("limit-connections", "100").annotation("limit-rps", "1000");
    case.create(&limited.build()).await?;
    for n in 0..LARGE {
        case.create(&rule(&format!("large-{n}"), &host(n)).annotation("whitelist-source-range", &networks()).build()).await?;
    }
    let controller = case.controller().flag("--enable-metrics").flag("--sync-rate-limit=10").start().await?;
    controller.until(HOST, "/", 200).await?;
    let before = served(&controller).await?;
    assert!(before < LARGE, "all {before} have room in a mebibyte");
    // Without the settings of a start, nothing has another name.
    has(&controller, "configuration_data 1M").await?;
    let reloads = controller.reloads().await?;

    let load = Load::new(Request::get(controller.http(), "/").host(HOST), 100).start();
    load.begin(50).await;
    sizes(&case, "4", "2").await?;
    has(&controller, "configuration_data_resized 4M").await?;
    load.begin(50).await;
    poll(PATIENCE, || async {
        let count = served(&controller).await?;
        ensure!(count == LARGE, "{count} of {LARGE} are served");
        Ok(())
    })
    .await?;
    assert_eq!(controller.reloads().await?, reloads + 1.0);
    // Another one takes the place of the first, once no worker has that.
    sizes(&case, "3", "2").await?;
    has(&controller, "configuration_data 3M").await?;
    load.begin(50).await;
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{} of {} failed, first {:?}", report.failures.len(), report.requests(), report.failures.first());
    assert_eq!(served(&controller).await?, LARGE);
    let arrived = servers.requests() as f64;
    poll(PATIENCE, || async {
        let text = controller.metrics().await?;
        let of_endpoint = text.lines().filter(|line| line.starts_with(REQUESTS) && line.contains("status=\"200\""));
        let counted: f64 = of_endpoint.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum();
        ensure!(counted == arrived, "{counted} requests are counted, {arrived} arrived");
        Ok(())
    })
    .await?;
    // A controller that finds NGINX with these names keeps them.
    let mut controller = controller;
    controller.kill()?;
    controller.start().await?;
    controller.until(HOST, "/", 200).await?;
    assert!(controller.nginx_conf()?.contains("lua_shared_dict configuration_data 3M;"));
    assert_eq!(served(&controller).await?, LARGE);
    Ok(())
}

#[tokio::test]
async fn lua_shared_dicts_that_change_while_no_controller_runs_lose_no_record() -> anyhow::Result<()> {
    let case = Case::new("dict-adopted").await?;
    let _servers = case.echo(1).await?;
    sizes(&case, "8", "1").await?;
    case.create(&rule("echo", HOST).build()).await?;
    let mut controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    controller.kill()?;
    sizes(&case, "9", "1").await?;
    let load = Load::new(Request::get(controller.http(), "/").host(HOST), 50).start();
    controller.start().await?;
    has(&controller, "configuration_data_resized 9M").await?;
    load.begin(20).await;
    let report = load.stop().await;
    assert!(report.failures.is_empty(), "{} of {} failed, first {:?}", report.failures.len(), report.requests(), report.failures.first());
    Ok(())
}
