//! Ingress classes, the choice of namespaces, and catch-all Ingresses.

mod restricted;

use e2e::{Case, Controller, ensure_class};
use k8s_openapi::api::core::v1;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::kube::{IngressBuilder, PathType, mk_ingress, mk_ingress_class};

const ANNOTATION: &str = "kubernetes.io/ingress.class";

/// An Ingress without class for the host of its own name.
fn rule(host: &str) -> IngressBuilder {
    mk_ingress(host).host(host).path("/", PathType::Prefix, "echo", 80)
}

fn annotated(host: &str, class: &str) -> IngressBuilder {
    rule(host).annotation(ANNOTATION, class)
}

fn annotation(class: Value) -> Value {
    json!({"metadata": {"annotations": {ANNOTATION: class}}})
}

fn class_name(class: Value) -> Value {
    json!({"spec": {"ingressClassName": class}})
}

/// The hosts that are served, of those asked for.
async fn served<'a>(controller: &Controller, hosts: &[&'a str]) -> anyhow::Result<Vec<&'a str>> {
    let mut served = Vec::new();
    for host in hosts {
        let status = controller.get(host, "/").await?.status;
        assert!([200, 404].contains(&status), "{host}: {status}");
        served.extend((status == 200).then_some(*host));
    }
    Ok(served)
}

#[tokio::test]
async fn class_01_a_catch_all_is_ignored_where_it_is_switched_off() -> anyhow::Result<()> {
    let case = Case::new("class-01").await?;
    let _echo = case.echo(1).await?;
    case.create(&mk_ingress("catch-all").class("nginx").default_backend("echo", 80).build()).await?;
    case.create(&rule("foo").class("nginx").build()).await?;
    let controller = case.controller().flag("--disable-catch-all=true").start().await?;
    controller.until("foo", "/", 200).await?;
    assert_eq!(served(&controller, &["foo", "other"]).await?, ["foo"]);
    // What is there without a rule: no Ingress, no Service.
    let record = controller.host_record("_").await?;
    assert!(record["policies"][0]["ingress"].is_null() && record["locations"][0]["service"].is_null(), "{record}");
    Ok(())
}

