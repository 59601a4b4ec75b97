//! The hosts and rules of Ingresses, as far as requests can be made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::object::{Backend, PortRef};
use model::{Ingress, ObjectKey};

/// Annotation with the class of an Ingress that has no `spec.ingressClassName`.
pub const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// The way in which a path is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKind {
    /// The whole path.
    Exact,
    /// By segments.
    Prefix,
    /// A regular expression, because an Ingress of the host says so.
    Pattern,
}

/// A path of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The Ingress.
    pub ingress: ObjectKey,
    /// The path as it is written; `/` where there is none.
    pub path: String,
    /// The way in which it is compared.
    pub kind: PathKind,
    /// The backend as access logs name it, `namespace-service-port`; empty for one that is no Service.
    pub backend: String,
    /// The Ingress's annotations below the prefix, which is taken off.
    pub annotations: Arc<BTreeMap<String, String>>,
}

impl Rule {
    /// Value of an annotation, by its name without prefix.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.get(name).map(String::as_str)
    }

    /// `true` if an annotation says `true`.
    pub fn says(&self, name: &str) -> bool {
        self.annotation(name) == Some("true")
    }
}

/// A host and the rules that Ingresses have for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The name in the rules; empty for rules without a host, and maybe a wildcard.
    pub host: String,
    /// Names that annotations add, without patterns.
    pub aliases: BTreeSet<String>,
    /// Ordered by Ingress, then as written.
    pub rules: Vec<Arc<Rule>>,
}

/// The Ingresses that count.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Only those of this class; all if absent.
    pub class: Option<String>,
    /// Only those of this namespace; all if absent.
    pub namespace: Option<String>,
    /// The prefix of annotations, without the slash.
    pub annotations_prefix: String,
}

impl Scope {
    /// `true` if an Ingress counts.
    pub fn holds(&self, key: &ObjectKey, ingress: &Ingress) -> bool {
        let class = self.class.as_ref().is_none_or(|class| class_of(ingress) == Some(class));
        class && self.namespace.as_ref().is_none_or(|namespace| *key.namespace == **namespace)
    }
}

/// The class of an Ingress: the field, else the annotation.
pub fn class_of(ingress: &Ingress) -> Option<&str> {
    ingress.class.as_deref().or_else(|| annotated_class(ingress))
}

/// The class that the annotation names.
pub fn annotated_class(ingress: &Ingress) -> Option<&str> {
    ingress.annotations.get(CLASS_ANNOTATION).map(String::as_str)
}

/// The hosts of an Ingress, in lower case; one without rules has the empty one.
pub fn hosts_of(ingress: &Ingress) -> BTreeSet<String> {
    let hosts: BTreeSet<String> = ingress.rules.iter().map(|rule| rule.host.to_ascii_lowercase()).collect();
    if hosts.is_empty() { BTreeSet::from([String::new()]) } else { hosts }
}

/// The sites of all Ingresses that count, ordered by host.
pub fn sites<'a>(ingresses: impl IntoIterator<Item = (&'a ObjectKey, &'a Ingress)>, scope: &Scope) -> Vec<Site> {
    let mut held: Vec<(&ObjectKey, &Ingress)> = ingresses.into_iter().filter(|(key, ingress)| scope.holds(key, ingress)).collect();
    held.sort_by_key(|(key, _)| *key);
    let mut sites: BTreeMap<String, Site> = BTreeMap::new();
    for (key, ingress) in held {
        let annotations = annotations(ingress, &scope.annotations_prefix);
        for (host, rule) in rules(key, ingress, &annotations) {
            let site = sites.entry(host.clone()).or_insert_with(|| Site { host, aliases: BTreeSet::new(), rules: Vec::new() });
            let aliases = annotations.get("server-alias").map(String::as_str).unwrap_or_default().split(',').map(str::trim);
            site.aliases.extend(aliases.filter(|alias| is_name(alias)).map(str::to_ascii_lowercase));
            site.rules.push(Arc::new(rule));
        }
    }
    sites.into_values().collect()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._".contains(&c))
}

fn annotations(ingress: &Ingress, prefix: &str) -> Arc<BTreeMap<String, String>> {
    let own = |name: &str| Some(name.strip_prefix(prefix)?.strip_prefix('/')?.to_owned());
    Arc::new(ingress.annotations.iter().filter_map(|(name, value)| Some((own(name)?, value.clone()))).collect())
}

