//! Jobs: one made from a CronJob's template, and one made again.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::decide::Plan;
use crate::kind::Kind;
use crate::patch::{Edit, apply};
use crate::rules::APPLIED;
use crate::workload::Workload;

/// Labels that the API server gives to a Job of this uid; another one gets its own.
const GENERATED: [&str; 4] = ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];

/// The Job that a CronJob's change makes. Its name follows from the CronJob and from what changed: a later attempt, or the next leader, finds it there.
pub(crate) fn of_cron_job(workload: &Workload, plan: &Plan, edit: &Edit, cron_job: &Value) -> Value {
    let template = cron_job.pointer("/spec/jobTemplate").cloned().unwrap_or_default();
    let mut annotations = template.pointer("/metadata/annotations").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
    annotations["cronjob.kubernetes.io/instantiate"] = json!("manual");
    let mut spec = template["spec"].clone();
    apply(edit, &mut spec["template"]);
    let resource = Kind::CronJob.resource();
    json!({
        "apiVersion": Kind::Job.resource().api_version,
        "kind": Kind::Job.name(),
        "metadata": {
            "name": format!("{}-{}", workload.id.name, name_digest(workload, plan)),
            "namespace": workload.id.namespace,
            "labels": template.pointer("/metadata/labels"),
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": resource.api_version, "kind": resource.kind, "name": workload.id.name, "uid": workload.uid,
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    })
}

/// Ten hexadecimal digits: with the longest name of a CronJob (52) and a dash the 63 that a Job's may have.
fn name_digest(workload: &Workload, plan: &Plan) -> String {
    let mut hash = Sha256::new();
    for part in [&workload.uid, &plan.record.rollouts.to_string(), &json!(plan.record.objects).to_string()] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    const_hex::encode(&hash.finalize()[..5])
}

/// A Job to be made again under its name.
pub(crate) fn again(plan: &Plan, edit: &Edit, job: &Value) -> Value {
    let mut spec = job["spec"].clone();
    let mut labels = job.pointer("/metadata/labels").cloned().unwrap_or_default();
    if spec["manualSelector"] != json!(true) {
        remove(&mut spec, &["selector"]);
        remove(&mut spec["template"]["metadata"]["labels"], &GENERATED);
        remove(&mut labels, &GENERATED);
    }
    apply(edit, &mut spec["template"]);
    let mut annotations = job.pointer("/metadata/annotations").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
    annotations[APPLIED] = json!(plan.record.write());
    let kept = |name: &str| job["metadata"][name].clone();
    json!({
        "apiVersion": Kind::Job.resource().api_version,
        "kind": Kind::Job.name(),
        "metadata": {
            "name": kept("name"), "namespace": kept("namespace"), "labels": labels, "annotations": annotations,
            "ownerReferences": kept("ownerReferences"),
        },
        "spec": spec,
    })
}

fn remove(object: &mut Value, names: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|name, _| !names.contains(&name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::workload::tests::workload;

    fn plan(rollouts: u64) -> Plan {
        Plan { changes: Vec::new(), record: Record { rollouts, ..Record::default() } }
    }

    fn edit() -> Edit {
        Edit { variables: vec![("app".into(), "X".into(), Some("1".into()))], ..Edit::default() }
    }

    #[test]
    fn a_cron_jobs_job_has_the_same_name_for_the_same_change_only() {
        let cron_job = json!({"spec": {"jobTemplate": {
            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {"backoffLimit": 2, "template": {"spec": {"containers": [{"name": "app"}]}}},
        }}});
        let one = workload(Kind::CronJob, cron_job.clone());
        let job = of_cron_job(&one, &plan(1), &edit(), &cron_job);
        assert_eq!(job, of_cron_job(&one, &plan(1), &edit(), &cron_job));
        assert_ne!(job["metadata"]["name"], of_cron_job(&one, &plan(2), &edit(), &cron_job)["metadata"]["name"]);
        assert_eq!(job["metadata"]["annotations"], json!({"c": "d", "cronjob.kubernetes.io/instantiate": "manual"}));
        assert_eq!((&job["metadata"]["labels"], &job["spec"]["backoffLimit"]), (&json!({"a": "b"}), &json!(2)));
        assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["env"], json!([{"name": "X", "value": "1"}]));
        assert_eq!(job["metadata"]["ownerReferences"][0]["kind"], "CronJob");
        assert!(job["metadata"]["name"].as_str().unwrap().len() <= "web".len() + 11);
    }

    #[test]
    fn a_job_is_made_again_without_what_the_server_gave_it() {
        let generated = json!({"job-name": "j", "batch.kubernetes.io/controller-uid": "1", "kept": "yes"});
        let job = json!({
            "metadata": {"name": "j", "namespace": "n", "uid": "1", "resourceVersion": "2", "labels": generated, "annotations": {"a": "b"}},
            "spec": {"selector": {"matchLabels": {"x": "y"}}, "template": {"metadata": {"labels": generated}, "spec": {"containers": [{"name": "app"}]}}},
            "status": {"succeeded": 1},
        });
        let new = again(&plan(1), &edit(), &job);
        assert_eq!(new["metadata"]["labels"], json!({"kept": "yes"}));
        assert_eq!(new["spec"]["template"]["metadata"]["labels"], json!({"kept": "yes"}));
        assert!(new["spec"].get("selector").is_none() && new.get("status").is_none() && new["metadata"].get("uid").is_none());
        assert_eq!(new["metadata"]["annotations"]["a"], "b");
        assert!(new["metadata"]["annotations"][APPLIED].as_str().unwrap().contains("\"rollouts\":1"));
    }
}
