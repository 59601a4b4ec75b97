//! An Ingress that is changed into something that is refused is served as it was.

use std::sync::Arc;

use model::{Builder, Built, ObjectKey, ProblemKind, Route};

use crate::world::World;

/// A cluster whose versions follow one another.
struct History {
    builder: Builder,
    world: World,
}

impl History {
    fn new() -> Self {
        Self { builder: World::builder(), world: World::new(&[]) }
    }

    /// The next version.
    fn next(&mut self, change: impl FnOnce(World) -> World) -> Built {
        self.world = change(self.world.clone());
        self.builder.build(&self.world.0)
    }

    /// The settings as they are from now on.
    fn settings(&mut self, data: &[(&str, &str)]) -> Built {
        self.next(|world| world.map("settings", data))
    }

    /// The Ingress `n/i` of `foo.com` as it is from now on.
    fn ingress(&mut self, path: &str, annotations: &[(&str, &str)]) -> Built {
        self.next(|world| world.ingress("i", "foo.com", &[path], annotations))
    }

    /// A ConfigMap as it is from now on.
    fn config_map(&mut self, name: &str, data: &[(&str, &str)]) -> Built {
        self.next(|world| world.map(name, data))
    }

    /// A Secret as it is from now on.
    fn secret(&mut self, name: &str, data: &[(&str, &str)]) -> Built {
        self.next(|world| world.secret(name, data))
    }
}

fn paths(built: &Built) -> Vec<String> {
    let host = built.model.live.hosts.get("foo.com");
    host.iter().flat_map(|host| host.routes.iter()).filter(|route| !route.service.is_empty()).map(|route| route.path.to_string()).collect()
}

fn says_so(built: &Built) -> bool {
    built.problems().iter().any(|problem| problem.kind == ProblemKind::Refused && problem.detail.contains("last accepted version"))
}

const BAD: [(&str, &str); 1] = [("limit-rps", "nonsense")];

#[test]
fn a_new_ingress_that_is_refused_is_not_served() {
    let built = History::new().ingress("/one", &BAD);
    assert_eq!(paths(&built), [""; 0]);
    assert!(!says_so(&built));
}

#[test]
fn the_last_accepted_version_is_served_until_one_is_accepted_again() {
    let mut history = History::new();
    assert_eq!(paths(&history.ingress("/one", &[("limit-rps", "5")])), ["/one"]);
    for path in ["/two", "/three"] {
        let built = history.ingress(path, &BAD);
        assert_eq!(paths(&built), ["/one"]);
        assert!(says_so(&built));
    }
    let built = history.ingress("/four", &[]);
    assert_eq!(paths(&built), ["/four"]);
    assert!(!says_so(&built));
}

#[test]
fn what_is_deleted_is_not_kept() {
    let mut history = History::new();
    history.ingress("/one", &[]);
    history.ingress("/two", &BAD);
    history.world.0.ingresses.clear();
    assert_eq!(paths(&history.next(|world| world)), [""; 0]);
    assert_eq!(paths(&history.ingress("/three", &BAD)), [""; 0]);
}

