//! PASS: TLS connections that are not decrypted.

use std::net::{IpAddr, SocketAddr};

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, has_fake_certificate, rule};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::echo::tls::{TLS12, TLS13, acceptor};
use testkit::echo::{Identity, Seen, start_tls};
use testkit::http::{Request, raw};
use testkit::kube::{IngressBuilder, PathType, mk_certificate, mk_ingress, mk_service, mk_slice};
use testkit::poll;
use testkit::ports::{Ports, addresses};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const HOST: &str = "pass.example.com";

/// A server that answers each connection with its name and what it was sent first, and closes.
struct Endpoint {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl Endpoint {
    async fn start(name: &'static str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((addresses(1)?[0], 8443)).await?;
        let address = listener.local_addr()?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = vec![0; 4096];
                let Ok(read) = stream.read(&mut bytes).await else { continue };
                let _ = stream.write_all(&[name.as_bytes(), &bytes[..read]].concat()).await;
            }
        });
        Ok(Self { address, _task: task })
    }
}

/// The first message of a TLS connection to this name, in as many records.
fn hello(name: &str, records: usize) -> Vec<u8> {
    let length = |n: usize, width: usize| n.to_be_bytes()[8 - width..].to_vec();
    let framed = |width: usize, bytes: Vec<u8>| [length(bytes.len(), width), bytes].concat();
    let list = framed(2, [vec![0], framed(2, name.into())].concat());
    let extensions = framed(2, [vec![0, 0], framed(2, list)].concat());
    let body = [vec![3, 3], vec![7; 32], framed(1, vec![]), framed(2, vec![0x13, 1]), framed(1, vec![0]), extensions].concat();
    let message = [vec![1], framed(3, body)].concat();
    let part = message.len().div_ceil(records);
    message.chunks(part).flat_map(|chunk| [vec![22, 3, 1], framed(2, chunk.into())].concat()).collect()
}

fn passed(name: &str, host: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(host).path("/", PathType::Prefix, "tls", 443).annotation("ssl-passthrough", "true")
}

/// A Service `tls` with this endpoint, and a controller that passes connections on.
async fn serve(case: &Case, address: SocketAddr) -> anyhow::Result<Controller> {
    case.create(&mk_service("tls", 443, address.port(), None)).await?;
    case.create(&mk_slice("tls", "tls", &[address])).await?;
    case.create(&passed("tls", HOST).build()).await?;
    let port = format!("--ssl-passthrough-proxy-port={}", Ports::one()?);
    case.controller().flag("--enable-ssl-passthrough").flag(&port).start().await
}

/// Waits until the answer to these bytes is `name` and `seen`.
async fn until(controller: &Controller, bytes: &[u8], name: &str, seen: &[u8]) -> anyhow::Result<()> {
    let expected = [name.as_bytes(), seen].concat();
    poll(PATIENCE, || async {
        let answer = raw(controller.https(), bytes).await?;
        ensure!(answer == expected, "{:?}\n{}", String::from_utf8_lossy(&answer), controller.log());
        Ok(())
    })
    .await
}

async fn seen(request: Request) -> anyhow::Result<Seen> {
    let response = request.tls("echo").host("echo").send().await?;
    ensure!(response.status == 200 && has_fake_certificate(&response), "{}", response.status);
    Seen::read(&response.body)
}

#[tokio::test]
async fn pass_01_the_server_of_all_hosts_listens_on_the_proxy_port() -> anyhow::Result<()> {
    for (flag, port) in [(Some("--ssl-passthrough-proxy-port=1442"), 1442), (None, 442)] {
        let case = Case::new("pass-01").await?;
        let launch = case.controller().flag("--enable-ssl-passthrough");
        let controller = flag.into_iter().fold(launch, |launch, flag| launch.flag(flag)).start().await?;
        assert_eq!(controller.get("something", "/").await?.status, 404);
        assert_eq!(controller.get_tls("something", "/").await?.status, 404);
        let conf = controller.nginx_conf()?;
        let server = conf.split("server_name \"_\";").nth(1).unwrap_or_default();
        ensure!(server.contains(&format!("listen {port} proxy_protocol")), "{conf}");
        let request =
            Request::get(SocketAddr::from(([127, 0, 0, 1], port)), "/").prelude("PROXY UNKNOWN\r\n").tls("something").host("something");
        assert_eq!(request.send().await?.status, 404);
    }
    Ok(())
}

