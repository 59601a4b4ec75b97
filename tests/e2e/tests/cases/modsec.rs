//! MODSEC: the firewall.

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, rule};
use testkit::http::Request;
use testkit::poll;

const HOST: &str = "firewall.example.com";
const ALLOWED: [(&str, &str); 2] = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
const WORDS: (&str, &str) = ("annotation-value-word-blocklist", "load_module,lua_package,_by_lua,location,root,{,}");
const BLOCK: &str = "SecRule REQUEST_HEADERS:User-Agent \"block-ua\" \"log,deny,id:107,status:403,msg:'UA blocked'\"";
const ENGINE: &str = "SecRuleEngine On\n";

/// The server with an Ingress that has these annotations, and the settings.
async fn conf(id: &str, settings: &[(&str, &str)], annotations: &[(&str, &str)]) -> anyhow::Result<(Case, Controller, String)> {
    let case = Case::new(id).await?;
    case.settings(settings).await?;
    let ingress = annotations.iter().fold(rule("echo", HOST), |ingress, (key, value)| ingress.annotation(key, value));
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 503).await?;
    let text = controller.conf(&[HOST])?;
    Ok((case, controller, text))
}

/// The status of a request by the client that the rules look for.
async fn status_for(controller: &Controller, agent: &str) -> anyhow::Result<u16> {
    Ok(Request::get(controller.http(), "/").host(HOST).header("User-Agent", agent).send().await?.status)
}

async fn until_blocked(controller: &Controller) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let status = status_for(controller, "block-ua").await?;
        ensure!(status == 403, "still {status}");
        Ok(())
    })
    .await
    .map_err(|error| error.context(controller.log()))?;
    ensure!(status_for(controller, "another").await? == 200);
    Ok(())
}

#[tokio::test]
async fn modsec_01_enable_modsecurity_uses_the_recommended_settings() -> anyhow::Result<()> {
    let (_case, controller, text) = conf("modsec-01", &[], &[("enable-modsecurity", "true")]).await?;
    assert!(text.contains("modsecurity on;"), "{text}");
    assert!(text.contains("/modsecurity/modsecurity.conf;"), "{text}");
    assert!(controller.nginx_conf()?.contains("ngx_http_modsecurity_module.so"));
    Ok(())
}

#[tokio::test]
async fn modsec_02_enable_modsecurity_false_is_nothing_where_it_is_off() -> anyhow::Result<()> {
    let (_case, controller, text) = conf("modsec-02", &[], &[("enable-modsecurity", "false")]).await?;
    assert!(!text.contains("modsecurity on;"), "{text}");
    assert!(!controller.nginx_conf()?.contains("ngx_http_modsecurity_module.so"));
    Ok(())
}

#[tokio::test]
async fn modsec_03_nothing_is_repeated_where_it_is_on_for_all() -> anyhow::Result<()> {
    let (_case, controller, text) = conf("modsec-03", &[("enable-modsecurity", "true")], &[("enable-modsecurity", "true")]).await?;
    assert!(!text.contains("modsecurity on;") && !text.contains("modsecurity_rules_file"), "{text}");
    assert!(controller.nginx_conf()?.contains("modsecurity on; modsecurity_rules_file"));
    Ok(())
}

#[tokio::test]
async fn modsec_04_an_ingress_may_switch_it_off() -> anyhow::Result<()> {
    let rules = format!("{ENGINE}{BLOCK}");
    let settings = [("enable-modsecurity", "true"), ("modsecurity-snippet", rules.as_str())];
    let (case, controller, _) = conf("modsec-04", &settings, &[("enable-modsecurity", "false")]).await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("other", "other.example.com").build()).await?;
    controller.until("other.example.com", "/", 200).await?;
    let blocked = controller.get_with("other.example.com", "/", &[("User-Agent", "block-ua")]).await?.status;
    assert_eq!((blocked, status_for(&controller, "block-ua").await?), (403, 200));
    Ok(())
}

#[tokio::test]
async fn modsec_05_modsecurity_snippet_holds_once_the_firewall_is_on_for_all() -> anyhow::Result<()> {
    let case = Case::new("modsec-05").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[ALLOWED[0], ALLOWED[1], WORDS]).await?;
    case.create(&rule("echo", HOST).annotation("modsecurity-snippet", &format!("{ENGINE}{BLOCK}")).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(status_for(&controller, "block-ua").await?, 200);
    case.settings(&[ALLOWED[0], ALLOWED[1], WORDS, ("enable-modsecurity", "true")]).await?;
    until_blocked(&controller).await?;
    Ok(())
}

