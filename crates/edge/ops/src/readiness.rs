//! Readiness with its reasons: whether this process serves what it should, and what is not as it should be although it does.

use serde_json::{Value, json};

/// The finding of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// All is well.
    Sound,
    /// Traffic is served as it should be, but something needs an operator. Does not make the process unready: its replicas would be, too.
    Degraded(String),
    /// Traffic should go elsewhere.
    Failed(String),
}

/// One check of readiness.
pub struct ReadinessCheck {
    /// Name in the answer.
    pub name: &'static str,
    /// Evaluated on every request; must be quick.
    pub run: Box<dyn Fn() -> Finding + Send + Sync>,
}

/// All checks of readiness, in the order of the answer.
#[derive(Default)]
pub struct Readiness(pub Vec<ReadinessCheck>);

impl Readiness {
    /// Whether no check has failed, and each with its reason as JSON.
    pub(crate) fn report(&self) -> (bool, String) {
        let findings: Vec<(&str, Finding)> = self.0.iter().map(|check| (check.name, (check.run)())).collect();
        let ready = !findings.iter().any(|(_, finding)| matches!(finding, Finding::Failed(_)));
        let checks: Vec<Value> = findings
            .into_iter()
            .map(|(name, finding)| match finding {
                Finding::Sound => json!({ "name": name, "state": "sound" }),
                Finding::Degraded(reason) => json!({ "name": name, "state": "degraded", "reason": reason }),
                Finding::Failed(reason) => json!({ "name": name, "state": "failed", "reason": reason }),
            })
            .collect();
        (ready, json!({ "ready": ready, "checks": checks }).to_string() + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(finding: Finding) -> (bool, String) {
        let check = |name, finding: Finding| ReadinessCheck { name, run: Box::new(move || finding.clone()) };
        Readiness(vec![check("source", Finding::Sound), check("nginx", finding)]).report()
    }

    #[test]
    fn a_failure_makes_unready_and_a_degradation_is_only_reported() {
        let text = |ready, rest: &str| {
            format!("{{\"checks\":[{{\"name\":\"source\",\"state\":\"sound\"}},{{\"name\":\"nginx\",{rest}}}],\"ready\":{ready}}}\n")
        };
        assert_eq!(report(Finding::Failed("down".into())), (false, text(false, r#""reason":"down","state":"failed""#)));
        assert_eq!(report(Finding::Degraded("slow".into())), (true, text(true, r#""reason":"slow","state":"degraded""#)));
        assert!(report(Finding::Sound).0);
    }
}
