//! Every location of the rendered text that passes requests on, walked in every server: none that serves a protected route lacks its
//! protection, and none can be reached but through the Lua that chose it.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use model::options::PemPair;
use model::{BuildOptions, Builder, Model, ObjectKey, Route, Snapshot};
use ngx_value::lexer::{self, Body, Directive};
use render::{Capabilities, Paths};
use testkit::kube::{PathType, mk_authority, mk_ingress};

const NAMESPACE: &str = "n";

/// Ways to ask another service.
const ASKING: [&[(&str, &str)]; 5] = [
    &[],
    &[("auth-url", "http://auth.example.com/check")],
    &[("auth-url", "http://auth.example.com/check"), ("auth-signin", "http://$host/start")],
    &[("auth-url", "http://10.0.0.1/check"), ("auth-keepalive", "8"), ("satisfy", "any"), ("whitelist-source-range", "10.0.0.0/8")],
    &[("auth-url", "http://auth.example.com/check"), ("auth-snippet", "proxy_set_header A b;"), ("auth-cache-key", "$remote_user")],
];

/// What stands beside it and makes another location of it.
const BESIDE: [&[(&str, &str)]; 14] = [
    &[],
    &[("backend-protocol", "HTTPS")],
    &[("backend-protocol", "AUTO_HTTP")],
    &[("backend-protocol", "GRPC")],
    &[("backend-protocol", "GRPCS")],
    &[("backend-protocol", "FCGI")],
    &[("proxy-buffer-size", "8k")],
    &[("proxy-buffering", "on"), ("proxy-request-buffering", "off")],
    &[("mirror-target", "http://copy.example.com$request_uri")],
    &[("configuration-snippet", "proxy_set_header X-A b;")],
    &[("custom-http-errors", "404,503"), ("default-backend", "s")],
    &[("enable-modsecurity", "true")],
    &[("server-snippet", "# text")],
    &[("auth-tls-secret", "n/ca"), ("auth-tls-verify-depth", "2")],
];

fn world(settings: &[(&str, &str)]) -> Model {
    let key = |name: &str| ObjectKey::new(NAMESPACE, name);
    let data = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")].iter().chain(settings);
    let data = data.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut snapshot = Snapshot { ingress_classes: Some(<_>::default()), ..Snapshot::default() };
    snapshot.config_maps.insert(key("settings"), Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }));
    let ca = ByteString(mk_authority("ca").unwrap().certificate_pem.into_bytes());
    snapshot.secrets.insert(key("ca"), Arc::new(Secret { data: Some([("ca.crt".to_owned(), ca)].into()), ..Secret::default() }));
    for (i, asking) in ASKING.iter().enumerate() {
        for (j, beside) in BESIDE.iter().enumerate() {
            let name = format!("i{i}-{j}");
            let ingress = mk_ingress(&name).host(&format!("{name}.example.com")).path("/", PathType::Prefix, "s", 80);
            let ingress = asking.iter().chain(*beside).fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
            let mut ingress = ingress.build();
            ingress.spec.get_or_insert_default().ingress_class_name = None;
            snapshot.ingresses.insert(key(&name), Arc::new(ingress.into()));
        }
    }
    let made = rcgen::generate_simple_self_signed(["example.com".to_owned()]).unwrap();
    let fallback_certificate = PemPair { chain: made.cert.pem(), key: made.signing_key.serialize_pem() };
    let settings = BuildOptions {
        watch_ingress_without_class: true,
        configmap: Some(key("settings")),
        fallback_certificate,
        ..BuildOptions::default()
    };
    Builder::new(settings).build(&snapshot).model
}

/// The servers that clients reach: those of the http block but the control plane's own.
fn servers(text: &str) -> Vec<Directive> {
    let all = lexer::parse(text).unwrap();
    let http = all.into_iter().find(|directive| directive.name() == "http").unwrap();
    let servers = http.children().iter().filter(|directive| directive.name() == "server");
    let is_control = |server: &&Directive| children(server, "listen").any(|listen| listen.contains("control.sock"));
    servers.filter(|server| !is_control(server)).cloned().collect()
}

/// The first argument of each directive of this name, or its Lua.
fn children<'a>(block: &'a Directive, name: &'a str) -> impl Iterator<Item = &'a str> {
    let named = block.children().iter().filter(move |directive| directive.name() == name);
    named.map(|directive| match &directive.body {
        Body::Lua(code) => code.as_str(),
        _ => directive.arguments().next().unwrap_or_default(),
    })
}

fn passes(block: &Directive) -> bool {
    block.children().iter().any(|directive| directive.name().ends_with("_pass"))
}

fn has(block: &Directive, name: &str, text: &str) -> bool {
    children(block, name).any(|found| found.contains(text))
}

