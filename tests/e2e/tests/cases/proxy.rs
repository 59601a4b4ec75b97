//! Proxying: bodies, buffers, timeouts, retries, headers of answers.

use anyhow::ensure;
use e2e::{Case, Controller, Servers, rule};
use testkit::http::{Request, Response};

const HOST: &str = "proxy.foo.com";

/// A host with these annotations in front of an echo server, and its text.
struct Served {
    case: Case,
    _echo: Servers,
    controller: Controller,
}

impl Served {
    async fn new(id: &str, settings: &[(&str, &str)], annotations: &[(&str, &str)]) -> anyhow::Result<Self> {
        let case = Case::new(id).await?;
        case.settings(settings).await?;
        let echo = case.echo(1).await?;
        let ingress = rule("proxy", HOST);
        let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
        case.create(&ingress.build()).await?;
        let controller = case.controller().start().await?;
        controller.until(HOST, "/", 200).await?;
        Ok(Self { case, _echo: echo, controller })
    }

    fn check(&self, wanted: &[&str]) -> anyhow::Result<()> {
        let conf = self.controller.conf(&[HOST, "/"])?;
        for directive in wanted {
            ensure!(conf.contains(directive), "{directive:?} is not in {conf}");
        }
        Ok(())
    }

    async fn post(&self, bytes: usize) -> anyhow::Result<Response> {
        Request::new("POST", self.controller.http(), "/").host(HOST).body("x".repeat(bytes)).send().await
    }

    /// The answer of an echo server that sends these headers.
    async fn answer(&self, headers: &[&str]) -> anyhow::Result<Response> {
        let options: Vec<(&str, &str)> = headers.iter().map(|header| ("x-echo-header", *header)).collect();
        self.controller.get_with(HOST, "/", &options).await
    }
}

async fn check_body_buffer(id: &str, size: &str) -> anyhow::Result<()> {
    let served = Served::new(id, &[], &[("client-body-buffer-size", size)]).await?;
    served.check(&[&format!("client_body_buffer_size {};", size.to_lowercase())])?;
    let response = served.post(5000).await?;
    ensure!(response.status == 200 && response.text().contains("body_bytes=5000"), "{}", response.text());
    Ok(())
}

#[tokio::test]
async fn proxy_01_client_body_buffer_size_may_be_in_bytes() -> anyhow::Result<()> {
    check_body_buffer("proxy-01", "1000").await
}

#[tokio::test]
async fn proxy_02_client_body_buffer_size_may_be_in_kib() -> anyhow::Result<()> {
    check_body_buffer("proxy-02", "1k").await
}

#[tokio::test]
async fn proxy_03_client_body_buffer_size_may_be_in_mib() -> anyhow::Result<()> {
    check_body_buffer("proxy-03", "1M").await
}

