//! Checks over what a controller answers in each state.

use inspect::{
    Budget, Check, CheckState, Counts, Dictionary, IngressState, LastReload, Lease, LiveProgress, NamespaceShare, ReloadProgress, Reloads,
    RunningRevision, Severity, SourceKind, TimeToEffect,
};

use super::*;

fn sound() -> Facts {
    let now = Now {
        version: "1.0".into(),
        commit: String::new(),
        pod: String::new(),
        namespace: String::new(),
        class: "k8s.io/ingress-nginx".into(),
        started: 0.0,
        now: 1.0,
        nginx: "1.26".into(),
        source: SourceKind::Cluster,
        ready: true,
        revision: RunningRevision::default(),
        counts: Counts::default(),
        live: LiveProgress::default(),
        reload: ReloadProgress::default(),
        reloads: Reloads::default(),
        time_to_effect: TimeToEffect::default(),
        leader: None,
        lease: None,
        checks: ["process", "source", "configuration", "records", "nginx"].map(|name| check(name, CheckState::Sound, "")).into(),
    };
    Facts { now, problems: Vec::new(), strangers: Vec::new(), budgets: Vec::new(), workers: Workers::default() }
}

fn check(name: &str, state: CheckState, reason: &str) -> Check {
    Check { name: name.into(), state, reason: reason.into() }
}

fn with_check(name: &str, state: CheckState, reason: &str) -> Facts {
    let mut facts = sound();
    facts.now.checks.retain(|check| check.name != name);
    facts.now.checks.push(check(name, state, reason));
    facts
}

fn problem(kind: &str, severity: Severity, detail: &str) -> Problem {
    Problem {
        kind: kind.into(),
        severity,
        object: "Ingress shop/web".into(),
        namespace: Some("shop".into()),
        name: "web".into(),
        field: "spec".into(),
        value: None,
        expected: None,
        detail: detail.into(),
        fix: "mend it".into(),
        since: None,
    }
}

fn stranger(class: Option<&str>, reason: Option<&str>) -> Ingress {
    Ingress {
        namespace: "shop".into(),
        name: "web".into(),
        class: class.map(Into::into),
        created: None,
        hosts: Vec::new(),
        paths: 0,
        tls: Vec::new(),
        state: IngressState::NotOurs,
        reason: reason.map(Into::into),
        problems: 0,
    }
}

fn found(facts: &Facts) -> Vec<Finding> {
    checks::CHECKS.iter().flat_map(|check| check(facts)).collect()
}

#[track_caller]
fn names(facts: &Facts, severity: Level, what: &str) {
    let found = found(facts);
    let [finding] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((finding.severity, &*finding.what), (severity, what));
    assert!(!finding.remedy.is_empty() && !finding.evidence.is_empty(), "{finding:#?}");
}

#[test]
fn nothing_is_wrong_with_a_sound_controller() {
    assert_eq!(found(&sound()), []);
    assert!(page("head", &[], Palette::PLAIN).ends_with("\nnothing is wrong\n"));
}

#[test]
fn checks_of_the_controller_have_a_cause_each() {
    let degraded = |name, reason| with_check(name, CheckState::Degraded, reason);
    let away = degraded("source", "Ingress can't be watched since 1970: connection refused");
    names(&away, Level::Error, "the API server does not answer: what was known before is still served");
    let forbidden = degraded("source", "Secret can't be watched since 1970: secrets is forbidden");
    names(&forbidden, Level::Error, "the controller may not watch some objects: what was known before is still served");
    let taken = with_check("configuration", CheckState::Failed, "port 80 on 0.0.0.0 is taken by python3 (pid 7)");
    names(&taken, Level::Error, "a port of NGINX is taken by another process");
    let mut refused = degraded("configuration", "nginx -t: unknown directive");
    refused.now.reload.last =
        Some(LastReload { at: 0.0, ok: false, seconds: 0.1, reasons: Vec::new(), message: "line 7: unknown directive".into() });
    names(&refused, Level::Error, "NGINX refused the newest configuration: the last good one is still served");
    assert_eq!(found(&refused)[0].evidence, ["nginx -t: unknown directive", "line 7: unknown directive"]);
    let silent = with_check("nginx", CheckState::Failed, "no answer");
    names(&silent, Level::Error, "NGINX does not answer requests of the controller");
    // It is a finding about the Ingress.
    assert_eq!(found(&degraded("configuration", "1 Ingresses or settings are quarantined")), []);
}

