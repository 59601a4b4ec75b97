//! From annotations of access control to records.

use std::sync::Arc;

use model::{Built, ObjectKey, ProblemKind, Profile, Route};

use crate::world::World;

const PATHS: [&str; 2] = ["/", "/free"];

/// An Ingress `n/i` of `foo.com`, paths `/` and `/free`, and settings that free the latter of authentication.
fn with(annotations: &[(&str, &str)]) -> World {
    World::new(&[("no-auth-locations", "/free")]).ingress("i", "foo.com", &PATHS, annotations)
}

fn routes(built: &Built) -> [Route; 2] {
    [0, 1].map(|at| (*built.model.live.hosts["foo.com"].routes[at]).clone())
}

fn profile(built: &Built, route: &Route) -> Profile {
    (*built.model.fixed.profiles[&route.profile]).clone()
}

#[track_caller]
fn assert_denied(built: &Built, annotation: &str) {
    assert!(routes(built).iter().all(|route| route.denied));
    let problems = built.problems();
    let found = problems.iter().filter(|problem| problem.kind == ProblemKind::AnnotationParsingFailed);
    assert!(found.into_iter().any(|problem| problem.field.contains(annotation)), "{problems:?}");
}

const BASIC: [(&str, &str); 2] = [("auth-type", "basic"), ("auth-secret", "users")];

#[test]
fn whitelist_source_range_is_an_older_name_and_lists_that_equal_the_global_ones_are_left_out() {
    let lists = |annotations: &[(&str, &str)]| {
        let world = with(annotations).map("settings", &[("whitelist-source-range", "10.0.0.0/8")]);
        routes(&world.build())[0].addresses.clone()
    };
    assert_eq!(lists(&[("allowlist-source-range", "10.0.0.0/8")]), None);
    let denied = lists(&[("denylist-source-range", "10.0.0.1")]).unwrap();
    assert_eq!(
        (denied.denylist_source_range.as_slice(), denied.allowlist_source_range.as_slice()),
        (["10.0.0.1".into()].as_slice(), ["10.0.0.0/8".into()].as_slice())
    );
    let older = lists(&[("whitelist-source-range", "11.0.0.0/8")]).unwrap();
    assert_eq!((older.denylist_source_range.len(), older.allowlist_source_range.as_slice()), (0, ["11.0.0.0/8".into()].as_slice()));
}

#[test]
fn users_of_auth_secret_are_kept_once_and_free_paths_ask_for_none() {
    let world = with(&BASIC).ingress("j", "bar.com", &PATHS, &BASIC).secret("users", &[("auth", "# comment\nfoo:{PLAIN}bar\n")]);
    let built = world.build();
    let [root, free] = routes(&built);
    let check = root.password.clone().unwrap();
    assert_eq!((free.password.clone(), check.digest, &*check.auth_realm), (None, false, ""));
    assert_eq!(built.model.live.users.keys().collect::<Vec<_>>(), [&check.users]);
    assert!(!format!("{:?}", built.model).contains("PLAIN"));
}

#[test]
fn a_user_whose_hash_costs_too_much_can_not_log_in() {
    let users = |file: &str| {
        let built = with(&BASIC).secret("users", &[("auth", file)]).build();
        assert!(!routes(&built)[0].denied);
        (routes(&built)[0].password.as_ref().unwrap().users.clone(), built.problems())
    };
    let (locked, _) = users("foo:*");
    for (line, what) in [
        (
            "foo:$6$rounds=20000000$salt$hash",
            "user 1 of Secret n/users has SHA-crypt with 20000000 rounds, expected at most 100000; it can't log in",
        ),
        ("foo:$2y$14$hash", "user 1 of Secret n/users has bcrypt with the cost 14, expected at most 12; it can't log in"),
    ] {
        let (id, problems) = users(&format!("{line}\nfoo:{{PLAIN}}bar\n"));
        assert_eq!(id, locked, "{line}");
        assert!(problems.iter().any(|problem| problem.detail == what), "{problems:?}");
    }
    assert_ne!(users("foo:{PLAIN}bar\n").0, locked);
}

#[test]
fn digest_users_have_a_realm() {
    let digest = [("auth-type", "digest"), ("auth-secret", "users"), ("auth-realm", "here"), ("auth-secret-type", "auth-map")];
    let built = with(&digest).secret("users", &[("foo", "here:0123456789abcdef0123456789abcdef"), ("bar", "x")]).build();
    let check = routes(&built)[0].password.clone().unwrap();
    assert_eq!((check.digest, &*check.auth_realm), (true, "here"));
    let problems = built.problems();
    assert_eq!(problems.iter().filter(|problem| problem.detail.contains("can't log in")).count(), 1, "{problems:?}");
}

