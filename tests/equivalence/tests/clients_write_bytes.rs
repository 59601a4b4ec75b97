//! Whatever bytes a client sends as cookies, credentials, targets or PROXY headers: it gets an answer or a closed connection, and no worker fails.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use equivalence::world::{PATIENCE, World};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use testkit::echo::{self, Handle, Identity};
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress};

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A server that still waits after this long waits for more of the request.
const CUT_SHORT: Duration = Duration::from_millis(300);

/// Users of either kind.
const USERS: &str = "user:{PLAIN}password\n";
const DIGESTS: &str = "user:realm:7b592c2f6f1b8f3a2b6f0c1a4d5e6f70\n";

fn runs() -> u32 {
    if std::env::var_os("NARTHEX_SOAK").is_some() { 40_000 } else { 2000 }
}

/// Hosts of which Lua reads what clients write, an NGINX that serves them, its backend, and the log of its errors.
struct Bed {
    runtime: tokio::runtime::Runtime,
    world: World,
    log: tempfile::NamedTempFile,
    _web: Handle,
}

impl Bed {
    fn new(settings: &[(&str, &str)]) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let log = tempfile::NamedTempFile::new()?;
        // Workers are another user where the tests run as root.
        std::fs::set_permissions(log.path(), PermissionsExt::from_mode(0o666))?;
        let path = log.path().to_str().expect("a path of ASCII").to_owned();
        let (world, web) = runtime.block_on(async {
            let web = echo::start(ANY, Identity::named("web")).await?;
            let settings: Vec<_> = settings.iter().copied().chain([("error-log-path", path.as_str())]).collect();
            let rule = |name: &str| mk_ingress(name).host(&format!("{name}.test")).path("/", PathType::Prefix, "web", 80);
            let world = World::new().await?.configured(&settings).service("web", &[web.address()]);
            let world = world
                .secret("users", &[("auth", USERS)])
                .secret("digests", &[("auth", DIGESTS)])
                .ingress("sticky", rule("sticky").annotation("affinity", "cookie").annotation("session-cookie-name", "stick"))
                .ingress("persistent", rule("persistent").annotation("affinity", "cookie").annotation("affinity-mode", "persistent"))
                .ingress("canary-main", rule("canary"))
                .ingress(
                    "canary",
                    rule("canary")
                        .annotation("canary", "true")
                        .annotation("canary-by-cookie", "choice")
                        .annotation("canary-by-header", "X-Choice")
                        .annotation("canary-by-header-pattern", "^a+$"),
                )
                .ingress("basic", rule("basic").annotation("auth-type", "basic").annotation("auth-secret", "users"))
                .ingress("digest", rule("digest").annotation("auth-type", "digest").annotation("auth-secret", "digests"))
                .ingress(
                    "rewrite",
                    mk_ingress("rewrite")
                        .host("rewrite.test")
                        .path("/a(/|$)(.*)", PathType::ImplementationSpecific, "web", 80)
                        .annotation("rewrite-target", "/$2")
                        .annotation("use-regex", "true"),
                )
                .ingress("hash", rule("hash").annotation("upstream-hash-by", "$request_uri$http_x_choice$arg_q"))
                .ingress("cors", rule("cors").annotation("enable-cors", "true").annotation("cors-allow-origin", "https://*.example.com"))
                .ingress(
                    "limited",
                    rule("limited").annotation("limit-rps", "100000").annotation("whitelist-source-range", "0.0.0.0/0,::/0"),
                );
            anyhow::Ok((world.serve().await?, web))
        })?;
        Ok(Self { runtime, world, log, _web: web })
    }

    /// Pid of the worker.
    fn worker(&self) -> u64 {
        let answer = self.runtime.block_on(Request::get(self.world.side().control(), "/state").host("control").send()).unwrap();
        let state: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
        state["pid"].as_u64().unwrap()
    }

    /// Random input on as many connections; each gets a sound answer.
    fn survives(&self, input: impl Strategy<Value = Vec<u8>>) {
        let (worker, config) = (self.worker(), Config { cases: runs(), failure_persistence: None, ..Config::default() });
        let served = Cell::new(0);
        let result = TestRunner::new(config).run(&input, |bytes| {
            let answer = answer(self.world.http(), &bytes).map_err(|error| TestCaseError::fail(format!("{error:#}")))?;
            prop_assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{}", answer.escape_ascii());
            let status = answer.get(9..12).unwrap_or_default();
            prop_assert!(status != b"500", "{}", answer.escape_ascii());
            served.set(served.get() + u32::from(status == b"200"));
            Ok(())
        });
        let log = String::from_utf8_lossy(&std::fs::read(self.log.path()).unwrap()).into_owned();
        assert!(result.is_ok(), "{}\n{log}", result.unwrap_err());
        assert!(served.get() > runs() / 20, "{} of {} reached a backend", served.get(), runs());
        assert_eq!(self.worker(), worker, "{log}");
        let faults: Vec<&str> =
            log.lines().filter(|line| line.contains("lua") || line.contains("[alert]") || line.contains("[crit]")).collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

/// What comes back until the connection ends, which the request asks for. What is cut short is ended.
fn answer(address: SocketAddr, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    // It may close before it has read all.
    let _ = stream.write_all(bytes);
    stream.set_read_timeout(Some(CUT_SHORT))?;
    let (mut answer, mut first) = (Vec::new(), [0; 1]);
    match stream.read(&mut first) {
        Ok(count) => answer.extend(&first[..count]),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => stream.shutdown(Shutdown::Write)?,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(answer),
        Err(error) => return Err(error),
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(answer),
        other => other.map(|_| answer),
    }
}

/// Bytes of a header, many with a meaning. No line break: that would be another header.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let special = select(vec![
        "stick=",
        "INGRESSCOOKIE=",
        "choice=",
        "always",
        "never",
        "|",
        "||",
        ";",
        "=",
        "\"",
        "'",
        "\\",
        "%",
        "%00",
        "%zz",
        "%2e%2e",
        "$",
        "${host}",
        " ",
        "\t",
        ",",
        "Basic ",
        "Digest ",
        "username=\"",
        "nonce=\"",
        "nc=00000001",
        "qop=auth",
        "response=\"",
        "uri=\"/\"",
        "cnonce=",
        ":",
        "dXNlcjpwYXNz",
        "=====",
        "a",
        "aaaaaaaaaaaaaaaa",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "*",
        "+",
        "?",
        "/",
        "..",
        "http://",
        "https://x.example.com",
        "0",
        "-1",
        "1e999",
    ]);
    let part = prop_oneof![
        6 => special.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..6),
        1 => (any::<u8>(), 1..3000_usize).prop_map(|(byte, count)| vec![byte; count]),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat().into_iter().filter(|byte| !b"\r\n".contains(byte)).collect())
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let hosts = vec!["sticky", "persistent", "canary", "basic", "digest", "rewrite", "hash", "cors", "limited"];
    let header = select(vec![
        "Cookie",
        "Authorization",
        "X-Choice",
        "Origin",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Request-ID",
        "Host",
        "Range",
    ]);
    let target = value().prop_map(|value| value.into_iter().filter(|byte| !b" \t".contains(byte)).collect::<Vec<u8>>());
    (select(hosts), select(vec!["GET", "POST", "OPTIONS", "HEAD"]), target, prop::collection::vec((header, value()), 0..4)).prop_map(
        |(host, method, target, headers)| {
            let mut bytes = format!("{method} /a/").into_bytes();
            bytes.extend(target);
            bytes.extend(format!(" HTTP/1.1\r\nHost: {host}.test\r\nConnection: close\r\n").bytes());
            for (name, value) in headers {
                bytes.extend(name.bytes());
                bytes.extend(b": ");
                bytes.extend(value);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"\r\n");
            bytes
        },
    )
}

