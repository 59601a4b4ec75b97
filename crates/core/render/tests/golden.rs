//! What is rendered for models built by hand, as files under `golden/`; each also passes `nginx -t`.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::net::IpAddr;
use std::sync::Arc;

use model::options::{PemPair, RequestCounting, UnknownHosts};
use model::profile::{BackendName, BackendTls, BackendTrust, Directives, Proxying, Replacement, TlsMaterial, Transport};
use model::{Fixed, HostServer, Profile};
use ngx_value::{Seconds, Size, Snippet};
use render::{Capabilities, Paths};
use settings::Config;
use settings::groups::{BackendProtocol, Buffers};
use support::{accepted_by_nginx, config, fixed, installed, paths};

/// Compares `nginx.conf`, and lets the NGINX of this machine test what it gets for the same input.
#[track_caller]
fn check(name: &str, fixed: &Fixed, caps: &Capabilities) {
    let set = render::render(fixed, caps, &paths()).unwrap();
    let settings = {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("golden");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings
    };
    // The revision depends on the Lua modules as well.
    let conf = String::from_utf8_lossy(set.conf()).replace(&set.revision, "REVISION");
    settings.bind(|| insta::assert_snapshot!(name, conf));

    let scratch = tempfile::tempdir().unwrap();
    let paths = Paths::new(scratch.path());
    let set = render::render(fixed, &installed(), &paths).unwrap();
    accepted_by_nginx(&set, std::str::from_utf8(set.conf()).unwrap(), &paths);
}

fn bookworm() -> Capabilities {
    Capabilities { version: (1, 22, 1), ..Capabilities::assumed() }
}

fn buffers(number: u32, kib: u32) -> Proxying {
    Proxying { buffers: Some(Buffers { number, size: Size::kib(kib), busy: None, max_temp_file: Size::mib(1024) }), ..Proxying::default() }
}

fn snippet(text: &str) -> Option<Snippet> {
    Some(Snippet::parse(text).unwrap())
}

#[test]
fn defaults() {
    check("defaults", &fixed(Config::default(), []), &bookworm());
}

#[test]
fn trixie_as_root() {
    let caps = Capabilities {
        worker_user: Some("www-data:www-data".into()),
        cpus: 4,
        open_files_limit: Some(1_048_576),
        backlog: 4096,
        name_servers: ["10.96.0.10", "fd00::a"].map(|address| address.parse::<IpAddr>().unwrap()).into(),
        ..Capabilities::assumed()
    };
    check("trixie_as_root", &fixed(Config::default(), []), &caps);
}

#[test]
fn newest_without_ipv6() {
    let mut caps = Capabilities { version: (1, 29, 1), ipv6: false, ..Capabilities::assumed() };
    caps.modules.insert("ngx_http_headers_more_filter_module".into());
    caps.name_servers = ["10.96.0.10", "fd00::a"].map(|address| address.parse::<IpAddr>().unwrap()).into();
    check("newest_without_ipv6", &fixed(Config::default(), []), &caps);
}

#[test]
fn profiles_and_host_servers() {
    let directives = Directives { proxy_body_size: Some(Size::mib(8)), ..Directives::default() };
    let large = Profile { directives, proxying: buffers(4, 8), ..Profile::default() };
    let directives = Directives { proxy_buffering: Some(true), proxy_request_buffering: Some(false), ..Directives::default() };
    let buffered = Profile { directives, proxying: buffers(8, 4), ..Profile::default() };
    let tagged =
        Profile { snippet: snippet("proxy_set_header X-Tag $service_name;\nproxy_hide_header X-Powered-By; # why"), ..Profile::default() };
    let profiles = [large.id()].into();
    let mut fixed = fixed(Config::default(), [large, buffered, tagged]);
    let shop = HostServer {
        aliases: vec!["www.shop.example".into()],
        snippet: snippet("location = /robots.txt {\n    return 204;\n}"),
        profiles,
        ..HostServer::default()
    };
    fixed.host_servers.insert("shop.example".into(), Arc::new(shop));
    fixed.host_servers.insert(
        "*.shop.example".into(),
        Arc::new(HostServer { aliases: Vec::new(), snippet: snippet("add_header X-Label $subdomain;"), ..HostServer::default() }),
    );
    check("profiles_and_host_servers", &fixed, &bookworm());
}