#[tokio::test]
async fn pass_02_connections_go_on_undecrypted_and_others_keep_the_client_s_address() -> anyhow::Result<()> {
    let case = Case::new("pass-02").await?;
    let certificate = mk_certificate(&[HOST])?;
    let server =
        start_tls((addresses(1)?[0], 8443).into(), Identity::named("own"), acceptor(&certificate, &[&TLS12, &TLS13], &[])?).await?;
    let controller = serve(&case, server.address()).await?;
    controller.until_certificate(HOST, &certificate).await?;

    let _echo = case.echo(1).await?;
    case.create(&rule("echo", "echo").build()).await?;
    controller.until("echo", "/", 200).await?;
    let client = IpAddr::from(addresses(1)?[0]);
    let seen = seen(Request::get(controller.https(), "/").source(client)).await?;
    let header = |name: &str| seen.header(name).map(str::to_owned);
    let names = ["x-real-ip", "x-forwarded-for", "x-forwarded-port", "x-forwarded-proto"];
    assert_eq!(names.map(header), [&client.to_string(), &client.to_string(), "443", "https"].map(|text| Some(text.to_owned())));
    Ok(())
}

#[tokio::test]
async fn pass_03_hosts_and_endpoints_change_without_a_reload() -> anyhow::Result<()> {
    let case = Case::new("pass-03").await?;
    let (one, two) = (Endpoint::start("one").await?, Endpoint::start("two").await?);
    let controller = serve(&case, one.address).await?;
    let first = hello(HOST, 1);
    until(&controller, &first, "one", &first).await?;
    let reloads = controller.reloads().await?;

    let endpoints = json!({"endpoints": [{"addresses": [two.address.ip()], "conditions": {"ready": true}}]});
    case.patch::<EndpointSlice>("tls", endpoints).await?;
    until(&controller, &first, "two", &first).await?;
    case.create(&passed("more", "more.example.com").build()).await?;
    let more = hello("more.example.com", 1);
    until(&controller, &more, "two", &more).await?;

    let gone = json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/ssl-passthrough": null}}});
    case.patch::<Ingress>("tls", gone).await?;
    poll(PATIENCE, || async {
        let answer = raw(controller.https(), &first).await?;
        ensure!(!answer.is_empty() && !answer.starts_with(b"two"), "not decrypted yet");
        Ok(())
    })
    .await?;
    until(&controller, &more, "two", &more).await?;
    assert_eq!(controller.reloads().await?, reloads);

    case.patch::<EndpointSlice>("tls", json!({"endpoints": []})).await?;
    poll(PATIENCE, || async {
        // Newer NGINX resets the connection, as there are unread bytes.
        let answer = raw(controller.https(), &more).await.or_else(|error| if is_reset(&error) { Ok(Vec::new()) } else { Err(error) })?;
        ensure!(answer.is_empty(), "still served: {:?}", String::from_utf8_lossy(&answer));
        Ok(())
    })
    .await
}

fn is_reset(error: &anyhow::Error) -> bool {
    let reset = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::ConnectionReset;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(reset))
}

#[tokio::test]
async fn pass_04_clients_may_speak_the_proxy_protocol() -> anyhow::Result<()> {
    let case = Case::new("pass-04").await?;
    case.settings(&[("use-proxy-protocol", "true"), ("proxy-protocol-header-timeout", "7s")]).await?;
    let endpoint = Endpoint::start("raw").await?;
    let controller = serve(&case, endpoint.address).await?;
    ensure!(controller.nginx_conf()?.contains(" proxy_protocol_timeout 7s;"));
    let (line, first) = ("PROXY TCP4 192.0.2.7 192.0.2.1 1000 1234\r\n", hello(HOST, 1));
    until(&controller, &[line.as_bytes(), &first].concat(), "raw", &first).await?;

    let _echo = case.echo(1).await?;
    case.create(&rule("echo", "echo").build()).await?;
    let seen = poll(PATIENCE, || seen(Request::get(controller.https(), "/").prelude(line))).await?;
    assert_eq!((seen.header("x-real-ip"), seen.header("x-forwarded-proto")), (Some("192.0.2.7"), Some("https")));
    // The load balancer's, not this server's.
    assert_eq!(seen.header("x-forwarded-port"), Some("1234"));
    // What a load balancer sends to see whether the server lives names no address.
    let seen = self::seen(Request::get(controller.https(), "/").prelude("PROXY UNKNOWN\r\n")).await?;
    assert_eq!((seen.header("x-real-ip"), seen.header("x-forwarded-port")), (Some("127.0.0.1"), Some("443")));
    Ok(())
}

#[tokio::test]
async fn proxy_protocol_header_timeout_ends_connections_that_bring_no_header() -> anyhow::Result<()> {
    let case = Case::new("pass-timeout").await?;
    // The other port's timeout is the clock: it is shorter than the default of the key.
    let settings = [("use-proxy-protocol", "true"), ("proxy-protocol-header-timeout", "1s"), ("client-header-timeout", "3")];
    case.settings(&settings).await?;
    let endpoint = Endpoint::start("raw").await?;
    let controller = serve(&case, endpoint.address).await?;
    let mut silent = TcpStream::connect(controller.https()).await?;
    let mut slow = TcpStream::connect(controller.http()).await?;
    slow.write_all(b"PROXY TCP4 192.0.2.7 192.0.2.1 1000 80\r\nGET / HTTP/1.1\r\n").await?;
    let (mut one, mut other) = (Vec::new(), Vec::new());
    tokio::select! {
        ended = silent.read_to_end(&mut one) => ensure!(ended.is_err() || one.is_empty(), "{one:?}"),
        ended = slow.read_to_end(&mut other) => anyhow::bail!("the request with half a header ended first: {ended:?}"),
    }
    Ok(())
}

