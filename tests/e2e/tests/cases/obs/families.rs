//! Every family of ingress-nginx, with its type, against a run; and native histograms, which scrapers get by protobuf alone.

use std::collections::BTreeMap;

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, rule};
use prost::Message;
use testkit::http::Request;
use testkit::kube::{PathType, mk_certificate, mk_ingress};
use testkit::poll;
use testkit::ports::Ports;

const HOST: &str = "families.example.com";

/// Name without its prefix, and type. `errors`, `check_success` and `check_errors` are absent until the first; tests of their own have them.
const FAMILIES: [(&str, &str); 33] = [
    ("admission_config_size", "gauge"),
    ("admission_render_duration", "gauge"),
    ("admission_render_ingresses", "gauge"),
    ("admission_roundtrip_duration", "gauge"),
    ("admission_tested_duration", "gauge"),
    ("admission_tested_ingresses", "gauge"),
    ("build_info", "gauge"),
    ("bytes_sent", "histogram"),
    ("config_hash", "gauge"),
    ("config_last_reload_successful", "gauge"),
    ("config_last_reload_successful_timestamp_seconds", "gauge"),
    ("connect_duration_seconds", "histogram"),
    ("header_duration_seconds", "histogram"),
    ("leader_election_status", "gauge"),
    ("nginx_process_connections", "gauge"),
    ("nginx_process_connections_total", "counter"),
    ("nginx_process_cpu_seconds_total", "counter"),
    ("nginx_process_num_procs", "gauge"),
    ("nginx_process_oldest_start_time_seconds", "gauge"),
    ("nginx_process_read_bytes_total", "counter"),
    ("nginx_process_requests_total", "counter"),
    ("nginx_process_resident_memory_bytes", "gauge"),
    ("nginx_process_virtual_memory_bytes", "gauge"),
    ("nginx_process_write_bytes_total", "counter"),
    ("orphan_ingress", "gauge"),
    ("request_duration_seconds", "histogram"),
    ("request_size", "histogram"),
    ("requests", "counter"),
    ("response_duration_seconds", "histogram"),
    ("response_size", "histogram"),
    ("ssl_certificate_info", "gauge"),
    ("ssl_expire_time_seconds", "gauge"),
    ("success", "counter"),
];

/// Those of the process, as client libraries have them.
const PROCESS: [(&str, &str); 7] = [
    ("process_cpu_seconds_total", "counter"),
    ("process_open_fds", "gauge"),
    ("process_max_fds", "gauge"),
    ("process_virtual_memory_bytes", "gauge"),
    ("process_virtual_memory_max_bytes", "gauge"),
    ("process_resident_memory_bytes", "gauge"),
    ("process_start_time_seconds", "gauge"),
];

const PREFIX: &str = "nginx_ingress_controller_";

/// Waits until a request is counted, and gives the whole text.
async fn counted(controller: &Controller) -> anyhow::Result<String> {
    poll(PATIENCE, || async {
        let text = controller.metrics().await?;
        ensure!(text.contains("nginx_ingress_controller_response_duration_seconds_count{"), "no request is counted");
        Ok(text)
    })
    .await
}

#[tokio::test]
async fn every_family_of_ingress_nginx_has_its_name_and_its_type() -> anyhow::Result<()> {
    let case = Case::new("obs-families").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("echo", HOST).build()).await?;
    case.create(&mk_ingress("orphan").class("nginx").host(HOST).path("/none", PathType::Prefix, "none", 80).build()).await?;
    let webhook = format!("--validating-webhook=127.0.0.1:{}", Ports::one()?);
    let (files, certificate) = (tempfile::tempdir()?, mk_certificate(&["localhost"])?);
    let (chain, key) = (files.path().join("tls.crt"), files.path().join("tls.key"));
    std::fs::write(&chain, &certificate.certificate_pem)?;
    std::fs::write(&key, &certificate.key_pem)?;
    let launch = case.controller().flag("--enable-metrics").flag(&webhook).flag("--publish-status-address=192.0.2.1");
    let launch = launch.flag(&format!("--validating-webhook-certificate={}", chain.display()));
    let launch = launch.flag(&format!("--validating-webhook-key={}", key.display()));
    let controller = launch.env("POD_NAME", "pod-1").env("POD_NAMESPACE", case.ns()).start().await?;
    controller.until(HOST, "/", 200).await?;
    let text = poll(PATIENCE, || async {
        let text = counted(&controller).await?;
        ensure!(text.contains("leader_election_status{"), "it does not lead yet");
        Ok(text)
    })
    .await?;
    let types: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    let prefixed = FAMILIES.iter().map(|(name, kind)| (format!("{PREFIX}{name}"), *kind));
    for (name, kind) in prefixed.chain(PROCESS.iter().map(|(name, kind)| ((*name).to_owned(), *kind))) {
        assert_eq!(types.get(name.as_str()), Some(&kind), "{name}");
        assert!(
            text.lines().any(|line| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} "))) || kind == "histogram"
        );
    }
    let line = |part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_default();
    let orphan = line("orphan_ingress{");
    assert!(orphan.contains("ingress=\"orphan\"") && orphan.contains("type=\"no-service\"") && orphan.ends_with(" 1"), "{orphan}");
    let leader = line("leader_election_status{");
    assert!(leader.contains("name=\"ingress-controller-leader\"") && leader.ends_with(" 1"), "{leader}");
    assert!(line("build_info{").contains("release=\"") && line("build_info{").contains("repository=\""), "{text}");
    Ok(())
}

