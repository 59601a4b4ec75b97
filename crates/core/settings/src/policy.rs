//! Which directives snippets of Ingresses may not hold, even where snippets are allowed.
//!
//! A snippet is text of the location or server that it stands in. What reaches beyond that (the process, files of the controller, other
//! hosts, the control socket) is refused by name; the list is the table of `ngx_value::directives`, and `docs/reference/snippets.md` shows it.
//! Snippets of the ConfigMap are the administrator's and are not held to it.

use ngx_value::directives::DIRECTIVES;
use ngx_value::lexer::{Body, Directive};
use ngx_value::{Invalid, Snippet};

/// Holds a snippet to the policy.
///
/// # Errors
/// It has a directive that is refused and not in `allowed` (setting `allowed-snippet-directives`): which, where, and why.
pub(crate) fn check(annotation: &str, snippet: &Snippet, allowed: &[String]) -> Result<(), Invalid> {
    match find(annotation, &snippet.directives(), allowed, false) {
        None => Ok(()),
        Some((line, name, reason)) => Err(Invalid::because(format!(
            "directives that an Ingress may use, but line {line}: {name}: {reason} (docs/reference/snippets.md has the list, allowed-snippet-directives exceptions)"
        ))),
    }
}

/// The first directive that is refused: its line, its name, and why.
fn find(annotation: &str, directives: &[Directive], allowed: &[String], in_location: bool) -> Option<(u32, String, &'static str)> {
    for directive in directives {
        let name = directive.name();
        let mut refusals = DIRECTIVES.iter().filter(|rule| rule.names(name)).filter_map(|rule| rule.snippet);
        let refusal = refusals.find(|refusal| refusal.refuses(annotation, directive, in_location));
        if let Some(refusal) = refusal.filter(|_| !allowed.iter().any(|allowed| allowed == name)) {
            return Some((directive.line, name.to_owned(), refusal.reason));
        }
        if let Body::Block(children) = &directive.body {
            let found = find(annotation, children, allowed, in_location || name == "location");
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
