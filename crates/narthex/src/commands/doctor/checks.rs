//! Checks of what a running controller answers.

use inspect::{CheckState, Ingress};

use super::{Facts, Finding, Level, problems};

/// A check.
pub(super) type Check = fn(&Facts) -> Vec<Finding>;

/// All of them. Of findings that are equally bad those of the first check come first.
pub(super) const CHECKS: &[Check] =
    &[source, configuration, nginx, live, problems::findings, without_class, other_class, budgets, lease, waiting, dictionaries];

/// Part of a capacity from which on it is nearly used up.
const FULL: f64 = 0.9;
/// Dictionaries that refuse what they have no room for. Others forget what is oldest.
const RECORDS: [&str; 4] = ["configuration_data", "certificate_data", "certificate_servers", "ocsp_response_cache"];

/// The reason of a check of the controller that is not sound.
fn unsound<'a>(facts: &'a Facts, name: &str) -> Option<(CheckState, &'a str)> {
    let check = facts.now.checks.iter().find(|check| check.name == name && check.state != CheckState::Sound)?;
    Some((check.state, &check.reason))
}

fn source(facts: &Facts) -> Vec<Finding> {
    let Some((state, reason)) = unsound(facts, "source") else { return Vec::new() };
    let known = match state {
        CheckState::Failed => "nothing is known yet",
        CheckState::Sound | CheckState::Degraded => "what was known before is still served",
    };
    let (what, remedy) = match reason {
        _ if reason.contains("orbidden") => (
            "the controller may not watch some objects",
            "grant the rights of the chart's ClusterRole to the ServiceAccount of the controller; it goes on by itself",
        ),
        _ if reason.contains("can't be watched") => (
            "the API server does not answer",
            "check the API server and the way to it (kubectl get --raw /readyz); the controller goes on by itself when it is back",
        ),
        _ => ("the source of the objects is not complete", "wait, or look at the log of the controller"),
    };
    vec![Finding::new(Level::Error, format!("{what}: {known}"), vec![reason.to_owned()], remedy)]
}

fn configuration(facts: &Facts) -> Vec<Finding> {
    let Some((_, reason)) = unsound(facts, "configuration") else { return Vec::new() };
    // Those are findings of their own.
    if reason.ends_with("are quarantined") {
        return Vec::new();
    }
    let mut evidence = vec![reason.to_owned()];
    evidence.extend(facts.now.reload.last.iter().filter(|last| !last.ok && last.message != reason).map(|last| last.message.clone()));
    evidence.retain(|text| !text.is_empty());
    let (what, remedy) = match reason {
        _ if reason.contains("is taken by") => (
            "a port of NGINX is taken by another process",
            "end that process, or give the controller another port by the flag that is named",
        ),
        _ if reason.contains("was not started yet") => ("NGINX was not started yet", "wait, or look at the log of the controller"),
        _ => (
            "NGINX refused the newest configuration: the last good one is still served",
            "correct what NGINX names; narthex diff says what the last reload changed",
        ),
    };
    vec![Finding::new(Level::Error, what, evidence, remedy)]
}

fn nginx(facts: &Facts) -> Vec<Finding> {
    // Without a start there is nothing that could answer.
    let Some((_, reason)) = unsound(facts, "nginx").filter(|_| unsound(facts, "configuration").is_none()) else { return Vec::new() };
    let remedy = "look at narthex get workers and at the log; the controller starts NGINX again if it has ended";
    vec![Finding::new(Level::Error, "NGINX does not answer requests of the controller", vec![reason.to_owned()], remedy)]
}

fn live(facts: &Facts) -> Vec<Finding> {
    let live = &facts.now.live;
    let failed = live.error.iter().map(|error| {
        let remedy = "look at narthex get workers: shared memory that is full, or an NGINX that does not answer; it is tried again";
        Finding::new(Level::Error, "changes do not reach NGINX", vec![error.clone()], remedy)
    });
    let room = (live.without_room > 0).then(|| {
        let evidence = vec![format!("{} records find no room in shared memory", live.without_room)];
        let remedy = "raise the sizes in lua-shared-dicts of the ConfigMap; narthex get workers says which one is full";
        Finding::new(Level::Error, "the shared memory of NGINX is full", evidence, remedy)
    });
    failed.chain(room).collect()
}

/// Ingresses that no controller serves.
fn without_class(facts: &Facts) -> Vec<Finding> {
    let those: Vec<&Ingress> = facts.strangers.iter().filter(|ingress| ingress.class.is_none()).collect();
    if those.is_empty() {
        return Vec::new();
    }
    let what = match those.len() {
        1 => "an Ingress names no class, and no class is the default: no controller serves it".to_owned(),
        number => format!("{number} Ingresses name no class, and no class is the default: no controller serves them"),
    };
    let remedy = "set spec.ingressClassName, make a class the default one (ingressclass.kubernetes.io/is-default-class), or run with \
                  --watch-ingress-without-class";
    vec![Finding::new(Level::Warning, what, those.into_iter().map(stranger).collect(), remedy)]
}

