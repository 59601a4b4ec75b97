//! From annotations about redirects, headers and names to records.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::live::Redirects;
use model::{Built, ObjectKey, ProblemKind, Route};

use crate::world::World;

/// An Ingress `i` of `foo.com` with the path `/`.
fn with(annotations: &[(&str, &str)]) -> World {
    World::new(&[]).ingress("i", "foo.com", &["/"], annotations)
}

fn route(built: &Built) -> Route {
    (*built.model.live.hosts["foo.com"].routes[0]).clone()
}

fn found(built: &Built, kind: ProblemKind) -> Vec<String> {
    built.problems().iter().filter(|problem| problem.kind == kind).map(ToString::to_string).collect()
}

#[test]
fn a_route_says_of_redirects_only_what_differs() {
    let redirects = |annotations: &[(&str, &str)]| route(&with(annotations).build()).redirects.clone();
    assert_eq!(redirects(&[("use-port-in-redirects", "false"), ("relative-redirects", "false")]), None);
    let expected = Redirects {
        answer: Some((307, "http://a.com".into())),
        relative_redirects: true,
        use_port_in_redirects: Some(true),
        ..Redirects::default()
    };
    let annotations = [
        ("temporal-redirect", "http://a.com"),
        ("temporal-redirect-code", "307"),
        ("relative-redirects", "true"),
        ("use-port-in-redirects", "true"),
    ];
    assert_eq!(redirects(&annotations), Some(Arc::new(expected)));
    let same = with(&annotations[2..]).map("settings", &[("relative-redirects", "true"), ("use-port-in-redirects", "true")]);
    assert_eq!(route(&same.build()).redirects, None);
}

#[test]
fn x_forwarded_prefix_needs_a_rewrite_that_is_in_effect() {
    let prefix = |target| route(&with(&[("rewrite-target", target), ("x-forwarded-prefix", "/cut/$1")]).build()).x_forwarded_prefix;
    assert_eq!((prefix("/x").as_deref(), prefix("/")), (Some("/cut/$1"), None));
}

#[test]
fn the_app_root_at_the_longest_path_counts() {
    let world = with(&[("app-root", "/short")]).ingress("j", "foo.com", &["/long"], &[("app-root", "/of-long")]);
    assert_eq!(world.build().model.live.hosts["foo.com"].app_root.as_deref(), Some("/of-long"));
}

#[test]
fn cors_names_every_header_with_its_default() {
    let names = |annotations: &[(&str, &str)]| {
        let cors = route(&with(annotations).build()).cors.clone().unwrap();
        let names: Vec<String> = cors.headers.iter().map(|(name, _)| name.trim_start_matches("Access-Control-").to_owned()).collect();
        (cors.cors_allow_origin.clone(), names.join(" "))
    };
    assert_eq!(names(&[("enable-cors", "true")]), (None, "Allow-Credentials Allow-Methods Allow-Headers Max-Age".into()));
    let listed = [
        ("enable-cors", "true"),
        ("cors-allow-origin", "https://A.com, null"),
        ("cors-allow-credentials", "false"),
        ("cors-expose-headers", "*"),
    ];
    assert_eq!(
        names(&listed),
        (Some(vec!["https://a.com".into(), "null".into()]), "Allow-Methods Allow-Headers Expose-Headers Max-Age".into())
    );
    assert_eq!(route(&with(&[("cors-max-age", "5")]).build()).cors, None);
}

#[test]
fn custom_headers_that_cannot_be_had_close_the_locations() {
    let allowed = [("global-allowed-response-headers", "X-A,X-B")];
    let custom = |data: Option<&[(&str, &str)]>| {
        let world = with(&[("custom-headers", "n/headers")]).map("settings", &allowed);
        data.into_iter().fold(world, |world, data| world.map("headers", data)).build()
    };
    let built = custom(Some(&[("X-B", "$x"), ("X-A", "1")]));
    assert_eq!(route(&built).custom_headers, [("X-A".into(), "1".into()), ("X-B".into(), "$x".into())]);
    for (data, detail) in [
        (None, "the ConfigMap n/headers does not exist; its locations answer 503"),
        (Some([("x-a", "1")].as_slice()), "has \"x-a\", which is not among global-allowed-response-headers"),
        (Some(&[("X-A", "a\nb")]), "has \"X-A\" with the value \"a\\nb\": expected a header's value"),
        (Some(&[("X A", "1")]), "\"X A\": expected a header name"),
    ] {
        let built = custom(data);
        let problems = found(&built, ProblemKind::AnnotationParsingFailed);
        assert!(route(&built).denied && problems.len() == 1 && problems[0].contains(detail), "{problems:?}");
    }
}