#[tokio::test]
async fn class_02_an_ingress_that_becomes_a_catch_all_is_dropped_where_that_is_switched_off() -> anyhow::Result<()> {
    let case = Case::new("class-02").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("foo").class("nginx").build()).await?;
    let controller = case.controller().flag("--disable-catch-all=true").start().await?;
    controller.until("foo", "/", 200).await?;
    let backend = json!({"service": {"name": "echo", "port": {"number": 80}}});
    case.patch::<Ingress>("foo", json!({"spec": {"rules": null, "defaultBackend": backend}})).await?;
    controller.until("foo", "/", 404).await?;
    assert!(served(&controller, &["foo"]).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn class_03_an_annotation_with_another_class_is_not_ours() -> anyhow::Result<()> {
    let case = Case::new("class-03").await?;
    let _echo = case.echo(1).await?;
    case.create(&annotated("foo", "testclass").build()).await?;
    case.create(&annotated("bar", "nginx").build()).await?;
    let controller = case.controller().start().await?;
    controller.until("bar", "/", 200).await?;
    assert_eq!(served(&controller, &["foo", "bar"]).await?, ["bar"]);
    Ok(())
}

#[tokio::test]
async fn class_04_annotation_and_class_name_both_do() -> anyhow::Result<()> {
    let case = Case::new("class-04").await?;
    let _echo = case.echo(1).await?;
    case.create(&annotated("foo-ok", "nginx").build()).await?;
    case.create(&rule("bar-ok").class("nginx").build()).await?;
    let controller = case.controller().start().await?;
    controller.until("bar-ok", "/", 200).await?;
    assert_eq!(served(&controller, &["foo-ok", "bar-ok"]).await?, ["foo-ok", "bar-ok"]);
    Ok(())
}

#[tokio::test]
async fn class_05_an_ingress_that_loses_its_class_is_dropped() -> anyhow::Result<()> {
    let case = Case::new("class-05").await?;
    let _echo = case.echo(1).await?;
    let hosts = ["foo-annotation", "foo-class"];
    case.create(&annotated(hosts[0], "nginx").build()).await?;
    case.create(&rule(hosts[1]).class("nginx").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(hosts[1], "/", 200).await?;
    assert_eq!(served(&controller, &hosts).await?, hosts);
    case.patch::<Ingress>(hosts[0], annotation(Value::Null)).await?;
    case.patch::<Ingress>(hosts[1], class_name(Value::Null)).await?;
    controller.until(hosts[0], "/", 404).await?;
    controller.until(hosts[1], "/", 404).await?;
    assert!(served(&controller, &hosts).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn class_06_an_ingress_that_gets_a_class_is_served() -> anyhow::Result<()> {
    let case = Case::new("class-06").await?;
    let _echo = case.echo(1).await?;
    let hosts = ["foo-no-annotation", "foo-no-class"];
    case.create(&rule(hosts[0]).build()).await?;
    case.create(&rule(hosts[1]).build()).await?;
    let controller = case.controller().start().await?;
    assert!(served(&controller, &hosts).await?.is_empty());
    case.patch::<Ingress>(hosts[0], annotation(json!("nginx"))).await?;
    case.patch::<Ingress>(hosts[1], class_name(json!("nginx"))).await?;
    controller.until(hosts[0], "/", 200).await?;
    controller.until(hosts[1], "/", 200).await?;
    assert_eq!(served(&controller, &hosts).await?, hosts);
    Ok(())
}

#[tokio::test]
async fn class_07_flags_choose_the_annotation_and_the_controller_of_the_class() -> anyhow::Result<()> {
    let case = Case::new("class-07").await?;
    let _echo = case.echo(1).await?;
    ensure_class(&case.namespace, mk_ingress_class("class-07-other", "k8s.io/other-class")).await?;
    case.create(&rule("bar").build()).await?;
    case.create(&annotated("foo", "testclass").build()).await?;
    case.create(&rule("foobar123").class("class-07-other").build()).await?;
    let controller = case.controller().flag("--ingress-class=testclass").flag("--controller-class=k8s.io/other-class").start().await?;
    controller.until("foo", "/", 200).await?;
    assert_eq!(served(&controller, &["bar", "foo", "foobar123"]).await?, ["foo", "foobar123"]);
    Ok(())
}

#[tokio::test]
async fn class_08_a_class_of_the_right_name_is_ours_whoever_its_controller_is() -> anyhow::Result<()> {
    let case = Case::new("class-08").await?;
    let _echo = case.echo(1).await?;
    ensure_class(&case.namespace, mk_ingress_class("test-new-ingress-class", "k8s.io/class-08-other")).await?;
    case.create(&rule("validhostclassname").class("test-new-ingress-class").build()).await?;
    case.create(&rule("validhostclassspec").class("nginx").build()).await?;
    case.create(&annotated("invalidannotation", "testclass123").build()).await?;
    let launch = case.controller().flag("--ingress-class=test-new-ingress-class").flag("--ingress-class-by-name");
    let controller = launch.start().await?;
    controller.until("validhostclassname", "/", 200).await?;
    let hosts = ["validhostclassname", "validhostclassspec", "invalidannotation"];
    assert_eq!(served(&controller, &hosts).await?, hosts[..2]);
    Ok(())
}

#[tokio::test]
async fn class_09_annotations_work_without_the_right_to_read_classes() -> anyhow::Result<()> {
    let case = Case::new("class-09").await?;
    let _echo = case.echo(1).await?;
    case.create(&annotated("foo", "testclass").build()).await?;
    let user = restricted::user(&case).await?;
    let controller = case.controller().flag("--ingress-class=testclass").start_as(user.path()).await?;
    controller.until("foo", "/", 200).await?;
    assert_eq!(served(&controller, &["foo"]).await?, ["foo"]);
    Ok(())
}

#[tokio::test]
async fn class_10_only_namespaces_with_the_label_are_served() -> anyhow::Result<()> {
    let (case, other) = (Case::new("class-10-a").await?, Case::new("class-10-b").await?);
    let _echo = (case.echo(1).await?, other.echo(1).await?);
    case.create(&rule("bar").class("nginx").build()).await?;
    other.create(&rule("foo").class("nginx").build()).await?;
    // The value is the case's own: a controller that follows labels sees every namespace of the bed.
    let label = case.ns();
    let mark = async |name: &str| {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"foo": label}}}));
        Api::<v1::Namespace>::all(case.namespace.client().clone()).patch(name, &PatchParams::default(), &patch).await
    };
    mark(other.ns()).await?;
    let controller = case.bare_controller().flag(&format!("--watch-namespace-selector=foo={label}")).start().await?;
    controller.until("foo", "/", 200).await?;
    assert_eq!(served(&controller, &["foo", "bar"]).await?, ["foo"]);
    mark(case.ns()).await?;
    case.patch::<Ingress>("bar", json!({"metadata": {"labels": {"foo": "bar"}}})).await?;
    controller.until("bar", "/", 200).await?;
    assert_eq!(served(&controller, &["foo", "bar"]).await?, ["foo", "bar"]);
    Ok(())
}
