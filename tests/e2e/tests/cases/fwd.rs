//! FWD: the address of the client, scheme, host and port, by headers and by the PROXY protocol.

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, Servers, rule};
use testkit::echo::Seen;
use testkit::http::{Request, basic};
use testkit::poll;

use super::auth::external::gate;

const HOST: &str = "fwd.example.com";
/// A connection by a load balancer from another address to port 1234.
const PROXY: &str = "PROXY TCP4 192.168.0.1 192.168.0.11 56324 1234\r\n";

/// A controller that serves [`HOST`] with these settings, and its configuration.
async fn serving(case: &Case, settings: &[(&str, &str)]) -> anyhow::Result<(Servers, Controller, String)> {
    let servers = case.echo(1).await?;
    case.settings(settings).await?;
    let certificate = case.certificate("tls", &[HOST]).await?;
    let ingress = rule("fwd", HOST).annotation("ssl-redirect", "false").tls(HOST, "tls").build();
    case.create(&ingress).await?;
    let controller = case.controller().start().await?;
    if !settings.iter().any(|(key, _)| *key == "use-proxy-protocol") {
        controller.until_certificate(HOST, &certificate).await?;
    }
    let conf = controller.nginx_conf()?;
    Ok((servers, controller, conf))
}

/// What the backend sees of a request to [`HOST`], once it is served.
async fn seen(request: impl Fn() -> Request) -> anyhow::Result<Seen> {
    poll(PATIENCE, || async {
        let response = request().host(HOST).send().await?;
        ensure!(response.status == 200, "{}", response.status);
        Seen::read(&response.body)
    })
    .await
}

/// Values of the headers that backends see: address, host, port and scheme.
fn told(seen: &Seen) -> [&str; 4] {
    ["x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto"].map(|name| seen.header(name).unwrap_or_default())
}

/// A request that says where it comes from.
fn forwarded(controller: &Controller) -> Request {
    let headers = [
        ("X-Forwarded-Port", "1234"),
        ("X-Forwarded-Proto", "myproto"),
        ("X-Forwarded-Scheme", "myproto"),
        ("X-Forwarded-For", "1.2.3.4"),
        ("X-Forwarded-Host", "myhost"),
    ];
    headers.into_iter().fold(Request::get(controller.http(), "/fwd"), |request, (name, value)| request.header(name, value))
}

#[tokio::test]
async fn fwd_01_with_enable_real_ip_only_the_address_is_taken() -> anyhow::Result<()> {
    let case = Case::new("fwd-01").await?;
    let (_servers, controller, conf) = serving(&case, &[("enable-real-ip", "true")]).await?;
    assert!(!conf.contains("$full_x_forwarded_proto"), "{conf}");
    let seen = seen(|| forwarded(&controller)).await?;
    let port = controller.http().port().to_string();
    assert_eq!((seen.host.as_str(), told(&seen)), (HOST, ["1.2.3.4", HOST, &port, "http"]));
    Ok(())
}

#[tokio::test]
async fn fwd_02_with_use_forwarded_headers_all_are() -> anyhow::Result<()> {
    let case = Case::new("fwd-02").await?;
    let (_servers, controller, conf) = serving(&case, &[("use-forwarded-headers", "true")]).await?;
    assert!(conf.contains("proxy_set_header X-Forwarded-Proto $pass_access_scheme;"), "{conf}");
    let one = seen(|| forwarded(&controller)).await?;
    assert_eq!((one.host.as_str(), told(&one)), ("myhost", ["1.2.3.4", "myhost", "1234", "myproto"]));
    assert_eq!((one.header("x-scheme"), one.header("x-forwarded-scheme")), (Some("myproto"), Some("myproto")));
    let list = "myhost.com, another.host,example.net";
    let first = seen(|| Request::get(controller.http(), "/fwd").header("X-Forwarded-Host", list)).await?;
    assert_eq!((first.host.as_str(), told(&first)[1]), ("myhost.com", "myhost.com"));
    Ok(())
}

#[tokio::test]
async fn fwd_03_the_port_is_that_of_http_port() -> anyhow::Result<()> {
    let case = Case::new("fwd-03").await?;
    let (_servers, controller, _) = serving(&case, &[]).await?;
    let port = controller.http().port().to_string();
    assert_eq!(told(&seen(|| Request::get(controller.http(), "/fwd")).await?)[2], port);
    Ok(())
}

#[tokio::test]
async fn fwd_04_the_port_of_https_is_443_also_behind_authentication() -> anyhow::Result<()> {
    let case = Case::new("fwd-04").await?;
    let (_servers, gate) = (case.echo(1).await?, gate().await?);
    case.certificate("tls", &[HOST]).await?;
    let guarded = rule("fwd", HOST).annotation("auth-url", &gate.url("/basic-auth/user/password"));
    case.create(&guarded.annotation("auth-signin", "http://$host/auth/start").tls(HOST, "tls").build()).await?;
    let controller = case.controller().start().await?;
    let request = || Request::get(controller.https(), "/fwd").tls(HOST).header("authorization", basic("user", "password"));
    assert_eq!(told(&seen(request).await?)[2], "443");
    Ok(())
}

#[tokio::test]
async fn fwd_05_the_proxy_protocol_says_address_and_port() -> anyhow::Result<()> {
    let case = Case::new("fwd-05").await?;
    let (_servers, controller, conf) = serving(&case, &[("use-proxy-protocol", "true")]).await?;
    assert!(conf.contains(&format!("{} proxy_protocol", controller.http().port())), "{conf}");
    let seen = seen(|| Request::get(controller.http(), "/fwd").prelude(PROXY)).await?;
    assert_eq!(told(&seen), ["192.168.0.1", HOST, "1234", "http"]);
    Ok(())
}