#[test]
fn custom_headers_do_not_tell_what_other_namespaces_have() {
    let said = |world: World| {
        let built = world.build();
        assert!(route(&built).denied);
        found(&built, ProblemKind::AnnotationParsingFailed)
    };
    let absent = with(&[("custom-headers", "other/headers")]).map("settings", &[("global-allowed-response-headers", "X-A")]);
    let mut present = absent.clone().map("headers", &[("X-Secret", "1")]);
    let map = present.0.config_maps.remove(&ObjectKey::new("n", "headers")).unwrap();
    present.0.config_maps.insert(ObjectKey::new("other", "headers"), map);
    assert_eq!(said(present), said(absent));
}

#[test]
fn from_to_www_redirect_gives_the_host_another_name() {
    for (host, www_alias) in [("foo.com", "www.foo.com"), ("www.foo.com", "foo.com")] {
        let world = World::new(&[]).ingress("i", host, &["/"], &[("from-to-www-redirect", "true")]);
        let built = world.build();
        assert_eq!(built.model.live.hosts[www_alias].redirect_to.as_deref(), Some(host));
        let taken = world.ingress("j", www_alias, &["/"], &[]).build();
        assert_eq!(taken.model.live.hosts[www_alias].redirect_to, None);
        let problems = found(&taken, ProblemKind::Conflict);
        assert!(problems.len() == 1 && problems[0].contains("nothing is redirected"), "{problems:?}");
    }
    let wild = World::new(&[]).ingress("i", "*.foo.com", &["/"], &[("from-to-www-redirect", "true")]).build();
    assert_eq!((wild.model.live.hosts.len(), found(&wild, ProblemKind::Surprise).len()), (2, 1));
}

#[test]
fn server_alias_may_hold_patterns() {
    let world = with(&[("server-alias", "*.b.com,c.com,~^v[0-9]$")]).ingress("j", "a.com", &["/"], &[("server-alias", "~^w,*.d.com")]);
    let built = world.build();
    let hosts = &built.model.live.hosts;
    assert_eq!(hosts["c.com"], hosts["foo.com"]);
    let patterns = hosts["~"].patterns.as_ref().unwrap();
    assert_eq!(patterns.suffixes, BTreeMap::from([(".b.com".into(), "foo.com".into()), (".d.com".into(), "a.com".into())]));
    assert_eq!(patterns.regexes, [("^w".into(), "a.com".into()), ("^v[0-9]$".into(), "foo.com".into())]);
    assert!(!hosts.contains_key("*.b.com"));
    assert_eq!(with(&[]).build().model.live.hosts.get("~"), None);
}

#[test]
fn ssl_ciphers_need_a_server_of_the_host_s_own() {
    let built = with(&[("ssl-ciphers", "HIGH:!aNULL"), ("ssl-prefer-server-ciphers", "false")]).build();
    let host_server = &built.model.fixed.host_servers["foo.com"];
    assert_eq!((host_server.ciphers.as_ref().unwrap().as_str(), host_server.prefer_server_ciphers), ("HIGH:!aNULL", Some(false)));
    assert_eq!(built.users_of_host_server("foo.com"), [ObjectKey::new("n", "i")]);
}

#[test]
fn headers_of_the_settings_are_read_and_faults_are_left_out() {
    let settings = [("add-headers", "n/answer"), ("proxy-set-headers", "n/missing")];
    let world = World::new(&settings).map("answer", &[("X-A", "$host"), ("X-B", "$nothing"), ("X B", "1")]);
    let built = world.build();
    let headers = &built.model.fixed.globals.headers;
    assert_eq!(headers.answer.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(), ["X-A=$host"]);
    assert!(headers.request.is_empty());
    let problems = found(&built, ProblemKind::Configuration);
    assert!(problems.len() == 3 && problems.iter().any(|problem| problem.contains("n/missing does not exist")), "{problems:?}");
}

#[test]
fn what_surprises_is_said() {
    let surprises = |world: World| found(&world.build(), ProblemKind::Surprise);
    let one = surprises(with(&[]).ingress("j", "foo.com", &["/a/", "/b%41", "/c//d"], &[]));
    assert_eq!(one.len(), 3, "{one:?}");
    assert!(one[0].contains("redirected with 301") && one[1].contains("a percent-encoding") && one[2].contains("two slashes"), "{one:?}");
    let regex = surprises(with(&[]).ingress("j", "foo.com", &["=/a"], &[]).ingress("k", "foo.com", &["/k"], &[("use-regex", "true")]));
    assert_eq!(regex.len(), 1, "{regex:?}");
    assert!(regex[0].contains("Ingress n/k has use-regex") && regex[0].contains("although its type is Exact"), "{regex:?}");
}
