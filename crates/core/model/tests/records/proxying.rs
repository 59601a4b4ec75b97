//! What annotations about proxying come to: fields of routes, which are live, and profiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::networking::v1::Ingress;
use model::profile::{BackendName, Profile, Replacement};
use model::{BuildOptions, Builder, Built, ObjectKey, ProblemKind, Route, Snapshot};
use settings::groups::{BackendProtocol, ConnectionHeader};

/// An Ingress of namespace `ns` with one rule: host `h`, `path` to port 80 of the Service `shop`.
fn ingress(path: &str, annotations: &[(&str, &str)]) -> Ingress {
    let annotations: serde_json::Map<String, serde_json::Value> =
        annotations.iter().map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), (*value).into())).collect();
    let backend = serde_json::json!({"service": {"name": "shop", "port": {"number": 80}}});
    serde_json::from_value(serde_json::json!({
        "metadata": {"annotations": annotations},
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"host": "h", "http": {"paths": [{"path": path, "pathType": "Prefix", "backend": backend}]}}],
        },
    }))
    .unwrap()
}

#[derive(Default)]
struct World {
    snapshot: Snapshot,
}

impl World {
    fn ingress(mut self, name: &str, path: &str, annotations: &[(&str, &str)]) -> Self {
        self.snapshot.ingresses.insert(ObjectKey::new("ns", name), Arc::new(ingress(path, annotations).into()));
        self
    }

    fn settings(mut self, data: &[(&str, &str)]) -> Self {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let map = ConfigMap { data: Some(data), ..ConfigMap::default() };
        self.snapshot.config_maps.insert(ObjectKey::new("ns", "settings"), Arc::new(map));
        self
    }

    fn params(mut self, data: &[(&str, &str)]) -> Self {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.snapshot.config_maps.insert(ObjectKey::new("ns", "params"), Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }));
        self
    }

    /// A Secret `ns/tls` with these keys, and others that hold the right thing.
    fn secret(mut self, keys: &[&str]) -> Self {
        let made = rcgen::generate_simple_self_signed(["shop.example".to_owned()]).unwrap();
        let value = |key: &str| match key {
            "tls.key" => made.signing_key.serialize_pem(),
            _ => made.cert.pem(),
        };
        let data: BTreeMap<_, _> = keys.iter().map(|key| ((*key).to_owned(), ByteString(value(key).into_bytes()))).collect();
        self.snapshot.secrets.insert(ObjectKey::new("ns", "tls"), Arc::new(Secret { data: Some(data), ..Secret::default() }));
        self
    }

    fn build(mut self) -> Built {
        // There are no classes, so that of the Ingress is taken for granted.
        self.snapshot.ingress_classes.get_or_insert_default();
        let options = BuildOptions { configmap: Some(ObjectKey::new("ns", "settings")), implied_class: true, ..BuildOptions::default() };
        Builder::new(options).build(&self.snapshot)
    }
}

/// The route of a path of host `h`, and its profile.
fn of(built: &Built, path: &str) -> (Arc<Route>, Arc<Profile>) {
    let host = &built.model.live.hosts["h"];
    let route = host.routes.iter().find(|route| &*route.path == path).unwrap();
    (route.clone(), built.model.fixed.profiles[&route.profile].clone())
}

#[track_caller]
fn build(annotations: &[(&str, &str)]) -> (Arc<Route>, Arc<Profile>) {
    of(&World::default().settings(&[]).ingress("shop", "/", annotations).build(), "/")
}

#[test]
fn proxy_next_upstream_tries_and_connection_proxy_header_are_live() {
    let (route, profile) = build(&[("proxy-next-upstream-tries", "7"), ("connection-proxy-header", "close")]);
    assert_eq!(
        (route.proxy_next_upstream_tries, route.connection_proxy_header, &*profile),
        (Some(7), Some(ConnectionHeader::Close), &Profile::default())
    );
    assert_eq!(build(&[("proxy-next-upstream-tries", "3")]).0.proxy_next_upstream_tries, None, "the global setting");
}

#[test]
fn http2_push_preload_changes_nothing() {
    let (route, profile) = build(&[("http2-push-preload", "true")]);
    assert_eq!((route, profile), build(&[]));
}

