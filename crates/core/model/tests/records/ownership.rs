//! `--host-ownership=namespace`: what tenants of other namespaces can't do to a host.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::Ingress;
use model::options::HostOwnership;
use model::{BuildOptions, Builder, Built, ObjectKey, ProblemKind, Snapshot};
use serde_json::json;

const HOST: &str = "shop.example.com";

/// Ingresses of several namespaces, each younger than the one before.
#[derive(Default)]
struct World {
    snapshot: Snapshot,
}

impl World {
    /// The victim's Ingress `team/shop` for [`HOST`], then those of others.
    fn with_victim() -> Self {
        Self::default().ingress("team/shop", HOST, "/", &[])
    }

    fn ingress(mut self, key: &str, host: &str, path: &str, annotations: &[(&str, &str)]) -> Self {
        let key = ObjectKey::parse(key).unwrap();
        let age = self.snapshot.ingresses.len();
        self.put(&key, age, host, path, annotations);
        self
    }

    fn put(&mut self, key: &ObjectKey, age: usize, host: &str, path: &str, annotations: &[(&str, &str)]) {
        let prefixed = annotations.iter().map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), (*value).to_owned()));
        let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
        let ingress: Ingress = serde_json::from_value(json!({
            "metadata": {
                "namespace": key.namespace, "name": key.name, "creationTimestamp": format!("2020-01-01T00:00:{age:02}Z"),
                "annotations": prefixed.collect::<std::collections::BTreeMap<_, _>>(),
            },
            "spec": {"rules": [{"host": host, "http": {"paths": [{"path": path, "pathType": "Prefix", "backend": backend}]}}]},
        }))
        .unwrap();
        self.snapshot.ingresses.insert(key.clone(), Arc::new(ingress.into()));
    }

    /// Gives an Ingress a TLS section, or takes it away.
    fn set_tls(&mut self, key: &str, on: bool) {
        let key = ObjectKey::parse(key).unwrap();
        let sections = if on { json!([{}]) } else { json!([]) };
        let wanted: Ingress = serde_json::from_value(json!({"metadata": {}, "spec": {"tls": sections}})).unwrap();
        let tls = model::Ingress::from(wanted).tls;
        let ingress = model::Ingress { tls, ..(*self.snapshot.ingresses[&key]).clone() };
        self.snapshot.ingresses.insert(key, Arc::new(ingress));
    }

    fn builder(host_ownership: HostOwnership) -> Builder {
        let options =
            BuildOptions { watch_ingress_without_class: true, passthrough_port: Some(442), host_ownership, ..BuildOptions::default() };
        Builder::new(options)
    }

    fn build(&self) -> Built {
        Self::builder(HostOwnership::Namespace).build(&self.snapshot)
    }
}

/// Namespaces whose rules a host has.
fn namespaces(built: &Built, host: &str) -> Vec<String> {
    let record = built.model.live.hosts.get(host);
    let mut all: Vec<String> = record.iter().flat_map(|record| record.routes.iter().map(|route| route.namespace.to_string())).collect();
    all.dedup();
    all
}

fn conflicts(built: &Built) -> Vec<String> {
    let problems = built.problems().into_iter().filter(|problem| problem.kind == ProblemKind::Conflict);
    problems.map(|problem| problem.to_string()).collect()
}

#[track_caller]
fn check_refused(built: &Built, ingress: &str) {
    let wanted = format!(
        "Ingress {ingress}: spec.rules[0].host: host \"{HOST}\" belongs to namespace \"team\", because of the older Ingress team/shop \
         (--host-ownership=namespace); nothing of this Ingress has an effect there"
    );
    assert_eq!(conflicts(built), [wanted]);
}

#[test]
fn paths_canaries_aliases_and_passthrough_of_another_namespace_leave_a_host_as_it_is() {
    let alone = World::with_victim().build();
    let canary: &[(&str, &str)] = &[("canary", "true"), ("canary-weight", "100")];
    for (path, annotations) in
        [("/admin", &[][..]), ("/", canary), ("/", &[("ssl-passthrough", "true")]), ("/x", &[("server-alias", "www.example.com")])]
    {
        let built = World::with_victim().ingress("evil/take", HOST, path, annotations).build();
        assert_eq!(built.model.live.hosts, alone.model.live.hosts, "{annotations:?}");
        assert_eq!(built.model.live.passthrough_map, alone.model.live.passthrough_map, "{annotations:?}");
        let victim = |built: &Built| built.model.live.backends.get("team/s:80").cloned();
        assert_eq!(victim(&built), victim(&alone), "{annotations:?}");
        check_refused(&built, "evil/take");
    }
}

