//! What is rendered for models built by hand, as files under `golden/`; each also passes `nginx -t`.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::net::IpAddr;
use std::sync::Arc;

use annotations::Config;
use annotations::groups::{BackendProtocol, Buffers, ConnectionHeader};
use model::live::{Cors, Mirror, Redirects, Replacements};
use model::profile::{BackendName, BackendTls, BackendTrust, Directives, Proxying, Replacement, TlsMaterial, Transport};
use model::settings::PemPair;
use model::{Alternative, BackendRecord, Fixed, HostRecord, Model, Policy, Profile, Route, Shell, Stickiness};
use ngx_value::{Seconds, Size, Snippet};
use render::{Capabilities, ConfFilter, FileSet, Paths};
use support::{accepted_by_nginx, config, fixed, installed, model, paths, record, regex_record, route, with};

#[track_caller]
fn compare(name: &str, set: &FileSet, conf: &str) {
    let settings = {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("golden");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings
    };
    // The revision depends on the Lua modules as well.
    settings.bind(|| insta::assert_snapshot!(name, conf.replace(&set.revision, "REVISION")));
}

/// Compares `nginx.conf`, and lets the NGINX of this machine test what it gets for the same input.
#[track_caller]
fn check(name: &str, fixed: &Fixed, caps: &Capabilities) {
    let set = render::render(fixed, caps, &paths()).unwrap();
    compare(name, &set, std::str::from_utf8(set.conf()).unwrap());

    let scratch = tempfile::tempdir().unwrap();
    let paths = Paths::new(scratch.path());
    let set = render::render(fixed, &installed(), &paths).unwrap();
    accepted_by_nginx(&set, std::str::from_utf8(set.conf()).unwrap(), &paths);
}

/// The same for the equivalent text.
#[track_caller]
fn check_conf(name: &str, model: &Model) {
    check_conf_of(name, model, &bookworm());
}

#[track_caller]
fn check_conf_of(name: &str, model: &Model, caps: &Capabilities) {
    let set = render::render(&model.fixed, caps, &paths()).unwrap();
    compare(name, &set, &servers(&render::conf(model, caps, &paths(), ConfFilter::default()).unwrap()));

    let scratch = tempfile::tempdir().unwrap();
    let paths = Paths::new(scratch.path());
    let set = render::render(&model.fixed, &installed(), &paths).unwrap();
    let conf = render::conf(model, &installed(), &paths, ConfFilter::default()).unwrap();
    accepted_by_nginx(&set, &conf, &paths);
}

