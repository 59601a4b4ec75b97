//! CORS.

use anyhow::ensure;
use e2e::{Case, Controller, Servers};
use testkit::http::{Request, Response};

const HOST: &str = "cors.foo.com";
const ALLOW_ORIGIN: &str = "access-control-allow-origin";

/// A controller that serves one Ingress with CORS and these annotations.
struct Shared {
    _case: Case,
    _echo: Servers,
    controller: Controller,
}

impl Shared {
    async fn new(id: &str, annotations: &[(&str, &str)]) -> anyhow::Result<Self> {
        let case = Case::new(id).await?;
        let echo = case.echo(1).await?;
        let ingress = e2e::rule("cors", HOST).annotation("enable-cors", "true");
        let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
        case.create(&ingress.build()).await?;
        let controller = case.controller().start().await?;
        controller.until(HOST, "/", 200).await?;
        Ok(Self { _case: case, _echo: echo, controller })
    }

    async fn from(&self, origin: &str) -> anyhow::Result<Response> {
        let response = self.controller.get_with(HOST, "/", &[("Origin", origin)]).await?;
        ensure!(response.status == 200, "{origin}: {}", response.status);
        Ok(response)
    }

    /// The answer allows the origin to read it, once.
    #[track_caller]
    fn check(response: &Response, allowed: &[&str]) {
        assert_eq!(response.header_all(ALLOW_ORIGIN).collect::<Vec<_>>(), allowed);
    }
}

#[tokio::test]
async fn cors_01_enable_cors_allows_every_origin_with_the_usual_methods_and_headers() -> anyhow::Result<()> {
    let shared = Shared::new("cors-01", &[]).await?;
    let response = shared.from("https://other.com").await?;
    Shared::check(&response, &["*"]);
    let headers = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization";
    for (name, value) in [
        ("Access-Control-Allow-Methods", "GET, PUT, POST, DELETE, PATCH, OPTIONS"),
        ("Access-Control-Allow-Headers", headers),
        ("Access-Control-Max-Age", "1728000"),
        ("Access-Control-Allow-Credentials", "true"),
    ] {
        assert_eq!(response.header(name), Some(value));
    }
    assert_eq!((response.header("access-control-expose-headers"), response.header("vary")), (None, None));

    let preflight = Request::new("OPTIONS", shared.controller.http(), "/").host(HOST).header("Origin", "https://other.com").send().await?;
    assert_eq!((preflight.status, preflight.body.len()), (204, 0));
    Shared::check(&preflight, &["*"]);
    Ok(())
}

#[tokio::test]
async fn cors_02_cors_max_age_is_told() -> anyhow::Result<()> {
    let shared = Shared::new("cors-02", &[("cors-max-age", "200")]).await?;
    assert_eq!(shared.from("https://a.com").await?.header("access-control-max-age"), Some("200"));
    Ok(())
}

#[tokio::test]
async fn cors_03_cors_allow_origin_names_the_one_that_may_read() -> anyhow::Result<()> {
    let origin = "https://origin.cors.com:8080";
    let shared = Shared::new("cors-03", &[("cors-allow-origin", origin)]).await?;
    let response = shared.from(origin).await?;
    Shared::check(&response, &[origin]);
    assert_eq!(response.header("vary"), Some("Origin"));
    Shared::check(&shared.from("https://origin.cors.com").await?, &[]);
    Ok(())
}

#[tokio::test]
async fn cors_04_cors_allow_headers_cors_allow_methods_cors_expose_headers_and_cors_allow_credentials_are_told_as_written()
-> anyhow::Result<()> {
    let annotations = [
        ("cors-allow-headers", "DNT, User-Agent"),
        ("cors-allow-methods", "GET,PUT"),
        ("cors-expose-headers", "X-A, X_b"),
        ("cors-allow-credentials", "false"),
    ];
    let shared = Shared::new("cors-04", &annotations).await?;
    let response = shared.from("https://a.com").await?;
    for (name, value) in [
        ("access-control-allow-headers", Some("DNT, User-Agent")),
        ("access-control-allow-methods", Some("GET,PUT")),
        ("access-control-expose-headers", Some("X-A, X_b")),
        ("access-control-allow-credentials", None),
    ] {
        assert_eq!(response.header(name), value, "{name}");
    }
    Ok(())
}

