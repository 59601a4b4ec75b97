//! The policy for snippets.

use ngx_value::directives::{DIRECTIVES, FileRefusal, SnippetRefusal};

use super::{NOTICE, row};

/// The page.
pub(super) fn page() -> String {
    let mut page = NOTICE.replace("tables in crates/core/settings", "table in crates/core/ngx-value/src/directives.rs");
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
    let mut rows: Vec<(SnippetRefusal, Vec<&str>)> = Vec::new();
    for (refusal, names) in DIRECTIVES.iter().filter_map(|rule| Some((rule.snippet?, rule.names))) {
        match rows.iter_mut().find(|(same, _)| *same == refusal) {
            Some((_, row)) => row.extend(names),
            None => rows.push((refusal, names.to_vec())),
        }
    }
    for (refusal, names) in rows {
        row(&mut page, &line(refusal, &names));
    }
    page
}

/// What `docs/watch.md`, which is written by hand, does not say of files: each name stands in a row, with its reason.
pub(super) fn missing(watch: &str) -> Vec<String> {
    let says = |name: &str, refusal: FileRefusal| {
        let reason = match refusal {
            FileRefusal::Always(reason) => format!("| {reason} |"),
            FileRefusal::Unless(_) => String::new(),
        };
        watch.lines().any(|line| line.contains(&format!("`{name}`")) && line.ends_with(&reason))
    };
    let files = DIRECTIVES.iter().filter_map(|rule| Some((rule.names, rule.file?)));
    let silent = files.flat_map(|(names, refusal)| names.iter().filter(move |name| !says(name, refusal)));
    silent.map(|name| format!("docs/watch.md: does not say of {name} why files may not have it")).collect()
}

fn line(refusal: SnippetRefusal, names: &[&str]) -> String {
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let names = match refusal.with {
        Some(argument) => format!("{} with `{argument}` in an argument", list(names)),
        None => list(names),
    };
    let places = refusal.only_in.map_or("all".to_owned(), |only| list(&[only]));
    let mut exceptions = Vec::new();
    if !refusal.unless.is_empty() {
        exceptions.push(format!("with {}", list(refusal.unless)));
    }
    if refusal.outside_locations {
        exceptions.push("inside of a `location` of the snippet's own".to_owned());
    }
    format!("| {names} | {places} | {} | {} |", exceptions.join(", "), refusal.reason)
}
