use super::*;
use crate::difference::tests::answer;
use crate::judge::judge;
use crate::request::Scheme;

fn add(report: &mut CompareReport, target: &str, old: RequestOutcome, new: RequestOutcome, ignores: &[Ignore]) {
    let request = Request::get(Scheme::Http, "shop.example.com", target, "child");
    let round = (old, new);
    report.add(&request, &judge(&[round.clone(), round.clone()]), &round, &Context::default(), ignores);
}

#[test]
fn differences_that_are_alike_are_one() {
    let mut report = CompareReport { hosts: 1, ..CompareReport::default() };
    for number in 0..3 {
        add(&mut report, &format!("/{number}"), Ok(answer(200, &[])), Ok(answer(404, &[])), &[]);
    }
    add(&mut report, "/x", Ok(answer(200, &[("x-a", "\u{1b}[31m")])), Ok(answer(200, &[])), &[]);
    report.sort();
    assert!(!report.is_equal());
    assert_eq!(
        report.text(Style::default()),
        "status (1)\n  http://shop.example.com/0 (child, and 2 more)\n      200 -> 404\n\n\
         headers (1)\n  http://shop.example.com/x (child)\n      x-a: \u{fffd}[31m -> -\n\n\
         4 requests to 1 host: 2 differences\n"
    );
    assert_eq!(report.json()["differences"][0]["requests"].as_array().map(Vec::len), Some(3));
}

#[test]
fn what_is_ignored_or_known_to_be_harmless_is_no_difference() {
    let mut report = CompareReport { hosts: 1, ..CompareReport::default() };
    let ignore: Vec<Ignore> = vec!["status@shop.example.com/legacy".parse().unwrap()];
    add(&mut report, "/legacy/a", Ok(answer(200, &[])), Ok(answer(404, &[])), &ignore);
    add(&mut report, "/b", Ok(answer(200, &[])), Ok(answer(200, &[("vary", "Origin")])), &ignore);
    assert!(report.is_equal());
    let text = report.text(Style::default());
    assert!(text.starts_with("vary-origin (1, known): answers that depend"), "{text}");
    assert!(text.ends_with("ignored as asked: 1 difference\n2 requests to 1 host: both answer alike\n"), "{text}");
}

#[test]
fn twenty_of_a_kind_are_shown_unless_all_are_wanted() {
    let mut report = CompareReport::default();
    for number in 0..25 {
        let new = answer(200, &[("x-a", number.to_string().as_str())]);
        add(&mut report, "/", Ok(answer(200, &[])), Ok(new), &[]);
    }
    report.sort();
    assert!(report.text(Style::default()).contains("  and 5 more; --all shows them\n"));
    assert_eq!(report.text(Style { all: true, colours: false }).matches("x-a: ").count(), 25);
}