#[tokio::test]
async fn what_was_loaded_last_is_told_from_the_first_start_and_after_an_adoption() -> anyhow::Result<()> {
    let case = Case::new("obs-loaded").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let mut controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let values = async |controller: &Controller| -> anyhow::Result<[f64; 4]> {
        let mut values = [0.0; 4];
        for (value, name) in values.iter_mut().zip([
            "success",
            "config_last_reload_successful",
            "config_hash",
            "config_last_reload_successful_timestamp_seconds",
        ]) {
            *value = controller.metric(&format!("{PREFIX}{name}")).await?;
        }
        Ok(values)
    };
    let started = values(&controller).await?;
    assert!(started[0] == 1.0 && started[1] == 1.0 && started[2] > 0.0 && started[3] > 1.7e9, "{started:?}");
    controller.kill()?;
    controller.start().await?;
    controller.until(HOST, "/", 200).await?;
    let adopted = values(&controller).await?;
    assert_eq!(adopted[..3], [0.0, 1.0, started[2]], "nothing was loaded, and what runs is no failure");
    Ok(())
}

#[derive(Clone, PartialEq, Message)]
struct Family {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "4")]
    metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, tag = "1")]
    count: u64,
    #[prost(double, tag = "2")]
    sum: f64,
    #[prost(message, repeated, tag = "3")]
    buckets: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(uint64, tag = "7")]
    zeros: u64,
    #[prost(message, repeated, tag = "12")]
    spans: Vec<Span>,
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    deltas: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
}

#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

impl Histogram {
    /// Observations in native buckets, zeros included.
    fn observed(&self) -> u64 {
        let (mut count, mut total) = (0, self.zeros as i64);
        for delta in &self.deltas {
            count += delta;
            total += count;
        }
        u64::try_from(total).unwrap_or_default()
    }
}

const PROTOBUF: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

#[tokio::test]
async fn bucket_factor_adds_native_histograms_with_the_same_observations() -> anyhow::Result<()> {
    let case = Case::new("obs-native").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("echo", HOST).build()).await?;
    let launch = case.controller().flag("--enable-metrics").flag("--bucket-factor=1.1").flag("--max-buckets=100");
    let controller = launch.start().await?;
    controller.until(HOST, "/", 200).await?;
    counted(&controller).await?;
    let answer =
        Request::get(controller.health(), "/metrics").header("Accept", format!("{PROTOBUF};q=0.6,text/plain;q=0.4")).send().await?;
    assert_eq!(answer.header("content-type").map(|kind| kind.split(';').next()), Some(Some("application/vnd.google.protobuf")));
    let mut rest: &[u8] = answer.body.as_ref();
    let mut families = BTreeMap::new();
    while !rest.is_empty() {
        let family = Family::decode_length_delimited(&mut rest)?;
        families.insert(family.name.clone(), family);
    }
    for (name, is_native) in [
        ("request_duration_seconds", true),
        ("response_duration_seconds", true),
        ("request_size", true),
        ("response_size", true),
        ("bytes_sent", false),
    ] {
        let histogram = families[&format!("{PREFIX}{name}")].metrics[0].histogram.as_ref().expect("a histogram");
        assert!(histogram.count > 0 && histogram.sum >= 0.0 && !histogram.buckets.is_empty(), "{name}: {histogram:?}");
        assert_eq!(histogram.schema, is_native.then_some(3), "{name}");
        assert_eq!(histogram.observed(), if is_native { histogram.count } else { 0 }, "{name}: {histogram:?}");
    }
    // A request line and two headers: one bucket, whose bounds hold the mean.
    let size = families[&format!("{PREFIX}request_size")].metrics[0].histogram.as_ref().expect("a histogram");
    let upper = 2f64.powf(f64::from(size.spans[0].offset) / 8.0);
    let mean = size.sum / size.count as f64;
    assert!(size.spans[0].length > 1 || (mean <= upper && mean > upper / 2f64.powf(0.125)), "{size:?}");
    assert!(controller.metrics().await?.starts_with("# HELP"), "text for the others");
    Ok(())
}
