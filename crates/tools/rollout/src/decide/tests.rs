use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::kind::Kind;
use crate::rules::{APPLIED, Strategy};
use crate::workload::tests::{merge, workload};

const AUTO: (&str, &str) = ("reloader.stakater.com/auto", "true");

fn map(name: &str) -> ContentId {
    ContentId::new(ContentKind::ConfigMap, name)
}

fn object(digest: &str) -> Object {
    Object {
        digest: Digest::stored(digest),
        theirs: Box::default(),
        uid: "2".into(),
        ignored: false,
        found: false,
        check: None,
        born: false,
    }
}

fn objects(pairs: &[(&str, Object)]) -> Objects {
    pairs.iter().map(|(name, object)| (map(name), object.clone())).collect()
}

/// A Deployment whose container `app` reads the ConfigMap `used`.
fn with(annotations: &[(&str, &str)], record: Option<&[(&str, &str)]>) -> Workload {
    let mut own: serde_json::Map<String, Value> = annotations.iter().map(|(key, value)| ((*key).into(), json!(value))).collect();
    if let Some(pairs) = record {
        let objects = pairs.iter().map(|(name, digest)| (format!("ConfigMap/{name}"), Digest::stored(*digest))).collect();
        own.insert(APPLIED.into(), json!(Record { rollouts: 4, at: None, objects }.write()));
    }
    let container = json!([{"name": "app", "envFrom": [{"configMapRef": {"name": "used"}}]}]);
    let mut extra = json!({"metadata": {"annotations": own}});
    merge(&mut extra, json!({"spec": {"template": {"spec": {"containers": container}}}}));
    workload(Kind::Deployment, extra)
}

fn decided(workload: &Workload, all: &Objects, rules: &Rules) -> Decision {
    decide(workload, all, rules, Timestamp::UNIX_EPOCH)
}