/// Ingresses whose class is none of ours: where no controller has it, that is a mistake.
fn other_class(facts: &Facts) -> Vec<Finding> {
    let (missing, others): (Vec<&Ingress>, Vec<&Ingress>) = facts
        .strangers
        .iter()
        .filter(|ingress| ingress.class.is_some())
        .partition(|ingress| ingress.reason.as_deref().is_some_and(|reason| reason.contains("does not exist")));
    let finding = |level, those: Vec<&Ingress>, one: &str, many: &str, remedy: &str| {
        let what = if those.len() == 1 { one.to_owned() } else { format!("{} {many}", those.len()) };
        (!those.is_empty()).then(|| Finding::new(level, what, those.into_iter().map(stranger).collect(), remedy))
    };
    let missing = finding(
        Level::Warning,
        missing,
        "an Ingress names a class that does not exist: no controller serves it",
        "Ingresses name classes that do not exist: no controller serves them",
        "correct spec.ingressClassName; kubectl get ingressclasses lists those that exist",
    );
    let others = finding(
        Level::Note,
        others,
        "an Ingress is of a class that this controller does not serve",
        "Ingresses are of classes that this controller does not serve",
        "nothing, if another controller serves them; else correct spec.ingressClassName, or --controller-class",
    );
    missing.into_iter().chain(others).collect()
}

fn stranger(ingress: &Ingress) -> String {
    let class = ingress.class.as_ref().map_or_else(|| "no class".to_owned(), |class| format!("class {class:?}"));
    let reason = ingress.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("Ingress {}/{} ({class}){reason}", ingress.namespace, ingress.name)
}

fn budgets(facts: &Facts) -> Vec<Finding> {
    let full = facts.budgets.iter().filter(|budget| budget.capacity > 0).filter_map(|budget| {
        let part = budget.used as f64 / budget.capacity as f64;
        let refused: usize = budget.namespaces.iter().map(|share| share.refused).sum();
        if part < FULL && refused == 0 {
            return None;
        }
        let most = budget.namespaces.iter().take(3).map(|share| {
            let held = if share.refused > 0 { format!(", {} objects held back", share.refused) } else { String::new() };
            format!("namespace {}: {:.0} %{held}", share.namespace, share.share * 100.0)
        });
        let used = format!("{}: {} of {} are asked for", budget.resource, budget.used, budget.capacity);
        let (level, what) = match refused {
            0 => (Level::Warning, format!("the budget of {} is nearly used up", budget.resource)),
            _ => (Level::Error, format!("the budget of {} is full: what is beyond the share of a namespace is held back", budget.resource)),
        };
        let remedy =
            "raise the size in lua-shared-dicts of the ConfigMap, or have the named namespaces ask for less (narthex get budgets -o wide)";
        Some(Finding::new(level, what, std::iter::once(used).chain(most).collect(), remedy))
    });
    full.collect()
}

fn lease(facts: &Facts) -> Vec<Finding> {
    let trouble = facts.now.lease.as_ref().and_then(|lease| Some((lease, lease.trouble.as_ref()?)));
    // With the API server away it can't be otherwise.
    let Some((lease, trouble)) = trouble.filter(|_| unsound(facts, "source").is_none()) else { return Vec::new() };
    let what = "the leader is lost: the Lease can't be read or written, and no status of an Ingress is";
    let remedy = format!("grant get, create and update of the Lease {} to the ServiceAccount of the controller", lease.name);
    vec![Finding::new(Level::Error, what, vec![format!("Lease {}: {trouble}", lease.name)], remedy)]
}

fn waiting(facts: &Facts) -> Vec<Finding> {
    // A failure is one of the checks of the controller.
    let waits = facts.now.reload.waits.as_ref().filter(|_| unsound(facts, "configuration").is_none());
    let Some(waits) = waits else { return Vec::new() };
    let mut evidence = vec![waits.clone()];
    evidence.extend(facts.now.reload.pending.iter().map(|reason| format!("wanted: {reason}")));
    let remedy = "nothing, if it ends soon; narthex get workers lists old workers and the connections that they hold";
    vec![Finding::new(Level::Note, "a reload waits", evidence, remedy)]
}

fn dictionaries(facts: &Facts) -> Vec<Finding> {
    let full = facts.workers.dictionaries.iter().filter(|dictionary| RECORDS.contains(&&*dictionary.name) && dictionary.used >= FULL);
    let evidence: Vec<String> = full.map(|full| format!("{}: {:.0} % of {} bytes", full.name, full.used * 100.0, full.bytes)).collect();
    if evidence.is_empty() || facts.now.live.without_room > 0 {
        return Vec::new();
    }
    let remedy = "raise the size in lua-shared-dicts of the ConfigMap";
    vec![Finding::new(Level::Warning, "shared memory of NGINX is nearly full", evidence, remedy)]
}
