//! Flags about what is looked at.

use e2e::Case;
use e2e::rollout::{Kind, Rollout, Wanted, deployment};
use serde_json::json;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];

async fn web(case: &Case) -> anyhow::Result<()> {
    case.config("config", "1").await?;
    case.secret("secret", "1").await?;
    case.make(deployment("web", &AUTO)).await
}

#[tokio::test]
async fn resources_to_ignore() -> anyhow::Result<()> {
    let case = Case::new("ro-resources").await?;
    web(&case).await?;
    let _rollout = Rollout::start(&case, &["--resources-to-ignore=secrets"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.fence().await?;
    case.secret("secret", "2").await?;
    case.settled().await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await
}

#[tokio::test]
async fn ignored_workload_types() -> anyhow::Result<()> {
    let case = Case::new("ro-types").await?;
    web(&case).await?;
    case.make(Wanted { kind: Kind::CronJob, ..deployment("cron", &AUTO) }).await?;
    case.make(Wanted { kind: Kind::Job, ..deployment("job", &AUTO) }).await?;
    let _rollout = Rollout::start(&case, &["--ignored-workload-types=jobs,cronjobs"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    case.fence().await?;
    case.settled().await?;
    assert_eq!(case.rollouts(Kind::CronJob, "cron").await?, None);
    assert_eq!(case.rollouts(Kind::Job, "job").await?, None);
    Ok(())
}

#[tokio::test]
async fn namespaces_by_name_and_by_label() -> anyhow::Result<()> {
    let one = Case::new("ro-ns-one").await?;
    let two = Case::new("ro-ns-two").await?;
    let label = json!({"metadata": {"labels": {"rollout-test": one.ns()}}});
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(one.namespace.client().clone());
    for case in [&one, &two] {
        namespaces.patch(case.ns(), &Default::default(), &kube::api::Patch::Merge(&label)).await?;
        web(case).await?;
    }
    // Both have the label, one is left out by name; the namespaces of other cases have no label.
    let flags = ["--namespace-selector=rollout-test:{NS}", &format!("--namespaces-to-ignore=x,{}", two.ns())];
    let rollout = Rollout::start_anywhere(&one, &flags, &[]).await?;
    one.rolled_out(Kind::Deployment, "web", 0).await?;
    one.fence().await?;
    for case in [&two, &one] {
        case.config("config", "2").await?;
    }
    one.rolled_out(Kind::Deployment, "web", 1).await?;
    one.settled().await?;
    assert_eq!(two.rollouts(Kind::Deployment, "web").await?, None);
    drop(rollout);
    // Without the flag the other is looked after, as soon as it has the label.
    let unlabelled = json!({"metadata": {"labels": {"rollout-test": null}}});
    namespaces.patch(two.ns(), &Default::default(), &kube::api::Patch::Merge(&unlabelled)).await?;
    let _rollout = Rollout::start_anywhere(&one, &["--namespace-selector=rollout-test={NS}"], &[]).await?;
    one.settled().await?;
    assert_eq!(two.rollouts(Kind::Deployment, "web").await?, None);
    namespaces.patch(two.ns(), &Default::default(), &kube::api::Patch::Merge(&label)).await?;
    two.rolled_out(Kind::Deployment, "web", 0).await
}

#[tokio::test]
async fn resource_label_selector() -> anyhow::Result<()> {
    let case = Case::new("ro-labels").await?;
    web(&case).await?;
    let labelled = |value: &str| json!({"metadata": {"labels": {"watched": "yes"}}, "data": {"key": value}});
    case.apply_map("labelled", labelled("1")).await?;
    let annotations = [AUTO[0], ("configmap.reloader.stakater.com/reload", "labelled")];
    case.make(deployment("both", &annotations)).await?;
    let _rollout = Rollout::start(&case, &["--resource-label-selector=watched=yes"], &[]).await?;
    case.rolled_out(Kind::Deployment, "both", 0).await?;
    case.config("config", "2").await?;
    case.apply_map("labelled", labelled("2")).await?;
    case.rolled_out(Kind::Deployment, "both", 1).await?;
    let object = case.workload(Kind::Deployment, "both").await?;
    let variables = &object["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(variables.as_array().map(Vec::len), Some(1), "only what has the label: {variables}");
    assert_eq!(variables[0]["name"], "STAKATER_LABELLED_CONFIGMAP");
    Ok(())
}

#[tokio::test]
async fn several_namespaces_need_no_right_for_the_cluster() -> anyhow::Result<()> {
    let (one, two) = (Case::new("ro-list-one").await?, Case::new("ro-list-two").await?);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "rollout"}});
    one.apply(&account.to_string()).await?;
    for case in [&one, &two] {
        let rule = json!({"apiGroups": ["", "apps", "events.k8s.io"], "resources": ["*"], "verbs": ["*"]});
        let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "rollout"}, "rules": [rule]},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "rollout"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "rollout"},
                "subjects": [{"kind": "ServiceAccount", "name": "rollout", "namespace": one.ns()}]},
        ]});
        case.apply(&objects.to_string()).await?;
        web(case).await?;
    }
    let kubeconfig = one.kubeconfig_of("rollout").await?;
    let flags = [&format!("--namespaces={},{}", one.ns(), two.ns()), "--ignored-workload-types=jobs,cronjobs"];
    let rollout = Rollout::start_as(&one, kubeconfig.path(), &flags, &[]).await?;
    for case in [&one, &two] {
        case.rolled_out(Kind::Deployment, "web", 0).await?;
    }
    for case in [&one, &two] {
        case.config("config", "2").await?;
        case.rolled_out(Kind::Deployment, "web", 1).await?;
    }
    assert!(!rollout.log().contains("forbidden"), "{}", rollout.log());
    Ok(())
}

#[tokio::test]
async fn one_namespace_by_flag() -> anyhow::Result<()> {
    let (one, two) = (Case::new("ro-flag-one").await?, Case::new("ro-flag-two").await?);
    web(&two).await?;
    web(&one).await?;
    let _rollout = Rollout::start_anywhere(&one, &["--watch-namespace={NS}"], &[]).await?;
    one.rolled_out(Kind::Deployment, "web", 0).await?;
    one.fence().await?;
    one.settled().await?;
    assert_eq!(two.rollouts(Kind::Deployment, "web").await?, None);
    Ok(())
}

#[tokio::test]
async fn an_object_that_loses_its_label_is_gone() -> anyhow::Result<()> {
    let case = Case::new("ro-unlabel").await?;
    let map = |label: &str| json!({"metadata": {"labels": {"watched": label}}, "data": {"key": "1"}});
    case.apply_map("config", map("yes")).await?;
    case.make(deployment("web", &AUTO)).await?;
    let _rollout = Rollout::start(&case, &["--resource-label-selector=watched=yes", "--reload-on-delete"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.apply_map("config", map("no")).await?;
    case.rolled_out(Kind::Deployment, "web", 1).await
}