#[tokio::test]
async fn modsec_06_rules_of_an_ingress_join_the_global_ones_and_the_core_rules() -> anyhow::Result<()> {
    let case = Case::new("modsec-06").await?;
    let _servers = case.echo(1).await?;
    let global = [("enable-modsecurity", "true"), ("enable-owasp-modsecurity-crs", "true"), ("modsecurity-snippet", "SecRuleEngine On")];
    case.settings(&[ALLOWED[0], ALLOWED[1], WORDS, global[0], global[1], global[2]]).await?;
    case.create(&rule("echo", HOST).annotation("modsecurity-snippet", BLOCK).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    until_blocked(&controller).await?;
    Ok(())
}

#[tokio::test]
async fn modsec_07_without_snippets_rules_of_an_ingress_are_left_out() -> anyhow::Result<()> {
    let case = Case::new("modsec-07").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[
        ("annotations-risk-level", "Critical"),
        ("allow-snippet-annotations", "false"),
        ("enable-modsecurity", "true"),
        ("enable-owasp-modsecurity-crs", "true"),
        ("modsecurity-snippet", "SecRuleEngine On"),
    ])
    .await?;
    case.create(&rule("echo", HOST).annotation("modsecurity-snippet", BLOCK).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(status_for(&controller, "block-ua").await?, 200);
    Ok(())
}

#[tokio::test]
async fn modsec_08_rules_of_the_settings_take_the_place_of_the_recommended_ones() -> anyhow::Result<()> {
    let case = Case::new("modsec-08").await?;
    case.settings(&[("enable-modsecurity", "true"), ("modsecurity-snippet", "# modsecurity snippet")]).await?;
    let controller = case.controller().start().await?;
    // NGINX takes arguments of 4 KiB at most, so rules stand in files beside its configuration.
    let conf = controller.nginx_conf()?;
    let file = conf.split("modsecurity_rules_file ").nth(1).and_then(|rest| rest.split(';').next()).unwrap_or_default();
    assert_eq!(std::fs::read_to_string(file)?, "# modsecurity snippet\n");
    assert!(!conf.contains("/modsecurity/modsecurity.conf"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn enable_owasp_core_rules_and_modsecurity_transaction_id_hold_for_one_ingress() -> anyhow::Result<()> {
    let annotations = [("enable-modsecurity", "true"), ("enable-owasp-core-rules", "true"), ("modsecurity-transaction-id", "$request_id")];
    let (_case, _controller, text) = conf("modsec-own", &[], &annotations).await?;
    assert!(text.contains("modsecurity_transaction_id \"$request_id\";") && text.contains("/modsecurity/core-rules.conf;"), "{text}");
    Ok(())
}

/// A rule that blocks a user agent, with escapes as in a quoted argument of NGINX: which is where rules of snippets have always stood.
fn escaped(id: u32, agent: &str) -> String {
    format!(r#"SecRule REQUEST_HEADERS:User-Agent \"@rx ^{agent}\\.ua$\" "id:{id},phase:1,deny,status:403,msg:\'no\'""#)
}

#[tokio::test]
async fn escapes_in_rules_are_undone_as_nginx_undoes_them_in_quotes() -> anyhow::Result<()> {
    let case = Case::new("modsec-escapes").await?;
    let _servers = case.echo(1).await?;
    let global = format!("{ENGINE}{}", escaped(1, "global"));
    case.settings(&[ALLOWED[0], ALLOWED[1], ("enable-modsecurity", "true"), ("modsecurity-snippet", &global)]).await?;
    case.create(&rule("echo", HOST).annotation("modsecurity-snippet", &escaped(2, "own")).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    for agent in ["own.ua", "global.ua"] {
        assert_eq!(status_for(&controller, agent).await?, 403, "{agent}");
    }
    for agent in ["own-ua", "global-ua", r"own\.ua"] {
        assert_eq!(status_for(&controller, agent).await?, 200, "{agent}");
    }
    Ok(())
}
