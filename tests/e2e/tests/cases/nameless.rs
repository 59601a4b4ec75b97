//! Rules without a host: what they ask of a server block applies to no host of others.

use e2e::{Case, Echo, ensure_class, rule};
use testkit::bed::Bed;
use testkit::kube::{PathType, mk_ingress, mk_ingress_class};

/// A class of this controller alone, which looks at all namespaces.
const CLASS: &str = "nameless";
const CONTROLLER: &str = "k8s.io/nameless";
const SNIPPET: &str = "more_set_headers \"X-Evil: 1\";";
/// The test's client has none like it.
const CIPHERS: &str = "ECDHE-ECDSA-AES128-SHA";

#[tokio::test]
async fn a_tenant_whose_rules_have_no_host_sets_ciphers_and_headers_of_no_other_host() -> anyhow::Result<()> {
    let (victim, evil) = (Case::new("nameless").await?, Case::with_bed(Bed::from_env()?, "nameless-evil").await?);
    let _servers = [victim.deploy(&[Echo::named("echo")]).await?, evil.deploy(&[Echo::named("echo")]).await?];
    let allowed = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical"), ("ssl-protocols", "TLSv1.2")];
    victim.settings(&allowed).await?;
    ensure_class(&victim.namespace, mk_ingress_class(CLASS, CONTROLLER)).await?;
    let nameless = |name: &str| mk_ingress(name).class(CLASS).path(&format!("/{name}"), PathType::Prefix, "echo", 80);
    evil.create(&nameless("text").annotation("server-snippet", SNIPPET).build()).await?;
    evil.create(&nameless("ciphers").annotation("ssl-ciphers", CIPHERS).build()).await?;
    let named = |name: &str, host: &str| rule(name, host).class(CLASS).annotation("ssl-redirect", "false");
    victim.create(&named("shop", "shop.nameless.com").annotation("server-alias", "alias.nameless.com").build()).await?;
    victim.create(&named("wild", "*.wild.nameless.com").build()).await?;
    let settings = format!("--configmap={}/settings", victim.ns());
    let own = [format!("--ingress-class={CLASS}"), format!("--controller-class={CONTROLLER}")];
    let controller = victim.bare_controller().flag(&settings).flag(&own[0]).flag(&own[1]).start().await?;
    controller.until("unknown.com", "/ciphers", 200).await?;
    let reloads = controller.reloads().await?;
    victim.create(&named("late", "late.nameless.com").build()).await?;
    for host in ["late.nameless.com", "shop.nameless.com", "alias.nameless.com", "any.wild.nameless.com"] {
        for response in [controller.until(host, "/", 200).await?, controller.get_tls(host, "/").await?] {
            assert_eq!((response.status, response.header("x-evil")), (200, None), "{host}");
        }
    }
    assert_eq!(controller.reloads().await?, reloads, "a new host needs no reload");
    // What the text might have kept out stays out.
    let unknown = controller.get_tls("unknown.com", "/text").await?;
    assert_eq!((unknown.status, unknown.header("x-evil")), (503, None));
    for annotation in ["server-snippet", "ssl-ciphers"] {
        let said = format!("{annotation}: expected rules with a host");
        assert!(controller.log().contains(&said), "{said}: {}", controller.log());
    }
    Ok(())
}
