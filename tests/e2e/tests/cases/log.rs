//! LOG: access logs and their formats.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, rule};
use testkit::http::Request;
use testkit::poll;

const HOST: &str = "log.example.com";

/// A controller that serves [`HOST`] with these settings.
async fn serving(case: &Case, settings: &[(&str, &str)]) -> anyhow::Result<Controller> {
    case.settings(settings).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(controller)
}

/// The configuration from its stream block on.
fn stream(conf: &str) -> &str {
    conf.split_once(" stream { ").map_or("", |(_, stream)| stream)
}

/// The `http` block of the configuration.
fn http(conf: &str) -> &str {
    conf.split_once(" stream { ").map_or(conf, |(http, _)| http)
}

#[tokio::test]
async fn log_01_disable_access_log_switches_it_off() -> anyhow::Result<()> {
    let case = Case::new("log-01").await?;
    let _servers = case.echo(1).await?;
    let controller = serving(&case, &[("disable-access-log", "true")]).await?;
    let conf = controller.nginx_conf()?;
    assert!(http(&conf).contains("access_log off;") && stream(&conf).contains("access_log off;"), "{conf}");
    assert!(!conf.contains("/dev/stdout upstreaminfo") && !conf.contains(" log_stream; access_log"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn log_02_disable_stream_access_log_leaves_http_alone() -> anyhow::Result<()> {
    let case = Case::new("log-02").await?;
    let _servers = case.echo(1).await?;
    let controller = serving(&case, &[("disable-stream-access-log", "true")]).await?;
    let conf = controller.nginx_conf()?;
    assert!(stream(&conf).contains("access_log off;"), "{conf}");
    assert!(http(&conf).contains("access_log /dev/stdout upstreaminfo buffer=4k flush=100ms if=$loggable;"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn log_03_enable_access_log_false_is_of_one_ingress() -> anyhow::Result<()> {
    let case = Case::new("log-03").await?;
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("access.log");
    let _servers = case.echo(1).await?;
    case.settings(&[("access-log-path", log.to_str().unwrap_or_default())]).await?;
    case.create(&rule("quiet", HOST).annotation("enable-access-log", "false").build()).await?;
    case.create(&rule("loud", "loud.example.com").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/quiet", 200).await?;
    controller.until("loud.example.com", "/loud", 200).await?;
    let text = until_logged(&log, "/loud").await?;
    assert!(!text.contains("/quiet"), "{text}");
    Ok(())
}

#[tokio::test]
async fn proxy_ignore_client_abort_lets_the_endpoint_finish() -> anyhow::Result<()> {
    let case = Case::new("log-abort").await?;
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("access.log");
    let _servers = case.echo(1).await?;
    case.settings(&[("access-log-path", log.to_str().unwrap_or_default())]).await?;
    case.create(&rule("goes-on", HOST).annotation("proxy-ignore-client-abort", "on").build()).await?;
    case.create(&rule("ends", "ends.example.com").build()).await?;
    let controller = case.controller().start().await?;
    for (host, path, status) in [("ends.example.com", "/ends", 499), (HOST, "/goes-on", 200)] {
        controller.until(host, "/", 200).await?;
        let request = Request::get(controller.http(), format!("{path}?delay_ms=1500")).host(host).timeout(Duration::from_millis(300));
        ensure!(request.send().await.is_err(), "{host} answered before its client was gone");
        let text = until_logged(&log, path).await?;
        let line = text.lines().find(|line| line.contains(path)).unwrap_or_default();
        ensure!(line.contains(&format!("HTTP/1.1\" {status} ")), "{line}");
    }
    Ok(())
}

#[tokio::test]
async fn log_04_both_logs_go_to_the_standard_output() -> anyhow::Result<()> {
    let case = Case::new("log-04").await?;
    let _servers = case.echo(1).await?;
    let conf = serving(&case, &[]).await?.nginx_conf()?;
    // What images link the default path to: workers of another user may not open the link itself.
    assert!(http(&conf).contains("access_log /dev/stdout upstreaminfo"), "{conf}");
    assert!(stream(&conf).contains("access_log /dev/stdout log_stream buffer=4k flush=100ms;"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn log_05_the_log_of_http_has_a_path_of_its_own() -> anyhow::Result<()> {
    let case = Case::new("log-05").await?;
    let _servers = case.echo(1).await?;
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("http-access.log");
    let path = log.to_str().unwrap_or_default();
    let conf = serving(&case, &[("http-access-log-path", path)]).await?.nginx_conf()?;
    assert!(http(&conf).contains(&format!("access_log {path} upstreaminfo")), "{conf}");
    assert!(stream(&conf).contains("access_log /dev/stdout log_stream buffer=4k flush=100ms;"), "{conf}");
    until_logged(&log, "GET / HTTP/1.1").await?;
    Ok(())
}

#[tokio::test]
async fn log_06_so_has_the_log_of_tcp_and_udp() -> anyhow::Result<()> {
    let case = Case::new("log-06").await?;
    let _servers = case.echo(1).await?;
    let scratch = tempfile::tempdir()?;
    let paths = ["http", "stream"].map(|name| scratch.path().join(format!("{name}-access.log")).display().to_string());
    let settings = [("http-access-log-path", paths[0].as_str()), ("stream-access-log-path", paths[1].as_str())];
    let conf = serving(&case, &settings).await?.nginx_conf()?;
    assert!(http(&conf).contains(&format!("access_log {} upstreaminfo", paths[0])), "{conf}");
    assert!(stream(&conf).contains(&format!("access_log {} log_stream buffer=4k flush=100ms;", paths[1])), "{conf}");
    Ok(())
}

#[tokio::test]
async fn log_07_08_09_nothing_is_escaped_in_another_way_unless_that_is_asked_for() -> anyhow::Result<()> {
    let case = Case::new("log-07").await?;
    let _servers = case.echo(1).await?;
    let controller = serving(&case, &[]).await?;
    assert!(controller.nginx_conf()?.contains("log_format upstreaminfo \""));
    for key in ["log-format-escape-json", "log-format-escape-none"] {
        case.settings(&[(key, "false")]).await?;
        assert!(!controller.nginx_conf()?.contains("log_format upstreaminfo escape="), "{key}");
    }
    Ok(())
}

/// Waits until a log contains a text.
async fn until_logged(log: &Path, text: &str) -> anyhow::Result<String> {
    poll(PATIENCE, || async {
        let content = std::fs::read_to_string(log)?;
        ensure!(content.contains(text), "{text:?} is not in the log yet: {content}");
        Ok(content)
    })
    .await
}

/// The log of a header that holds quotes, and of one that is absent.
async fn escaped(id: &str, key: &str, value: &str, expected: &str) -> anyhow::Result<()> {
    let case = Case::new(id).await?;
    let _servers = case.echo(1).await?;
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("access.log");
    let format = r#"{"my_header1":"$http_header1", "my_header2":"$http_header2"}"#;
    let settings = [(key, "true"), ("log-format-upstream", format), ("access-log-path", log.to_str().unwrap_or_default())];
    let controller = serving(&case, &settings).await?;
    assert!(controller.nginx_conf()?.contains(&format!("log_format upstreaminfo escape={}", &key["log-format-escape-".len()..])));
    assert_eq!(controller.get_with(HOST, "/", &[("header1", value)]).await?.status, 200);
    until_logged(&log, &format!(r#"{{"my_header1":"{expected}", "my_header2":""}}"#)).await?;
    Ok(())
}

#[tokio::test]
async fn log_10_quotes_are_escaped_for_json() -> anyhow::Result<()> {
    let (value, expected) = (r#"Here is "header1" with json escape"#, r#"Here is \"header1\" with json escape"#);
    escaped("log-10", "log-format-escape-json", value, expected).await
}

#[tokio::test]
async fn log_11_quotes_are_logged_as_they_came() -> anyhow::Result<()> {
    let value = r#"Here is "header5" with none escape"#;
    escaped("log-11", "log-format-escape-none", value, value).await
}

#[tokio::test]
async fn enable_rewrite_log_says_what_rewriting_does() -> anyhow::Result<()> {
    let case = Case::new("log-rewrite").await?;
    let _servers = case.echo(1).await?;
    let ingress = rule("echo", HOST).annotation("rewrite-target", "/new").annotation("enable-rewrite-log", "true");
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/old", 200).await?;
    assert_eq!(controller.seen(HOST, "/old").await?.request_uri, "/new");
    assert!(controller.log().contains(r#"matches "/old", rewritten data: "/new""#), "{}", controller.log());
    Ok(())
}

#[tokio::test]
async fn skip_access_log_urls_are_not_logged_and_access_log_params_say_how_the_rest_is_written() -> anyhow::Result<()> {
    let case = Case::new("log-skip").await?;
    let _servers = case.echo(1).await?;
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("access.log");
    let settings = [
        ("access-log-path", log.to_str().unwrap_or_default()),
        ("access-log-params", "buffer=64 flush=1s"),
        ("skip-access-log-urls", "/exact?a=b,~*^/Static/"),
    ];
    let controller = serving(&case, &settings).await?;
    for path in ["/exact?a=b", "/static/x", "/exact?a=c", "/last"] {
        controller.until(HOST, path, 200).await?;
    }
    let text = until_logged(&log, "/last").await?;
    assert!(text.contains("/exact?a=c") && !text.contains("/exact?a=b") && !text.contains("/static/x"), "{text}");
    let conf = controller.nginx_conf()?;
    assert!(http(&conf).contains("upstreaminfo buffer=64 flush=1s if=$loggable;"), "{conf}");
    assert!(stream(&conf).contains("log_stream buffer=64 flush=1s;"), "{conf}");
    Ok(())
}

#[tokio::test]
async fn enable_syslog_sends_the_logs_of_http_to_syslog_host() -> anyhow::Result<()> {
    let case = Case::new("log-syslog").await?;
    let _servers = case.echo(1).await?;
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await?;
    let port = socket.local_addr()?.port().to_string();
    let settings = [("enable-syslog", "true"), ("syslog-host", "127.0.0.1"), ("syslog-port", &port)];
    let controller = serving(&case, &settings).await?;
    controller.until(HOST, "/to-syslog", 200).await?;
    let arrived = tokio::time::timeout(PATIENCE, async {
        let mut buffer = [0; 4096];
        loop {
            let length = socket.recv(&mut buffer).await?;
            let line = String::from_utf8_lossy(&buffer[..length]).into_owned();
            if line.contains("/to-syslog") {
                return anyhow::Ok(line);
            }
        }
    });
    assert!(arrived.await??.contains("nginx"));
    let conf = controller.nginx_conf()?;
    assert!(http(&conf).contains(&format!("error_log syslog:server=127.0.0.1:{port} ")), "{conf}");
    assert!(stream(&conf).contains("access_log /dev/stdout log_stream buffer=4k flush=100ms;"), "{conf}");
    Ok(())
}
