//! The seam between frontends and the core: rules that were written by hand come to the model that Ingresses come to.

use settings::groups::LoadBalance;
use settings::{Guards, Spec};

use super::*;
use crate::object::{Backend, Ingress, IngressPath, IngressRule, IngressTls, PortRef};
use crate::passes::weigh::weigh;
use crate::problem::ProblemKind;
use crate::rule::{
    Backends, Choice, Condition, HeaderCondition, HeaderMeaning, Kind, Match, Origin, PathKind, Policy, Position, Rule, Tls,
};

/// A path of a host and the Service that it leads to.
type Path = (&'static str, &'static str, PathKind, &'static str);

const PREFIX: PathKind = PathKind::Prefix;
const EXACT: PathKind = PathKind::Exact;

fn builder() -> Builder {
    Builder::new(BuildOptions { watch_ingress_without_class: true, ..BuildOptions::default() })
}

fn of_ingresses(ingresses: Vec<(&'static str, Ingress)>) -> Built {
    let ingresses = ingresses.into_iter().map(|(name, ingress)| (ObjectKey::new("n", name), Arc::new(ingress)));
    builder().build(&Snapshot { ingresses: ingresses.collect(), ..Snapshot::default() })
}

/// As [`Builder::build`], with these rules in the place of what a frontend reads.
fn of_rules(sets: Vec<RuleSet>) -> Built {
    let mut builder = builder();
    let (changes, mut dirty) = builder.follow(&Snapshot::default());
    let keys: Vec<ObjectKey> = sets.iter().map(|rules| rules.key().clone()).collect();
    for mut rules in sets {
        rules.claim = Arc::new(weigh(&rules, &builder.state.config));
        let key = rules.key().clone();
        builder.replace(&key, Some(rules.into()), Vec::new(), &mut dirty);
    }
    builder.settle(&changes, keys, dirty)
}

fn ingress(created_seconds: i64, annotations: &[(&str, &str)], paths: &[Path]) -> Ingress {
    let annotations = annotations.iter().map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), (*value).to_owned()));
    let rules = paths.iter().map(|(host, path, kind, service)| {
        let backend = Backend::Service { name: (*service).into(), port: PortRef::Number(80) };
        IngressRule {
            host: (*host).into(),
            paths: [IngressPath { path: (*path).into(), path_type: format!("{kind:?}").into(), backend }].into(),
        }
    });
    Ingress { created_seconds, annotations: annotations.collect(), rules: rules.collect(), ..Ingress::default() }
}

fn backend(service: &str) -> BackendId {
    BackendId { service: ObjectKey::new("n", service), port: BackendPort::Number(80) }
}

fn primary(service: &str) -> Backends {
    Backends { primary: Some(backend(service)), choice: None }
}

fn rules(name: &str, created_seconds: i64, spec: Spec, paths: &[Path]) -> RuleSet {
    let policy = Arc::new(Policy { spec, ..Policy::default() });
    let rule = |(at, (host, path, kind, service)): (usize, &Path)| Rule {
        matches: Match { host: Some(*host).filter(|host| !host.is_empty()).unwrap_or(CATCH_ALL).into(), path: (*path).into(), kind: *kind },
        backends: primary(service),
        policy: policy.clone(),
        at: Position { rule: at as u32, item: 0 },
    };
    RuleSet {
        origin: Origin::new(Kind::Ingress, created_seconds, ObjectKey::new("n", name)),
        rules: paths.iter().enumerate().map(rule).collect(),
        policy: policy.clone(),
        fallback: Backends::default(),
        bare_hosts: Box::default(),
        adds: false,
        closed: false,
        guards: Guards::default(),
        tls: Box::default(),
        claim: Arc::default(),
    }
}

/// The choice of a Service for a tenth of the requests, and for those with a header.
fn choice(service: &str) -> Arc<Choice> {
    let header = HeaderCondition { name: "X-New".into(), meaning: HeaderMeaning::Value("yes".into()) };
    let condition = Condition { weight: 10, total: 100, header: Some(header), cookie: None, keeps_affinity: true };
    Arc::new(Choice { backend: backend(service), condition: condition.into() })
}

const CANARY: [(&str, &str); 4] =
    [("canary", "true"), ("canary-weight", "10"), ("canary-by-header", "X-New"), ("canary-by-header-value", "yes")];

