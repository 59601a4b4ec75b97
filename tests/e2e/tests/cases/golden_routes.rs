//! The facts about routes that no other case holds.

use e2e::{Case, Echo, PATIENCE};
use k8s_openapi::api::networking::v1::Ingress;
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::poll;

const HOST: &str = "golden.example.com";

fn rule(name: &str, path: &str, path_type: PathType, service: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(HOST).path(path, path_type, service, 80)
}

#[tokio::test]
async fn golden_01_of_two_of_the_same_second_the_greater_name_wins() -> anyhow::Result<()> {
    let case = Case::new("golden-01").await?;
    let _echo = case.deploy(&[Echo::named("a"), Echo::named("b")]).await?;
    let ingresses = case.namespace.api::<Ingress>();
    poll(PATIENCE, || async {
        let a = case.create(&rule("a", "/", PathType::Prefix, "a").build()).await?;
        let b = case.create(&rule("b", "/", PathType::Prefix, "b").build()).await?;
        if a.metadata.creation_timestamp == b.metadata.creation_timestamp {
            return Ok(());
        }
        ingresses.delete("a", &Default::default()).await?;
        ingresses.delete("b", &Default::default()).await?;
        anyhow::bail!("a second began between the two")
    })
    .await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(controller.seen(HOST, "/").await?.service, "b");
    Ok(())
}

#[tokio::test]
async fn golden_02_a_prefix_ends_at_a_slash_and_knows_letter_case() -> anyhow::Result<()> {
    let case = Case::new("golden-02").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("prefix", "/foo", PathType::Prefix, "echo").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/foo", 200).await?;
    assert_eq!(controller.statuses(HOST, ["/foo", "/foo/", "/foo/x", "/foobar", "/FOO"]).await?, [200, 200, 200, 404, 404]);
    Ok(())
}

#[tokio::test]
async fn golden_03_a_prefix_that_ends_in_a_slash_redirects_to_it() -> anyhow::Result<()> {
    let case = Case::new("golden-03").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("prefix", "/foo/", PathType::Prefix, "echo").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/foo/", 200).await?;
    let redirect = controller.get(HOST, "/foo?a=b&c=%20d").await?;
    assert_eq!((redirect.status, redirect.header("location")), (301, Some(format!("http://{HOST}/foo/?a=b&c=%20d").as_str())));
    Ok(())
}

#[tokio::test]
async fn golden_04_one_regex_on_a_host_turns_its_prefixes_into_regexes() -> anyhow::Result<()> {
    let case = Case::new("golden-04").await?;
    let _echo = case.deploy(&[Echo::named("plain"), Echo::named("regex")]).await?;
    case.create(&rule("plain", "/foo", PathType::Prefix, "plain").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/foo", 200).await?;
    assert_eq!(controller.get(HOST, "/FOOBAR").await?.status, 404);
    case.create(&rule("regex", "/other[0-9]", PathType::ImplementationSpecific, "regex").annotation("use-regex", "true").build()).await?;
    controller.until(HOST, "/FOOBAR", 200).await?;
    assert_eq!(controller.seen(HOST, "/FOOBAR").await?.service, "plain");
    assert_eq!(controller.seen(HOST, "/other1").await?.service, "regex");
    Ok(())
}

#[tokio::test]
async fn golden_05_a_rewrite_works_on_the_decoded_path_and_keeps_the_query() -> anyhow::Result<()> {
    let case = Case::new("golden-05").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("rewrite", "/a(/|$)(.*)", PathType::ImplementationSpecific, "echo").annotation("rewrite-target", "/$2").build())
        .await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/a", 200).await?;
    let mut rewritten = Vec::new();
    for path in ["/a", "/a/b%20c?x=1", "/a/b%2Fc", "/a/b?x=%2F"] {
        rewritten.push(controller.seen(HOST, path).await?.request_uri);
    }
    assert_eq!(rewritten, ["/", "/b%20c?x=1", "/b/c", "/b?x=%2F"]);
    Ok(())
}
