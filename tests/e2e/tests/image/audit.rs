//! The audit log of the API server against the roles of a release.

use std::collections::BTreeSet;

use anyhow::Context;
use e2e::Case;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;

/// A right: group, resource with its subresource, verb, and the object's name where it is for one alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    resource: String,
    verb: String,
    name: Option<String>,
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        self.name.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

/// What the ServiceAccounts of a namespace asked the API server for.
pub(crate) struct Audit {
    asked: BTreeSet<Right>,
    /// Requests that were refused for want of a right.
    pub(crate) refused: Vec<String>,
}

impl Audit {
    /// Reads the log.
    pub(crate) fn read(case: &Case) -> anyhow::Result<Self> {
        let file = &case.bed.info().audit_log;
        let text = std::fs::read_to_string(file).with_context(|| format!("audit log {}", file.display()))?;
        let prefix = format!("system:serviceaccount:{}:", case.ns());
        let (mut asked, mut refused) = (BTreeSet::new(), Vec::new());
        // The last line may still be written.
        for event in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if event["user"]["username"].as_str().is_some_and(|name| name.starts_with(&prefix)) {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let object = &event["objectRef"];
                let sub = object["subresource"].as_str().map(|sub| format!("/{sub}")).unwrap_or_default();
                let resource = format!("{}/{}{sub}", text(&object["apiGroup"]), text(&object["resource"]));
                let right = Right { resource, verb: text(&event["verb"]), name: object["name"].as_str().map(str::to_owned) };
                if event["responseStatus"]["code"] == 403 {
                    refused.push(format!("{right}: {}", text(&event["responseStatus"]["message"])));
                }
                asked.insert(right);
            }
        }
        Ok(Self { asked, refused })
    }

    /// The rights that were granted and never used, as text.
    pub(crate) fn unused(&self, granted: &BTreeSet<Right>) -> Vec<String> {
        let uses = |right: &Right, asked: &Right| {
            right.resource == asked.resource
                && right.verb == asked.verb
                && right.name.as_ref().is_none_or(|name| asked.name.as_ref() == Some(name))
        };
        granted.iter().filter(|right| !self.asked.iter().any(|asked| uses(right, asked))).map(Right::to_string).collect()
    }
}

/// The rights that the roles of a release grant.
pub(crate) async fn granted(case: &Case) -> anyhow::Result<BTreeSet<Right>> {
    let client = case.namespace.client();
    let ours = ListParams::default().labels(&format!("app.kubernetes.io/instance={}", case.ns()));
    let cluster = Api::<ClusterRole>::all(client.clone()).list(&ours).await?.items.into_iter().filter_map(|role| role.rules);
    let own = case.namespace.api::<Role>().list(&ours).await?.items.into_iter().filter_map(|role| role.rules);
    let rules: Vec<PolicyRule> = cluster.chain(own).flatten().collect();
    anyhow::ensure!(!rules.is_empty(), "the release has no roles");
    let mut rights = BTreeSet::new();
    for rule in rules {
        let names: Vec<Option<String>> = match rule.resource_names.filter(|names| !names.is_empty()) {
            Some(names) => names.into_iter().map(Some).collect(),
            None => vec![None],
        };
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for verb in &rule.verbs {
                    rights.extend(names.iter().map(|name| Right {
                        resource: format!("{group}/{resource}"),
                        verb: verb.clone(),
                        name: name.clone(),
                    }));
                }
            }
        }
    }
    Ok(rights)
}
