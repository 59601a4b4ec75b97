use jiff::SignedDuration;

use super::*;
use crate::content::Digest;
use crate::decide::Change;
use crate::kind::{ContentId, ContentKind};
use crate::workload::Pause;
use crate::workload::tests::workload;

fn plan(changes: &[(&str, Option<&str>)]) -> Plan {
    let changes = changes.iter().map(|(name, digest)| Change {
        id: ContentId::new(ContentKind::ConfigMap, *name),
        container: 0,
        to: digest.map_or(Content::Absent, |digest| Content::Present(Digest::stored(digest))),
    });
    Plan { changes: changes.collect(), record: Record::default() }
}

fn rules(strategy: Strategy) -> Rules {
    Rules { strategy, ..Rules::default() }
}

fn patched(workload: &Workload, plan: &Plan, rules: &Rules) -> Value {
    let edit = edit(workload, plan, rules, Timestamp::UNIX_EPOCH);
    roll(workload, plan, &edit, rules, Timestamp::UNIX_EPOCH)
}

fn with_variable(value: &str) -> Workload {
    let containers = json!([{"name": "app", "env": [{"name": "KEPT", "value": "1"}]}, {"name": "side", "env": [{"name": "STAKATER_B_CONFIGMAP", "value": value}]}]);
    workload(Kind::Deployment, json!({"spec": {"template": {"spec": {"containers": containers}}}}))
}

#[test]
fn several_changes_are_one_patch_of_the_containers_that_hold_their_digests() {
    let patch = patched(&with_variable("old"), &plan(&[("a", Some("1")), ("b", Some("2"))]), &rules(Strategy::EnvVars));
    assert_eq!(patch["metadata"]["resourceVersion"], "7");
    let expected = json!({"template": {"spec": {"containers": [
        {"name": "app", "env": [{"name": "STAKATER_A_CONFIGMAP", "value": "1"}]},
        {"name": "side", "env": [{"name": "STAKATER_B_CONFIGMAP", "value": "2"}]},
    ]}}});
    assert_eq!(patch["spec"], expected);
}

#[test]
fn a_deleted_object_takes_its_variable_along() {
    let patch = patched(&with_variable("old"), &plan(&[("b", None)]), &rules(Strategy::EnvVars));
    let expected = json!([{"name": "side", "env": [{"name": "STAKATER_B_CONFIGMAP", "$patch": "delete"}]}]);
    assert_eq!(patch["spec"]["template"]["spec"]["containers"], expected);
}

#[test]
fn a_template_that_would_stay_the_same_is_made_to_differ() {
    for plan in [plan(&[("b", Some("old"))]), plan(&[("c", None)])] {
        let patch = patched(&with_variable("old"), &plan, &rules(Strategy::EnvVars));
        assert_eq!(patch["spec"], json!({"template": {"metadata": {"annotations": {RESTARTED_AT: "1970-01-01T00:00:00Z"}}}}));
    }
}

#[test]
fn the_other_strategy_only_annotates() {
    let patch = patched(&with_variable("old"), &plan(&[("b", Some("2"))]), &rules(Strategy::Annotations));
    let text = patch["spec"]["template"]["metadata"]["annotations"][LAST_RELOADED_FROM].as_str().unwrap();
    let expected =
        json!({"type": "CONFIGMAP", "name": "b", "namespace": "default", "hash": "2", "containerRefs": ["app"], "observedAt": 0});
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
    assert!(patch["spec"]["template"].get("spec").is_none());
}

#[test]
fn a_deployment_that_collects_is_paused_with_the_change_and_resumed_without() {
    let mut one = with_variable("old");
    one.pause.period = Some(SignedDuration::from_mins(5));
    let rules = rules(Strategy::EnvVars);
    let patch = patched(&one, &plan(&[("b", Some("2"))]), &rules);
    assert_eq!(
        (&patch["spec"]["paused"], &patch["metadata"]["annotations"][&rules.names.paused_at]),
        (&json!(true), &json!("1970-01-01T00:00:00Z"))
    );
    one.pause = Pause { paused: true, since: Some(Timestamp::UNIX_EPOCH), ..one.pause };
    assert!(patched(&one, &plan(&[("b", Some("3"))]), &rules)["spec"].get("paused").is_none(), "the period goes on");
    let patch = resume(&one, &rules);
    assert_eq!((&patch["spec"], &patch["metadata"]["annotations"]), (&json!({"paused": false}), &json!({&*rules.names.paused_at: null})));
}

#[test]
fn a_change_resumes_what_was_paused_because_it_failed_and_nothing_else() {
    let mut one = with_variable("old");
    one.pause = Pause { paused: true, failed: true, ..Pause::default() };
    let patch = patched(&one, &plan(&[("b", Some("2"))]), &rules(Strategy::EnvVars));
    assert_eq!((&patch["spec"]["paused"], &patch["metadata"]["annotations"][PAUSED]), (&json!(false), &Value::Null));
    one.pause.failed = false;
    let patch = patched(&one, &plan(&[("b", Some("2"))]), &rules(Strategy::EnvVars));
    assert!(patch["spec"].get("paused").is_none() && patch["metadata"]["annotations"].get(PAUSED).is_none());
}

#[test]
fn a_custom_resource_gets_its_containers_whole() {
    let object = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "app", "image": "x", "env": [{"name": "KEPT", "value": "1"}, {"name": "STAKATER_B_CONFIGMAP", "value": "old"}]},
        {"name": "side", "image": "y"},
    ]}}}});
    let one = workload(Kind::Rollout, object.clone());
    let plan = plan(&[("a", Some("1")), ("b", Some("2"))]);
    let edit = edit(&one, &plan, &rules(Strategy::EnvVars), Timestamp::UNIX_EPOCH);
    let patch = roll_custom(&one, &plan, &edit, &object);
    let variables = json!([{"name": "KEPT", "value": "1"}, {"name": "STAKATER_A_CONFIGMAP", "value": "1"}, {"name": "STAKATER_B_CONFIGMAP", "value": "2"}]);
    let expected = json!([{"name": "app", "image": "x", "env": variables}, {"name": "side", "image": "y"}]);
    assert_eq!(patch["spec"]["template"]["spec"]["containers"], expected);
    assert_eq!(restart(&one, &plan, Timestamp::UNIX_EPOCH)["spec"], json!({"restartAt": "1970-01-01T00:00:00Z"}));
}
