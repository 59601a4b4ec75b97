//! Flags that have no id of their own in the list of cases.

use anyhow::ensure;
use e2e::{Case, PATIENCE, has_fake_certificate, rule};
use nix::sys::signal::Signal;
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress};
use testkit::{poll, processes};

const HOST: &str = "flags.example.com";

#[tokio::test]
async fn default_ssl_certificate_is_shown_for_names_without_one() -> anyhow::Result<()> {
    let case = Case::new("flags-certificate").await?;
    let _servers = case.echo(1).await?;
    let certificate = case.certificate("fallback", &["fallback.example.com"]).await?;
    case.serve(HOST).await?;
    let controller = case.controller().flag("--default-ssl-certificate={NS}/fallback").start().await?;
    controller.until_certificate(HOST, &certificate).await?;
    let other = case.controller().flag("--default-ssl-certificate={NS}/absent").start().await?;
    assert!(has_fake_certificate(&other.until_fake_certificate(HOST).await?));
    Ok(())
}

#[tokio::test]
async fn deep_inspect_refuses_paths_that_look_for_files_unless_it_is_off() -> anyhow::Result<()> {
    let case = Case::new("flags-inspect").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let odd = mk_ingress("odd").class("nginx").host(HOST).path("/etc/passwd", PathType::Prefix, "echo", 80);
    case.create(&odd.host("odd.example.com").path("/", PathType::Prefix, "echo", 80).build()).await?;
    for (flag, status) in [("--deep-inspect", 404), ("--deep-inspect=false", 200)] {
        let controller = case.controller().flag(flag).start().await?;
        controller.until(HOST, "/", 200).await?;
        assert_eq!(controller.get("odd.example.com", "/").await?.status, status, "{flag}");
    }
    Ok(())
}

#[tokio::test]
async fn annotations_prefix_is_the_one_that_counts() -> anyhow::Result<()> {
    let case = Case::new("flags-prefix").await?;
    let _servers = case.echo(1).await?;
    let mut ingress = rule("flags", HOST).annotation("temporal-redirect", "http://there.example/").build();
    let annotations = ingress.metadata.annotations.take().unwrap_or_default();
    let renamed = annotations.into_iter().map(|(name, value)| (name.replace("nginx.ingress.kubernetes.io/", "own.example/"), value));
    ingress.metadata.annotations = Some(renamed.collect());
    case.create(&ingress).await?;
    let own = case.controller().flag("--annotations-prefix=own.example").start().await?;
    assert_eq!(own.until(HOST, "/", 302).await?.header("location"), Some("http://there.example/"));
    let usual = case.controller().start().await?;
    usual.until(HOST, "/", 200).await?;
    Ok(())
}

#[tokio::test]
async fn time_length_and_size_buckets_are_those_of_the_histograms() -> anyhow::Result<()> {
    let case = Case::new("flags-buckets").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let flags = ["--enable-metrics", "--time-buckets=0.25,7", "--length-buckets=33,44", "--size-buckets=55,1e+03"];
    let launch = flags.into_iter().fold(case.controller(), e2e::Launch::flag);
    let controller = launch.start().await?;
    controller.until(HOST, "/", 200).await?;
    poll(PATIENCE, || async {
        let metrics = controller.metrics().await?;
        let bounds = |family: &str| -> Vec<String> {
            let lines = metrics.lines().filter(|line| line.starts_with(&format!("nginx_ingress_controller_{family}_bucket")));
            lines.filter_map(|line| Some(line.split("le=\"").nth(1)?.split('"').next()?.to_owned())).collect()
        };
        for (family, expected) in [
            ("request_duration_seconds", ["0.25", "7", "+Inf"]),
            ("request_size", ["33", "44", "+Inf"]),
            ("bytes_sent", ["55", "1000", "+Inf"]),
        ] {
            ensure!(bounds(family) == expected, "{family}: {:?}", bounds(family));
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn health_check_timeout_bounds_the_requests_to_our_own_nginx() -> anyhow::Result<()> {
    let case = Case::new("flags-health").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().flag("--health-check-timeout=1").start().await?;
    controller.until(HOST, "/", 200).await?;
    let ready = async |expected: u16| {
        poll(PATIENCE, || async {
            let status = Request::get(controller.health(), "/readyz").send().await?.status;
            ensure!(status == expected, "/readyz: {status}");
            Ok(())
        })
        .await
    };
    ready(200).await?;
    let workers = processes::workers(&controller.work_dir().join("nginx.conf"));
    workers.iter().for_each(|worker| processes::signal(*worker, Signal::SIGSTOP));
    let stopped = ready(503).await;
    workers.iter().for_each(|worker| processes::signal(*worker, Signal::SIGCONT));
    stopped?;
    ready(200).await
}
