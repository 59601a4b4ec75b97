//! Variables that no directive sets.
//!
//! In text NGINX refuses a variable that it does not know. The values that Lua expands (a rewrite, a host) are data, where it is just empty: that
//! must not go unsaid.

use ngx_value::{Part, is_expanded_variable};
use settings::{Config, Spec};

/// Values that Lua expands and that name variables that no directive is known to set: the annotation, and what is wrong.
pub(super) fn unknown<'a>(spec: &Spec, config: &Config, paths: impl Iterator<Item = &'a str> + Clone) -> Vec<(&'static str, String)> {
    let path = &spec.path;
    let targets =
        [("rewrite-target", &path.rewrite_target), ("app-root", &path.app_root), ("x-forwarded-prefix", &path.x_forwarded_prefix)];
    let targets = targets.into_iter().filter_map(|(annotation, value)| Some((annotation, value.as_ref()?.parts())));
    let vhost = spec.protocol.upstream_vhost.iter().map(|vhost| ("upstream-vhost", vhost.parts()));
    let hash = spec.hashing.upstream_hash_by.iter().map(|by| ("upstream-hash-by", by.parts()));
    let mut found = Vec::new();
    for (annotation, parts) in targets.chain(vhost).chain(hash) {
        let unknown = parts.iter().find_map(|part| match part {
            Part::Variable(name) if !is_expanded_variable(name) && !is_set(name, spec, config, paths.clone()) => Some(*name),
            _ => None,
        });
        if let Some(name) = unknown {
            found.push((
                annotation,
                format!("no directive is known to set the variable ${name}; it is empty where NGINX has none of this name"),
            ));
        }
    }
    found
}

/// Whether a pattern has a group of this name, or a snippet of the Ingress or the settings has it.
fn is_set<'a>(name: &str, spec: &Spec, config: &Config, mut paths: impl Iterator<Item = &'a str>) -> bool {
    let snippets = [
        &spec.snippets.configuration_snippet,
        &spec.snippets.server_snippet,
        &config.snippets.http_snippet,
        &config.snippets.server_snippet,
        &config.snippets.location_snippet,
    ];
    let (group, quoted, variable) = (format!("<{name}>"), format!("'{name}'"), format!("${name}"));
    snippets.into_iter().flatten().any(|snippet| snippet.as_str().contains(&variable) || snippet.as_str().contains(&group))
        || paths.any(|path| path.contains(&group) || path.contains(&quoted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(annotations: &[(&str, &str)], path: &str, expected: &[&str]) {
        let config = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical"), ("location-snippet", "set $mine 1;")];
        let (config, _) = Config::parse(&config.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        let policy = settings::Policy { prefix: "p", validation: true, config: &config };
        let annotations = annotations.iter().map(|(name, value)| (format!("p/{name}"), (*value).to_owned())).collect();
        let spec = settings::parse(&annotations, &policy).spec;
        let found: Vec<&str> = unknown(&spec, &config, [path].into_iter()).into_iter().map(|(annotation, _)| annotation).collect();
        assert_eq!(found, expected, "{annotations:?}");
    }

    #[test]
    fn a_variable_that_nobody_sets_is_told() {
        check(&[("rewrite-target", "/$1$host$arg_a")], "/(.*)", &[]);
        check(&[("rewrite-target", "/$hostt")], "/(.*)", &["rewrite-target"]);
        check(&[("rewrite-target", "/$rest")], "/(?<rest>.*)", &[]);
        check(&[("upstream-vhost", "${mine}.example.com"), ("upstream-hash-by", "$yours")], "/", &["upstream-hash-by"]);
        check(&[("upstream-vhost", "$yours"), ("configuration-snippet", "set $yours $host;")], "/", &[]);
    }
}