/// Everything that proxying can ask for.
fn proxied() -> Profile {
    let directives = Directives {
        client_body_buffer_size: Some(Size::new(1000)),
        proxy_http_version: Some("1.0".parse().unwrap()),
        proxy_next_upstream_timeout: Some(Seconds(0)),
        ..Directives::default()
    };
    let proxying = Proxying {
        next_upstream: Some("error timeout http_502 http_404".parse().unwrap()),
        cookie_domain: Some(Replacement::Live),
        cookie_path: Some(Replacement::Regex { from: "~/one/".into(), to: "/".into() }),
        location: Some(Replacement::Live),
        ..buffers(8, 8)
    };
    Profile { directives, proxying, ..Profile::default() }
}

fn material() -> Arc<TlsMaterial> {
    let pair = rcgen::generate_simple_self_signed(["endpoint.example".to_owned()]).unwrap();
    let (chain, key) = (pair.cert.pem(), pair.signing_key.serialize_pem());
    Arc::new(TlsMaterial { id: "00ff".into(), ca: chain.clone(), pair: Some(PemPair { chain, key }) })
}

fn transports() -> Vec<Profile> {
    let trust = BackendTrust {
        material: material(),
        ciphers: Some("HIGH:!AES".parse().unwrap()),
        protocols: vec!["TLSv1.2".parse().unwrap(), "TLSv1.3".parse().unwrap()],
        verify: true,
        verify_depth: 2,
    };
    let tls = BackendTls { trust: Some(trust), name: Some(BackendName::Given("${host}.internal".parse().unwrap())), server_name: true };
    let named = BackendTls { trust: None, name: Some(BackendName::Service("shop.default.svc".into())), server_name: false };
    let params = [("SCRIPT_FILENAME", "/srv$fastcgi_script_name"), ("REDIRECT_STATUS", "200")];
    let params = params.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
    let of = |protocol, tls| Profile { transport: Transport { protocol, tls, ..Transport::default() }, ..Profile::default() };
    vec![
        of(BackendProtocol::Https, None),
        of(BackendProtocol::Https, Some(tls.clone())),
        of(BackendProtocol::AutoHttp, Some(named)),
        Profile { transport: of(BackendProtocol::Grpc, None).transport, ..proxied() },
        of(BackendProtocol::Grpcs, Some(tls)),
        Profile {
            mirror: Some(false),
            transport: Transport {
                protocol: BackendProtocol::Fcgi,
                fastcgi_index: Some("index.php".parse().unwrap()),
                fastcgi_params: params,
                ..Transport::default()
            },
            ..proxied()
        },
        Profile { mirror: Some(true), ..proxied() },
    ]
}

#[test]
fn transports_have_connections_of_their_own() {
    check("transports", &fixed(config(&[("grpc-buffer-size-kb", "8")]), transports()), &bookworm());
}