#[test]
fn problems_of_one_kind_are_one_finding() {
    let mut facts = sound();
    facts.problems = (0..8).map(|number| problem("NoEndpoints", Severity::Error, &format!("no endpoint {number}"))).collect();
    names(&facts, Level::Error, "8 Services have no endpoints: their requests get 503");
    let evidence = &found(&facts)[0].evidence;
    assert_eq!((evidence.len(), evidence[0].as_str(), evidence[5].as_str()), (6, "Ingress shop/web: spec: no endpoint 0", "and 3 more"));
    facts.problems.truncate(1);
    names(&facts, Level::Error, "a Service has no endpoints: its requests get 503");
    facts.problems = vec![problem("Unheard", Severity::Warning, "of another version")];
    names(&facts, Level::Warning, "of another version");
}

#[test]
fn what_nginx_lacks_is_the_cause_whatever_asks_for_it() {
    let mut facts = sound();
    facts.problems = vec![
        problem("Configuration", Severity::Warning, "NGINX lacks the module ngx_brotli; it is as if this was not set"),
        problem("Refused", Severity::Error, "NGINX lacks the module ngx_brotli: refused"),
    ];
    names(&facts, Level::Error, "NGINX lacks the module ngx_brotli");
}

#[test]
fn ingresses_of_no_class_and_of_classes_that_do_not_exist_are_told_from_those_of_others() {
    let mut facts = sound();
    facts.strangers = vec![stranger(None, None)];
    names(&facts, Level::Warning, "an Ingress names no class, and no class is the default: no controller serves it");
    facts.strangers = vec![stranger(Some("ngnix"), Some("the class \"ngnix\" does not exist"))];
    names(&facts, Level::Warning, "an Ingress names a class that does not exist: no controller serves it");
    facts.strangers = vec![stranger(Some("other"), Some("of another controller")), stranger(Some("other"), None)];
    names(&facts, Level::Note, "2 Ingresses are of classes that this controller does not serve");
}

#[test]
fn a_budget_is_full_where_something_is_held_back() {
    let mut facts = sound();
    let share = |refused| NamespaceShare { namespace: "shop".into(), used: 95, share: 0.95, refused };
    facts.budgets = vec![Budget { resource: "state".into(), used: 95, capacity: 100, namespaces: vec![share(0)] }];
    names(&facts, Level::Warning, "the budget of state is nearly used up");
    facts.budgets[0].namespaces = vec![share(3)];
    names(&facts, Level::Error, "the budget of state is full: what is beyond the share of a namespace is held back");
    facts.budgets[0] = Budget { resource: "state".into(), used: 5, capacity: 100, namespaces: Vec::new() };
    assert_eq!(found(&facts), []);
}

#[test]
fn a_lease_is_lost_only_where_the_api_server_answers() {
    let lease = Lease { name: "ns/leader".into(), leads: false, trouble: Some("forbidden".into()) };
    let mut facts = sound();
    facts.now.lease = Some(lease.clone());
    names(&facts, Level::Error, "the leader is lost: the Lease can't be read or written, and no status of an Ingress is");
    let mut away = with_check("source", CheckState::Degraded, "Ingress can't be watched since 1970: connection refused");
    away.now.lease = Some(lease);
    names(&away, Level::Error, "the API server does not answer: what was known before is still served");
}

#[test]
fn dictionaries_that_forget_may_be_full() {
    let mut facts = sound();
    let dictionary = |name: &str| Dictionary { name: name.into(), bytes: 100, free_bytes: 0, used: 1.0 };
    facts.workers.dictionaries = vec![dictionary("auth_verdicts")];
    assert_eq!(found(&facts), []);
    facts.workers.dictionaries.push(dictionary("configuration_data"));
    names(&facts, Level::Warning, "shared memory of NGINX is nearly full");
}

#[test]
fn the_page_has_the_worst_first_and_a_summary() {
    let finding = |severity, what: &str| Finding::new(severity, what, vec!["a\x1b".into()], "do it");
    let mut findings =
        vec![finding(Level::Note, "n"), finding(Level::Error, "e"), finding(Level::Warning, "w"), finding(Level::Error, "f")];
    Finding::sort(&mut findings);
    let text = page("head", &findings, Palette::PLAIN);
    let expected = "head\n\nERROR    e\n         by  a\\u{1b}\n         do  do it\n\nERROR    f\n";
    assert!(text.starts_with(expected) && text.ends_with("\n2 errors, 1 warning, 1 note\n"), "{text}");
    assert_eq!((exit_code(&findings), exit_code(&findings[2..]), exit_code(&findings[3..])), (3.into(), 1.into(), 0.into()));
}