#[test]
fn what_equals_the_global_setting_is_the_default_profile() {
    let (_, profile) = build(&[
        ("client-body-buffer-size", "8k"),
        ("proxy-buffers-number", "4"),
        ("proxy-http-version", "1.1"),
        ("proxy-max-temp-file-size", "1024m"),
        ("proxy-next-upstream", "error timeout"),
        ("proxy-next-upstream-timeout", "0"),
        ("proxy-cookie-path", "off"),
        ("proxy-redirect-from", "off"),
        ("proxy-redirect-to", "goodbye.com"),
        ("backend-protocol", "http"),
    ]);
    assert_eq!(*profile, Profile::default());
}

#[test]
fn proxy_busy_buffers_size_and_proxy_max_temp_file_size_go_with_all_buffers() {
    let world = World::default().settings(&[("proxy-busy-buffers-size", "12k")]);
    let built = world.ingress("shop", "/", &[("proxy-buffer-size", "16k"), ("proxy-max-temp-file-size", "0")]).build();
    let buffers = of(&built, "/").1.proxying.buffers.unwrap();
    // The global busy size is too small for these buffers.
    assert_eq!((buffers.size.bytes, buffers.number, buffers.busy, buffers.max_temp_file.bytes), (16 << 10, 4, None, 0));
    let (_, profile) = build(&[("proxy-busy-buffers-size", "8k")]);
    assert_eq!(profile.proxying.buffers.unwrap().busy.unwrap().bytes, 8 << 10);
}

#[test]
fn proxy_next_upstream_proxy_http_version_and_client_body_buffer_size_make_a_profile() {
    let (_, profile) = build(&[
        ("proxy-next-upstream", "http_502 non_idempotent error"),
        ("proxy-next-upstream-timeout", "9"),
        ("proxy-http-version", "1.0"),
        ("client-body-buffer-size", "1000"),
    ]);
    let (directives, proxying) = (&profile.directives, &profile.proxying);
    assert_eq!(proxying.next_upstream.as_ref().unwrap().to_string(), "http_502 error non_idempotent");
    assert_eq!((directives.proxy_next_upstream_timeout.unwrap().0, directives.client_body_buffer_size.unwrap().bytes), (9, 1000));
    assert_eq!(directives.proxy_http_version.unwrap().as_str(), "1.0");
    assert_eq!(
        profile.describe(),
        "client-body-buffer-size 1000, proxy-http-version 1.0, proxy-next-upstream-timeout 9s, proxy-next-upstream http_502 error non_idempotent"
    );
}

#[test]
fn proxy_cookie_domain_proxy_cookie_path_and_proxy_redirect_from_and_to_are_live_but_for_regular_expressions() {
    let plain = |domain, path, from, to| {
        build(&[("proxy-cookie-domain", domain), ("proxy-cookie-path", path), ("proxy-redirect-from", from), ("proxy-redirect-to", to)])
    };
    let (route, profile) = plain(".localhost .example.org", "/one/ /", "http://a/", "http://b/");
    let (other_route, other) = plain("a b", "/c/ /d/", "/e", "/f");
    assert_eq!((&*profile, &*other), (&Profile::default(), &Profile::default()), "none needs text");
    assert_ne!(route.replacements, other_route.replacements);
    let live = route.replacements.as_ref().unwrap();
    let pair = |from: &str, to: &str| Some([from.to_owned(), to.to_owned()]);
    assert_eq!(live.proxy_cookie_domain, pair("localhost", "example.org"), "a dot at the beginning means nothing");
    assert_eq!((&live.proxy_cookie_path, &live.proxy_redirect), (&pair("/one/", "/"), &pair("http://a/", "http://b/")));

    let (route, profile) = plain("~local a", "off", "default", "x");
    let regex = Replacement::Regex { from: "~local".into(), to: "a".into() };
    let proxying = &profile.proxying;
    assert_eq!((&proxying.cookie_domain, &proxying.cookie_path, &proxying.location), (&Some(regex), &None, &None));
    let live = route.replacements.as_ref().unwrap();
    assert_eq!(
        (&live.proxy_cookie_domain, &live.proxy_cookie_path, &live.proxy_redirect),
        (&None, &None, &pair("http://upstream_balancer/", "/"))
    );
}

#[test]
fn an_annotation_that_is_off_undoes_the_global_setting() {
    let world = World::default().settings(&[("proxy-cookie-path", "/one/ /"), ("proxy-redirect-from", "default")]);
    let built = world.ingress("shop", "/", &[("proxy-cookie-path", "off"), ("proxy-redirect-from", "off")]).build();
    let (route, profile) = of(&built, "/");
    let nothing = Some([String::new(), String::new()]);
    let live = route.replacements.as_ref().unwrap();
    assert_eq!((&*profile, &live.proxy_cookie_path, &live.proxy_redirect), (&Profile::default(), &nothing, &nothing));
}

