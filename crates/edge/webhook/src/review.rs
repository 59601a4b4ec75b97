//! One review: from the request to the answer.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::{Builder, ObjectKey, Problem};
use serde::Deserialize;

use crate::protocol::{Answer, Request, Reviewed};

/// The API server shows 256 bytes of a warning and 4096 of all of them.
const WARNING_BYTES: usize = 250;
const WARNINGS: usize = 14;
/// Findings in the message of a denial, and bytes of each.
const REASONS: usize = 10;
pub(crate) const REASON_BYTES: usize = 500;

/// The result of a review, for the answer, the metrics and the log.
#[derive(Debug, Default)]
pub(crate) struct ReviewOutcome {
    pub(crate) answer: Answer,
    /// The Ingress, if it is one of ours.
    pub(crate) ingress: Option<ObjectKey>,
    pub(crate) bytes: u64,
}

impl ReviewOutcome {
    fn denied(why: String) -> Self {
        Self { answer: Answer { denied: Some(why), ..Answer::default() }, ..Self::default() }
    }
}

/// Reviews what is about to be stored. A deletion, a sub-resource and an object that is being deleted are allowed unseen.
pub(crate) fn review(request: &Request<'_>, reviewed: Reviewed, builder: &Builder) -> ReviewOutcome {
    let stores =
        matches!(request.operation.as_str(), "CREATE" | "UPDATE") && request.sub_resource.as_deref().unwrap_or_default().is_empty();
    let Some(object) = request.object.filter(|_| stores) else { return ReviewOutcome::default() };
    match reviewed {
        Reviewed::Ingress => match decode::<Ingress>(object.get()) {
            Ok(ingress) if ingress.metadata.deletion_timestamp.is_some() => ReviewOutcome::default(),
            Ok(ingress) => match key(request, &ingress.metadata) {
                Ok(key) => of_ingress(key, ingress, builder),
                Err(why) => ReviewOutcome::denied(why),
            },
            Err(why) => ReviewOutcome::denied(why),
        },
        Reviewed::ConfigMap => match decode::<ConfigMap>(object.get()) {
            Ok(map) => {
                let review = key(request, &map.metadata).ok().and_then(|key| builder.review_settings(&key, map));
                let warnings = review.map(|review| warnings(&review.remarks)).unwrap_or_default();
                ReviewOutcome { answer: Answer { denied: None, warnings }, ..ReviewOutcome::default() }
            }
            Err(why) => ReviewOutcome::denied(why),
        },
    }
}

fn of_ingress(key: ObjectKey, ingress: Ingress, builder: &Builder) -> ReviewOutcome {
    let Some(review) = builder.review(&key, ingress.into()) else { return ReviewOutcome::default() };
    let denied = (!review.refusals.is_empty()).then(|| reason(&key, &review.refusals));
    ReviewOutcome { answer: Answer { denied, warnings: warnings(&review.remarks) }, ingress: Some(key), bytes: review.bytes }
}

fn decode<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("the object does not decode: {}", shortened(&error.to_string(), REASON_BYTES)))
}

/// Namespace and name. They come from any client, and go to the log and to labels of metrics.
fn key(request: &Request<'_>, meta: &ObjectMeta) -> Result<ObjectKey, String> {
    let first = |texts: [&Option<String>; 3]| texts.into_iter().flatten().find(|text| !text.is_empty()).cloned().unwrap_or_default();
    let namespace = first([&request.namespace, &meta.namespace, &None]);
    let name = first([&request.name, &meta.name, &meta.generate_name]);
    let is_plain = |text: &str, most: usize| {
        (1..=most).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
    };
    if is_plain(&namespace, 63) && is_plain(&name, 253) {
        Ok(ObjectKey::new(namespace, name))
    } else {
        Err("the namespace or the name of the object is not one of Kubernetes".to_owned())
    }
}

/// Each finding with its field, and the number of those that find no room.
fn reason(key: &ObjectKey, problems: &[Problem]) -> String {
    let shown: Vec<String> = problems.iter().take(REASONS).map(|problem| line(problem, REASON_BYTES)).collect();
    let more = match problems.len().saturating_sub(REASONS) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    format!("Ingress {key} is refused: {}{more}", shown.join("; "))
}

fn warnings(problems: &[Problem]) -> Vec<String> {
    let mut warnings: Vec<String> = problems.iter().take(WARNINGS).map(|problem| line(problem, WARNING_BYTES)).collect();
    if problems.len() > WARNINGS {
        warnings.push(format!("and {} more; the Events of the object and `narthex check` have all of them", problems.len() - WARNINGS));
    }
    warnings
}