fn rules(key: &ObjectKey, ingress: &Ingress, annotations: &Arc<BTreeMap<String, String>>) -> Vec<(String, Rule)> {
    let regex = annotations.get("use-regex").is_some_and(|value| value == "true") || annotations.contains_key("rewrite-target");
    let rule = |host: &str, path: &str, kind: &str, backend: &Backend| {
        let path = if path.starts_with('/') { path } else { "/" };
        let kind = match kind {
            "Exact" => PathKind::Exact,
            _ if regex && crate::sample::is_pattern(path) => PathKind::Pattern,
            _ => PathKind::Prefix,
        };
        let backend = log_name(key, backend);
        let rule = Rule { ingress: key.clone(), path: path.to_owned(), kind, backend, annotations: annotations.clone() };
        (host.to_ascii_lowercase(), rule)
    };
    let mut found = Vec::new();
    for entry in &ingress.rules {
        found.extend(entry.paths.iter().map(|path| rule(&entry.host, &path.path, &path.path_type, &path.backend)));
        if let (true, Some(backend)) = (entry.paths.is_empty(), &ingress.default_backend) {
            found.push(rule(&entry.host, "/", "", backend));
        }
    }
    if let (true, Some(backend)) = (ingress.rules.is_empty(), &ingress.default_backend) {
        found.push(rule("", "/", "", backend));
    }
    found
}

fn log_name(ingress: &ObjectKey, backend: &Backend) -> String {
    let Backend::Service { name, port } = backend else { return String::new() };
    let port = match port {
        PortRef::Name(name) => name.to_string(),
        PortRef::Number(number) => number.to_string(),
        PortRef::None => String::new(),
    };
    format!("{}-{name}-{port}", ingress.namespace)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// An Ingress of the API as it is read.
    pub(crate) fn ingress(value: Value) -> (ObjectKey, Ingress) {
        let object: k8s_openapi::api::networking::v1::Ingress = serde_json::from_value(value).unwrap();
        let meta = &object.metadata;
        let key = ObjectKey::new(meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
        (key, object.into())
    }

    pub(crate) fn sites_of(object: &(ObjectKey, Ingress)) -> Vec<Site> {
        sites([(&object.0, &object.1)], &scope())
    }

    pub(crate) fn scope() -> Scope {
        Scope { annotations_prefix: "nginx.ingress.kubernetes.io".into(), ..Scope::default() }
    }

    pub(crate) fn shop(annotations: Value, path: &str, kind: &str) -> (ObjectKey, Ingress) {
        let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
        ingress(json!({
            "metadata": {"namespace": "default", "name": "shop", "annotations": annotations},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": "Shop.example.com", "http": {"paths": [
                {"path": path, "pathType": kind, "backend": backend}]}}]},
        }))
    }

    #[test]
    fn rules_have_their_backend_as_logs_name_it_and_annotations_without_prefix() {
        let one = shop(json!({"nginx.ingress.kubernetes.io/server-alias": "a.example.com, ~b", "other/x": "y"}), "/cart", "Prefix");
        let sites = sites_of(&one);
        assert_eq!(sites.len(), 1);
        assert_eq!(
            (sites[0].host.as_str(), sites[0].aliases.iter().map(String::as_str).collect()),
            ("shop.example.com", vec!["a.example.com"])
        );
        let rule = &sites[0].rules[0];
        assert_eq!((rule.path.as_str(), rule.kind, rule.backend.as_str()), ("/cart", PathKind::Prefix, "default-web-80"));
        assert_eq!(rule.annotations.len(), 1);
    }

    #[test]
    fn a_path_is_a_pattern_only_where_the_ingress_says_so() {
        let kind = |annotations, path, kind| sites_of(&shop(annotations, path, kind))[0].rules[0].kind;
        let rewrite = json!({"nginx.ingress.kubernetes.io/rewrite-target": "/$2"});
        assert_eq!(kind(rewrite.clone(), "/a(/|$)(.*)", "ImplementationSpecific"), PathKind::Pattern);
        assert_eq!(kind(rewrite.clone(), "/a", "ImplementationSpecific"), PathKind::Prefix);
        assert_eq!(kind(rewrite, "/a", "Exact"), PathKind::Exact);
        assert_eq!(kind(json!({}), "/a(/|$)(.*)", "ImplementationSpecific"), PathKind::Prefix);
    }

    #[test]
    fn the_class_is_the_field_s_before_the_annotation_s() {
        let annotated = ingress(json!({"metadata": {"annotations": {CLASS_ANNOTATION: "b"}}, "spec": {}}));
        assert_eq!(class_of(&annotated.1), Some("b"));
        let both = ingress(json!({"metadata": {"annotations": {CLASS_ANNOTATION: "b"}}, "spec": {"ingressClassName": "a"}}));
        assert_eq!(class_of(&both.1), Some("a"));
        let only = Scope { class: Some("a".into()), ..scope() };
        assert!(only.holds(&both.0, &both.1) && !only.holds(&annotated.0, &annotated.1));
    }

    #[test]
    fn an_ingress_without_rules_is_a_site_of_its_own() {
        let all = ingress(
            json!({"metadata": {"namespace": "a", "name": "b"}, "spec": {"defaultBackend": {"service": {"name": "web", "port": {"name": "http"}}}}}),
        );
        let sites = sites_of(&all);
        assert_eq!((sites[0].host.as_str(), sites[0].rules[0].backend.as_str()), ("", "a-web-http"));
    }
}
