//! ADM: checks of annotations that hold without the webhook.

use e2e::{Case, rule};
use testkit::kube::{PathType, mk_ingress};

const HOST: &str = "admission.example.com";

#[tokio::test]
async fn adm_06_an_ingress_of_the_class_annotation_is_served() -> anyhow::Result<()> {
    let case = Case::new("adm-06").await?;
    let _servers = case.echo(1).await?;
    let mut ingress = mk_ingress("extensions-class").host("extensions-class").path("/", PathType::Prefix, "echo", 80).build();
    let class = ("kubernetes.io/ingress.class".to_owned(), "nginx".to_owned());
    ingress.metadata.annotations.get_or_insert_default().extend([class]);
    case.create(&ingress).await?;
    let controller = case.controller().start().await?;
    controller.until("extensions-class", "/", 200).await?;
    Ok(())
}

/// An Ingress with this snippet, where snippets are allowed and these words are not.
async fn with_words(case: &Case, words: &str, snippet: &str) -> anyhow::Result<e2e::Controller> {
    let allowed = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    case.settings(&[allowed[0], allowed[1], ("annotation-value-word-blocklist", words)]).await?;
    case.create(&rule("echo", HOST).annotation("configuration-snippet", snippet).build()).await?;
    case.serve("other.example.com").await?;
    let controller = case.controller().start().await?;
    controller.until("other.example.com", "/", 200).await?;
    Ok(controller)
}

#[tokio::test]
async fn adm_09_a_forbidden_word_keeps_an_ingress_out() -> anyhow::Result<()> {
    let case = Case::new("adm-09").await?;
    let _servers = case.echo(1).await?;
    let words = "something_forbidden,otherthing_forbidden,{";
    let controller = with_words(&case, words, "# abcd {\n# efgh }").await?;
    assert_eq!(controller.get(HOST, "/").await?.status, 404);
    assert!(controller.conf(&[HOST]).is_err(), "there is no such host");
    assert!(!controller.nginx_conf()?.contains("abcd"));
    Ok(())
}

#[tokio::test]
async fn adm_10_no_word_is_forbidden_by_default() -> anyhow::Result<()> {
    let case = Case::new("adm-10").await?;
    let _servers = case.echo(1).await?;
    let controller = with_words(&case, "", "# bla_by_lua").await?;
    controller.until(HOST, "/", 200).await?;
    assert!(controller.conf(&[HOST])?.contains("# bla_by_lua"));
    Ok(())
}