/// The text from the upstream block on; what is before it is in the other goldens.
fn servers(conf: &str) -> String {
    let from = conf.find("    # Every backend").expect("every text has this comment");
    conf[from..].to_owned()
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
fn profiles_and_shells() {
    let directives = Directives { proxy_body_size: Some(Size::mib(8)), ..Directives::default() };
    let large = Profile { directives, proxying: buffers(4, 8), ..Profile::default() };
    let directives = Directives { proxy_buffering: Some(true), proxy_request_buffering: Some(false), ..Directives::default() };
    let buffered = Profile { directives, proxying: buffers(8, 4), ..Profile::default() };
    let tagged =
        Profile { snippet: snippet("proxy_set_header X-Tag $service_name;\nproxy_hide_header X-Powered-By; # why"), ..Profile::default() };
    let profiles = [large.id()].into();
    let mut fixed = fixed(Config::default(), [large, buffered, tagged]);
    let shop = Shell {
        aliases: vec!["www.shop.example".into()],
        snippet: snippet("location = /robots.txt {\n    return 204;\n}"),
        profiles,
        ..Shell::default()
    };
    fixed.shells.insert("shop.example".into(), Arc::new(shop));
    fixed.shells.insert(
        "*.shop.example".into(),
        Arc::new(Shell { aliases: Vec::new(), snippet: snippet("add_header X-Label $subdomain;"), ..Shell::default() }),
    );
    check("profiles_and_shells", &fixed, &bookworm());
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
fn text_of_transports() {
    let profiles = transports();
    let mirror = Mirror {
        mirror_target: "https://test.example.com$request_uri".into(),
        mirror_host: "test.example.com".into(),
        id: "123-456".into(),
    };
    let pair = |from: &str, to: &str| Some([from.to_owned(), to.to_owned()]);
    let replacements = Replacements {
        proxy_cookie_domain: pair("localhost", "example.org"),
        proxy_cookie_path: None,
        proxy_redirect: pair("http://a/?b", "/c"),
    };
    let routes = profiles.iter().zip(["https", "tls", "auto", "grpc", "grpcs", "fcgi", "mirror"]).map(|(profile, name)| Route {
        profile: profile.id(),
        policy: Arc::new(Policy {
            mirror: profile.mirror.map(|_| Arc::new(mirror.clone())),
            replacements: profile.proxying.location.as_ref().map(|_| Arc::new(replacements.clone())),
            proxy_next_upstream_tries: Some(7),
            connection_proxy_header: Some(ConnectionHeader::Close),
            ..Policy::default()
        }),
        ..route(name, &format!("/{name}/"))
    });
    let routes: Vec<Route> = routes.collect();
    let paths: Vec<String> = routes.iter().map(|route| route.path.to_string()).collect();
    let prefixes: Vec<(&str, u32)> = paths.iter().map(|path| &**path).zip(0..).collect();
    let record = record(&[], &prefixes, routes);
    check_conf("text_of_transports", &model(fixed(Config::default(), profiles), vec![("shop.example", record)], &[]));
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

#[test]
fn text_of_plain_hosts() {
    let own = Profile { proxying: buffers(4, 8), snippet: snippet("chunked_transfer_encoding on;"), ..Profile::default() };
    let policy = Policy {
        proxy_connect_timeout: Some(10),
        proxy_send_timeout: Some(20),
        proxy_read_timeout: Some(30),
        proxy_body_size: Some(8 << 20),
        upstream_vhost: Some("shop.internal:${server_port}".into()),
        ..Policy::default()
    };
    let shop = with(policy, Route { profile: own.id(), ..route("shop", "/") });
    let policy = Policy {
        denied: true,
        enable_access_log: false,
        force_ssl_redirect: Some(true),
        preserve_trailing_slash: Some(true),
        ..Policy::default()
    };
    let blocked = with(policy, route("blocked", "/a\"b\\c $d{e};é"));
    let acme = route("acme", "/.well-known/acme-challenge/x");
    let routes = record(
        &[("/a\"b\\c $d{e};é", 1), ("/exact/", 2), ("/.well-known/acme-challenge/x", 2)],
        &[("/", 0), ("/a\"b\\c $d{e};é/", 1)],
        vec![shop, blocked, acme],
    );
    let mut fixed = fixed(config(&[("whitelist-source-range", "1.1.1.1")]), [own]);
    fixed.shells.insert(
        "shop.example".into(),
        Arc::new(Shell { aliases: vec!["www.shop.example".into()], snippet: snippet("add_header X-Shell on;"), ..Shell::default() }),
    );
    let hosts = vec![
        ("shop.example", routes.clone()),
        ("www.shop.example", routes),
        ("_", record(&[], &[("/only/", 0)], vec![route("only", "/only/")])),
    ];
    check_conf("text_of_plain_hosts", &model(fixed, hosts, &["*.example", "www.shop.example"]));
}

#[test]
fn text_of_regex_hosts() {
    let rewritten = Route { rewrite_target: Some("/$2".into()), ..route("app", "/app(/|$)(.*)") };
    let wild = regex_record(&[("^/app(/|$)(.*)", 0), ("^/", 1)], vec![rewritten, route("root", "/")]);
    let catch_all = regex_record(&[("^/id/[0-9]{2}$", 0)], vec![route("id", "/id/[0-9]{2}$")]);
    check_conf(
        "text_of_regex_hosts",
        &model(fixed(Config::default(), []), vec![("*.example.com", wild), ("_", catch_all)], &["*.example.com"]),
    );
}

#[test]
fn text_of_answers() {
    let header = |name: &str, value: &str| (Arc::from(name), Arc::from(value));
    let cors = |origins: Option<&[&str]>| {
        let headers = vec![header("Access-Control-Allow-Methods", "GET, PUT"), header("Access-Control-Max-Age", "200")];
        let origins = origins.map(|origins| origins.iter().map(|origin| Arc::from(*origin)).collect());
        Some(Arc::new(Cors { cors_allow_origin: origins, headers }))
    };
    let policy = Policy { cors: cors(None), custom_headers: vec![header("X-Price", "5$ \"each\"")], ..Policy::default() };
    let open = with(policy, route("open", "/"));
    let policy = Policy { cors: cors(Some(&["https://a.example:8443", "https://*.example", "null"])), ..Policy::default() };
    let listed = with(policy, route("listed", "/listed"));
    let answer = Some((301, Arc::from("/new?a=b")));
    let redirects = Redirects { answer, relative_redirects: true, use_port_in_redirects: Some(true), ..Redirects::default() };
    let moved = with(Policy { redirects: Some(Arc::new(redirects)), ..Policy::default() }, route("moved", "/moved"));
    let away = Route {
        rewrite_target: Some("https://other.example/$1".into()),
        x_forwarded_prefix: Some("/away/$1".into()),
        ..route("away", "/away/(.*)")
    };
    let away = with(Policy { force_ssl_redirect: Some(true), ..Policy::default() }, away);
    let mut host = (*record(&[], &[("/", 0), ("/listed/", 1), ("/moved/", 2), ("/away/", 3)], vec![open, listed, moved, away])).clone();
    host.app_root = Some("/app".into());
    let twin = Arc::new(HostRecord { redirect_to: Some("shop.example".into()), ..HostRecord::default() });
    let hosts = vec![("shop.example", Arc::new(host)), ("www.shop.example", twin)];
    check_conf("text_of_answers", &model(fixed(Config::default(), []), hosts, &[]));
}

#[test]
fn text_of_a_canary_and_affinity() {
    let sticky = with(Policy { issues_cookie: true, ..Policy::default() }, route("sticky", "/sticky"));
    let routes = record(&[], &[("/", 0), ("/sticky/", 1), ("/plain/", 2)], vec![route("split", "/"), sticky, route("plain", "/plain")]);
    let mut model = model(fixed(Config::default(), []), vec![("shop.example", routes)], &[]);
    let mut change = |key: &str, change: fn(&mut BackendRecord)| {
        change(Arc::make_mut(model.live.backends.get_mut(key).expect("a route names it")));
    };
    change("default/split:80", |backend| {
        let canary = Alternative { backend: "default/new:80".into(), canary_weight: 20, ..Alternative::default() };
        backend.alternative = Some(Arc::new(canary));
    });
    change("default/sticky:80", |backend| {
        let cookie = Stickiness { session_cookie_name: "route".into(), ..Stickiness::default() };
        backend.affinity = Some(Arc::new(cookie));
    });
    check_conf("text_of_a_canary_and_affinity", &model);
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
    let shell = Shell { snippet: snippet("# own"), ..Shell::default() };
    fixed.shells.insert("own.example.com".into(), Arc::new(shell));
    check("passthrough_with_forwarded_headers", &fixed, &caps);
}

#[test]
fn text_of_ssl_passthrough() {
    let (fixed, caps) = passthrough(config(&[]));
    let hosts = vec![("a.example.com", record(&[], &[("/", 0)], vec![route("a", "/")]))];
    let mut model = model(fixed, hosts, &[]);
    model.signposts.insert("a.example.com".into(), "10.0.0.1:8443,[fd00::1]:8443".into());
    model.signposts.insert("nobody.example.com".into(), "".into());
    check_conf_of("text_of_passthrough", &model, &caps);
    let text = |host| render::conf(&model, &caps, &paths(), ConfFilter { host: Some(host), path: None }).unwrap();
    assert!(text("a.example.com").contains("server [fd00::1]:8443;") && !text("a.example.com").contains("nobody"));
    assert!(!text("_").contains("stream {"));
}

#[test]
fn text_of_stream_snippets() {
    let mut fixed = fixed(config(&[("stream-snippet", "# of the settings")]), []);
    let server = "server { listen 8000; proxy_pass 127.0.0.1:80; }";
    fixed.streams.push((model::ObjectKey::new("default", "a"), Arc::new(snippet(server).unwrap())));
    let model = model(fixed, vec![("a.example.com", record(&[], &[("/", 0)], vec![route("a", "/")]))], &[]);
    let caps = {
        let mut caps = bookworm();
        caps.modules.insert("ngx_stream_module".into());
        caps
    };
    check_conf_of("text_of_stream_snippets", &model, &caps);
    // It is no part of a host, and without the block there is nothing.
    let text = |caps, host| render::conf(&model, caps, &paths(), ConfFilter { host, path: None }).unwrap();
    assert!(text(&caps, None).contains(server) && text(&caps, None).contains("# of the settings"));
    assert!(!text(&caps, Some("a.example.com")).contains("stream {") && !text(&bookworm(), None).contains("stream {"));
}
