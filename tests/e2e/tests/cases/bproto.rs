//! Protocols of backends.

use std::net::SocketAddr;

use anyhow::ensure;
use e2e::{Case, Controller, Echo, PATIENCE, rule};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use testkit::echo::tls::{self, SERVER_NAME, TLS12, TLS13, VERSION};
use testkit::echo::{Identity, start_tls};
use testkit::http::Request;
use testkit::kube::{IngressBuilder, PathType, mk_certificate, mk_ingress, mk_service, mk_slice};
use testkit::{fastcgi, grpc, poll, ports};

/// A Service with one endpoint.
async fn service(case: &Case, name: &str, port: u16, address: SocketAddr) -> anyhow::Result<()> {
    case.create(&mk_service(name, port, address.port(), None)).await?;
    case.create(&mk_slice(name, name, &[address])).await?;
    Ok(())
}

/// An address of our own with this port.
fn address(port: u16) -> anyhow::Result<SocketAddr> {
    Ok((ports::addresses(1)?[0], port).into())
}

fn to(host: &str, service: &str, port: u16, protocol: &str) -> IngressBuilder {
    mk_ingress(host).class("nginx").host(host).path("/", PathType::Prefix, service, port).annotation("backend-protocol", protocol)
}

async fn check_tls(id: &str, protocol: &str) -> anyhow::Result<()> {
    let case = Case::new(id).await?;
    let certificate = mk_certificate(&["secure"])?;
    let acceptor = tls::acceptor(&certificate, &[&TLS12, &TLS13], &[])?;
    let server = start_tls(address(8443)?, Identity::named("secure"), acceptor).await?;
    service(&case, "secure", 443, server.address()).await?;
    case.create(&to("echo", "secure", 443, protocol).tls("echo", "").build()).await?;
    let controller = case.controller().start().await?;
    let seen = poll(PATIENCE, || async {
        let response = controller.get_tls("echo", "/").await?;
        ensure!(response.status == 200, "{}", response.status);
        testkit::echo::Seen::read(&response.body)
    })
    .await?;
    // Neither a name nor a check without proxy-ssl-secret.
    assert_eq!((seen.header(SERVER_NAME), seen.header(VERSION).is_some()), (None, true));
    Ok(())
}

#[tokio::test]
async fn bproto_01_backend_protocol_https_is_tls_to_the_backend() -> anyhow::Result<()> {
    check_tls("bproto-01", "HTTPS").await
}

#[tokio::test]
async fn bproto_02_auto_http_is_what_the_client_speaks() -> anyhow::Result<()> {
    check_tls("bproto-02", "AUTO_HTTP").await?;
    let case = Case::new("bproto-02-plain").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("auto", "echo").annotation("backend-protocol", "auto_http").build()).await?;
    let controller = case.controller().start().await?;
    controller.until("echo", "/", 200).await?;
    Ok(())
}

#[tokio::test]
async fn bproto_03_grpcs_is_grpc_over_tls() -> anyhow::Result<()> {
    let grpc = Grpc::start("bproto-03", true, &[], "GRPCS", &[]).await?;
    let answer = grpc.call("echo", &[]).await?;
    assert_eq!(answer.grpc_status.as_deref(), Some("0"));
    Ok(())
}

/// A host in front of a FastCGI server.
async fn fcgi(id: &str, annotations: &[(&str, &str)]) -> anyhow::Result<(Case, fastcgi::Server, Controller)> {
    let case = Case::new(id).await?;
    let params = [("SCRIPT_FILENAME", "$fastcgi_script_name"), ("REDIRECT_STATUS", "200")];
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some("fastcgi-configmap".into()), ..ObjectMeta::default() },
        data: Some(params.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
        ..ConfigMap::default()
    };
    case.create(&map).await?;
    let server = fastcgi::Server::start(address(9000)?).await?;
    service(&case, "php", 9000, server.address()).await?;
    let ingress = to("echo", "php", 9000, "FCGI");
    case.create(&annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value)).build()).await?;
    let controller = case.controller().start().await?;
    controller.until("echo", "/", 200).await?;
    Ok((case, server, controller))
}