/// A PROXY header of either version, most of them nearly right.
fn proxy() -> impl Strategy<Value = Vec<u8>> {
    let address = prop_oneof![
        select(vec!["10.0.0.1", "::1", "255.255.255.255", "::ffff:10.0.0.1", "", "x", "unix:/run/control.sock"]).prop_map(str::to_owned),
        "[0-9a-f:.]{1,50}"
    ];
    let port = select(vec!["0", "80", "65535", "65536", "-1", "", "080"]);
    let text = (select(vec!["TCP4", "TCP6", "UNKNOWN", "tcp4", ""]), address.clone(), address, port.clone(), port)
        .prop_map(|(family, from, to, one, other)| format!("PROXY {family} {from} {to} {one} {other}\r\n").into_bytes());
    let rest = prop::collection::vec(any::<u8>(), 0..300);
    let binary = (any::<u8>(), any::<u8>(), prop::option::weighted(0.05, 0..400_u16), rest).prop_map(|(version, family, length, rest)| {
        let length = length.unwrap_or(rest.len() as u16);
        let version = if version < 128 { 0x21 } else { version };
        let family = if family < 128 { 0x11 + family % 3 * 0x10 } else { family };
        [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[version, family], &length.to_be_bytes(), &rest].concat()
    });
    prop_oneof![3 => text, 3 => binary, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

#[test]
fn whatever_a_client_sends_in_headers_it_gets_an_answer() -> anyhow::Result<()> {
    Bed::new(&[])?.survives(request());
    Ok(())
}

#[test]
fn whatever_comes_as_a_proxy_header_the_next_client_is_served() -> anyhow::Result<()> {
    let bed = Bed::new(&[("use-proxy-protocol", "true")])?;
    bed.survives((proxy(), request()).prop_map(|(header, request)| [header, request].concat()));
    let sound = b"PROXY TCP4 10.0.0.1 10.0.0.2 1 80\r\nGET / HTTP/1.1\r\nHost: sticky.test\r\nConnection: close\r\n\r\n";
    let answer = answer(bed.world.http(), sound)?;
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", answer.escape_ascii());
    Ok(())
}