#[test]
fn settings() {
    let config = config(&[
        ("access-log-path", "/dev/null"),
        ("bind-address", "127.0.0.1,127.0.0.2,::1"),
        ("block-cidrs", "192.0.2.0/24,2001:db8::/32"),
        ("denylist-source-range", "10.1.0.0/16"),
        ("whitelist-source-range", "10.0.0.0/8"),
        ("generate-request-id", "false"),
        ("hsts", "false"),
        ("log-format-escape-json", "true"),
        ("log-format-upstream", r#"{"time": "$time_iso8601", "tab": "\", "line": "${request_uri}"}"#),
        ("lua-shared-dicts", "configuration_data:60,my_dict:512k"),
        ("max-worker-connections", "0"),
        ("max-worker-open-files", "65536"),
        ("proxy-busy-buffers-size", "8k"),
        ("proxy-cookie-domain", "localhost example.org"),
        ("proxy-cookie-path", "~/one/ /"),
        ("proxy-max-temp-file-size", "0"),
        ("proxy-redirect-from", "default"),
        ("proxy-add-original-uri-header", "true"),
        ("proxy-next-upstream", "error http_502"),
        ("retry-non-idempotent", "true"),
        ("relative-redirects", "true"),
        ("reuse-port", "false"),
        ("server-name-hash-bucket-size", "512"),
        ("server-tokens", "true"),
        ("ssl-ciphers", ""),
        ("ssl-session-cache", "false"),
        ("upstream-keepalive-connections", "0"),
        ("use-gzip", "true"),
        ("gzip-types", "text/css application/json"),
        ("worker-processes", "2"),
    ]);
    check("settings", &fixed(config, []), &bookworm());
}

#[test]
fn json_log() {
    let config = config(&[("log-format-preset", "json"), ("enable-reason-header", "true"), ("log-reasons", "false")]);
    let mut caps = bookworm();
    caps.modules.extend(["ngx_stream_module", "ngx_stream_js_module"].map(str::to_owned));
    check("json_log", &fixed(config, []), &caps);
}

#[test]
fn forwarded_headers() {
    let config = config(&[
        ("use-forwarded-headers", "true"),
        ("compute-full-forwarded-for", "true"),
        ("forwarded-for-header", "CF-Connecting-IP"),
        ("proxy-real-ip-cidr", "10.0.0.0/8,fd00::/8"),
        ("disable-access-log", "true"),
    ]);
    check("forwarded_headers", &fixed(config, []), &bookworm());
}

#[test]
fn proxy_protocol() {
    check("proxy_protocol", &fixed(config(&[("use-proxy-protocol", "true"), ("use-http2", "false")]), []), &bookworm());
}

/// With a stream block that listens on the HTTPS port.
fn passthrough(config: Config) -> (Fixed, Capabilities) {
    let mut fixed = fixed(config, []);
    Arc::make_mut(&mut fixed.globals).listen.passthrough = Some(1442);
    let mut caps = bookworm();
    caps.modules.extend(["ngx_stream_module", "ngx_stream_js_module"].map(str::to_owned));
    (fixed, caps)
}

#[test]
fn ssl_passthrough_behind_the_proxy_protocol() {
    let (fixed, caps) = passthrough(config(&[("use-proxy-protocol", "true"), ("proxy-protocol-header-timeout", "3s")]));
    check("passthrough_behind_the_proxy_protocol", &fixed, &caps);
}

#[test]
fn ssl_passthrough_with_forwarded_headers_has_servers_for_tls() {
    let config = config(&[("use-forwarded-headers", "true"), ("compute-full-forwarded-for", "true"), ("reuse-port", "false")]);
    let (mut fixed, caps) = passthrough(config);
    let host_server = HostServer { snippet: snippet("# own"), ..HostServer::default() };
    fixed.host_servers.insert("own.example.com".into(), Arc::new(host_server));
    check("passthrough_with_forwarded_headers", &fixed, &caps);
}

#[test]
fn tcp_and_udp_services() {
    let config = config(&[
        ("enable-real-ip", "true"),
        ("proxy-real-ip-cidr", "10.0.0.0/8"),
        ("proxy-stream-timeout", "30s"),
        ("proxy-stream-next-upstream-tries", "0"),
        ("proxy-stream-responses", "2"),
    ]);
    let mut fixed = fixed(config, []);
    fixed.stream_services = support::stream_services();
    let bounds = || "1".parse().unwrap();
    let counting =
        RequestCounting { unknown_hosts: UnknownHosts::Skip, time: bounds(), length: bounds(), size: bounds(), native_schema: None };
    Arc::make_mut(&mut fixed.globals).counting = Some(counting);
    let mut caps = bookworm();
    caps.modules.extend(["ngx_stream_module", "ngx_stream_js_module"].map(str::to_owned));
    check("tcp_and_udp_services", &fixed, &caps);
}