/// Why a location may pass requests on. Panics if it may not.
fn reason(server: &Directive, location: &Directive, asking: &BTreeSet<String>) -> &'static str {
    let name: Vec<&str> = location.arguments().collect();
    let targets: Vec<&str> =
        location.children().iter().filter(|child| child.name().ends_with("_pass")).flat_map(Directive::arguments).collect();
    assert_eq!(targets.len(), 1, "{name:?}: {targets:?}");
    let is_internal = children(location, "internal").next().is_some();
    match name.as_slice() {
        // Lua finds the route here, and leaves only what has the default profile.
        ["/"] => {
            assert!(has(location, "rewrite_by_lua_block", r#""narthex.route.router"].rewrite()"#), "{name:?}");
            assert_eq!(targets, ["http://upstream_balancer"]);
            assert!(!asking.contains("base"), "the default profile asks no service");
            "the router"
        }
        ["@narthex_errors\n"] => {
            assert!(has(location, "rewrite_by_lua_block", r#""narthex.route.errors"].page()"#), "{name:?}");
            "a page for an error"
        }
        ["=", uri] if uri.starts_with("/_narthex_external_auth/") => {
            assert!(is_internal && targets == ["$narthex_auth_url"], "{uri}");
            assert!(has(location, "rewrite_by_lua_block", r#""narthex.auth.external"].ask()"#), "{uri}");
            "the service itself"
        }
        ["=", uri] if targets == ["$narthex_mirror_target"] => {
            assert!(is_internal, "{uri}");
            "a copy"
        }
        // No request is for a name with a line break, and no header of a backend leads to one.
        [name] if name.starts_with('@') && name.ends_with('\n') => {
            let id = name.trim_start_matches('@').trim_end();
            let asked: Vec<&str> = children(location, "auth_request").collect();
            if !asking.contains(id) {
                assert!(asked.is_empty(), "{id}");
                return "a profile";
            }
            assert_eq!(asked, [format!("/_narthex_external_auth/{id}")]);
            assert!(has(location, "access_by_lua_block", r#""narthex.auth.external"].admit()"#), "{id}");
            let is_service = |other: &&Directive| other.name() == "location" && other.arguments().eq(["=", asked[0]]);
            assert_eq!(server.children().iter().filter(is_service).count(), 1, "{id}: the service that is asked");
            "a profile that asks"
        }
        other => panic!("a location that passes requests on, without a known reason: {other:?}"),
    }
}

fn routes(model: &Model) -> impl Iterator<Item = &Arc<Route>> {
    model.live.hosts.values().flat_map(|host| host.routes.iter())
}

#[test]
fn no_location_that_could_serve_a_protected_route_lacks_its_protection() {
    for settings in [&[][..], &[("custom-http-errors", "404,503")], &[("enable-modsecurity", "true")], &[("server-snippet", "# for all")]] {
        let model = world(settings);
        let asking: BTreeSet<String> =
            routes(&model).filter(|route| route.external_auth.is_some()).map(|route| route.profile.to_string()).collect();
        let never: BTreeSet<String> =
            routes(&model).filter(|route| route.external_auth.is_none()).map(|route| route.profile.to_string()).collect();
        assert!(asking.len() > 30 && asking.is_disjoint(&never), "{}", asking.len());
        // Profiles that are always there ask, too.
        let asking: BTreeSet<String> = model
            .fixed
            .profiles
            .iter()
            .filter(|(_, profile)| profile.external_auth.is_some())
            .map(|(id, _)| id.to_string())
            .chain(asking)
            .collect();

        let paths = Paths::new("/var/lib/narthex");
        let set = render::render(&model.fixed, &Capabilities::assumed(), &paths).unwrap();
        let servers = servers(std::str::from_utf8(set.conf()).unwrap());
        let mut verifying = BTreeMap::new();
        for server in &servers {
            assert!(!passes(server), "a server passes nothing on by itself");
            let locations: Vec<&Directive> = server.children().iter().filter(|child| child.name() == "location").collect();
            let mut found: BTreeMap<&str, usize> = BTreeMap::new();
            for location in locations.iter().filter(|location| passes(location)) {
                *found.entry(reason(server, location, &asking)).or_default() += 1;
            }
            assert_eq!(found.get("a profile that asks"), found.get("the service itself"), "{found:?}");
            // Certificates: what the server asks for, and what it says that it asked for.
            let verified: Vec<&str> = server
                .children()
                .iter()
                .filter(|child| child.name() == "set" && child.arguments().next() == Some("$narthex_clients"))
                .flat_map(|child| child.arguments().skip(1))
                .collect();
            assert_eq!(verified.len(), children(server, "ssl_verify_client").count());
            for id in verified {
                assert_eq!(verifying.insert(id.to_owned(), children(server, "server_name").next().unwrap()), None);
            }
        }
        for route in routes(&model).filter(|route| route.verified.is_some()) {
            let host = format!("{}.example.com", route.ingress);
            assert_eq!(verifying.get(route.verified.as_deref().unwrap()), Some(&host.as_str()), "certificates of {host}");
        }
        assert_eq!(verifying.len(), ASKING.len());
        assert!(servers.len() > ASKING.len());
    }
}