#[test]
fn settings_that_no_longer_allow_a_version_end_it() {
    let snippet = [("configuration-snippet", "gzip off;")];
    let mut history = History::new();
    history.settings(&[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")]);
    assert_eq!(paths(&history.ingress("/one", &snippet)), ["/one"]);
    assert_eq!(paths(&history.ingress("/two", &BAD)), ["/one"]);
    let words =
        &[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical"), ("annotation-value-word-blocklist", "gzip")];
    assert_eq!(paths(&history.settings(words)), [""; 0]);
}

#[test]
fn an_ingress_that_leaves_the_class_is_not_kept() {
    let mut history = History::new();
    history.ingress("/one", &[]);
    assert_eq!(paths(&history.ingress("/two", &BAD)), ["/one"]);
    let key = ObjectKey::new("n", "i");
    let mut other = (*history.world.0.ingresses[&key]).clone();
    other.class = Some("other".into());
    history.world.0.ingresses.insert(key, Arc::new(other));
    let built = history.next(|world| world);
    assert_eq!(paths(&built), [""; 0]);
    assert!(history.builder.last_accepted().is_empty());
}

fn route(built: &Built) -> &Route {
    &built.model.live.hosts["foo.com"].routes[0]
}

fn uses_the_last(built: &Built) -> bool {
    built.problems().iter().any(|problem| problem.detail.contains("its last accepted version goes on being used"))
}

#[test]
fn headers_that_can_not_be_read_any_more_go_on_as_they_were() {
    let mut history = History::new();
    history.settings(&[("global-allowed-response-headers", "X-A,X-B")]);
    history.config_map("headers", &[("X-A", "1")]);
    let built = history.ingress("/one", &[("custom-headers", "n/headers")]);
    assert_eq!(route(&built).custom_headers, [("X-A".into(), "1".into())]);
    for fault in [[("X-C", "1")], [("X-A", "\u{7}")]] {
        let built = history.config_map("headers", &fault);
        assert_eq!((route(&built).custom_headers.as_slice(), route(&built).denied), ([("X-A".into(), "1".into())].as_slice(), false));
        assert!(uses_the_last(&built) && !history.builder.last_readable().is_empty());
    }
    // Also for who comes later, and under settings that allow it.
    let built = history.ingress("/two", &[("custom-headers", "n/headers")]);
    assert_eq!((paths(&built), route(&built).denied), (vec!["/two".to_owned()], false));
    assert!(route(&history.settings(&[("global-allowed-response-headers", "X-B")])).denied);
    assert!(history.builder.last_readable().is_empty());

    let built = history.config_map("headers", &[("X-B", "2")]);
    assert_eq!(route(&built).custom_headers, [("X-B".into(), "2".into())]);
    assert!(!uses_the_last(&built) && history.builder.last_readable().is_empty());
    history.world.0.config_maps.remove(&ObjectKey::new("n", "headers"));
    assert!(route(&history.next(|world| world)).denied, "what is deleted is gone");
}

#[test]
fn parameters_of_fastcgi_that_can_not_be_read_any_more_go_on_as_they_were() {
    let annotations = [("backend-protocol", "FCGI"), ("fastcgi-params-configmap", "n/params")];
    let mut history = History::new();
    history.config_map("params", &[("a name", "x")]);
    assert_eq!(paths(&history.ingress("/one", &annotations)), [""; 0], "a first version that can't be read");
    let good = history.config_map("params", &[("A", "1")]);
    assert_eq!(paths(&good), ["/one"]);
    let built = history.config_map("params", &[("a name", "x")]);
    assert_eq!((route(&built), uses_the_last(&built)), (route(&good), true));
}

#[test]
fn certificates_that_can_not_be_read_any_more_go_on_as_they_were() {
    let made = rcgen::generate_simple_self_signed(["foo.com".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let pair = [("tls.crt", chain.as_str()), ("tls.key", key.as_str()), ("ca.crt", chain.as_str())];
    let mut history = History::new();
    history.secret("pair", &pair);
    history.ingress("/one", &[("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "n/pair")]);
    let mut object = (*history.world.0.ingresses[&ObjectKey::new("n", "i")]).clone();
    object.tls = [model::object::IngressTls { hosts: ["foo.com".into()].into(), secret: Some("pair".into()) }].into();
    history.world.0.ingresses.insert(ObjectKey::new("n", "i"), Arc::new(object));
    let good = history.next(|world| world);
    let certificate = good.model.live.servers["foo.com"].clone();

    let built = history.secret("pair", &[("tls.crt", "nonsense"), ("tls.key", &key), ("ca.crt", "nonsense")]);
    assert_eq!((&built.model.live.servers["foo.com"], route(&built)), (&certificate, route(&good)));
    assert_eq!(built.problems().iter().filter(|problem| problem.detail.contains("last accepted version")).count(), 2);
    assert!(!history.builder.last_readable().is_empty());
    assert_eq!(history.secret("pair", &pair).problems(), good.problems());
    assert!(history.builder.last_readable().is_empty());
}

#[test]
fn who_may_pass_is_never_read_of_an_earlier_version() {
    let mut history = History::new();
    history.secret("users", &[("auth", "bob:{PLAIN}secret")]);
    assert!(!route(&history.ingress("/one", &[("auth-type", "basic"), ("auth-secret", "users")])).denied);
    assert!(route(&history.secret("users", &[("other", "bob:{PLAIN}secret")])).denied);
    assert!(history.builder.last_readable().is_empty());
}

/// Whether all of the Ingress's paths answer 503, and a Problem says so.
fn is_closed(built: &Built) -> bool {
    let said = built.problems().iter().any(|problem| problem.detail.contains("answer 503") || problem.detail.contains("answer 403"));
    let host = &built.model.live.hosts["foo.com"];
    said && host.routes.iter().filter(|route| !route.service.is_empty()).all(|route| route.denied) && !paths(built).is_empty()
}

const REFUSED_GUARDS: [&[(&str, &str)]; 7] = [
    &[("auth-url", "\"no url\"")],
    &[("auth-type", "bearer"), ("auth-secret", "users")],
    &[("auth-type", "basic"), ("auth-secret", "users"), ("auth-realm", "off")],
    &[("auth-type", "basic"), ("auth-secret", "a;b")],
    &[("auth-tls-secret", "a;b")],
    &[("whitelist-source-range", "10.0.0.0/33")],
    &[("denylist-source-range", "")],
];

#[test]
fn clients_get_503_where_a_protecting_annotation_is_refused_whatever_was_served_before() {
    for guards in REFUSED_GUARDS {
        let mut history = History::new();
        history.secret("users", &[("auth", "bob:{PLAIN}secret")]);
        assert!(!route(&history.ingress("/one", &[("limit-rps", "5")])).denied);
        let built = history.ingress("/one", guards);
        assert!(is_closed(&built), "{guards:?}: {:?}", built.problems());
        let restarted = World::builder().build(&history.world.0);
        assert_eq!((&restarted.model, restarted.problems()), (&built.model, built.problems()), "{guards:?}");
        // Nor does something else that is wrong bring the open version back.
        assert!(is_closed(&history.ingress("/one", &[guards, &BAD].concat())), "{guards:?}");
    }
}

#[test]
fn a_refused_ingress_is_never_served_without_the_protection_that_it_asks_for_now() {
    let guard = [("auth-url", "http://auth/")];
    let mut history = History::new();
    history.ingress("/one", &[("limit-rps", "5")]);
    let built = history.ingress("/one", &[&guard, &BAD[..]].concat());
    assert!(route(&built).external_auth.is_some() && route(&built).limits.is_some() && says_so(&built), "what does not protect stays");
    let elsewhere = [("auth-url", "http://elsewhere/")];
    let built = history.ingress("/one", &[&elsewhere, &BAD[..]].concat());
    assert!(route(&built).external_auth.as_ref().unwrap().auth_url.contains("elsewhere"));
    // A path that the last accepted version does not have.
    assert!(is_closed(&history.ingress("/two", &[&guard, &BAD[..]].concat())));
    assert!(history.builder.last_accepted().is_empty());
    // And none at all, as after a restart.
    let mut history = History::new();
    assert!(is_closed(&history.ingress("/one", &[&guard, &BAD[..]].concat())));
    assert!(!route(&history.ingress("/one", &guard)).denied);
}

#[test]
fn protection_that_is_taken_away_by_a_refused_ingress_stays() {
    let mut history = History::new();
    history.ingress("/one", &[("auth-url", "http://auth/")]);
    let built = history.ingress("/one", &BAD);
    assert!(route(&built).external_auth.is_some() && says_so(&built));
}

#[test]
fn settings_that_no_longer_allow_what_protects_close() {
    let mut history = History::new();
    assert!(route(&history.ingress("/one", &[("auth-url", "http://auth/"), ("auth-tls-secret", "n/ca")])).external_auth.is_some());
    assert!(is_closed(&history.settings(&[("annotations-risk-level", "Medium")])));
    assert!(is_closed(&history.settings(&[("annotation-value-word-blocklist", "auth/")])));
    // Of the whole host, as others count on it.
    let built = history.settings(&[("annotations-risk-level", "Low")]);
    assert!(is_closed(&built) && route(&built).forbidden);
}

#[test]
fn a_refused_ingress_that_nginx_refused_before_is_never_served_without_its_protection() {
    let allowed = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    let snippet = ("configuration-snippet", "gzip off;");
    let mut history = History::new();
    history.settings(&allowed);
    let key = ObjectKey::new("n", "i");
    for (before, after, open) in [
        (&[][..], &[("auth-url", "http://auth/"), snippet][..], false),
        (&[("auth-url", "http://auth/")], &[("auth-url", "http://auth/"), snippet], true),
        (&[("auth-url", "http://auth/")], &[snippet], true),
    ] {
        let good = history.ingress("/one", before);
        history.builder.confirmed(&good);
        let bad = history.ingress("/one", after);
        history.builder.quarantine(&key, "no", &bad);
        let built = history.next(|world| world);
        assert_eq!(!route(&built).denied, open, "{after:?}");
        assert_eq!(route(&built).external_auth, if open { route(&good).external_auth.clone() } else { None });
        assert_eq!(built.problems().iter().any(|problem| problem.detail.contains("they answer 503")), !open);
    }
}
