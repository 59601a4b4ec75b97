//! Which directives snippets of Ingresses may not hold, even where snippets are allowed.
//!
//! A snippet is text of the location or server that it stands in. What reaches beyond that (the process, files of the controller, other
//! hosts, the control socket) is refused by name; the list is data, with a reason each, and `docs/reference/snippets.md` shows it.
//! Snippets of the ConfigMap are the administrator's and are not held to it.

use ngx_value::lexer::{Body, Directive};
use ngx_value::{Invalid, Snippet};

/// Directives that are refused.
#[derive(Debug)]
pub struct SnippetRule {
    /// Their names; `*` at one end, or alone, stands for any text.
    pub names: &'static [&'static str],
    /// The annotations in which they are refused; empty: in all.
    pub only_in: &'static [&'static str],
    /// They are refused only with an argument that has this in it, in any letter case.
    pub with: Option<&'static str>,
    /// They are taken all the same with one of these as first argument; one that ends in `=` may go on.
    pub unless: &'static [&'static str],
    /// Inside of a `location` of the snippet's own they are taken.
    pub outside_locations: bool,
    /// Why.
    pub reason: &'static str,
}

const EVERYWHERE: SnippetRule = SnippetRule { names: &[], only_in: &[], with: None, unless: &[], outside_locations: false, reason: "" };

/// The policy.
pub static SNIPPET_RULES: &[SnippetRule] = &[
    SnippetRule {
        names: &[
            "load_module",
            "env",
            "user",
            "daemon",
            "master_process",
            "pid",
            "lock_file",
            "working_directory",
            "worker_*",
            "thread_pool",
            "timer_resolution",
            "debug_points",
            "pcre_jit",
            "ssl_engine",
            "events",
            "http",
            "mail",
            "stream",
        ],
        reason: "it belongs to the whole process",
        ..EVERYWHERE
    },
    SnippetRule {
        names: &[
            "init_by_lua*",
            "init_worker_by_lua*",
            "exit_worker_by_lua*",
            "lua_package_path",
            "lua_package_cpath",
            "lua_shared_dict",
            "lua_code_cache",
        ],
        reason: "the controller's own Lua depends on it",
        ..EVERYWHERE
    },
    SnippetRule {
        names: &["header_filter_by_lua*", "log_by_lua*", "ssl_certificate_by_lua*"],
        outside_locations: true,
        reason: "it would take the place of the controller's own",
        ..EVERYWHERE
    },
    SnippetRule {
        names: &["include"],
        reason: "it reads any file of the controller's, and a message about what is in it would show it",
        ..EVERYWHERE
    },
    SnippetRule { names: &["*_file"], reason: "it reads a file of the controller's", ..EVERYWHERE },
    SnippetRule {
        names: &["*ssl_certificate", "*ssl_certificate_key", "ssl_session_ticket_key"],
        reason: "the files of keys are the controller's and other tenants'",
        ..EVERYWHERE
    },
    SnippetRule { names: &["root", "alias"], reason: "it serves files of the controller's", ..EVERYWHERE },
    SnippetRule { names: &["xslt_*", "xml_entities"], reason: "it reads files of the controller's", ..EVERYWHERE },
    SnippetRule { names: &["*_temp_path", "*_store", "dav_*", "create_full_put_path"], reason: "it writes files", ..EVERYWHERE },
    SnippetRule {
        names: &["access_log", "error_log"],
        unless: &["off", "/dev/stdout", "/dev/stderr", "stderr", "syslog:server="],
        reason: "it writes to a file, which NGINX opens with the rights of its master",
        ..EVERYWHERE
    },
    SnippetRule { names: &["perl*", "js_*"], reason: "it runs code from files", ..EVERYWHERE },
    SnippetRule { names: &["server_name"], only_in: &["server-snippet"], reason: "it takes the requests of other hosts", ..EVERYWHERE },
    SnippetRule {
        names: &["listen"],
        only_in: &["server-snippet"],
        reason: "it opens a port, which is for the administrator to decide",
        ..EVERYWHERE
    },
    SnippetRule { names: &["*"], with: Some("unix:"), reason: "NGINX's control socket is one like that", ..EVERYWHERE },
];

impl SnippetRule {
    fn names(&self, name: &str) -> bool {
        self.names.iter().any(|pattern| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => name.ends_with(end),
            (None, Some(start)) => name.starts_with(start),
            (None, None) => name == *pattern,
        })
    }

    fn refuses(&self, annotation: &str, directive: &Directive, in_location: bool) -> bool {
        let with = |part: &str| directive.arguments().any(|word| word.to_ascii_lowercase().contains(part));
        let is_taken = |first: &str| self.unless.iter().any(|taken| *taken == first || taken.ends_with('=') && first.starts_with(taken));
        self.names(directive.name())
            && (self.only_in.is_empty() || self.only_in.contains(&annotation))
            && self.with.is_none_or(with)
            && !directive.arguments().next().is_some_and(is_taken)
            && !(self.outside_locations && in_location)
    }
}

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
        let rule = SNIPPET_RULES.iter().find(|rule| rule.refuses(annotation, directive, in_location));
        if let Some(rule) = rule.filter(|_| !allowed.iter().any(|allowed| allowed == name)) {
            return Some((directive.line, name.to_owned(), rule.reason));
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