#[tokio::test]
async fn fwd_06_also_before_tls() -> anyhow::Result<()> {
    let case = Case::new("fwd-06").await?;
    let (_servers, controller, conf) = serving(&case, &[("use-proxy-protocol", "true")]).await?;
    assert!(conf.contains(&format!("{} proxy_protocol", controller.https().port())), "{conf}");
    let seen = seen(|| Request::get(controller.https(), "/fwd").prelude(PROXY).tls(HOST)).await?;
    assert_eq!((told(&seen), seen.header("x-scheme")), (["192.168.0.1", HOST, "1234", "https"], Some("https")));
    Ok(())
}

/// Settings with which a header counts if the PROXY protocol names a source in these ranges.
const fn trusting(ranges: &str) -> [(&str, &str); 3] {
    [("use-proxy-protocol", "true"), ("use-forwarded-headers", "true"), ("proxy-real-ip-cidr", ranges)]
}

#[tokio::test]
async fn fwd_08_the_header_of_a_trusted_source_counts() -> anyhow::Result<()> {
    let case = Case::new("fwd-08").await?;
    let (_servers, controller, _) = serving(&case, &trusting("127.0.0.0/8,192.168.0.1/32")).await?;
    let request = || Request::get(controller.http(), "/fwd").prelude(PROXY);
    let one = seen(|| request().header("X-Forwarded-For", "192.168.0.111")).await?;
    assert_eq!(told(&one), ["192.168.0.111", HOST, "1234", "http"]);
    assert_eq!((one.header("x-real-ip"), one.header("x-original-forwarded-for")), (Some("192.168.0.111"), Some("192.168.0.111")));
    // What trusted ones passed on counts up to the first that is not.
    let chain = seen(|| request().header("X-Forwarded-For", "203.0.113.9, 198.51.100.7, 192.168.0.1")).await?;
    assert_eq!(told(&chain)[0], "198.51.100.7");
    let none = seen(request).await?;
    assert_eq!(told(&none)[0], "192.168.0.1");
    // The name of the header without its random end is any header.
    let guessed = seen(|| request().header("X-Forwarded-For-Proxy-Protocol", "203.0.113.1")).await?;
    assert_eq!(told(&guessed)[0], "192.168.0.1");
    let noted = guessed.headers.iter().filter(|(name, _)| name.to_ascii_lowercase().starts_with("x-forwarded-for-proxy-protocol-"));
    assert_eq!(noted.count(), 0, "{guessed:?}");
    // Over TLS, too.
    let tls = seen(|| Request::get(controller.https(), "/fwd").prelude(PROXY).tls(HOST).header("X-Forwarded-For", "192.168.0.111")).await?;
    assert_eq!(told(&tls), ["192.168.0.111", HOST, "1234", "https"]);
    Ok(())
}

#[tokio::test]
async fn the_address_of_a_trusted_source_decides_about_access() -> anyhow::Result<()> {
    let case = Case::new("fwd-access").await?;
    let (_servers, controller, _) = serving(&case, &trusting("127.0.0.0/8,192.168.0.1/32")).await?;
    case.create(&rule("inside", "inside.example.com").annotation("whitelist-source-range", "192.168.0.111/32").build()).await?;
    let status = |address: &'static str| {
        let request = Request::get(controller.http(), "/").host("inside.example.com").prelude(PROXY);
        async move { anyhow::Ok(request.header("X-Forwarded-For", address).send().await?.status) }
    };
    poll(PATIENCE, || async {
        ensure!(status("192.168.0.111").await? == 200, "not served");
        Ok(())
    })
    .await?;
    assert_eq!((status("192.168.0.112").await?, status("192.168.0.1").await?), (403, 403));
    Ok(())
}

#[tokio::test]
async fn the_header_that_notes_a_trusted_address_may_have_another_name() -> anyhow::Result<()> {
    let case = Case::new("fwd-name").await?;
    let trusted = trusting("127.0.0.0/8,192.168.0.1/32");
    let settings: Vec<_> = trusted.into_iter().chain([("forwarded-for-proxy-protocol-header", "X-Noted")]).collect();
    let (_servers, controller, conf) = serving(&case, &settings).await?;
    assert!(conf.to_lowercase().contains("x-noted-") && !conf.to_lowercase().contains("x-forwarded-for-proxy-protocol"), "{conf}");
    let request = || Request::get(controller.http(), "/fwd").prelude(PROXY).header("X-Noted", "203.0.113.1");
    assert_eq!(told(&seen(request).await?)[0], "192.168.0.1");
    assert_eq!(told(&seen(|| request().header("X-Forwarded-For", "192.168.0.111")).await?)[0], "192.168.0.111");
    Ok(())
}

#[tokio::test]
async fn fwd_07_a_header_of_a_source_that_is_not_trusted_does_not_count() -> anyhow::Result<()> {
    let case = Case::new("fwd-07").await?;
    let settings = [("use-proxy-protocol", "true"), ("use-forwarded-headers", "true"), ("proxy-real-ip-cidr", "127.0.0.0/8")];
    let (_servers, controller, _) = serving(&case, &settings).await?;
    let seen = seen(|| Request::get(controller.http(), "/fwd").prelude(PROXY).header("X-Forwarded-For", "192.168.0.111")).await?;
    assert_eq!(told(&seen), ["192.168.0.1", HOST, "1234", "http"]);
    Ok(())
}
