//! What is logged.

use anyhow::ensure;
use e2e::PATIENCE;
use testkit::http::Request;
use testkit::poll;

use super::{HOST, Serving};
use crate::cases::auth::external::gate;

/// Lines of a log that begin with a text, once there is one.
async fn lines(log: &std::path::Path, beginning: &str) -> anyhow::Result<Vec<String>> {
    poll(PATIENCE, || async {
        let text = std::fs::read_to_string(log)?;
        let found: Vec<String> = text.lines().filter(|line| line.starts_with(beginning)).map(str::to_owned).collect();
        ensure!(!found.is_empty(), "no line begins with {beginning:?}: {text}");
        Ok(found)
    })
    .await
}

#[tokio::test]
async fn enable_auth_access_log_adds_a_line_for_each_question() -> anyhow::Result<()> {
    let gate = gate().await?;
    for (enabled, count) in [("false", 1), ("true", 2)] {
        let scratch = tempfile::tempdir()?;
        let log = scratch.path().join("access.log");
        let path = log.display().to_string();
        let settings = [("enable-auth-access-log", enabled), ("access-log-path", &path), ("log-format-upstream", "$request_uri $status")];
        let serving = Serving::with("keys-auth-log", &settings, &[("auth-url", &gate.url("/status/200"))]).await?;
        serving.controller.get(HOST, "/once").await?;
        assert_eq!(lines(&log, "/once ").await?.len(), count, "{enabled}");
    }
    Ok(())
}

#[tokio::test]
async fn disable_http_access_log_leaves_that_of_tcp_and_udp() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let path = scratch.path().join("access.log").display().to_string();
    let serving = Serving::start("keys-no-log", &[("disable-http-access-log", "true"), ("access-log-path", &path)]).await?;
    let conf = serving.controller.nginx_conf()?;
    let (http, stream) = conf.split_once(" stream { ").unwrap_or((&conf, ""));
    assert!(!http.contains(&path) && stream.contains(&format!("access_log {path} log_stream")), "{conf}");
    Ok(())
}

#[tokio::test]
async fn log_format_stream_is_the_format_of_tcp_and_udp() -> anyhow::Result<()> {
    let serving = Serving::start("keys-log-stream", &[("log-format-stream", "own $protocol $status")]).await?;
    let conf = serving.controller.nginx_conf()?;
    assert!(conf.contains(r#" log_format log_stream "own ${protocol} ${status}";"#), "{conf}");
    Ok(())
}

#[tokio::test]
async fn block_user_agents_and_block_referers_say_in_variables_whom_they_refuse() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("access.log");
    let path = log.display().to_string();
    let settings = [
        ("block-user-agents", "~*badbot"),
        ("block-referers", "http://spam.example/"),
        ("access-log-path", &path),
        ("log-format-upstream", "$request_uri $block_ua$block_ref $status"),
    ];
    let serving = Serving::start("keys-blocked", &settings).await?;
    for (target, header, line) in [
        ("/agent", ("User-Agent", "A BadBot"), "/agent 10 403"),
        ("/referer", ("Referer", "http://spam.example/"), "/referer 01 403"),
        ("/neither", ("User-Agent", "good"), "/neither 00 200"),
    ] {
        let (name, value) = header;
        Request::get(serving.controller.http(), target).host(HOST).header(name, value).send().await?;
        assert_eq!(lines(&log, target).await?, [line]);
    }
    Ok(())
}

#[tokio::test]
async fn log_format_upstream_with_an_unknown_variable_keeps_no_new_controller_down_and_blames_no_ingress() -> anyhow::Result<()> {
    let serving = Serving::start("keys-unknown", &[("log-format-upstream", "$remote_addr $no_such_variable")]).await?;
    let conf = serving.controller.nginx_conf()?;
    assert!(conf.contains(" log_format upstreaminfo \"${remote_addr} - ${remote_user} "), "{conf}");
    let log = serving.controller.log();
    assert!(log.contains("log-format-upstream") && log.contains("no_such_variable"), "{log}");
    assert!(!log.contains("uarantined"), "{log}");
    Ok(())
}