#[test]
fn in_the_place_of_a_regular_expression_plain_text_needs_a_profile() {
    let world = World::default().settings(&[("proxy-cookie-path", "~/one/ /")]);
    let (route, profile) = of(&world.ingress("shop", "/", &[("proxy-cookie-path", "/two/ /")]).build(), "/");
    assert_eq!(profile.proxying.cookie_path, Some(Replacement::Live));
    assert_eq!(route.replacements.as_ref().unwrap().proxy_cookie_path, Some(["/two/".to_owned(), "/".to_owned()]));
}

#[test]
fn backend_protocol_makes_a_profile_with_connections_of_its_own() {
    for (text, protocol, pool) in [
        ("HTTPS", BackendProtocol::Https, "https"),
        ("auto_http", BackendProtocol::AutoHttp, "auto_http"),
        ("grpc", BackendProtocol::Grpc, "grpc"),
        ("GRPCS", BackendProtocol::Grpcs, "grpcs"),
        ("FCGI", BackendProtocol::Fcgi, "fcgi"),
    ] {
        let (_, profile) = build(&[("backend-protocol", text)]);
        assert_eq!((profile.transport.protocol, profile.transport.pool().as_deref()), (protocol, Some(pool)), "{text}");
    }
}

#[test]
fn mirror_target_and_mirror_host_are_live_and_mirror_request_body_is_a_profile() {
    for (annotations, target, host, body) in [
        (&[("mirror-target", "http://mirror/copy")][..], "http://mirror/copy$is_args$args", "mirror", true),
        (&[("mirror-target", "https://a.b:8443"), ("mirror-request-body", "off")], "https://a.b:8443$request_uri", "a.b", false),
        (&[("mirror-target", "https://a.b$request_uri"), ("mirror-host", "c.d")], "https://a.b$request_uri", "c.d", true),
        (&[("mirror-target", "http://$host/x")], "http://$host/x", "$host", true),
    ] {
        let (route, profile) = build(annotations);
        let mirror = route.mirror.as_ref().unwrap();
        assert_eq!((&*mirror.mirror_target, &*mirror.mirror_host, profile.mirror), (target, host, Some(body)));
    }
}

#[test]
fn a_copy_to_an_address_that_no_pod_has_is_not_made() {
    for target in ["http://localhost/mirror", "http://127.0.0.1:8080", "http://[::1]/$request_uri", "https://169.254.169.254/latest"] {
        let (route, profile) = build(&[("mirror-target", target)]);
        assert_eq!((route.mirror.is_some(), profile.mirror), (false, None), "{target}");
    }
}

#[test]
fn proxy_ssl_secret_brings_proxy_ssl_protocols_proxy_ssl_verify_depth_and_proxy_ssl_server_name() {
    let secret = ("proxy-ssl-secret", "ns/tls");
    let world = World::default().settings(&[]).secret(&["tls.crt", "tls.key", "ca.crt"]);
    let tls = of(&world.ingress("shop", "/", &[secret]).build(), "/").1.transport.tls.clone().unwrap();
    let trust = tls.trust.unwrap();
    assert!(trust.material.pair.is_some() && !trust.verify && trust.ciphers.is_none());
    assert_eq!((trust.verify_depth, trust.protocols.len(), tls.name, tls.server_name), (1, 1, None, false));

    let all = [
        secret,
        ("proxy-ssl-ciphers", "HIGH:!AES"),
        ("proxy-ssl-protocols", "TLSv1.3 TLSv1.2"),
        ("proxy-ssl-verify", "on"),
        ("proxy-ssl-verify-depth", "3"),
        ("proxy-ssl-server-name", "on"),
    ];
    let world = World::default().settings(&[]).secret(&["ca.crt"]);
    let tls = of(&world.ingress("shop", "/", &all).build(), "/").1.transport.tls.clone().unwrap();
    let trust = tls.trust.unwrap();
    assert!(trust.material.pair.is_none() && trust.verify && tls.server_name);
    assert_eq!((trust.verify_depth, trust.protocols.len(), trust.ciphers.unwrap().as_str()), (3, 2, "HIGH:!AES"));
    assert_eq!(tls.name, Some(BackendName::Service("shop.ns.svc".into())), "what is verified without proxy-ssl-name");
}