#[test]
fn users_that_can_not_be_had_close_the_locations() {
    assert_denied(&with(&BASIC).build(), "auth-secret");
    assert_denied(&with(&BASIC).secret("users", &[("other", "x")]).build(), "auth-secret");
    assert_denied(&with(&[BASIC[0], ("auth-secret", "m/users")]).build(), "auth-secret");
}

const URL: (&str, &str) = ("auth-url", "http://auth.example.com:81/check?a=$host");

#[test]
fn what_varies_of_external_authentication_is_data() {
    let annotations = [URL, ("auth-response-headers", "X-User,x-user,X-Other"), ("auth-signin", "/start?rd=x")];
    let built = with(&annotations).ingress("j", "bar.com", &PATHS, &[("auth-url", "http://other/")]).build();
    let [root, free] = routes(&built);
    let check = root.external_auth.clone().unwrap();
    assert_eq!(free.external_auth, None);
    assert_eq!((&*check.auth_url, &*check.host), (URL.1, "auth.example.com"));
    assert_eq!(check.auth_response_headers, ["x-user".into(), "x-other".into()]);
    assert_eq!((check.auth_signin.as_deref(), check.auth_signin_redirect_param.clone()), (Some("/start?rd=x"), None));
    let [one, other] = ["foo.com", "bar.com"].map(|host| profile(&built, &built.model.live.hosts[host].routes[0]).external_auth.unwrap());
    assert_eq!((one.signin, other.signin), (true, false));
    assert_eq!((one.headers.len(), one.upstream), (0, None));
}

#[test]
fn kept_connections_need_an_upstream_block() {
    let annotations = [URL, ("auth-keepalive", "5")];
    let settings = |http2| with(&annotations).map("settings", &[("use-http2", http2)]).build();
    let built = settings("false");
    let route = &routes(&built)[0];
    let upstream = profile(&built, route).external_auth.unwrap().upstream.unwrap();
    assert_eq!(&*upstream.server, "auth.example.com:81");
    let check = route.external_auth.clone().unwrap();
    assert_eq!((&*check.auth_url, check.upstream.as_deref()), (URL.1, Some(&*upstream.name())));
    let built = settings("true");
    assert_eq!(profile(&built, &routes(&built)[0]).external_auth.unwrap().upstream, None);
}

#[test]
fn headers_for_the_service_that_can_not_be_had_close_the_locations() {
    let annotations = [URL, ("auth-proxy-set-headers", "n/headers")];
    assert_denied(&with(&annotations).build(), "auth-proxy-set-headers");
    assert_denied(&with(&annotations).map("headers", &[("X A", "1")]).build(), "auth-proxy-set-headers");
    let built = with(&annotations).map("headers", &[("X-A", "$host")]).build();
    assert_eq!(profile(&built, &routes(&built)[0]).external_auth.unwrap().headers.len(), 1);
}

#[test]
fn the_global_service_is_asked_where_no_other_is() {
    let built = |annotations: &[(&str, &str)]| {
        let settings = [("global-auth-url", "http://global/"), ("global-auth-cache-key", "$remote_user")];
        let built = with(annotations).map("settings", &settings).build();
        routes(&built)[0].external_auth.as_ref().map(|check| (check.auth_url.to_string(), check.cache.clone()))
    };
    let (url, cache) = built(&[]).unwrap();
    assert_eq!((url.as_str(), cache.unwrap().auth_cache_duration.len()), ("http://global/", 0));
    assert_eq!(built(&[URL]).unwrap().0, URL.1);
    assert_eq!(built(&[("enable-global-auth", "false")]), None);
}

fn authority() -> String {
    rcgen::generate_simple_self_signed(["ca".to_owned()]).unwrap().cert.pem()
}

const CA: (&str, &str) = ("auth-tls-secret", "n/ca");
const PASSED: (&str, &str) = ("auth-tls-pass-certificate-to-upstream", "true");

#[test]
fn the_oldest_ca_decides_for_the_whole_host() {
    let world = with(&[]).secret("ca", &[("ca.crt", &authority())]);
    let built = world.ingress("j", "foo.com", &PATHS, &[CA, ("auth-tls-match-cn", "CN=a"), ("auth-tls-verify-depth", "0"), PASSED]).build();
    let clients = built.model.fixed.host_servers["foo.com"].clients.clone().unwrap();
    assert_eq!(clients.depth, 1);
    for route in routes(&built) {
        assert_eq!(
            (&route.verified, route.auth_tls_match_cn.as_deref(), route.forbidden),
            (&Some(clients.id.clone()), Some("CN=a"), false)
        );
        assert!(route.auth_tls_pass_certificate_to_upstream);
    }
    assert_eq!(built.users_of_host_server("foo.com"), [ObjectKey::new("n", "j")]);
}