#[test]
fn by_default_a_host_has_the_ingresses_of_all_namespaces() {
    let world = World::with_victim().ingress("other/admin", HOST, "/admin", &[]);
    let built = World::builder(HostOwnership::Any).build(&world.snapshot);
    assert_eq!(namespaces(&built, HOST), ["team", "other"]);
    assert_eq!(conflicts(&built), Vec::<String>::new());
}

#[test]
fn ingresses_of_the_same_namespace_share_a_host() {
    let built = World::with_victim().ingress("team/admin", HOST, "/admin", &[]).build();
    assert_eq!(built.model.live.hosts.get(HOST).unwrap().routes.len(), 2);
    assert_eq!(conflicts(&built), Vec::<String>::new());
}

#[test]
fn a_wildcard_and_a_name_below_it_are_different_hosts() {
    let built = World::default().ingress("team/all", "*.example.com", "/", &[]).ingress("other/one", HOST, "/", &[]).build();
    assert_eq!((namespaces(&built, "*.example.com"), namespaces(&built, HOST)), (vec!["team".into()], vec!["other".into()]));
    assert_eq!(conflicts(&built), Vec::<String>::new());
}

#[test]
fn the_certificate_of_another_tenants_wildcard_is_not_that_of_a_host_below_it() {
    let mut world =
        World::with_victim().ingress("team/own", "*.team.example.com", "/", &[]).ingress("team/a", "a.team.example.com", "/", &[]);
    world = world.ingress("evil/above", "*.example.com", "/", &[]).ingress("evil/b", "b.team.example.com", "/", &[]);
    let mut builder = World::builder(HostOwnership::Namespace);
    let mut entries = |world: &World| {
        let servers = builder.build(&world.snapshot).model.live.servers;
        assert_eq!(servers, world.build().model.live.servers, "a build from nothing gives the same");
        [HOST, "a.team.example.com", "b.team.example.com"].map(|host| servers.get(host).map(|id| id.to_string()))
    };
    assert_eq!(entries(&world), [None, None, None]);
    world.set_tls("evil/above", true);
    world.set_tls("team/own", true);
    let none = || Some(model::live::NO_CERTIFICATE.to_owned());
    assert_eq!(entries(&world), [none(), None, none()]);
    world.set_tls("evil/above", false);
    assert_eq!(entries(&world), [None, None, none()]);
    world.snapshot.ingresses.remove(&ObjectKey::new("team", "own"));
    assert_eq!(entries(&world), [None, None, None]);
}

#[test]
fn a_host_whose_ingress_is_refused_is_not_given_to_another_namespace() {
    let refused = [("configuration-snippet", "return 200;")];
    let world = World::default().ingress("team/shop", HOST, "/", &refused).ingress("evil/take", HOST, "/", &[]);
    let world = world.ingress("evil/alias", "evil.example.com", "/", &[("server-alias", HOST)]);
    let built = world.build();
    assert!(!built.has_ingress(&ObjectKey::new("team", "shop")), "it is refused");
    assert_eq!(namespaces(&built, HOST), Vec::<String>::new());
}

#[test]
fn an_older_canary_does_not_own_a_host() {
    let world = World::default().ingress("evil/early", HOST, "/", &[("canary", "true"), ("canary-weight", "100")]);
    let built = world.ingress("team/shop", HOST, "/", &[]).build();
    assert_eq!(namespaces(&built, HOST), ["team"]);
    assert!(built.model.live.backends.get("team/s:80").unwrap().alternative.is_none());
    assert!(conflicts(&built)[0].contains("because of Ingress team/shop"), "{:?}", conflicts(&built));
}

#[test]
fn an_alias_belongs_to_the_older_ingress() {
    let alias = [("server-alias", "www.example.com")];
    let world = World::default().ingress("team/shop", HOST, "/", &alias).ingress("evil/take", "a.example.com", "/", &alias);
    assert_eq!(namespaces(&world.build(), "www.example.com"), ["team"]);
}

#[test]
fn a_host_passes_on_when_its_ingress_is_deleted() {
    let mut world = World::with_victim().ingress("other/next", HOST, "/", &[]);
    let mut builder = World::builder(HostOwnership::Namespace);
    assert_eq!(namespaces(&builder.build(&world.snapshot), HOST), ["team"]);
    world.snapshot.ingresses.remove(&ObjectKey::new("team", "shop"));
    let built = builder.build(&world.snapshot);
    assert_eq!((namespaces(&built, HOST), conflicts(&built).len()), (vec!["other".to_owned()], 0));
}
