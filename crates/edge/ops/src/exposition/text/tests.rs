//! Both dialects, line by line.

use prometheus::{HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};

use super::super::{Exposition, Form, labels};
use super::*;

fn text_of(form: Form, write: impl FnOnce(&mut Exposition)) -> String {
    let mut out = Exposition::new(form);
    write(&mut out);
    String::from_utf8(out.into_bytes()).unwrap()
}

#[test]
fn bounds_are_printed_as_go_does() {
    let printed = [0.005, 0.0001, 0.00001, 0.0, 1.0, 2.5, 100_000.0, 1e6, 1.5e7, 1e10, f64::INFINITY].map(number);
    assert_eq!(printed, ["0.005", "0.0001", "1e-05", "0", "1", "2.5", "100000", "1e+06", "1.5e+07", "1e+10", "+Inf"]);
}

#[test]
fn values_are_numbers_of_go() {
    let values = [0.0, 7.0, 1e15, 1e16, 0.25, -3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(|value| (String::new(), value));
    let text = text_of(Form::Text, |out| Family::gauge("x", "X.").without_prefix().write(&values, out));
    let printed: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("x ")).collect();
    assert_eq!(printed, ["0", "7", "1000000000000000", "10000000000000000", "0.25", "-3", "+Inf", "-Inf", "NaN"]);
}

#[test]
fn openmetrics_names_families_of_counters_without_total_and_others_are_unknown() {
    let one = [(labels(&[("a", "b")]), 1.0)];
    let text = text_of(Form::OpenMetrics, |out| {
        Family::counter("sent_bytes_total", "Bytes \"sent\".\\").write(&one, out);
        Family::counter("requests", "Requests.").write(&one, out);
        Family::gauge("age_seconds", "Age.").without_prefix().write(&[(String::new(), 0.5)], out);
    });
    let prefix = "nginx_ingress_controller_";
    assert_eq!(
        text,
        format!(
            "# HELP {prefix}sent_bytes Bytes \\\"sent\\\".\\\\\n# TYPE {prefix}sent_bytes counter\n# UNIT {prefix}sent_bytes bytes\n\
             {prefix}sent_bytes_total{{a=\"b\"}} 1\n\
             # HELP {prefix}requests Requests.\n# TYPE {prefix}requests unknown\n{prefix}requests{{a=\"b\"}} 1\n\
             # HELP age_seconds Age.\n# TYPE age_seconds gauge\n# UNIT age_seconds seconds\nage_seconds 0.5\n# EOF\n"
        )
    );
}

#[test]
fn a_counter_whose_family_would_be_that_of_a_gauge_is_unknown() {
    let one = [(String::new(), 1.0)];
    let text = text_of(Form::OpenMetrics, |out| {
        Family::gauge("open", "Open.").without_prefix().write(&one, out);
        Family::counter("open_total", "Opened.").without_prefix().write(&one, out);
    });
    assert!(text.contains("# TYPE open gauge\n") && text.contains("# TYPE open_total unknown\nopen_total 1\n"), "{text}");
}

#[test]
fn exemplars_are_for_openmetrics_alone() {
    let exemplar = Exemplar { trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, span: 0xb7ad, value: 0.25, time: 1_700_000_000.5 };
    let exemplars = [None, Some(exemplar.clone()), Some(exemplar)];
    let family = Family::histogram("h_seconds", "H.").without_prefix();
    let text = |form| {
        text_of(form, |out| {
            let observations = Observations { labels: "b=\"c\"", counts: &[3, 1, 2], sum: 12.5, native: None, exemplars: &exemplars };
            out.histograms(&family, "a=\"x\"", &[0.1, 1.0], [observations].into_iter());
        })
    };
    let plain = [
        "h_seconds_bucket{a=\"x\",b=\"c\",le=\"0.1\"} 3",
        "h_seconds_bucket{a=\"x\",b=\"c\",le=\"1\"} 4",
        "h_seconds_bucket{a=\"x\",b=\"c\",le=\"+Inf\"} 6",
        "h_seconds_sum{a=\"x\",b=\"c\"} 12.5",
        "h_seconds_count{a=\"x\",b=\"c\"} 6",
    ];
    let lines = |text: &str| -> Vec<String> { text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect() };
    assert_eq!(lines(&text(Form::Text)), plain);
    let with = " # {trace_id=\"0af7651916cd43dd8448eb211c80319c\",span_id=\"000000000000b7ad\"} 0.25 1700000000.500";
    let expected =
        [plain[0].to_owned(), format!("{}{with}", plain[1]), format!("{}{with}", plain[2]), plain[3].to_owned(), plain[4].to_owned()];
    assert_eq!(lines(&text(Form::OpenMetrics)), expected);
}

#[test]
fn what_a_registry_has_is_as_its_own_encoder_writes_it() {
    let registry = Registry::new();
    let counter = IntCounter::new("a_total", "A.").unwrap();
    counter.inc_by(7);
    let named = IntCounterVec::new(Opts::new("b", "B."), &["n"]).unwrap();
    named.with_label_values(&["\"\\\n"]).inc();
    let histogram = HistogramVec::new(HistogramOpts::new("h_seconds", "H.").buckets(vec![0.5, 2.0]), &["stage"]).unwrap();
    histogram.with_label_values(&["build"]).observe(1.5);
    let bare = prometheus::Histogram::with_opts(HistogramOpts::new("i_seconds", "I.").buckets(vec![1.0])).unwrap();
    registry.register(Box::new(counter)).unwrap();
    registry.register(Box::new(named)).unwrap();
    registry.register(Box::new(histogram)).unwrap();
    registry.register(Box::new(bare)).unwrap();
    let families = registry.gather();
    let expected = prometheus::TextEncoder::new().encode_to_string(&families).unwrap();
    assert_eq!(text_of(Form::Text, |out| out.registered(&families)), expected);
    let text = text_of(Form::OpenMetrics, |out| out.registered(&families));
    assert!(text.starts_with("# HELP a A.\n# TYPE a counter\na_total 7\n# HELP b B.\n# TYPE b unknown\nb{"), "{text}");
    assert!(text.ends_with("i_seconds_count 0\n# EOF\n"), "{text}");
}