#[track_caller]
fn check(rules: Vec<RuleSet>, ingresses: Vec<(&'static str, Ingress)>) -> Built {
    let (of_rules, of_ingresses) = (of_rules(rules), of_ingresses(ingresses));
    assert_eq!(of_rules.model.live, of_ingresses.model.live);
    assert!(of_rules.model == of_ingresses.model, "the text differs");
    assert_eq!(of_rules.problems(), of_ingresses.problems());
    assert_eq!(of_rules.usage, of_ingresses.usage);
    of_rules
}

#[test]
fn rules_by_hand_come_to_the_model_of_ingresses() {
    let shop: [Path; 3] = [("a.test", "/", PREFIX, "web"), ("a.test", "/cart", EXACT, "cart"), ("b.test", "/x", PREFIX, "web")];
    let other: [Path; 2] = [("a.test", "/cart", EXACT, "late"), ("", "/any", PREFIX, "any")];

    let mut spec = Spec::default();
    spec.https.force_ssl_redirect = Some(true);
    spec.path.app_root = Some("/start".parse().unwrap());
    spec.names.server_alias = vec!["www.test".parse().unwrap()];
    spec.upstream.load_balance = Some(LoadBalance::Ewma);
    spec.proxy.proxy_buffering = Some(true);
    let mut by_hand = rules("shop", 1, spec, &shop);
    by_hand.tls = [Tls { hosts: ["a.test".into()].into(), secret: Some(ObjectKey::new("n", "none")) }].into();
    let mut rest = rules("rest", 3, Spec::default(), &[]);
    rest.fallback = primary("rest");
    let sets = vec![by_hand, rules("other", 2, Spec::default(), &other), rest];

    let annotations = [
        ("force-ssl-redirect", "true"),
        ("app-root", "/start"),
        ("server-alias", "www.test"),
        ("load-balance", "ewma"),
        ("proxy-buffering", "on"),
    ];
    let mut written = ingress(1, &annotations, &shop);
    written.tls = [IngressTls { hosts: ["a.test".into()].into(), secret: Some("none".into()) }].into();
    let default_backend = Some(Backend::Service { name: "rest".into(), port: PortRef::Number(80) });
    let rest = Ingress { default_backend, ..ingress(3, &[], &[]) };

    let built = check(sets, vec![("shop", written), ("other", ingress(2, &[], &other)), ("rest", rest)]);
    let live = &built.model.live;
    assert_eq!(live.hosts.keys().map(|host| &**host).collect::<Vec<_>>(), ["_", "a.test", "b.test", "www.test"]);
    assert_eq!(live.hosts["a.test"].routes[1].force_ssl_redirect, Some(true));
    assert!(
        built.problems().iter().any(|problem| problem.kind == ProblemKind::Conflict && problem.detail.contains("older Ingress n/shop"))
    );
}

#[test]
fn a_choice_that_is_added_is_the_canary_of_an_ingress() {
    let paths: [Path; 2] = [("a.test", "/", PREFIX, "web"), ("b.test", "/", PREFIX, "web")];
    let canary: [Path; 1] = [("a.test", "/", PREFIX, "new")];
    let mut adding = rules("new", 2, Spec::default(), &canary);
    adding.adds = true;
    adding.rules[0].backends = Backends { primary: None, choice: Some(choice("new")) };
    let sets = vec![rules("web", 1, Spec::default(), &paths), adding];
    let built = check(sets, vec![("web", ingress(1, &[], &paths)), ("new", ingress(2, &CANARY, &canary))]);
    assert_eq!(
        built.model.live.backends["n/web:80"].alternative.as_ref().map(|new| (&*new.backend, new.canary_weight)),
        Some(("n/new:80", 10))
    );
}

#[test]
fn a_choice_of_a_rule_itself_is_that_of_a_canary_beside_it() {
    let paths: [Path; 2] = [("a.test", "/", PREFIX, "web"), ("a.test", "/x", PREFIX, "x")];
    let mut weighted = rules("web", 1, Spec::default(), &paths);
    weighted.rules[0].backends.choice = Some(choice("new"));
    let canary = ingress(2, &CANARY, &[("a.test", "/", PREFIX, "new")]);
    let (by_hand, beside) = (of_rules(vec![weighted]), of_ingresses(vec![("web", ingress(1, &[], &paths)), ("new", canary)]));
    assert_eq!(by_hand.model.live, beside.model.live);
    assert!(by_hand.model == beside.model && by_hand.model.live.backends["n/web:80"].alternative.is_some());

    let mut itself = rules("web", 1, Spec::default(), &paths);
    itself.rules[1].backends.choice = Some(choice("x"));
    let built = of_rules(vec![itself]);
    assert_eq!(built.model.live.backends["n/x:80"].alternative, None);
    let said = built.problems().into_iter().find(|problem| problem.kind == ProblemKind::Surprise).unwrap();
    assert_eq!(said.field, "spec.rules[1].http.paths[0].backend");
}

#[test]
fn rules_of_one_object_may_have_policies_of_their_own() {
    let paths: [Path; 3] = [("a.test", "/", PREFIX, "web"), ("a.test", "/in", PREFIX, "web"), ("a.test", "/on", PREFIX, "web")];
    let mut mixed = rules("web", 1, Spec::default(), &paths);
    let mut spec = Spec::default();
    spec.https.force_ssl_redirect = Some(true);
    mixed.rules[1].policy = Arc::new(Policy { spec, ..Policy::default() });
    mixed.rules[2].policy = Arc::new(Policy { denied: true, ..Policy::default() });
    let built = of_rules(vec![mixed]);
    let routes = built.model.live.hosts["a.test"].routes.iter();
    let said: Vec<_> = routes.map(|route| (&*route.path, route.force_ssl_redirect, route.denied)).collect();
    assert_eq!(said, [("/", None, false), ("/in", Some(true), false), ("/on", None, true)]);
}

#[test]
fn rules_that_are_taken_back_leave_nothing() {
    let mut builder = builder();
    let nothing = builder.build(&Snapshot::default());
    let set = rules("web", 1, Spec::default(), &[("a.test", "/", PREFIX, "web")]);
    let key = set.key().clone();
    for rules in [Some(Arc::new(set)), None] {
        let (changes, mut dirty) = builder.follow(&Snapshot::default());
        builder.replace(&key, rules.clone(), Vec::new(), &mut dirty);
        let built = builder.settle(&changes, vec![key.clone()], dirty);
        assert_eq!((built.model == nothing.model, built.has_ingress(&key)), (rules.is_none(), rules.is_some()));
    }
}
