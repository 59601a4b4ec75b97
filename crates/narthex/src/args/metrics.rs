//! Flags about metrics.

use anyhow::{Context, bail};
use clap::{ArgAction, Args};
use model::options::{RequestCounting, UnknownHosts, native_schema};

use super::values::boolean;

/// Metrics of requests and NGINX.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Metrics")]
pub(crate) struct MetricsArgs {
    /// Count requests, and show what NGINX uses; the metrics of the controller itself are always there
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) enable_metrics: bool,
    /// Give request metrics the label `host`
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) metrics_per_host: bool,
    /// Count requests for hosts that no Ingress has, and all under the name that the client gives
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) metrics_per_undefined_host: bool,
    /// Count 2xx, 3xx, ... instead of each status
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) report_status_classes: bool,
    /// Request metrics to leave out, with or without the prefix nginx_ingress_controller_, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) exclude_socket_metrics: Vec<String>,
    /// Buckets of durations, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10")]
    pub(crate) time_buckets: String,
    /// Buckets of the sizes of requests and answers, in bytes
    #[arg(long, value_name = "BYTES", default_value = "10,20,30,40,50,60,70,80,90,100")]
    pub(crate) length_buckets: String,
    /// Buckets of the metric bytes_sent, in bytes
    #[arg(long, value_name = "BYTES", default_value = "10,100,1000,10000,100000,1e+06,1e+07")]
    pub(crate) size_buckets: String,
    /// Count in native histograms as well, whose buckets grow by this factor at most; up to 1: don't. Scrapers get them by protobuf alone
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, allow_negative_numbers = true)]
    pub(crate) bucket_factor: f64,
    /// Buckets of a native histogram with observations; with more, its resolution is halved. 0: no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    pub(crate) max_buckets: u32,
}

impl MetricsArgs {
    /// The checked form; `None` if requests are not counted.
    pub(crate) fn counting(&self) -> anyhow::Result<Option<RequestCounting>> {
        let unknown_hosts = match (self.metrics_per_host, self.metrics_per_undefined_host) {
            (false, true) => bail!("--metrics-per-undefined-host needs --metrics-per-host, which is false"),
            (false, false) => UnknownHosts::Count,
            (true, false) => UnknownHosts::Skip,
            (true, true) => UnknownHosts::Name,
        };
        let counting = RequestCounting {
            unknown_hosts,
            time: self.time_buckets.parse().context("--time-buckets")?,
            length: self.length_buckets.parse().context("--length-buckets")?,
            size: self.size_buckets.parse().context("--size-buckets")?,
            native_schema: native_schema(self.bucket_factor),
        };
        Ok(self.enable_metrics.then_some(counting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        metrics: MetricsArgs,
    }

    fn counting(flags: &[&str]) -> anyhow::Result<Option<RequestCounting>> {
        Line::try_parse_from(["x"].iter().chain(flags))?.metrics.counting()
    }

    #[test]
    fn requests_are_counted_only_on_demand_with_the_predecessor_s_buckets() {
        assert_eq!(counting(&[]).unwrap(), None);
        let counting = counting(&["--enable-metrics"]).unwrap().expect("they are counted");
        assert_eq!(counting.unknown_hosts, UnknownHosts::Skip);
        assert_eq!(
            counting.key(),
            "0.005,0.01,0.025,0.05,0.1,0.25,0.5,1,2.5,5,10 10,20,30,40,50,60,70,80,90,100 10,100,1000,10000,100000,1000000,10000000"
        );
    }

    #[test]
    fn native_histograms_are_counted_only_with_a_factor() {
        let schema = |flag: &str| counting(&["--enable-metrics", flag]).unwrap().expect("they are counted").native_schema;
        assert_eq!([schema("--bucket-factor=1"), schema("--bucket-factor=-3"), schema("--bucket-factor=1.1")], [None, None, Some(3)]);
        assert!(counting(&["--enable-metrics", "--bucket-factor=1.1"]).unwrap().expect("they are counted").key().ends_with(" native 3"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_flag() {
        let refusal = |flags: &[&str]| format!("{:#}", counting(flags).expect_err("it is refused"));
        let contradiction = refusal(&["--metrics-per-host=false", "--metrics-per-undefined-host=true"]);
        assert_eq!(contradiction, "--metrics-per-undefined-host needs --metrics-per-host, which is false");
        assert!(refusal(&["--size-buckets=2,1"]).starts_with("--size-buckets: \"2,1\": expected 1 to 100 rising numbers"));
    }
}
