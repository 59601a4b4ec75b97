//! Limits, pages for errors and the firewall: from annotations and settings to routes and profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use model::{BuildOptions, Builder, Built, Limits, Module, ObjectKey, Profile, Route, Snapshot};
use serde_json::{Value, json};

/// One Ingress `ns/shop` with these annotations, under these settings.
struct World {
    options: BuildOptions,
    snapshot: Snapshot,
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

impl World {
    fn new(annotations: &[(&str, &str)], config: &[(&str, &str)]) -> Self {
        let key = |name: &str| ObjectKey::new("ns", name);
        let prefixed = |(name, value): &(&str, &str)| (format!("nginx.ingress.kubernetes.io/{name}"), (*value).to_owned());
        let annotations: BTreeMap<String, String> = annotations.iter().map(prefixed).collect();
        let backend = json!({"service": {"name": "shop", "port": {"number": 80}}});
        let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
        let ingress = json!({
            "metadata": {"namespace": "ns", "name": "shop", "annotations": annotations},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": "shop.example", "http": {"paths": paths}}]},
        });
        let mut snapshot = Snapshot::default();
        snapshot.ingresses.insert(key("shop"), Arc::new(object::<Ingress>(ingress).into()));
        let class = object::<IngressClass>(json!({"metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}));
        snapshot.ingress_classes.get_or_insert_default().insert("nginx".into(), Arc::new(class));
        let data: BTreeMap<&str, &str> = config.iter().copied().collect();
        snapshot.config_maps.insert(key("settings"), Arc::new(object::<ConfigMap>(json!({ "data": data }))));
        Self { options: BuildOptions { configmap: Some(key("settings")), ..BuildOptions::default() }, snapshot }
    }

    fn service(mut self, name: &str) -> Self {
        let service = json!({"metadata": {"namespace": "ns", "name": name}, "spec": {"ports": [{"port": 80}]}});
        self.snapshot.services.insert(ObjectKey::new("ns", name), Arc::new(object::<Service>(service).into()));
        self
    }

    fn build(&self) -> Built {
        Builder::new(self.options.clone()).build(&self.snapshot)
    }
}

fn route(built: &Built) -> &Route {
    &built.model.live.hosts.get("shop.example").unwrap().routes[0]
}

fn profile(built: &Built) -> &Profile {
    built.model.fixed.profiles.get(&route(built).profile).unwrap()
}

fn limits(annotations: &[(&str, &str)]) -> Option<Limits> {
    route(&World::new(annotations, &[]).build()).limits.as_deref().cloned()
}

#[test]
fn limit_rps_and_limit_rpm_have_a_burst_by_limit_burst_multiplier() {
    let found = limits(&[("limit-rps", "2"), ("limit-rpm", "100"), ("limit-connections", "8")]).unwrap();
    assert_eq!(found, Limits { limit_connections: Some(8), limit_rps: Some(2), limit_rpm: Some(100), ..Limits::default() });
    let found = limits(&[("limit-rps", "2"), ("limit-burst-multiplier", "3")]).unwrap();
    assert_eq!((found.limit_rps, found.limit_burst_multiplier), (Some(2), 3));
    assert_eq!(limits(&[("limit-rps", "0")]), None);
}

#[test]
fn limit_allowlist_by_its_older_name_limit_whitelist_needs_a_limit() {
    let found = limits(&[("limit-rps", "2"), ("limit-allowlist", "10.0.0.0/8,::1")]).unwrap();
    assert_eq!(found.limit_allowlist, ["10.0.0.0/8".into(), Arc::<str>::from("::1")]);
    assert_eq!(limits(&[("limit-whitelist", "10.0.0.0/8")]), None);
}

#[test]
fn limit_rate_and_limit_rate_after_are_left_out_where_the_settings_say_the_same() {
    let global = [("limit-rate", "10"), ("limit-rate-after", "20")];
    let bandwidth = |annotations: &[(&str, &str)]| {
        let built = World::new(annotations, &global).build();
        (route(&built).limit_rate, route(&built).limit_rate_after)
    };
    assert_eq!(bandwidth(&[]), (None, None));
    assert_eq!(bandwidth(&[("limit-rate", "10"), ("proxy-buffering", "on")]), (None, None));
    assert_eq!(bandwidth(&[("limit-rate", "0")]), (Some(0), None));
    assert_eq!(bandwidth(&[("limit-rate-after", "1")]), (None, Some(1)));
}

#[test]
fn custom_http_errors_are_text_and_a_default_backend_is_data() {
    let world = World::new(&[("custom-http-errors", "503,404"), ("default-backend", "pages")], &[]);
    let built = world.build();
    assert!(built.problems().iter().any(|problem| problem.detail.contains("the Service ns/pages does not exist")));
    assert_eq!(route(&built).errors.as_ref().unwrap().default_backend, None);

    let built = world.service("pages").build();
    let errors = route(&built).errors.clone().unwrap();
    assert_eq!(
        (errors.custom_http_errors.as_deref(), errors.default_backend.as_deref()),
        (Some([404, 503].as_slice()), Some("ns/pages:-"))
    );
    let pages = profile(&built).error_pages.clone().unwrap();
    assert_eq!((pages.statuses.as_slice(), pages.only_own), ([404, 503].as_slice(), false));
    assert_eq!(&*built.model.live.backends.get("ns/pages:-").unwrap().name, "custom-default-backend-ns-pages");

    let only = World::new(&[("default-backend", "pages")], &[]).service("pages").build();
    assert_eq!(*profile(&only), Profile::default(), "a backend in the place of one without endpoints needs no text");
}

const CRITICAL: [(&str, &str); 2] = [("annotations-risk-level", "Critical"), ("allow-snippet-annotations", "true")];

#[track_caller]
fn check_firewall(config: &[(&str, &str)], annotations: &[(&str, &str)], expected: Option<(Option<bool>, bool, bool, bool)>) {
    let config: Vec<_> = CRITICAL.iter().chain(config).copied().collect();
    let built = World::new(annotations, &config).build();
    let found = profile(&built).firewall.clone();
    assert_eq!(found.map(|text| (text.switch, text.recommended, text.core_rules, text.rules.is_some())), expected, "{annotations:?}");
}

#[test]
fn enable_modsecurity_says_only_what_the_settings_do_not() {
    let (on, off) = (("enable-modsecurity", "true"), ("enable-modsecurity", "false"));
    let (rules, core) = (("modsecurity-snippet", "SecRuleEngine On"), ("enable-owasp-core-rules", "true"));
    check_firewall(&[], &[rules, core], None);
    check_firewall(&[], &[off, rules], None);
    check_firewall(&[], &[on], Some((Some(true), true, false, false)));
    check_firewall(&[], &[on, rules, core], Some((Some(true), false, true, true)));
    check_firewall(&[on], &[on], None);
    check_firewall(&[on], &[off, rules], Some((Some(false), false, false, false)));
    check_firewall(&[on], &[rules], Some((None, false, false, true)));
    check_firewall(&[on, ("enable-owasp-modsecurity-crs", "true")], &[core], None);
}

#[test]
fn what_needs_a_module_that_is_not_there_is_said_and_not_rendered() {
    let missing: BTreeSet<Module> = [Module::Firewall, Module::Stream, Module::Zstd].into();
    let settings = [("enable-modsecurity", "true"), ("stream-snippet", "# text"), ("enable-zstd", "true")];
    let mut world = World::new(&[("enable-modsecurity", "true")], &settings);
    world.options.missing = missing;
    let built = world.build();
    let details: Vec<String> = built.problems().into_iter().map(|problem| problem.detail).collect();
    for package in ["libnginx-mod-http-modsecurity", "libnginx-mod-stream", "ngx_http_zstd_filter_module"] {
        assert!(details.iter().any(|detail| detail.contains(package)), "{package}: {details:?}");
    }
    let config = &built.model.fixed.globals.config;
    assert!(!config.firewall.enable_modsecurity && !config.enable_zstd && config.snippets.stream_snippet.is_none());
    assert!(route(&built).denied, "what was to be guarded is closed");
    assert_eq!(profile(&built).firewall, None);
}

#[test]
fn a_stream_snippet_leaves_with_its_ingress() {
    let mut world = World::new(&[("stream-snippet", "server { listen 8000; proxy_pass 127.0.0.1:80; }")], &CRITICAL);
    let mut builder = Builder::new(world.options.clone());
    let streams = builder.build(&world.snapshot).model.fixed.streams;
    assert_eq!(streams.iter().map(|(ingress, _)| ingress.to_string()).collect::<Vec<_>>(), ["ns/shop"]);
    world.snapshot.ingresses.clear();
    assert!(builder.build(&world.snapshot).model.fixed.streams.is_empty());
}

#[test]
fn ssl_passthrough_is_an_entry_of_the_map_with_the_endpoints_and_needs_no_reload() {
    let mut world = World::new(&[("ssl-passthrough", "true")], &[]).service("shop");
    world.options.passthrough_port = Some(442);
    let mut builder = Builder::new(world.options.clone());
    let passthrough_map = |built: &Built| -> Vec<(String, String)> {
        built.model.live.passthrough_map.iter().map(|(host, text)| (host.to_string(), text.to_string())).collect()
    };
    let empty = builder.build(&world.snapshot);
    assert_eq!(passthrough_map(&empty), [("shop.example".into(), String::new())], "no endpoint answers, and NGINX decrypts nothing");
    assert_eq!(empty.model.fixed.globals.listen.passthrough, Some(442));

    for (kind, address) in [("IPv4", "10.0.0.1"), ("IPv6", "fd00::1")] {
        let labels = json!({"kubernetes.io/service-name": "shop"});
        let slice = json!({
            "metadata": {"namespace": "ns", "name": kind, "labels": labels}, "addressType": kind,
            "ports": [{"port": 8443}], "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
        });
        world.snapshot.endpoint_slices.insert(ObjectKey::new("ns", kind), Arc::new(object::<EndpointSlice>(slice).into()));
    }
    let full = builder.build(&world.snapshot);
    assert_eq!(
        passthrough_map(&full),
        [("shop.example".into(), format!("{:40}{:40}", "0a000001:8443", "fd000000000000000000000000000001:8443"))]
    );
    let model::Plan::Live(delta) = model::plan(&empty.model, &full.model) else { panic!("a reload, or nothing") };
    assert!(delta.iter().any(|op| op.table == model::Table::Passthrough && op.key.as_ref() == "shop.example"), "{delta:?}");
    assert!(passthrough_map(&World::new(&[], &[]).service("shop").build()).is_empty());
}

#[test]
fn ssl_passthrough_needs_its_flag_and_its_modules() {
    let details = |world: &World| -> Vec<String> {
        let built = world.build();
        assert!(built.model.live.passthrough_map.is_empty() && built.model.fixed.globals.listen.passthrough.is_none());
        built.problems().into_iter().map(|problem| problem.detail).filter(|detail| detail.contains("NGINX decrypts")).collect()
    };
    let mut world = World::new(&[("ssl-passthrough", "true")], &[]).service("shop");
    assert_eq!(details(&world), ["the flag --enable-ssl-passthrough is not set; NGINX decrypts connections to its hosts"]);
    world.options.passthrough_port = Some(442);
    world.options.missing = [Module::StreamScript].into();
    assert_eq!(
        details(&world),
        ["NGINX lacks the module ngx_stream_js_module (Debian package libnginx-mod-stream-js); NGINX decrypts connections to its hosts"]
    );
}

#[test]
fn ssl_passthrough_has_no_effect_on_other_paths_and_says_so() {
    let check = |host: Value, paths: &[(&str, &str)], passthrough_map: usize, expected: &[&str]| {
        let mut world = World::new(&[], &[]).service("shop");
        world.options.passthrough_port = Some(442);
        let backend = json!({"service": {"name": "shop", "port": {"number": 80}}});
        let paths: Vec<Value> = paths.iter().map(|(path, kind)| json!({"path": path, "pathType": kind, "backend": backend})).collect();
        let ingress = json!({
            "metadata": {"namespace": "ns", "name": "shop", "annotations": {"nginx.ingress.kubernetes.io/ssl-passthrough": "true"}},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": paths}}]},
        });
        world.snapshot.ingresses.insert(ObjectKey::new("ns", "shop"), Arc::new(object::<Ingress>(ingress).into()));
        let built = world.build();
        assert_eq!(built.model.live.passthrough_map.len(), passthrough_map, "{expected:?}");
        let details: Vec<String> =
            built.problems().into_iter().map(|problem| problem.detail).filter(|detail| detail.contains("ssl-")).collect();
        assert_eq!(details.len(), expected.len(), "{details:?}");
        for (detail, part) in details.iter().zip(expected) {
            assert!(detail.contains(part), "{detail}: {part}");
        }
    };
    check(json!("a.example"), &[("/", "Prefix"), ("/x", "Exact")], 1, &["\"/x\" applies to plain HTTP only"]);
    check(json!("a.example"), &[("/", "Exact"), ("/", "Prefix")], 1, &["\"/\" applies to plain HTTP only"]);
    check(json!("a.example"), &[("/", "Exact")], 1, &[]);
    check(json!("a.example"), &[("/x", "Prefix")], 0, &["no rule gives the path \"/\" of host \"a.example\" a backend"]);
    check(json!("*.example"), &[("/", "Prefix")], 0, &["\"*.example\" is not the whole name of a host"]);
    check(Value::Null, &[("/", "Prefix")], 0, &["\"_\" is not the whole name of a host"]);
}