fn line(problem: &Problem, bytes: usize) -> String {
    let text = if problem.field.is_empty() { problem.detail.clone() } else { format!("{}: {}", problem.field, problem.detail) };
    shortened(&text, bytes)
}

/// At most so many bytes, on one line.
pub(crate) fn shortened(text: &str, bytes: usize) -> String {
    const MARK: &str = "...";
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if clean.len() <= bytes {
        return clean;
    }
    let end = (0..=bytes - MARK.len()).rev().find(|at| clean.is_char_boundary(*at)).unwrap_or_default();
    format!("{}{MARK}", &clean[..end])
}

#[cfg(test)]
mod tests {
    use model::{BuildOptions, Snapshot};
    use serde_json::{Value, json};

    use super::*;

    fn ingress(name: &str, host: &str, path: &str, annotations: Value) -> Value {
        let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
        json!({
            "metadata": {"name": name, "namespace": "n", "annotations": annotations, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"rules": [{"host": host, "http": {"paths": [{"path": path, "pathType": "Prefix", "backend": backend}]}}]},
        })
    }

    fn builder(stored: &[Value], settings: Value) -> Builder {
        let options =
            BuildOptions { watch_ingress_without_class: true, configmap: Some(ObjectKey::new("n", "settings")), ..BuildOptions::default() };
        let mut snapshot = Snapshot::default();
        for object in stored {
            let object: Ingress = serde_json::from_value(object.clone()).unwrap();
            let key = ObjectKey::new("n", object.metadata.name.clone().unwrap());
            snapshot.ingresses.insert(key, std::sync::Arc::new(object.into()));
        }
        let map: ConfigMap = serde_json::from_value(json!({"data": settings})).unwrap();
        snapshot.config_maps.insert(ObjectKey::new("n", "settings"), std::sync::Arc::new(map));
        let mut builder = Builder::new(options);
        builder.build(&snapshot);
        builder
    }