#[tokio::test]
async fn bproto_04_fcgi_is_fastcgi() -> anyhow::Result<()> {
    let (_case, _server, controller) = fcgi("bproto-04", &[]).await?;
    let request = Request::new("POST", controller.http(), "/a.php?b=c").host("echo").header("Proxy", "evil").body("hello");
    let answer = request.send().await?.text();
    for line in ["SCRIPT_NAME=/a.php", "QUERY_STRING=b=c", "REQUEST_METHOD=POST", "SERVER_NAME=echo", "stdin_bytes=5"] {
        ensure!(answer.lines().any(|seen| seen == line), "{line:?} is not in {answer}");
    }
    ensure!(!answer.contains("HTTP_PROXY"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn bproto_05_fcgi_sends_the_usual_parameters() -> anyhow::Result<()> {
    let (_case, _server, controller) = fcgi("bproto-05", &[]).await?;
    let answer = controller.get("echo", "/").await?.text();
    for line in ["GATEWAY_INTERFACE=CGI/1.1", "SERVER_PROTOCOL=HTTP/1.1", "REQUEST_SCHEME=http", "REMOTE_ADDR=127.0.0.1"] {
        ensure!(answer.lines().any(|seen| seen == line), "{line:?} is not in {answer}");
    }
    Ok(())
}

#[tokio::test]
async fn bproto_06_fastcgi_params_configmap_and_fastcgi_index() -> anyhow::Result<()> {
    let annotations = [("fastcgi-params-configmap", "fastcgi-configmap"), ("fastcgi-index", "index.php")];
    let (case, _server, controller) = fcgi("bproto-06", &annotations).await?;
    let answer = controller.get("echo", "/dir/").await?.text();
    ensure!(answer.contains("\nSCRIPT_FILENAME=/dir/index.php\n") && answer.contains("\nREDIRECT_STATUS=200\n"), "{answer}");

    // The ConfigMap is watched.
    case.patch::<ConfigMap>("fastcgi-configmap", serde_json::json!({"data": {"APP_ENV": "test"}})).await?;
    controller.until_that("a new parameter", "echo", "/", |response| response.text().contains("APP_ENV=test\n")).await?;
    Ok(())
}

/// Set-up GRPC: TLS to the host `echo`, a gRPC server behind it.
struct Grpc {
    case: Case,
    _server: grpc::Server,
    controller: Controller,
}

impl Grpc {
    async fn start(id: &str, tls: bool, settings: &[(&str, &str)], protocol: &str, annotations: &[(&str, &str)]) -> anyhow::Result<Self> {
        Self::of(Case::new(id).await?, tls, settings, protocol, annotations, &[]).await
    }

    async fn of(
        case: Case,
        tls: bool,
        settings: &[(&str, &str)],
        protocol: &str,
        annotations: &[(&str, &str)],
        flags: &[&str],
    ) -> anyhow::Result<Self> {
        case.settings(settings).await?;
        let certificate = mk_certificate(&["echo"])?;
        let server = grpc::Server::start(address(9000)?, tls.then_some(&certificate)).await?;
        service(&case, "grpc", 9000, server.address()).await?;
        let ingress = to("echo", "grpc", 9000, protocol).tls("echo", "");
        case.create(&annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value)).build()).await?;
        let controller = flags.iter().fold(case.controller(), |controller, flag| controller.flag(flag)).start().await?;
        Ok(Self { case, _server: server, controller })
    }

    /// A unary call over TLS that is answered with 200.
    async fn call(&self, authority: &str, metadata: &[(&str, &str)]) -> anyhow::Result<grpc::Answer> {
        poll(PATIENCE, || async {
            let answer = grpc::call(self.controller.https(), Some("echo"), authority, "/hello.Greeter/Say", metadata).await?;
            ensure!(answer.status == 200, "{answer:?}\n{}", self.controller.log());
            Ok(answer)
        })
        .await
    }

    async fn check(&self) -> anyhow::Result<()> {
        let answer = self.call("echo", &[("x-one", "1")]).await?;
        assert_eq!(answer.grpc_status.as_deref(), Some("0"));
        for line in [":authority=echo", ":path=/hello.Greeter/Say", "content-type=application/grpc", "x-one=1", "x-forwarded-proto=https"] {
            ensure!(answer.message.lines().any(|seen| seen == line), "{line:?} is not in {}", answer.message);
        }
        Ok(())
    }
}

#[tokio::test]
async fn bproto_07_a_call_over_tls_reaches_a_grpc_server() -> anyhow::Result<()> {
    Grpc::start("bproto-07", false, &[], "GRPC", &[]).await?.check().await
}

#[tokio::test]
async fn bproto_08_a_snippet_may_say_how_grpcs_speaks_tls() -> anyhow::Result<()> {
    let allowed = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    let snippet = "grpc_ssl_name \"echo\";\ngrpc_ssl_server_name on;\ngrpc_ssl_ciphers HIGH:!aNULL;";
    let grpc = Grpc::start("bproto-08", true, &allowed, "GRPCS", &[("configuration-snippet", snippet)]).await?;
    grpc.check().await
}

#[tokio::test]
async fn bproto_09_timeouts_hold_for_grpc() -> anyhow::Result<()> {
    // Clear-text HTTP/2 beside HTTP/1 needs NGINX 1.25.1, so the call goes over TLS.
    let seconds = ["proxy-connect-timeout", "proxy-send-timeout", "proxy-read-timeout"].map(|name| (name, "10"));
    let grpc = Grpc::start("bproto-09", false, &[], "GRPC", &seconds).await?;
    grpc.call("echo", &[]).await?;
    let answer = grpc::call(grpc.controller.https(), Some("echo"), "echo", "/hello.Greeter/Say", &[("x-delay-ms", "15000")]).await?;
    assert_eq!((answer.status, answer.grpc_status), (504, None));
    assert!(grpc.case.ns().contains("bproto-09"));
    Ok(())
}

#[tokio::test]
async fn bproto_10_grpc_buffer_size_kb_of_the_configmap() -> anyhow::Result<()> {
    let grpc = Grpc::start("bproto-10", false, &[("grpc-buffer-size-kb", "8")], "GRPC", &[]).await?;
    ensure!(grpc.controller.conf(&["echo", "/"])?.contains("grpc_buffer_size 8k;"));
    grpc.check().await
}

/// The backend for errors of the set-ups above.
const PAGES: [(&str, &str); 2] = [("custom-http-errors", "404"), ("default-backend", "pages")];

async fn until_pages_answer(answer: impl AsyncFn() -> anyhow::Result<String>) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let text = answer().await?;
        ensure!(text.to_ascii_lowercase().contains("x-code=404"), "{text}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn custom_http_errors_take_over_what_fastcgi_answers() -> anyhow::Result<()> {
    let (case, _server, controller) = fcgi("bproto-fcgi-errors", &PAGES).await?;
    assert_eq!(controller.get("echo", "/status/410").await?.status, 410);
    let _pages = case.deploy(&[Echo::named("pages")]).await?;
    until_pages_answer(async || Ok(controller.get("echo", "/status/404").await?.text())).await?;
    Ok(())
}

#[tokio::test]
async fn custom_http_errors_take_over_what_grpc_servers_answer() -> anyhow::Result<()> {
    // Errors of the annotation go to the Service of the annotation, those of the settings to the default backend of all.
    let global = (&PAGES[..1], &[][..], &["--default-backend-service={NS}/pages"][..]);
    for (id, (settings, annotations, flags)) in [("own", (&[][..], &PAGES[..], &[][..])), ("global", global)] {
        let case = Case::new(&format!("bproto-grpc-errors-{id}")).await?;
        let _pages = case.deploy(&[Echo::named("pages")]).await?;
        let grpc = Grpc::of(case, false, settings, "GRPC", annotations, flags).await?;
        grpc.call("echo", &[]).await?;
        let address = grpc.controller.https();
        poll(PATIENCE, || async {
            let answer = grpc::call(address, Some("echo"), "echo", "/status/404", &[]).await?;
            ensure!(answer.status == 200 && answer.message.contains("x-code=404"), "{answer:?}");
            Ok(())
        })
        .await?;
        assert_eq!(grpc::call(address, Some("echo"), "echo", "/status/410", &[]).await?.status, 410);
    }
    Ok(())
}
