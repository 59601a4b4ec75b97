//! Deep inspection: refuses hosts, paths and TLS names that look like an attempt to reach files or Lua.
//!
//! Our values can't become syntax, so this protects nothing by itself; it keeps the predecessor's answers.

use super::Problems;
use crate::object::Ingress;
use crate::problem::ProblemKind;

/// Files and directories that no host or path has a reason to name.
const FORBIDDEN: [&str; 6] = ["/etc/passwd", "/etc/shadow", "/etc/group", "/etc/nginx", "/etc/ingress-controller", "/var/run/secrets"];

/// What about `text` is suspicious, in words; `None` if nothing is.
fn suspicious(text: &str) -> Option<&'static str> {
    if let Some(found) = FORBIDDEN.into_iter().find(|word| text.contains(word)) {
        return Some(found);
    }
    if text.contains("_by_lua") {
        return Some("_by_lua");
    }
    ["alias", "root"].into_iter().find(|directive| looks_like_directive(text, directive))
}

/// Whether `directive`, white space, anything and `;` occur in this order.
fn looks_like_directive(text: &str, directive: &str) -> bool {
    text.match_indices(directive).any(|(at, _)| {
        let rest = &text[at + directive.len()..];
        rest.starts_with(|c: char| c.is_whitespace()) && rest.contains(';')
    })
}

/// Whether nothing in the rules of an Ingress is suspicious; a Problem for what is.
pub(super) fn inspect(ingress: &Ingress, problems: &mut Problems) -> bool {
    let mut texts: Vec<(String, &str)> = Vec::new();
    for (i, rule) in ingress.rules.iter().enumerate() {
        texts.push((format!("spec.rules[{i}].host"), &rule.host));
        for (j, path) in rule.paths.iter().enumerate() {
            texts.push((format!("spec.rules[{i}].http.paths[{j}].path"), &path.path));
        }
    }
    for (i, tls) in ingress.tls.iter().enumerate() {
        texts.extend(tls.secret.as_deref().map(|name| (format!("spec.tls[{i}].secretName"), name)));
        texts.extend(tls.hosts.iter().map(|host| (format!("spec.tls[{i}].hosts"), &**host)));
    }
    let mut clean = true;
    for (field, text) in texts {
        if let Some(what) = suspicious(text) {
            clean = false;
            problems.push(
                field,
                ProblemKind::Refused,
                format!("{text:?} contains {what:?}, which no host, path or name needs; the Ingress is not served"),
            );
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::suspicious;

    #[test]
    fn directives_and_files_are_suspicious_and_ordinary_paths_are_not() {
        for text in ["/bla{alias /var/x/;}location ~* ^/abcd", "/x{root\n/;}", "/etc/passwd", "/a/var/run/secrets", "content_by_lua_block"]
        {
            assert!(suspicious(text).is_some(), "{text}");
        }
        for text in ["/", "/alias", "/alias/root", "/roots;", "/app/alias x", "foo.example.com", "/etc/hosts"] {
            assert!(suspicious(text).is_none(), "{text}");
        }
    }
}