/// What an endpoint sees as the client, of a request by TLS and of one without, which both come from an address and name another one.
async fn addresses_of_clients(case: &Case, trusted: &str) -> anyhow::Result<[Option<String>; 2]> {
    case.settings(&[("use-forwarded-headers", "true"), ("proxy-real-ip-cidr", trusted)]).await?;
    let endpoint = Endpoint::start("raw").await?;
    let controller = serve(case, endpoint.address).await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("echo", "echo").build()).await?;
    case.create(&rule("allowed", "allowed").annotation("whitelist-source-range", NAMED).build()).await?;
    for host in ["echo", "allowed"] {
        controller.until(host, "/", if host == "echo" { 200 } else { 403 }).await?;
    }
    let mut found = [None, None];
    for (address, found) in [controller.https(), controller.http()].into_iter().zip(&mut found) {
        let to = |host: &str| {
            let request = Request::get(address, "/").host(host).header("X-Forwarded-For", NAMED).source(CLIENT);
            if address == controller.https() { request.tls(host) } else { request }
        };
        let answer = to("echo").send().await?;
        ensure!(answer.status == 200, "{}", answer.status);
        *found = Seen::read(&answer.body)?.header("x-real-ip").map(str::to_owned);
        let is_allowed = to("allowed").send().await?.status == 200;
        ensure!(is_allowed == (found.as_deref() == Some(NAMED)), "the same address decides about access");
    }
    Ok(found)
}

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 9));
const NAMED: &str = "192.0.2.7";

#[tokio::test]
async fn pass_05_forwarded_headers_of_trusted_clients_hold_for_plain_http_and_for_tls() -> anyhow::Result<()> {
    let case = Case::new("pass-05").await?;
    assert_eq!(addresses_of_clients(&case, "127.0.0.0/8").await?, [Some(NAMED.to_owned()), Some(NAMED.to_owned())]);
    Ok(())
}

#[tokio::test]
async fn forwarded_headers_of_other_clients_hold_for_neither() -> anyhow::Result<()> {
    let case = Case::new("pass-05-others").await?;
    assert_eq!(addresses_of_clients(&case, "10.0.0.0/8").await?, [Some(CLIENT.to_string()), Some(CLIENT.to_string())]);
    Ok(())
}

#[tokio::test]
async fn pass_06_names_may_be_in_any_letter_case_and_in_pieces() -> anyhow::Result<()> {
    let case = Case::new("pass-06").await?;
    let endpoint = Endpoint::start("raw").await?;
    let controller = serve(&case, endpoint.address).await?;
    for first in [hello(HOST, 1), hello("PASS.Example.com", 1), hello(HOST, 3)] {
        until(&controller, &first, "raw", &first).await?;
    }
    for first in [hello("../p/pass.example.com", 1), hello("x.pass.example.com", 1), hello("_", 1), b"GET / HTTP/1.0\r\n\r\n".to_vec()] {
        let answer = raw(controller.https(), &first).await?;
        ensure!(!answer.starts_with(b"raw") && !answer.is_empty(), "NGINX answers itself: {:?}", String::from_utf8_lossy(&answer));
    }
    Ok(())
}

#[tokio::test]
async fn pass_07_a_connection_goes_on_to_another_endpoint_where_one_does_not_accept_it() -> anyhow::Result<()> {
    let case = Case::new("pass-07").await?;
    let endpoint = Endpoint::start("raw").await?;
    let controller = serve(&case, endpoint.address).await?;
    let first = hello(HOST, 1);
    until(&controller, &first, "raw", &first).await?;
    // Nothing listens at the others.
    let dead = addresses(2)?.into_iter().map(|address| json!({"addresses": [address], "conditions": {"ready": true}}));
    let alive = json!({"addresses": [endpoint.address.ip()], "conditions": {"ready": true}});
    let endpoints: Vec<_> = dead.chain([alive]).collect();
    case.patch::<EndpointSlice>("tls", json!({"endpoints": endpoints})).await?;
    poll(PATIENCE, || async {
        let log = controller.log();
        raw(controller.https(), &first).await?;
        ensure!(log.contains("connect() failed"), "none was led to a dead endpoint yet");
        Ok(())
    })
    .await?;
    for _ in 0..30 {
        assert!(raw(controller.https(), &first).await?.starts_with(b"raw"), "{}", controller.log());
    }
    Ok(())
}
