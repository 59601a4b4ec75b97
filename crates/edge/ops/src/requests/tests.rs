//! From answers of NGINX to what Prometheus reads.

use super::*;
use crate::exposition::tests::text_of;

const KEY: &str = "\"k\"";
const ALL: fn(&Labels) -> bool = |_| true;

fn options() -> RequestOptions {
    RequestOptions {
        constant_labels: r#"controller_class="c""#.into(),
        per_host: true,
        status_classes: false,
        excluded: Vec::new(),
        key: "k".into(),
        time: vec![0.005, 1.0],
        length: vec![10.0, 100.0],
        size: vec![10.0, 1e6],
        native: None,
    }
}

fn line(ingress: &str, host: &str, of_client: bool, rest: &str) -> String {
    format!(r#"[["n","{ingress}","s","\/","{host}","","GET"],200,{of_client},{rest}]"#)
}

fn one(ingress: &str, host: &str) -> String {
    line(ingress, host, false, "1,[[4,0,1],[],[],[],[80,1,1],[200,2,1],[200,1,1]]")
}

fn shown(metrics: &RequestMetrics) -> String {
    text_of(|out| metrics.write(out))
}

/// Lines of a family.
fn family(metrics: &RequestMetrics, name: &str) -> Vec<String> {
    let text = shown(metrics);
    text.lines()
        .filter_map(|line| line.strip_prefix("nginx_ingress_controller_"))
        .filter(|line| line.starts_with(name))
        .map(str::to_owned)
        .collect()
}

#[test]
fn batches_add_up_to_the_predecessor_s_families() {
    let metrics = RequestMetrics::new(options());
    let slow = line("i", "foo.com", false, "2,[[2004,0,1,2,1],[2000,2,1],[1999,2,1],[],[160,1,2],[400,2,2],[400,1,2]]");
    let answer = format!("7\n{KEY}\n{}\n{KEY}\n{slow}\n", one("i", "foo.com"));
    assert_eq!(metrics.take(&answer, ALL), Some(Taken { number: "7".into(), unreadable: None, without_histograms: 0 }));
    let labels =
        r#"controller_class="c",canary="",host="foo.com",ingress="i",method="GET",namespace="n",path="/",service="s",status="200""#;
    assert_eq!(family(&metrics, "requests"), [format!("requests{{{labels}}} 3")]);
    assert_eq!(
        family(&metrics, "request_duration_seconds"),
        [
            format!("request_duration_seconds_bucket{{{labels},le=\"0.005\"}} 2"),
            format!("request_duration_seconds_bucket{{{labels},le=\"1\"}} 2"),
            format!("request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 3"),
            format!("request_duration_seconds_sum{{{labels}}} 2.008"),
            format!("request_duration_seconds_count{{{labels}}} 3"),
        ]
    );
    assert_eq!(family(&metrics, "header_duration_seconds_count"), [format!("header_duration_seconds_count{{{labels}}} 1")]);
    assert!(family(&metrics, "connect_duration_seconds").is_empty(), "nothing was observed");
    assert_eq!(family(&metrics, "bytes_sent_sum"), [format!("bytes_sent_sum{{{labels}}} 600")]);
    assert!(shown(&metrics).contains("# TYPE nginx_ingress_controller_bytes_sent histogram\n"));
}

#[test]
fn an_empty_answer_is_none() {
    assert_eq!(RequestMetrics::new(options()).take("", ALL), None);
}

#[test]
fn what_the_flags_leave_out_is_left_out() {
    let excluded = ["nginx_ingress_controller_request_size", "header_duration_seconds", "nonsense"].map(str::to_owned).to_vec();
    let metrics = RequestMetrics::new(RequestOptions { per_host: false, status_classes: true, excluded, ..options() });
    let answer = format!("1\n{KEY}\n{}\n{}\n", one("i", "foo.com"), one("i", "bar.com"));
    metrics.take(&answer, ALL).expect("it is not empty");
    let labels = r#"controller_class="c",canary="",ingress="i",method="GET",namespace="n",path="/",service="s",status="2xx""#;
    assert_eq!(family(&metrics, "requests"), [format!("requests{{{labels}}} 2")]);
    assert!(family(&metrics, "request_size").is_empty() && !family(&metrics, "response_size").is_empty());
}

#[test]
fn labels_can_t_break_out() {
    let metrics = RequestMetrics::new(options());
    let line = r#"[["n","i","s","\/a\"b\\c\n","h","","GET"],7,false,1,[[],[],[],[],[],[],[]]]"#;
    metrics.take(&format!("1\n{KEY}\n{line}\n"), ALL).expect("it is not empty");
    let requests = family(&metrics, "requests").concat();
    assert!(requests.contains(r#"path="/a\"b\\c\n""#) && requests.contains(r#"status="007""#), "{requests}");
}

#[test]
fn ingresses_that_are_gone_are_forgotten_and_stay_so() {
    let metrics = RequestMetrics::new(options());
    let answer = format!("1\n{KEY}\n{}\n{}\n", one("gone", "foo.com"), one("stays", "foo.com"));
    metrics.take(&answer, ALL).expect("it is not empty");
    assert_eq!(family(&metrics, "requests").len(), 2);
    let stays = |labels: &Labels| &*labels.ingress == "stays";
    metrics.retain(stays);
    metrics.take(&answer, stays).expect("it is not empty");
    let requests = family(&metrics, "requests");
    assert!(requests.len() == 1 && requests[0].contains("stays") && requests[0].ends_with(" 2"), "{requests:?}");
}

#[test]
fn workers_with_other_bounds_are_counted_without_histograms() {
    let metrics = RequestMetrics::new(options());
    let taken = metrics.take(&format!("1\n\"other\"\n{}\n{KEY}\n{}\n", one("i", "h"), one("i", "h")), ALL).expect("it is not empty");
    assert_eq!(taken.without_histograms, 1);
    assert!(family(&metrics, "requests")[0].ends_with(" 2"));
    assert!(family(&metrics, "request_duration_seconds_count")[0].ends_with(" 1"));
}

#[test]
fn a_line_that_can_t_be_read_is_named_and_the_others_count() {
    let metrics = RequestMetrics::new(options());
    for unreadable in ["nonsense", "[1,0]", &line("i", "h", false, "1,[[4,0],[],[],[],[],[],[]]"), &line("i", "h", false, "-1,[]")] {
        let taken = metrics.take(&format!("1\n{KEY}\n{unreadable}\n{}\n", one("i", "h")), ALL).expect("it is not empty");
        assert_eq!(taken.unreadable.as_deref(), Some(unreadable));
    }
    assert!(family(&metrics, "requests")[0].ends_with(" 4"));
}

#[test]
fn names_that_clients_make_up_are_bounded() {
    let metrics = RequestMetrics::new(options());
    let lines = (0..MOST_CLIENT_HOSTS + 5).map(|n| line("", &format!("h{n}"), true, "1,[[],[],[],[],[],[],[]]") + "\n");
    let answer = format!("1\n{KEY}\n{}", lines.collect::<String>());
    metrics.take(&answer, ALL).expect("it is not empty");
    let requests = family(&metrics, "requests");
    assert_eq!(requests.len(), MOST_CLIENT_HOSTS + 1);
    assert!(requests.iter().any(|line| line.contains(r#"host="_""#) && line.ends_with(" 5")));
}

#[test]
fn native_buckets_add_up_beside_the_others() {
    let native = Some(NativeOptions { schema: 3, most_buckets: 100 });
    let metrics = RequestMetrics::new(RequestOptions { native, ..options() });
    let with = |native: &str| line("i", "h", false, &format!("1,[[4,0,1],[],[],[],[80,1,1],[200,2,1],[200,1,1]],{native}"));
    let answer = format!("1\n{KEY}\n{}\n{}\n", with("[[0,-63,1],[],[],[],[0,51,1],[0,62,1]]"), with("[[1],[],[],[],[0,51,1],[0,63,1]]"));
    assert_eq!(metrics.take(&answer, ALL), Some(Taken { number: "1".into(), unreadable: None, without_histograms: 0 }));
    let counted = metrics.counted.lock();
    let series = counted.series.values().next().expect("one series");
    let native = series.native.as_ref().expect("they are kept");
    let of = |index: usize| (native[index].zeros(), native[index].buckets().collect::<Vec<_>>());
    assert_eq!((of(0), of(4), of(5)), ((1, vec![(-63, 1)]), (0, vec![(51, 2)]), (0, vec![(62, 1), (63, 1)])));
    drop(counted);
    assert!(family(&metrics, "request_duration_seconds_count")[0].ends_with(" 2"), "the classic ones are there as well");
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn traced(buckets: &str, exemplars: &str) -> String {
    line("i", "h", false, &format!("1,[{buckets},[],[],[],[],[],[]],[],{exemplars}"))
}

#[test]
fn each_bucket_has_its_last_exemplar() {
    let metrics = RequestMetrics::new(options());
    let exemplar =
        |bucket: u8, milliseconds: u16, span: &str, time: u16| format!(r#"[{bucket},{milliseconds},"{TRACE}","{span:0>16}",{time}]"#);
    let lines = [
        traced("[2004,0,1,2,1]", &format!("[{},{}]", exemplar(0, 4, "a", 1000), exemplar(2, 2000, "b", 1500))),
        traced("[3,0,1]", &format!("[{}]", exemplar(0, 3, "c", 2000))),
        // From another worker, and late.
        traced("[2,0,1]", &format!("[{},{}]", exemplar(0, 2, "d", 1900), exemplar(9, 2, "e", 1900))),
    ];
    metrics.take(
        &format!("1\n{KEY}\n{}\n\"other\"\n{}\n", lines.join("\n"), traced("[1,0,1]", &format!("[{}]", exemplar(0, 1, "f", 9000)))),
        ALL,
    );
    let text = |form| {
        let mut out = Exposition::new(form);
        metrics.write(&mut out);
        String::from_utf8(out.into_bytes()).unwrap()
    };
    let openmetrics = text(crate::Form::OpenMetrics);
    let found: Vec<&str> = openmetrics.lines().filter_map(|line| Some(line.split_once(" # ")?.1)).collect();
    let expected =
        [("c", "0.003 2.000"), ("b", "2 1.500")].map(|(span, rest)| format!("{{trace_id=\"{TRACE}\",span_id=\"{span:0>16}\"}} {rest}"));
    assert_eq!(found, expected, "{openmetrics}");
    assert!(!text(crate::Form::Text).contains(TRACE), "the text format has no exemplars");
}

#[test]
fn exemplars_of_another_form_are_no_line() {
    let metrics = RequestMetrics::new(options());
    let trace = |trace: &str, span: &str| format!(r#"[[0,1,"{trace}","{span}",1]]"#);
    let span = "b7ad6b7169203331";
    for exemplars in
        [trace(TRACE, "b7ad"), trace("a\\\"}", span), trace(&TRACE.replace('0', "+"), span), "[[0,1]]".to_owned(), "[1]".to_owned()]
    {
        let unreadable = traced("[]", &exemplars);
        let taken = metrics.take(&format!("1\n{KEY}\n{unreadable}\n"), ALL).expect("it is not empty");
        assert_eq!(taken.unreadable, Some(unreadable));
    }
}

#[test]
fn native_buckets_of_another_form_are_no_line() {
    let metrics = RequestMetrics::new(options());
    for native in ["[[0,1]]", "[[-1]]", "[[],[],[],[],[],[],[]]", "{}"] {
        let unreadable = line("i", "h", false, &format!("1,[[],[],[],[],[],[],[]],{native}"));
        let taken = metrics.take(&format!("1\n{KEY}\n{unreadable}\n"), ALL).expect("it is not empty");
        assert_eq!(taken.unreadable, Some(unreadable));
    }
}
