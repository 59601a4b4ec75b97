//! Annotations of workloads, ConfigMaps and Secrets that can't be used, in text: a policy that is not understood would be a rollout that silently never comes.

use std::collections::BTreeMap;

use crate::decide::Objects;
use crate::kind::ContentKind;
use crate::rules::{FIXED, Names, Rules};
use crate::workload::Workload;

type Annotations = BTreeMap<String, String>;

/// Complaints about the annotations of a workload and of its Pod template by themselves.
pub(crate) fn of_annotations(own: &Annotations, pod: &Annotations, names: &Names) -> Vec<String> {
    let switches = [&names.auto, &names.typed_auto[0], &names.typed_auto[1], &names.search];
    let mut complaints = Vec::new();
    for (name, value) in own.iter().chain(pod) {
        if switches.contains(&name) && !is_bool(value) {
            complaints.push(format!("annotation {name} {value:?}: expected \"true\" or \"false\"; it is as if it was not there"));
        }
        complaints.extend(unknown(name, names));
    }
    complaints
}

/// Complaints about the annotations of a ConfigMap or Secret.
pub(crate) fn of_object(annotations: &Annotations, names: &Names) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, value) in annotations {
        // Reloader takes these to the letter.
        if [&names.found, &names.ignore].contains(&name) && !matches!(value.as_str(), "true" | "false") {
            complaints.push(format!("annotation {name} {value:?}: expected \"true\" or \"false\"; it is as if it was not there"));
        }
        complaints.extend(unknown(name, names));
    }
    complaints
}

/// An annotation that has the first part of a name of ours, or of Reloader's, and not the second.
fn unknown(name: &str, names: &Names) -> Option<String> {
    let all = || names.all().into_iter().chain(FIXED);
    let domain = |name: &str| name.split_once('/').map(|(domain, _)| domain.to_owned());
    let own = domain(name)?;
    if all().any(|known| known == name) || !all().any(|known| domain(known).as_ref() == Some(&own)) {
        return None;
    }
    let meant = all().find(|known| known.eq_ignore_ascii_case(name)).map(|meant| format!(", {meant} may be meant")).unwrap_or_default();
    Some(format!("annotation {name}: there is none of this name{meant}; it has no effect"))
}

/// Names of ConfigMaps and Secrets in the annotations of a workload by which nothing goes in its namespace.
pub(crate) fn missing(workload: &Workload, objects: &Objects, rules: &Rules, selected: bool) -> Vec<String> {
    let hint = if selected { ", or lacks the labels of --resource-label-selector" } else { "" };
    let of = |source: ContentKind| {
        let known: Vec<&str> = objects.keys().filter(|id| id.source == source).map(|id| id.name.as_str()).collect();
        let missing = workload.policy(source).missing(&known);
        let (kind, annotation) = (source.name(), &rules.names.reload[source as usize]);
        missing
            .map(|name| format!("annotation {annotation}: {kind} {name} does not exist{hint}; nothing is rolled out for it"))
            .collect::<Vec<_>>()
    };
    rules.sources.iter().flat_map(|source| of(*source)).collect()
}

/// The grammar of Go's `strconv.ParseBool`.
fn is_bool(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "TRUE" | "true" | "True" | "0" | "f" | "F" | "FALSE" | "false" | "False")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(name: &str, value: &str) -> Vec<String> {
        of_annotations(&Annotations::from([(name.to_owned(), value.to_owned())]), &Annotations::new(), &Names::default())
    }

    #[test]
    fn a_switch_that_is_neither_on_nor_off_is_reported() {
        let found = complaints("reloader.stakater.com/auto", "yes");
        assert_eq!(found, ["annotation reloader.stakater.com/auto \"yes\": expected \"true\" or \"false\"; it is as if it was not there"]);
        for value in ["true", "True", "0", "false"] {
            assert!(complaints("secret.reloader.stakater.com/auto", value).is_empty(), "{value}");
        }
    }

    #[test]
    fn a_mark_of_an_object_is_taken_to_the_letter_and_reported_otherwise() {
        let complaints = |name: &str, value: &str| of_object(&[(name.to_owned(), value.to_owned())].into(), &Names::default());
        let found = complaints("reloader.stakater.com/ignore", "True");
        assert_eq!(
            found,
            ["annotation reloader.stakater.com/ignore \"True\": expected \"true\" or \"false\"; it is as if it was not there"]
        );
        assert_eq!(complaints("reloader.stakater.com/macth", "true").len(), 1);
        for (name, value) in
            [("reloader.stakater.com/match", "true"), ("reloader.stakater.com/ignore", "false"), ("example.com/match", "yes")]
        {
            assert!(complaints(name, value).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_mistyped_name_is_reported_and_a_foreign_one_is_not() {
        let found = complaints("reloader.stakater.com/Auto", "true");
        assert_eq!(
            found,
            [
                "annotation reloader.stakater.com/Auto: there is none of this name, reloader.stakater.com/auto may be meant; it has no effect"
            ]
        );
        assert_eq!(complaints("configmap.reloader.stakater.com/relaod", "a").len(), 1);
        for name in ["example.com/auto", "plain", "rollout.narthex.dev/check", "reloader.stakater.com/last-reloaded-from"] {
            assert!(complaints(name, "x").is_empty(), "{name}");
        }
    }
}