/// The origins among these that may read where the annotation has this value.
async fn origins(id: &str, value: &str, checks: &[(&str, bool)]) -> anyhow::Result<()> {
    let shared = Shared::new(id, &[("cors-allow-origin", value)]).await?;
    for (origin, allowed) in checks {
        let response = shared.from(origin).await?;
        assert_eq!(response.header_all(ALLOW_ORIGIN).collect::<Vec<_>>(), allowed.then_some(*origin).into_iter().collect::<Vec<_>>());
    }
    Ok(())
}

/// Any origin may read, and clients without one.
async fn any_origin(id: &str, value: &str, from: &[&str]) -> anyhow::Result<()> {
    let shared = Shared::new(id, &[("cors-allow-origin", value)]).await?;
    Shared::check(&shared.controller.get(HOST, "/").await?, &["*"]);
    for origin in from {
        Shared::check(&shared.from(origin).await?, &["*"]);
    }
    Ok(())
}

#[tokio::test]
async fn cors_05_of_several_origins_the_one_that_asks_is_told() -> anyhow::Result<()> {
    origins("cors-05", "https://origin.cors.com:8080, https://origin2.cors.com", &[("https://origin.cors.com:8080", true)]).await
}

#[tokio::test]
async fn cors_06_an_origin_without_a_scheme_is_left_out() -> anyhow::Result<()> {
    let value = "origin.cors.com:8080, https://origin2.cors.com, https://origin.com";
    let checks = [("origin.cors.com:8080", false), ("https://origin2.cors.com", true), ("https://origin.com", true)];
    origins("cors-06", value, &checks).await
}

#[tokio::test]
async fn cors_07_a_star_allows_requests_without_an_origin() -> anyhow::Result<()> {
    any_origin("cors-07", "*", &[]).await
}

#[tokio::test]
async fn cors_08_a_star_among_others_allows_everybody() -> anyhow::Result<()> {
    any_origin("cors-08", "*, foo.bar.com", &[]).await
}

#[tokio::test]
async fn cors_09_the_second_origin_counts_as_the_first() -> anyhow::Result<()> {
    origins("cors-09", "http://origin.cors.com:8080, http://origin.com:8080", &[("http://origin.com:8080", true)]).await
}

#[tokio::test]
async fn cors_10_an_origin_with_another_port_is_another() -> anyhow::Result<()> {
    origins("cors-10", "https://origin2.cors.com, http://origin.com", &[("http://origin.com:8080", false)]).await
}

#[tokio::test]
async fn cors_11_a_wildcard_covers_a_subdomain() -> anyhow::Result<()> {
    let value = "http://*.origin.cors.com, http://*.origin.com:8080";
    origins("cors-11", value, &[("http://foo.origin.cors.com", true), ("http://bar-foo.origin.cors.com", true)]).await
}

#[tokio::test]
async fn cors_12_a_wildcard_with_a_port_covers_that_port() -> anyhow::Result<()> {
    origins("cors-12", "http://origin.cors.com:8080, http://*.origin.com:8080", &[("http://abc.origin.com:8080", true)]).await
}

#[tokio::test]
async fn cors_13_a_wildcard_with_a_port_covers_no_other() -> anyhow::Result<()> {
    origins("cors-13", "http://origin.cors.com:8080, http://*.origin.com:8080", &[("http://abc.origin.com", false)]).await
}

#[tokio::test]
async fn cors_14_an_origin_of_blanks_allows_everybody() -> anyhow::Result<()> {
    any_origin("cors-14", "   ", &["http://origin.com", "http://book.origin.com", "test.origin.com"]).await
}

#[tokio::test]
async fn cors_15_origins_may_have_other_schemes() -> anyhow::Result<()> {
    origins("cors-15", "test://localhost, tauri://localhost:3000", &[("test://localhost", true), ("tauri://localhost:3000", true)]).await
}