    fn ask(builder: &Builder, operation: &str, kind: &str, object: &Value) -> ReviewOutcome {
        let group = if kind == "Ingress" { "networking.k8s.io" } else { "" };
        let (namespace, name) = (&object["metadata"]["namespace"], &object["metadata"]["name"]);
        let request = json!({
            "uid": "u", "kind": {"group": group, "version": "v1", "kind": kind}, "operation": operation,
            "namespace": namespace, "name": name, "object": object,
        });
        let body =
            serde_json::to_vec(&json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})).unwrap();
        let (request, reviewed) = Request::read(&body).unwrap();
        review(&request, reviewed, builder)
    }

    #[track_caller]
    fn denied(builder: &Builder, object: &Value, expected: &str) {
        let denied = ask(builder, "CREATE", "Ingress", object).answer.denied.expect("it is denied");
        assert!(denied.contains(expected), "{denied}");
    }

    #[track_caller]
    fn allowed(builder: &Builder, object: &Value) -> Vec<String> {
        let answer = ask(builder, "CREATE", "Ingress", object).answer;
        assert_eq!(answer.denied, None);
        answer.warnings
    }

    #[test]
    fn a_path_of_another_ingress_is_denied_and_that_of_a_canary_is_not() {
        let builder = builder(&[ingress("a", "shop.example.com", "/cart", json!({}))], json!({}));
        denied(&builder, &ingress("b", "shop.example.com", "/cart", json!({})), "already defined by Ingress n/a");
        allowed(&builder, &ingress("b", "shop.example.com", "/other", json!({})));
        allowed(&builder, &ingress("b", "other.example.com", "/cart", json!({})));
        // The same object again.
        allowed(&builder, &ingress("a", "shop.example.com", "/cart", json!({})));
        let canary = json!({"nginx.ingress.kubernetes.io/canary": "true", "nginx.ingress.kubernetes.io/canary-weight": "10"});
        allowed(&builder, &ingress("b", "shop.example.com", "/cart", canary));
    }

    #[test]
    fn two_canaries_of_one_path_are_denied() {
        let canary = json!({"nginx.ingress.kubernetes.io/canary": "true", "nginx.ingress.kubernetes.io/canary-weight": "10"});
        let stored = [ingress("a", "shop.example.com", "/", json!({})), ingress("b", "shop.example.com", "/", canary.clone())];
        denied(&builder(&stored, json!({})), &ingress("c", "shop.example.com", "/", canary), "already defined by Ingress n/b");
    }

    #[test]
    fn what_the_controller_refuses_is_denied_with_field_and_value() {
        let annotated =
            |name: &str, value: &str| ingress("b", "b.example.com", "/", json!({format!("nginx.ingress.kubernetes.io/{name}"): value}));
        let usual = builder(&[], json!({}));
        denied(
            &usual,
            &annotated("load-balance", "fastest"),
            "metadata.annotations[\"nginx.ingress.kubernetes.io/load-balance\"]: \"fastest\"",
        );
        denied(&usual, &annotated("configuration-snippet", "return 200;"), "configuration-snippet");
        denied(&usual, &ingress("b", "b.example.com", "/etc/nginx", json!({})), "/etc/nginx");
        let words = builder(&[], json!({"annotation-value-word-blocklist": "}"}));
        denied(&words, &annotated("connection-proxy-header", "a;}"), "connection-proxy-header");
        let critical = builder(&[], json!({"annotations-risk-level": "Critical"}));
        denied(&critical, &annotated("configuration-snippet", "return 200;"), "allow-snippet-annotations");
    }

    #[test]
    fn odd_paths_are_denied_or_warned_of() {
        let odd = ingress("b", "b.example.com", "/foo/bar/[a-z]{3}", json!({}));
        denied(&builder(&[], json!({})), &odd, "strict-validate-path-type");
        let warnings = allowed(&builder(&[], json!({"strict-validate-path-type": "false"})), &odd);
        assert!(warnings.iter().any(|warning| warning.starts_with("spec.rules[0].http.paths[0].path")), "{warnings:?}");
    }

    #[test]
    fn findings_that_do_not_refuse_are_warnings() {
        let unknown = json!({"nginx.ingress.kubernetes.io/rewrite-taget": "/"});
        let warnings = allowed(&builder(&[], json!({})), &ingress("b", "b.example.com", "/", unknown));
        assert!(warnings.iter().any(|warning| warning.contains("rewrite-target")), "{warnings:?}");
        let many: serde_json::Map<String, Value> =
            (0..100).map(|i| (format!("nginx.ingress.kubernetes.io/x{i}{}", "y".repeat(300)), json!("é".repeat(400)))).collect();
        let warnings = allowed(&builder(&[], json!({})), &ingress("b", "b.example.com", "/", many.into()));
        assert!(warnings.len() == WARNINGS + 1 && warnings.iter().map(String::len).sum::<usize>() <= 4096, "{warnings:?}");
    }

    #[test]
    fn what_is_deleted_or_not_ours_is_allowed_unseen() {
        let usual = builder(&[], json!({}));
        let mut broken = ingress("b", "b.example.com", "/etc/nginx", json!({}));
        assert_eq!(ask(&usual, "DELETE", "Ingress", &broken).answer, Answer::default());
        broken["spec"]["ingressClassName"] = json!("other");
        broken["metadata"]["annotations"] = json!({"kubernetes.io/ingress.class": "other"});
        assert_eq!(ask(&usual, "CREATE", "Ingress", &broken).answer, Answer::default());
        let mut ending = ingress("b", "b.example.com", "/etc/nginx", json!({}));
        ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(ask(&usual, "UPDATE", "Ingress", &ending).answer, Answer::default());
    }

    #[test]
    fn settings_are_only_warned_of() {
        let map = |name: &str| json!({"metadata": {"name": name, "namespace": "n"}, "data": {"gzip-level": "many", "no-such-key": "1"}});
        let usual = builder(&[], json!({}));
        let answer = ask(&usual, "UPDATE", "ConfigMap", &map("settings")).answer;
        assert!(answer.denied.is_none() && answer.warnings.iter().any(|warning| warning.contains("gzip-level")), "{answer:?}");
        assert_eq!(ask(&usual, "UPDATE", "ConfigMap", &map("another")).answer, Answer::default());
    }

    #[test]
    fn a_review_leaves_nothing_behind() {
        let builder = builder(&[ingress("a", "a.example.com", "/", json!({}))], json!({}));
        allowed(&builder, &ingress("b", "b.example.com", "/", json!({})));
        assert_eq!(builder.served(), 1);
        allowed(&builder, &ingress("c", "b.example.com", "/", json!({})));
    }

    #[test]
    fn names_that_are_none_are_denied() {
        for (namespace, name) in [("n", "a b"), ("", "a"), ("n", "A"), ("n/m", "a"), ("n", "")] {
            let mut object = ingress(name, "a.example.com", "/", json!({}));
            object["metadata"]["namespace"] = json!(namespace);
            denied(&builder(&[], json!({})), &object, "not one of Kubernetes");
        }
    }
}