#[tokio::test]
async fn proxy_04_client_body_buffer_size_of_another_unit_is_ignored() -> anyhow::Result<()> {
    let served = Served::new("proxy-04", &[], &[("client-body-buffer-size", "1b")]).await?;
    assert!(!served.controller.conf(&[HOST])?.contains("client_body_buffer_size"));
    assert_eq!(served.post(10).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn proxy_05_proxy_redirect_from_off_replaces_nothing() -> anyhow::Result<()> {
    let served = Served::new("proxy-05", &[], &[("proxy-redirect-from", "off"), ("proxy-redirect-to", "goodbye.com")]).await?;
    assert_eq!(served.answer(&["Location: hello.com/x"]).await?.header("location"), Some("hello.com/x"));
    Ok(())
}

#[tokio::test]
async fn proxy_06_proxy_redirect_to_takes_the_place_of_proxy_redirect_from() -> anyhow::Result<()> {
    let served = Served::new("proxy-06", &[], &[("proxy-redirect-from", "hello.com"), ("proxy-redirect-to", "goodbye.com")]).await?;
    let response = served.answer(&["Location: hello.com/x", "Refresh: 5; url=hello.com/y"]).await?;
    assert_eq!([response.header("location"), response.header("refresh")], [Some("goodbye.com/x"), Some("5; url=goodbye.com/y")]);
    assert_eq!(served.answer(&["Location: other.com/hello.com"]).await?.header("location"), Some("other.com/hello.com"));
    Ok(())
}

#[tokio::test]
async fn proxy_07_proxy_body_size_of_another_unit_is_ignored() -> anyhow::Result<()> {
    let served = Served::new("proxy-07", &[], &[("proxy-body-size", "15r")]).await?;
    assert_eq!(served.post((1 << 20) + 1).await?.status, 413);
    Ok(())
}

#[tokio::test]
async fn proxy_09_proxy_buffering_proxy_buffers_number_proxy_buffer_size_and_proxy_request_buffering() -> anyhow::Result<()> {
    let annotations = [
        ("proxy-buffering", "on"),
        ("proxy-buffers-number", "8"),
        ("proxy-buffer-size", "8k"),
        ("proxy-busy-buffers-size", "16k"),
        ("proxy-max-temp-file-size", "0"),
        ("proxy-request-buffering", "off"),
    ];
    let served = Served::new("proxy-09", &[], &annotations).await?;
    served.check(&[
        "proxy_buffering on;",
        "proxy_buffer_size 8k;",
        "proxy_buffers 8 8k;",
        "proxy_busy_buffers_size 16k;",
        "proxy_max_temp_file_size 0;",
        "proxy_request_buffering off;",
    ])?;
    // A header that would not fit into the usual 4 KiB.
    let long = format!("X-Long: {}", "l".repeat(5000));
    let response = served.answer(&[&long]).await?;
    assert_eq!((response.status, response.header("x-long").map(str::len)), (200, Some(5000)));
    Ok(())
}

#[tokio::test]
async fn proxy_11_proxy_cookie_domain_and_proxy_cookie_path_change_cookies() -> anyhow::Result<()> {
    let annotations = [("proxy-cookie-domain", "localhost example.org"), ("proxy-cookie-path", "/one/ /")];
    let served = Served::new("proxy-11", &[], &annotations).await?;
    let response = served.answer(&["Set-Cookie: a=b; Domain=localhost; Path=/one/two"]).await?;
    assert_eq!(response.header("set-cookie"), Some("a=b; Domain=example.org; Path=/two"));

    // Another text needs no reload.
    let reloads = served.controller.reloads().await?;
    let change = serde_json::json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/proxy-cookie-path": "/one/ /three/"}}});
    served.case.patch::<k8s_openapi::api::networking::v1::Ingress>("proxy", change).await?;
    testkit::poll(e2e::PATIENCE, || async {
        let response = served.answer(&["Set-Cookie: a=b; Path=/one/two"]).await?;
        ensure!(response.header("set-cookie") == Some("a=b; Path=/three/two"), "{:?}", response.header("set-cookie"));
        Ok(())
    })
    .await?;
    assert!((served.controller.reloads().await? - reloads).abs() < 0.5);
    Ok(())
}

#[tokio::test]
async fn proxy_next_upstream_goes_on_after_a_status_and_proxy_next_upstream_tries_ends_it() -> anyhow::Result<()> {
    let case = Case::new("next-upstream").await?;
    let echo = case.echo(2).await?;
    let base = |name| rule(name, name).annotation("proxy-next-upstream", "http_503");
    case.create(&base("two.foo.com").annotation("proxy-next-upstream-tries", "2").build()).await?;
    case.create(&base("one.foo.com").annotation("proxy-next-upstream-tries", "1").build()).await?;
    let controller = case.controller().start().await?;
    let requests = || echo.requests();
    for (host, tried) in [("two.foo.com", 2), ("one.foo.com", 1)] {
        controller.until(host, "/", 200).await?;
        let before = requests();
        assert_eq!(controller.get(host, "/?status=503").await?.status, 503);
        assert_eq!(requests() - before, tried, "{host}");
    }
    Ok(())
}

#[tokio::test]
async fn connection_proxy_header_and_proxy_http_version_are_what_the_backend_sees() -> anyhow::Result<()> {
    let annotations = [("connection-proxy-header", "keep-alive"), ("proxy-http-version", "1.0")];
    let served = Served::new("connection", &[], &annotations).await?;
    let seen = served.controller.seen(HOST, "/").await?;
    assert_eq!((seen.header("connection"), seen.proto.as_str()), (Some("keep-alive"), "HTTP/1.0"));
    Ok(())
}