/// The names of what a rollout is about; empty when there is none.
fn rolled(workload: &Workload, all: &Objects, rules: &Rules) -> Vec<String> {
    match decided(workload, all, rules) {
        Decision::Roll(plan) => plan.changes.into_iter().map(|change| change.id.name).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_first_look_writes_down_what_is_there_and_rolls_nothing_out() {
    let one = with(&[AUTO], None);
    let Decision::Note(record) = decided(&one, &objects(&[("used", object("a")), ("other", object("b"))]), &Rules::default()) else {
        panic!()
    };
    assert_eq!((record.objects.len(), record.get(&map("used"))), (1, Some(Content::Present(Digest::stored("a")))));
    let Decision::Note(record) = decided(&one, &objects(&[]), &Rules::default()) else { panic!() };
    assert_eq!(record.get(&map("used")), Some(Content::Absent));
}

#[test]
fn other_content_is_rolled_out_once_and_the_same_is_not() {
    let one = with(&[AUTO], Some(&[("used", "a")]));
    assert_eq!(decided(&one, &objects(&[("used", object("a"))]), &Rules::default()), Decision::Nothing);
    let Decision::Roll(plan) = decided(&one, &objects(&[("used", object("b"))]), &Rules::default()) else { panic!() };
    assert_eq!((plan.changes.len(), plan.record.rollouts, plan.record.at), (1, 5, Some(Timestamp::UNIX_EPOCH)));
    assert_eq!(plan.record.get(&map("used")), Some(Content::Present(Digest::stored("b"))));
}

#[test]
fn what_an_older_or_newer_reloader_left_is_no_change_either() {
    let there = |theirs: &str| objects(&[("used", Object { theirs: [Digest::stored(theirs)].into(), ..object("ours") })]);
    let rules = Rules { strategy: Strategy::Annotations, ..Rules::default() };
    for last in [json!({"type": "CONFIGMAP", "name": "used", "hash": "sha1"}), json!({"kind": "configmap", "name": "used", "hash": "sha1"})]
    {
        let annotations = json!({"reloader.stakater.com/last-reloaded-from": last.to_string()});
        let template = json!({"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "used"}}]}]}});
        let left = workload(Kind::Deployment, json!({"metadata": {"annotations": {AUTO.0: AUTO.1}}, "spec": {"template": template}}));
        let Decision::Note(record) = decided(&left, &there("sha1"), &rules) else { panic!("{last}") };
        assert_eq!(record.get(&map("used")), Some(Content::Present(Digest::stored("ours"))));
        assert_eq!(rolled(&left, &there("other"), &rules), ["used"], "{last}");
    }
    // What we wrote ourselves is compared as it is.
    assert_eq!(rolled(&with(&[AUTO], Some(&[("used", "sha1")])), &there("sha1"), &rules), ["used"]);
}

#[test]
fn what_reloader_left_in_the_template_is_compared_with() {
    let environment = json!([{"name": "app", "envFrom": [{"configMapRef": {"name": "used"}}], "env": [{"name": "STAKATER_USED_CONFIGMAP", "value": "a"}]}]);
    let extra = json!({"metadata": {"annotations": {AUTO.0: "true"}}, "spec": {"template": {"spec": {"containers": environment}}}});
    let one = workload(Kind::StatefulSet, extra);
    assert_eq!(rolled(&one, &objects(&[("used", object("b"))]), &Rules::default()), ["used"]);
    assert!(matches!(decided(&one, &objects(&[("used", object("a"))]), &Rules::default()), Decision::Note(_)));
    let mut one = with(&[AUTO], None);
    one.last = Some(json!({"type": "CONFIGMAP", "name": "used", "hash": "a", "observedAt": 1}).to_string());
    assert_eq!(rolled(&one, &objects(&[("used", object("b"))]), &Rules::default()), ["used"]);
}

#[test]
fn annotations_say_what_counts() {
    let record = [("used", "a"), ("other", "a"), ("app-1", "a")];
    let changed = objects(&[("used", object("b")), ("other", object("b")), ("app-1", object("b"))]);
    for (annotations, expected) in [
        (&[][..], &[][..]),
        (&[AUTO][..], &["used"]),
        (&[("configmap.reloader.stakater.com/auto", "true")], &["used"]),
        (&[("secret.reloader.stakater.com/auto", "true")], &[]),
        (&[("configmap.reloader.stakater.com/reload", "other,app-.*")], &["app-1", "other"]),
        (&[AUTO, ("configmap.reloader.stakater.com/reload", "other")], &["other", "used"]),
        (&[AUTO, ("configmaps.exclude.reloader.stakater.com/reload", "x, used")], &[]),
        (&[AUTO, ("secrets.exclude.reloader.stakater.com/reload", "used")], &["used"]),
        (&[("reloader.stakater.com/search", "true")], &[]),
    ] {
        assert_eq!(rolled(&with(annotations, Some(&record)), &changed, &Rules::default()), expected, "{annotations:?}");
    }
}

#[test]
fn a_search_finds_what_is_marked_and_an_ignored_object_never_counts() {
    let search = with(&[("reloader.stakater.com/search", "true")], Some(&[("used", "a"), ("other", "a")]));
    let marked = |digest: &str| Object { found: true, ..object(digest) };
    let all = objects(&[("used", marked("b")), ("other", marked("b"))]);
    assert_eq!(rolled(&search, &all, &Rules::default()), ["used"]);
    let ignored = objects(&[("used", Object { ignored: true, ..object("b") })]);
    assert_eq!(decided(&with(&[AUTO], Some(&[("used", "a")])), &ignored, &Rules::default()), Decision::Forget);
}

#[test]
fn the_flags_about_everything_and_about_sources_hold() {
    let all = objects(&[("used", object("b"))]);
    let unsaid = with(&[], Some(&[("used", "a")]));
    assert_eq!(rolled(&unsaid, &all, &Rules { auto_all: true, ..Rules::default() }), ["used"]);
    let refused = with(&[("reloader.stakater.com/auto", "false")], Some(&[("used", "a")]));
    assert!(rolled(&refused, &all, &Rules { auto_all: true, ..Rules::default() }).is_empty());
    let no_maps = Rules { sources: [ContentKind::Secret].into(), ..Rules::default() };
    assert!(rolled(&with(&[AUTO], Some(&[("used", "a")])), &all, &no_maps).is_empty());
}

#[test]
fn creation_counts_only_when_asked_for() {
    let create = Rules { on_create: true, ..Rules::default() };
    let (absent, all) = (with(&[AUTO], Some(&[("used", "")])), objects(&[("used", object("a"))]));
    assert!(matches!(decided(&absent, &all, &Rules::default()), Decision::Note(_)));
    assert_eq!(rolled(&absent, &all, &create), ["used"]);
    // A name by pattern: only one that we saw come into being.
    let pattern = with(&[("configmap.reloader.stakater.com/reload", "app-.*")], Some(&[("app-0", "a")]));
    let with_born = |born| objects(&[("app-0", object("a")), ("app-1", Object { born, ..object("a") })]);
    assert!(rolled(&pattern, &with_born(false), &create).is_empty());
    assert_eq!(rolled(&pattern, &with_born(true), &create), ["app-1"]);
}

#[test]
fn sync_after_restart_rolls_out_what_nothing_is_known_of_if_creation_counts() {
    let (one, all) = (with(&[AUTO], None), objects(&[("used", object("a"))]));
    let rules = |on_create| Rules { on_create, sync_after_restart: true, ..Rules::default() };
    assert_eq!(rolled(&one, &all, &rules(true)), ["used"]);
    assert!(rolled(&one, &all, &rules(false)).is_empty());
}

#[test]
fn deletion_counts_only_when_asked_for_and_what_comes_back_is_compared_with_what_was() {
    let one = with(&[AUTO], Some(&[("used", "a")]));
    let delete = Rules { on_delete: true, ..Rules::default() };
    assert_eq!(decided(&one, &objects(&[]), &Rules::default()), Decision::Nothing);
    let Decision::Roll(plan) = decided(&one, &objects(&[]), &delete) else { panic!() };
    assert_eq!(plan.changes[0].to, Content::Absent);
    assert_eq!(plan.record.get(&map("used")), Some(Content::Absent));
}

#[test]
fn a_workload_that_asks_for_nothing_any_more_is_forgotten() {
    let all = objects(&[("used", object("b"))]);
    assert_eq!(decided(&with(&[], Some(&[("used", "a")])), &all, &Rules::default()), Decision::Forget);
    assert_eq!(decided(&with(&[], None), &all, &Rules::default()), Decision::Nothing);
}

#[test]
fn collected_changes_are_let_go_after_the_period() {
    let mut one = with(&[AUTO], Some(&[("used", "a")]));
    one.pause = crate::workload::Pause {
        paused: true,
        period: Some(SignedDuration::from_mins(1)),
        since: Some(Timestamp::UNIX_EPOCH),
        failed: false,
    };
    let all = objects(&[("used", object("a"))]);
    let at = |second| {
        decide(&one, &all, &Rules { strategy: Strategy::Annotations, ..Rules::default() }, Timestamp::from_second(second).unwrap())
    };
    assert_eq!((at(59), at(60)), (Decision::Nothing, Decision::Resume));
}

#[test]
fn the_object_s_own_check_goes_first() {
    let rules = Rules { check: Check::Command, ..Rules::default() };
    assert_eq!(check(None, None, &rules), Ok(Check::Command));
    assert_eq!(check(Some("nginx"), None, &rules), Ok(Check::Nginx));
    assert_eq!(check(Some("nginx"), Some("none"), &rules), Ok(Check::None));
    assert!(check(Some("nginx"), Some("ngnix"), &rules).unwrap_err().contains("\"ngnix\""));
}
