//! OBS: request metrics.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, Echo, PATIENCE, rule};
use k8s_openapi::api::networking::v1::Ingress;
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress, mk_service, mk_slice};
use testkit::poll;

const HOST: &str = "count.example.com";
const REQUESTS: &str = "nginx_ingress_controller_requests";
const DURATION: &str = "nginx_ingress_controller_request_duration_seconds_count";

/// A series: its labels and its value.
type Series = (BTreeMap<String, String>, f64);

/// The series of one name. The values of these cases hold no quotes and commas.
fn series(text: &str, name: &str) -> Vec<Series> {
    let of_name = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{'));
    let read = |rest: &str| {
        let (labels, value) = rest.rsplit_once("} ")?;
        let pair = |pair: &str| Some((pair.split_once('=')?.0.to_owned(), pair.split('"').nth(1)?.to_owned()));
        Some((labels.split(',').map(pair).collect::<Option<_>>()?, value.parse().ok()?))
    };
    of_name.filter_map(read).collect()
}

/// Value of the series with these labels, among others.
fn value(series: &[Series], labels: &[(&str, &str)]) -> f64 {
    let matches = |of: &BTreeMap<String, String>| labels.iter().all(|(name, value)| of.get(*name).is_some_and(|found| found == value));
    series.iter().filter(|(of, _)| matches(of)).map(|(_, value)| value).sum()
}

/// Waits until the series of a name with these labels sum up to a value. Gives the whole text.
async fn until(controller: &Controller, name: &str, labels: &[(&str, &str)], expected: f64) -> anyhow::Result<String> {
    let result = poll(PATIENCE, || async {
        let text = controller.metrics().await?;
        let found = series(&text, name);
        let sum = value(&found, labels);
        ensure!(sum == expected, "{name} {labels:?} is {sum}, expected {expected}: {found:?}");
        Ok(text)
    });
    result.await.with_context(|| format!("log of the controller:\n{}", controller.log()))
}

/// A controller that counts, and serves [`HOST`]. What was asked until then is not counted with the paths of the cases.
async fn counting(case: &Case, flags: &[&str]) -> anyhow::Result<Controller> {
    case.create(&rule("echo", HOST).path("/app", PathType::Prefix, "echo", 80).build()).await?;
    let launch = flags.iter().fold(case.controller().flag("--enable-metrics"), |launch, flag| launch.flag(flag));
    let controller = launch.env("POD_NAME", "pod-1").env("POD_NAMESPACE", "edge").start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(controller)
}

async fn ask(controller: &Controller, host: &str, path: &str, times: usize) -> anyhow::Result<()> {
    for _ in 0..times {
        controller.get(host, path).await?;
    }
    Ok(())
}

#[tokio::test]
async fn requests_are_counted_under_the_labels_of_their_rule() -> anyhow::Result<()> {
    let case = Case::new("count").await?;
    let _servers = case.echo(1).await?;
    let controller = counting(&case, &[]).await?;
    ask(&controller, HOST, "/app/one?two", 3).await?;
    Request::new("BREW", controller.http(), "/app").host(HOST).send().await?;
    let labels = [("path", "/app"), ("method", "GET"), ("status", "200")];
    let text = until(&controller, REQUESTS, &labels, 3.0).await?;
    let requests = series(&text, REQUESTS);
    let (labels, _) = requests.iter().find(|(labels, _)| labels["path"] == "/app").context("waited for it")?;
    let expected = [
        ("canary", ""),
        ("controller_class", "k8s.io/ingress-nginx"),
        ("controller_namespace", "edge"),
        ("controller_pod", "pod-1"),
        ("host", HOST),
        ("ingress", "echo"),
        ("method", "GET"),
        ("namespace", case.ns()),
        ("path", "/app"),
        ("service", "echo"),
        ("status", "200"),
    ];
    assert_eq!(labels.iter().map(|(name, value)| (&**name, &**value)).collect::<Vec<_>>(), expected);
    for family in ["request_duration_seconds", "response_duration_seconds", "header_duration_seconds", "connect_duration_seconds"] {
        let count = series(&text, &format!("nginx_ingress_controller_{family}_count"));
        assert_eq!(value(&count, &[("path", "/app"), ("method", "GET")]), 3.0, "{family}");
    }
    for family in ["request_size", "response_size", "bytes_sent"] {
        let (count, sum) = (format!("nginx_ingress_controller_{family}_count"), format!("nginx_ingress_controller_{family}_sum"));
        assert_eq!(value(&series(&text, &count), &[("path", "/app"), ("method", "GET")]), 3.0, "{family}");
        assert!(value(&series(&text, &sum), &[("path", "/app")]) > 100.0, "{family}");
    }
    until(&controller, REQUESTS, &[("method", "OTHER")], 1.0).await?;
    Ok(())
}

#[tokio::test]
async fn nginx_itself_is_measured_and_nobody_else() -> anyhow::Result<()> {
    let case = Case::new("count-nginx").await?;
    let _servers = case.echo(1).await?;
    let controller = counting(&case, &[]).await?;
    let text = controller.metrics().await?;
    let sum =
        |name: &str, labels: &[(&str, &str)]| value(&series(&text, &format!("nginx_ingress_controller_nginx_process_{name}")), labels);
    assert_eq!(sum("num_procs", &[]), 2.0, "a master and a worker");
    assert!(sum("connections", &[("state", "active")]) >= 1.0 && sum("connections_total", &[("state", "handled")]) >= 1.0);
    assert!(sum("requests_total", &[]) >= 1.0 && sum("resident_memory_bytes", &[]) > 1e6);
    assert!(sum("virtual_memory_bytes", &[]) > 1e6 && sum("oldest_start_time_seconds", &[]) > 1.7e9);
    Ok(())
}

#[tokio::test]
async fn nothing_is_counted_unless_asked_for() -> anyhow::Result<()> {
    let case = Case::new("count-off").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("echo", HOST).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let text = controller.metrics().await?;
    assert!(!text.contains(REQUESTS) && !text.contains("nginx_process"), "{text}");
    Ok(())
}

#[tokio::test]
async fn obs_03_exclude_socket_metrics_leaves_families_out() -> anyhow::Result<()> {
    let case = Case::new("obs-03").await?;
    let _servers = case.echo(1).await?;
    let excluded = "--exclude-socket-metrics=nginx_ingress_controller_request_size,header_duration_seconds";
    let controller = counting(&case, &[excluded, "--report-status-classes", "--metrics-per-host=false"]).await?;
    ask(&controller, HOST, "/app", 1).await?;
    let text = until(&controller, DURATION, &[("path", "/app"), ("status", "2xx")], 1.0).await?;
    assert!(!text.contains("nginx_ingress_controller_request_size") && !text.contains("nginx_ingress_controller_header_duration_seconds"));
    assert!(text.contains("nginx_ingress_controller_response_size"));
    assert!(series(&text, REQUESTS).iter().all(|(labels, _)| !labels.contains_key("host")), "{text}");
    Ok(())
}

#[tokio::test]
async fn obs_04_metrics_per_undefined_host_counts_what_no_ingress_has() -> anyhow::Result<()> {
    let case = Case::new("obs-04").await?;
    let controller = case.controller().flag("--enable-metrics").flag("--metrics-per-undefined-host=true").start().await?;
    controller.until("wildcard.foo.com", "/", 404).await?;
    let host = [("host", "wildcard.foo.com")];
    let text = poll(PATIENCE, || async {
        let text = controller.metrics().await?;
        ensure!(value(&series(&text, REQUESTS), &host) >= 1.0, "no request is counted");
        Ok(text)
    });
    let requests = series(&text.await?, REQUESTS);
    assert!(requests.len() == 1 && requests[0].0["status"] == "404" && requests[0].0["ingress"].is_empty(), "{requests:?}");
    Ok(())
}

#[tokio::test]
async fn a_wildcard_s_requests_have_its_rule_s_host_and_strangers_none() -> anyhow::Result<()> {
    let case = Case::new("count-wild").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("wild", "*.wild.example.com").build()).await?;
    let controller = counting(&case, &[]).await?;
    controller.until("a.wild.example.com", "/", 200).await?;
    ask(&controller, "stranger.example.com", "/", 3).await?;
    ask(&controller, "b.wild.example.com", "/", 3).await?;
    let text = poll(PATIENCE, || async {
        let text = controller.metrics().await?;
        ensure!(value(&series(&text, REQUESTS), &[("host", "*.wild.example.com"), ("status", "200")]) >= 4.0, "not all are counted");
        Ok(text)
    });
    let text = text.await?;
    assert!(!text.contains("stranger") && !text.contains("b.wild"), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_canary_is_a_label() -> anyhow::Result<()> {
    let case = Case::new("count-canary").await?;
    let _servers = case.deploy(&[Echo::named("echo"), Echo::named("canary")]).await?;
    let controller = counting(&case, &[]).await?;
    let canary = mk_ingress("canary").class("nginx").host(HOST).path("/app", PathType::Prefix, "canary", 80);
    case.create(&canary.annotation("canary", "true").annotation("canary-by-header", "try").build()).await?;
    poll(PATIENCE, || async {
        let seen = controller.get_with(HOST, "/app", &[("try", "always")]).await?;
        ensure!(seen.text().contains("canary-0"), "the canary does not answer yet: {}", seen.text());
        Ok(())
    })
    .await?;
    let name = format!("{}-canary-80", case.ns());
    let labels = [("ingress", "echo"), ("service", "echo"), ("canary", name.as_str())];
    until(&controller, REQUESTS, &labels, 1.0).await?;
    Ok(())
}

#[tokio::test]
async fn retried_and_failed_requests_count_once() -> anyhow::Result<()> {
    let case = Case::new("count-retry").await?;
    let servers = case.echo(1).await?;
    // There is no listener on the second address.
    let mut addresses = servers.addresses();
    let dead: std::net::SocketAddr = (testkit::ports::addresses(1)?[0], 8080).into();
    addresses.push(dead);
    case.create(&mk_service("half", 80, 8080, None)).await?;
    case.create(&mk_slice("half", "half", &addresses)).await?;
    case.create(&mk_service("dead", 80, 8080, None)).await?;
    case.create(&mk_slice("dead", "dead", &[dead])).await?;
    case.create(&mk_ingress("half").class("nginx").host("half.example.com").path("/half", PathType::Prefix, "half", 80).build()).await?;
    case.create(&mk_ingress("dead").class("nginx").host("half.example.com").path("/dead", PathType::Prefix, "dead", 80).build()).await?;
    let controller = counting(&case, &[]).await?;
    controller.until("half.example.com", "/half/first", 200).await?;
    controller.until("half.example.com", "/dead", 502).await?;
    ask(&controller, "half.example.com", "/half", 4).await?;
    let text = poll(PATIENCE, || async {
        let text = controller.metrics().await?;
        ensure!(value(&series(&text, REQUESTS), &[("ingress", "half"), ("status", "200")]) >= 5.0, "not all are counted");
        ensure!(value(&series(&text, REQUESTS), &[("ingress", "dead"), ("status", "502")]) >= 1.0, "not all are counted");
        Ok(text)
    });
    let text = text.await?;
    let counts = |family: &str, ingress: &str| {
        let series = series(&text, &format!("nginx_ingress_controller_{family}"));
        value(&series, &[("ingress", ingress)])
    };
    let retried = counts("requests", "half");
    assert_eq!(counts("response_duration_seconds_count", "half"), retried, "retried requests have durations too");
    assert_eq!(counts("connect_duration_seconds_count", "half"), retried);
    assert_eq!(counts("request_duration_seconds_count", "dead"), counts("requests", "dead"));
    assert_eq!(counts("connect_duration_seconds_count", "dead"), 0.0, "nothing was connected");
    Ok(())
}

#[tokio::test]
async fn the_series_of_a_deleted_ingress_are_deleted() -> anyhow::Result<()> {
    let case = Case::new("count-delete").await?;
    let _servers = case.echo(1).await?;
    let controller = counting(&case, &[]).await?;
    case.serve("other.example.com").await?;
    controller.until("other.example.com", "/", 200).await?;
    until(&controller, REQUESTS, &[("host", "other.example.com"), ("status", "200")], 1.0).await?;
    case.delete::<Ingress>("other.example.com").await?;
    poll(PATIENCE, || async {
        let text = controller.metrics().await?;
        ensure!(!text.contains("other.example.com"), "its series are still there");
        ensure!(text.contains(&format!("host=\"{HOST}\"")), "others are gone");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_reload_and_a_restart_of_the_controller_lose_no_count() -> anyhow::Result<()> {
    let case = Case::new("count-reload").await?;
    let servers = case.echo(1).await?;
    let mut controller = counting(&case, &["--sync-rate-limit=10"]).await?;
    let paths = [("path", "/app"), ("status", "200")];
    for size in ["2k", "3k", "4k"] {
        let before = controller.reloads().await?;
        case.settings(&[("client-header-buffer-size", size)]).await?;
        poll(PATIENCE, || async {
            ask(&controller, HOST, "/app", 10).await?;
            ensure!(controller.reloads().await? > before, "no reload yet");
            Ok(())
        })
        .await?;
    }
    let arrived = servers.requests() as f64;
    let counted = until(&controller, REQUESTS, &[("status", "200")], arrived).await?;
    assert!(value(&series(&counted, REQUESTS), &paths) >= 30.0);

    controller.kill()?;
    ask(&controller, HOST, "/app", 50).await?;
    controller.start().await?;
    until(&controller, REQUESTS, &paths, 50.0).await?;
    Ok(())
}