#[test]
fn without_authorities_only_proxy_ssl_name_counts() {
    let world = World::default().settings(&[]).secret(&["tls.crt", "tls.key"]);
    let annotations = [("proxy-ssl-secret", "ns/tls"), ("proxy-ssl-name", "a.b"), ("proxy-ssl-server-name", "on")];
    let tls = of(&world.ingress("shop", "/", &annotations).build(), "/").1.transport.tls.clone().unwrap();
    assert!(tls.trust.is_none() && tls.server_name);
    assert_eq!(tls.name.unwrap().as_str(), "a.b");
}

#[track_caller]
fn check_denied(world: World, annotations: &[(&str, &str)], detail: &str) {
    let built = world.settings(&[]).ingress("shop", "/", annotations).build();
    assert!(of(&built, "/").0.denied);
    let problems = built.problems();
    let problem = problems.iter().find(|problem| problem.kind == ProblemKind::AnnotationParsingFailed);
    assert!(problem.is_some_and(|problem| problem.detail == format!("{detail}; its locations answer 503")), "{problems:?}");
}

#[test]
fn a_secret_that_can_t_be_used_closes_the_locations() {
    let secret = ("proxy-ssl-secret", "ns/tls");
    check_denied(World::default(), &[secret], "Secret ns/tls: expected one that exists");
    check_denied(World::default().secret(&[]), &[secret], "Secret ns/tls: expected a ca.crt, or tls.crt and tls.key");
    check_denied(World::default().secret(&["ca.crt", "tls.crt"]), &[secret], "Secret ns/tls: it has no tls.key");
    let verify = [secret, ("proxy-ssl-verify", "on")];
    let detail = "Secret ns/tls: expected a ca.crt to verify endpoints with";
    check_denied(World::default().secret(&["tls.crt", "tls.key"]), &verify, detail);
    let detail = "\"other/tls\": expected an object in the namespace ns of the Ingress, because allow-cross-namespace-resources is false";
    check_denied(World::default(), &[("proxy-ssl-secret", "other/tls")], detail);
}

#[test]
fn the_oldest_ingress_with_authorities_decides_for_the_rest_of_the_host() {
    let world = |options: &[(&str, &str)]| {
        let tls = [("proxy-ssl-secret", "ns/tls"), ("backend-protocol", "HTTPS")];
        let world = World::default().settings(options).secret(&["ca.crt"]).ingress("z", "/own", &tls);
        world.ingress("b", "/https", &[("backend-protocol", "HTTPS")]).ingress("a", "/http", &[]).build()
    };
    let has_tls = |built: &Built| ["/own", "/https", "/http"].map(|path| of(built, path).1.transport.tls.is_some());
    assert_eq!(has_tls(&world(&[])), [true, true, false]);
    assert_eq!(has_tls(&world(&[("proxy-ssl-location-only", "true")])), [true, false, false]);
}

#[test]
fn fastcgi_index_and_fastcgi_params_configmap_go_to_fastcgi_servers() {
    let annotations = [("backend-protocol", "FCGI"), ("fastcgi-index", "index.php"), ("fastcgi-params-configmap", "ns/params")];
    let world = |data: &[(&str, &str)]| World::default().settings(&[]).params(data).ingress("shop", "/", &annotations);
    let built = world(&[("SCRIPT_FILENAME", "$fastcgi_script_name"), ("A", "1")]).build();
    let (route, profile) = of(&built, "/");
    let transport = &profile.transport;
    assert_eq!((route.fastcgi_index.as_deref(), &transport.fastcgi_index), (Some("index.php"), &None), "it is live");
    let params: Vec<String> = transport.fastcgi_params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(params, ["A=1", "SCRIPT_FILENAME=$fastcgi_script_name"]);

    // What is not a value drops the Ingress.
    let built = world(&[("A", "x;y")]).build();
    assert!(!built.model.live.hosts.contains_key("h") && built.problems().iter().any(|problem| problem.kind == ProblemKind::Refused));
    check_denied(World::default(), &annotations, "ConfigMap ns/params: expected one that exists");

    // Another namespace: nothing of the group counts.
    let elsewhere = [("backend-protocol", "FCGI"), ("fastcgi-index", "index.php"), ("fastcgi-params-configmap", "other/params")];
    let (route, _) = build(&elsewhere);
    assert!(!route.denied && route.fastcgi_index.is_none());
}