/// Its paths asked for nothing, or for what another one wants.
#[test]
fn an_ingress_that_asks_for_other_certificates_than_its_host_is_closed() {
    let world = |first: &[(&str, &str)], second: &[(&str, &str)]| {
        let (one, other) = (authority(), authority());
        let mut world =
            with(first).secret("ca", &[("ca.crt", &one)]).secret("other", &[("ca.crt", &other)]).secret("same", &[("ca.crt", &one)]);
        world = world.ingress("j", "foo.com", &["/theirs"], second);
        let newer = world.0.ingresses.remove(&ObjectKey::new("n", "j")).unwrap();
        world.0.ingresses.insert(ObjectKey::new("n", "j"), Arc::new(model::Ingress { created_seconds: 1, ..(*newer).clone() }));
        world.build()
    };
    let mode = |mode| ("auth-tls-verify-client", mode);
    let depth = |depth| ("auth-tls-verify-depth", depth);
    let other = ("auth-tls-secret", "n/other");
    for (first, second) in [
        (vec![CA], vec![other]),
        (vec![CA, mode("off")], vec![CA]),
        (vec![CA, mode("optional")], vec![CA]),
        (vec![CA, mode("optional_no_ca")], vec![CA, mode("optional")]),
        (vec![CA, depth("3")], vec![CA, depth("2")]),
    ] {
        let built = world(&first, &second);
        for route in &built.model.live.hosts["foo.com"].routes {
            assert_eq!(route.forbidden, *route.ingress == *"j", "{first:?} {second:?}");
        }
        let conflict = built.problems().into_iter().find(|problem| problem.kind == ProblemKind::Conflict).unwrap();
        assert!(conflict.object.name.contains('j') && conflict.detail.contains("n/i"), "{conflict:?}");
    }
    for (first, second) in [
        (vec![CA], vec![("auth-tls-secret", "n/same")]),
        (vec![CA], vec![CA, mode("optional")]),
        (vec![CA], vec![other, mode("off")]),
        (vec![CA, depth("2")], vec![CA, depth("3")]),
        (vec![CA], vec![]),
    ] {
        let built = world(&first, &second);
        assert!(
            built.model.live.hosts["foo.com"].routes.iter().all(|route| !route.forbidden && route.verified.is_some()),
            "{first:?} {second:?}"
        );
    }
    let built = world(&[CA, ("auth-tls-match-cn", "CN=a")], &[CA, ("auth-tls-match-cn", "CN=b")]);
    for route in &built.model.live.hosts["foo.com"].routes {
        assert_eq!(route.auth_tls_match_cn.as_deref(), Some(if *route.ingress == *"j" { "CN=b" } else { "CN=a" }));
    }
}

#[test]
fn a_ca_that_another_namespace_lacks_closes_only_its_own_paths() {
    let mut world = with(&[]).ingress("j", "foo.com", &["/theirs"], &[CA]);
    let theirs = world.0.ingresses.remove(&ObjectKey::new("n", "j")).unwrap();
    world.0.ingresses.insert(ObjectKey::new("evil", "j"), Arc::new(model::Ingress { created_seconds: 1, ..(*theirs).clone() }));
    let built = world.build();
    let host = &built.model.live.hosts["foo.com"];
    assert!(host.routes.iter().all(|route| route.forbidden == (*route.namespace == *"evil")), "{:?}", host.routes);
}

#[test]
fn a_ca_that_can_not_be_had_closes_the_whole_host() {
    let other = with(&[]).ingress("j", "foo.com", &PATHS, &[CA]);
    let no_ca = with(&[CA]).secret("ca", &[("tls.crt", &authority())]);
    let bad_crl = with(&[CA]).secret("ca", &[("ca.crt", &authority()), ("ca.crl", "x")]);
    for world in [other, no_ca, bad_crl, with(&[("auth-tls-secret", "m/ca")]), with(&[("auth-tls-secret", "ca")])] {
        let built = world.build();
        assert!(routes(&built).iter().all(|route| route.forbidden));
        assert!(built.model.fixed.host_servers.is_empty());
        assert!(built.problems().iter().any(|problem| problem.kind == ProblemKind::AnnotationParsingFailed));
    }
}

#[test]
fn requests_without_a_host_can_not_be_asked_for_a_certificate() {
    let built = with(&[]).ingress("j", "", &PATHS, &[CA]).secret("ca", &[("ca.crt", &authority())]).build();
    let routes = &built.model.live.hosts["_"].routes;
    assert!(routes.iter().filter(|route| &*route.ingress == "j").all(|route| route.forbidden));
    assert!(built.model.fixed.host_servers.is_empty());
}
