//! Events of every kind, and their bounds.

use model::{ObjectKey, ProblemKind};

use super::*;

fn problem(name: &str) -> Problem {
    let object = ObjectRef::ingress(&ObjectKey::new("shop", name));
    Problem { object, field: "spec".into(), kind: ProblemKind::Refused, detail: "it is wrong".into() }
}

fn reload<'a>(result: Result<&'a str, String>, reasons: &'a [String]) -> Attempted<'a> {
    let took = Duration::from_millis(190);
    Attempted { kind: RevisionKind::Reload, result, reasons, namespaces: vec!["shop".into()], effect: took * 2, took }
}

fn texts(journal: &Journal) -> Vec<String> {
    journal.events(None).items.into_iter().map(|event| event.text).collect()
}

#[test]
fn changes_that_come_often_do_not_push_reloads_out() {
    let journal = Journal::default();
    journal.attempted(reload(Ok("r1"), &["shop/web is the first to use proxy_buffering on".to_owned()]));
    (0..2 * FREQUENT).for_each(|_| journal.posted(Summary::default(), Duration::from_millis(2)));
    let all = journal.events(Some(0)).items;
    assert_eq!((all[0].kind, all.len()), (EventKind::Reload, AT_ONCE));
    assert_eq!(all[0].text, "shop/web is the first to use proxy_buffering on: reload, confirmed after 190.0 ms");
    let newest = journal.events(None).items;
    assert_eq!((newest.len(), newest.last().map(|event| event.id)), (AT_ONCE, Some(2 * FREQUENT as u64 + 1)));
    assert!(newest.windows(2).all(|pair| pair[0].id < pair[1].id));
    assert_eq!(journal.events(Some(*journal.newest().borrow())).items, []);
}

#[test]
fn a_revision_is_running_once_and_a_failure_has_its_message() {
    let journal = Journal::default();
    for result in [Ok("r1"), Ok("r2"), Err("unknown directive".to_owned()), Ok("r1")] {
        journal.attempted(reload(result, &["a".to_owned(), "b".to_owned()]));
    }
    journal.text("r1", b"events {}");
    let revisions = journal.revisions("r1");
    let seen: Vec<_> = revisions.iter().map(|of| (&*of.revision, of.ok, of.running, of.bytes)).collect();
    assert_eq!(seen, [("r1", true, true, Some(9)), ("", false, false, None), ("r2", true, false, None), ("r1", true, false, Some(9))]);
    assert_eq!(texts(&journal)[2], "a, and 1 other reason: reload failed: unknown directive");
    assert!(journal.mean_reload().is_some_and(|mean| (mean - 0.19).abs() < 1e-9));
    assert_eq!(journal.time_to_effect().reload.p50, 0.38);
    assert_eq!(journal.last_reload().map(|last| last.ok), Some(true));
}

#[test]
fn a_finding_keeps_its_time_until_it_is_gone() {
    let journal = Journal::default();
    let (one, other) = (problem("web"), problem("cart"));
    journal.problems(&[&one, &other], &[]);
    let since = journal.since(&one);
    assert!(since.is_some());
    let reworded = Problem { detail: "it is still wrong".into(), ..one.clone() };
    journal.problems(&[&reworded], &[]);
    assert_eq!(journal.since(&reworded), since);
    journal.problems(&[], &[&one]);
    assert_eq!(journal.since(&one), None);
    let expected = [
        "2 findings are new, the first about Ingress shop/web",
        "Ingress shop/web: spec: it is still wrong",
        "Ingress shop/web: spec is no longer a problem",
    ];
    assert_eq!(texts(&journal), expected);
}

#[test]
fn objects_that_differ_are_named_as_far_as_they_fit() {
    let journal = Journal::default();
    let with = |names: std::ops::Range<usize>| Snapshot {
        ingresses: names.map(|number| (ObjectKey::new("n", format!("i{number:02}")), Arc::default())).collect(),
        ..Snapshot::default()
    };
    journal.changed(None, &with(0..3));
    journal.changed(Some(&with(0..3)), &with(0..3));
    journal.changed(Some(&with(0..3)), &with(0..2));
    journal.changed(Some(&with(0..2)), &with(1..30));
    let expected = ["the source is complete: 3 Ingresses", "Ingress n/i02 is gone", "28 Ingresses new, 1 Ingress gone"];
    assert_eq!(texts(&journal), expected);
    let last = journal.events(None).items.pop().unwrap();
    assert_eq!((last.objects.len(), last.objects_total), (NAMED, 29));
}

#[test]
fn a_post_says_what_of_a_record_changed() {
    let backend = |endpoints: usize| {
        let endpoint = model::live::Endpoint { address: [10, 0, 0, 1].into(), port: 80, weight: 1 };
        Arc::new(model::BackendRecord { endpoints: vec![endpoint; endpoints], ..model::BackendRecord::default() })
    };
    let live = |endpoints: usize| model::Live {
        backends: [(Arc::from("n/web:80"), backend(endpoints))].into_iter().collect(),
        ..model::Live::default()
    };
    let text = |before: &model::Live, after: &model::Live| Summary::of(&before.delta(after), before, after).text;
    let none = model::Live::default();
    assert_eq!(text(&none, &live(1)), "backend n/web:80 is new, with 1 endpoint");
    assert_eq!(text(&live(1), &live(3)), "backend n/web:80 has 3 endpoints instead of 1");
    assert_eq!(text(&live(1), &none), "backend n/web:80 is gone");
    let host = model::Live { hosts: [(Arc::from("a"), Arc::default())].into_iter().collect(), ..live(2) };
    let summary = Summary::of(&none.delta(&host), &none, &host);
    assert_eq!((&*summary.text, summary.total), ("1 backend and 1 host changed", 2));
    assert_eq!(summary.records, [("endpoints".to_owned(), 1), ("route".to_owned(), 1)].into());
    assert_eq!(summary.objects, ["Backend n/web:80", "Host a"]);
}

#[tokio::test(start_paused = true)]
async fn the_lanes_write_what_they_do() {
    let bed = crate::fake::Bed::started(1000).await;
    let events = bed.journal.events(None).items;
    let seen: Vec<_> = events.iter().map(|event| (event.kind, &*event.text)).collect();
    let started = (EventKind::NginxStarted, "first configuration: start of NGINX, confirmed after 0.0 ms");
    assert_eq!(seen, [(EventKind::Change, "the source is complete: 1 ConfigMap"), started]);
    assert_eq!(bed.journal.revisions("1").first().map(|of| (of.kind, of.running)), Some((RevisionKind::Start, true)));
}

#[test]
fn texts_of_tenants_have_a_bound() {
    let (journal, long) = (Journal::default(), "ä".repeat(100_000));
    journal.problems(&[&Problem { detail: long.clone(), ..problem("web") }], &[]);
    journal.attempted(reload(Err(long.clone()), std::slice::from_ref(&long)));
    let revision = journal.revisions("").remove(0);
    let all = texts(&journal).into_iter().chain(revision.reasons).chain([revision.message]);
    assert!(all.into_iter().all(|text| text.ends_with("...") && text.len() <= LONGEST + 3));
}
