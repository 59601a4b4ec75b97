//! The policy for snippets.

use annotations::{SNIPPET_RULES, SnippetRule};

use super::{NOTICE, row};

/// The page.
pub(super) fn page() -> String {
    let mut page = String::from(NOTICE);
    page.push_str(
        "# Snippets\n\n\
         Snippets of Ingresses need `allow-snippet-annotations: \"true\"` and `annotations-risk-level: Critical`, and may hold no word of \
         `annotation-value-word-blocklist`.\n\
         They are read with NGINX's own grammar: each directive must be complete and each block closed, so that a snippet can't leave the \
         block it stands in.\n\n\
         Directives that reach beyond that block are refused, however deep they stand: the Ingress is not taken, and its last good version \
         stays.\n\
         The key [`allowed-snippet-directives`](configmap.md#allowed-snippet-directives) names exceptions.\n\
         Snippets of the ConfigMap are not held to this list.\n\
         Lua in blocks (`access_by_lua_block` and the like) is taken as it is: text can't tell what code will do. \
         [Security](../security.md#snippets) says what that means.\n\n\
         | directive | refused in | but not | why |\n|---|---|---|---|\n",
    );
    for rule in SNIPPET_RULES {
        row(&mut page, &line(rule));
    }
    page
}

fn line(rule: &SnippetRule) -> String {
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let names = match rule.with {
        Some(argument) => format!("{} with `{argument}` in an argument", list(rule.names)),
        None => list(rule.names),
    };
    let places = if rule.only_in.is_empty() { "all".to_owned() } else { list(rule.only_in) };
    let mut exceptions = Vec::new();
    if !rule.unless.is_empty() {
        exceptions.push(format!("with {}", list(rule.unless)));
    }
    if rule.outside_locations {
        exceptions.push("inside of a `location` of the snippet's own".to_owned());
    }
    format!("| {names} | {places} | {} | {} |", exceptions.join(", "), rule.reason)
}
