//! Directives that reach beyond the text they stand in, and the rule of each for the writers of such text: tenants, in snippets of Ingresses,
//! and other users, in files that `narthex watch --from` takes over.
//!
//! The two profiles differ on purpose. A snippet stands in a location or server of the controller's own configuration, beside those of other tenants; a
//! file is part of another operator's configuration, and only what the master does with its rights is refused there. What no row names is allowed.

use crate::lexer::Directive;

/// The rules of the profiles for some directives.
#[derive(Debug)]
pub struct DirectiveRule {
    /// Their names; `*` stands for any text.
    pub names: &'static [&'static str],
    /// In snippets of Ingresses.
    pub snippet: Option<SnippetRefusal>,
    /// In files of other users.
    pub file: Option<FileRefusal>,
}

/// The cases in which a snippet may not have a directive, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnippetRefusal {
    /// The reason, to follow a name and a colon.
    pub reason: &'static str,
    /// Only in this annotation.
    pub only_in: Option<&'static str>,
    /// Only with an argument that has this in it, in any letter case.
    pub with: Option<&'static str>,
    /// Not with one of these as first argument; one that ends in `=` may go on.
    pub unless: &'static [&'static str],
    /// Not inside of a `location` of the snippet's own.
    pub outside_locations: bool,
}

/// The cases in which a file of another user may not have a directive, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRefusal {
    /// Whatever its arguments.
    Always(&'static str),
    /// With a path as first argument that is none of these.
    Unless(Paths),
}

/// Paths that the master may follow with its own rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paths {
    /// Configuration by the authors of the files, and shared files of parameters.
    Includes,
    /// Places of logs, and streams.
    Logs,
    /// Directories that only NGINX and its administrators write.
    Caches,
}

use FileRefusal::{Always, Unless};

const PROCESS: SnippetRefusal = because("it belongs to the whole process");
const OWN_LUA: SnippetRefusal = because("the controller's own Lua depends on it");
const READS_FILES: SnippetRefusal = because("it reads files of the controller's");
const WRITES_FILES: SnippetRefusal = because("it writes files");
const CODE_IN_FILES: SnippetRefusal = because("it runs code from files");

/// The reason why files may not have a directive.
const MASTER: FileRefusal = Always("processes and files of the master");
const CODE: FileRefusal = Always("code");
const SHOWN: FileRefusal = Always("error messages show what is in the file");

/// The table. For a snippet the first row counts that refuses.
pub static DIRECTIVES: &[DirectiveRule] = &[
    both(&["load_module", "ssl_engine"], PROCESS, CODE),
    both(&["env", "user", "daemon", "master_process", "pid", "lock_file", "working_directory", "debug_points"], PROCESS, MASTER),
    snippet(&["worker_*", "thread_pool", "timer_resolution", "pcre_jit", "events", "http", "mail", "stream"], PROCESS),
    file(&["worker_processes", "worker_rlimit_core", "google_perftools_profiles"], MASTER),
    both(&["lua_package_path", "lua_package_cpath"], OWN_LUA, CODE),
    snippet(&["init_by_lua*", "init_worker_by_lua*", "exit_worker_by_lua*", "lua_shared_dict", "lua_code_cache"], OWN_LUA),
    snippet(
        &["header_filter_by_lua*", "log_by_lua*", "ssl_certificate_by_lua*"],
        SnippetRefusal { outside_locations: true, ..because("it would take the place of the controller's own") },
    ),
    file(&["*_by_lua*", "lua_load_*"], CODE),
    both(
        &["include"],
        because("it reads any file of the controller's, and a message about what is in it would show it"),
        Unless(Paths::Includes),
    ),
    snippet(&["*_file"], because("it reads a file of the controller's")),
    snippet(
        &["*ssl_certificate", "*ssl_certificate_key", "ssl_session_ticket_key"],
        because("the files of keys are the controller's and other tenants'"),
    ),
    snippet(&["root", "alias"], because("it serves files of the controller's")),
    both(&["xslt_stylesheet", "xml_entities"], READS_FILES, SHOWN),
    snippet(&["xslt_*"], READS_FILES),
    both(&["*_temp_path"], WRITES_FILES, Unless(Paths::Caches)),
    snippet(&["*_store", "dav_*", "create_full_put_path"], WRITES_FILES),
    file(&["*_cache_path", "state", "state_path"], Unless(Paths::Caches)),
    both(
        &["access_log", "error_log"],
        SnippetRefusal {
            unless: &["off", "/dev/stdout", "/dev/stderr", "stderr", "syslog:server="],
            ..because("it writes to a file, which NGINX opens with the rights of its master")
        },
        Unless(Paths::Logs),
    ),
    both(&["perl*", "js_*"], CODE_IN_FILES, CODE),
    file(&["modsecurity_rules*", "passenger_*"], CODE),
    snippet(&["server_name"], SnippetRefusal { only_in: Some("server-snippet"), ..because("it takes the requests of other hosts") }),
    snippet(
        &["listen"],
        SnippetRefusal { only_in: Some("server-snippet"), ..because("it opens a port, which is for the administrator to decide") },
    ),
    snippet(&["*"], SnippetRefusal { with: Some("unix:"), ..because("NGINX's control socket is one like that") }),
];

const fn because(reason: &'static str) -> SnippetRefusal {
    SnippetRefusal { reason, only_in: None, with: None, unless: &[], outside_locations: false }
}

const fn both(names: &'static [&'static str], snippet: SnippetRefusal, file: FileRefusal) -> DirectiveRule {
    DirectiveRule { names, snippet: Some(snippet), file: Some(file) }
}

const fn snippet(names: &'static [&'static str], refusal: SnippetRefusal) -> DirectiveRule {
    DirectiveRule { names, snippet: Some(refusal), file: None }
}

const fn file(names: &'static [&'static str], refusal: FileRefusal) -> DirectiveRule {
    DirectiveRule { names, snippet: None, file: Some(refusal) }
}

impl DirectiveRule {
    /// `true` if it is about directives of this name.
    pub fn names(&self, name: &str) -> bool {
        self.names.iter().any(|pattern| name_matches(pattern, name))
    }
}

impl SnippetRefusal {
    /// `true` if it refuses a directive in this annotation, by its arguments and its place.
    pub fn refuses(&self, annotation: &str, directive: &Directive, in_location: bool) -> bool {
        let with = |part: &str| directive.arguments().any(|word| word.to_ascii_lowercase().contains(part));
        let is_taken = |first: &str| self.unless.iter().any(|taken| *taken == first || taken.ends_with('=') && first.starts_with(taken));
        self.only_in.is_none_or(|only| only == annotation)
            && self.with.is_none_or(with)
            && !directive.arguments().next().is_some_and(is_taken)
            && !(self.outside_locations && in_location)
    }
}

/// `true` if the name of a directive is of this pattern, in which `*` stands for any text.
pub fn name_matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, name, expected) in [
            ("*", "x", true),
            ("a*c", "abc", true),
            ("a*c", "ab", false),
            ("a*a", "a", false),
            ("ab", "abc", false),
            ("*_by_lua*", "set_by_lua", true),
            ("*_file", "auth_basic_user_file", true),
        ] {
            assert_eq!(name_matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn every_row_has_names_and_says_something_of_them() {
        for rule in DIRECTIVES {
            let reason = rule.snippet.map_or("x", |refusal| refusal.reason);
            assert!(!rule.names.is_empty() && (rule.snippet.is_some() || rule.file.is_some()), "{rule:?}");
            assert!(!reason.is_empty() && !reason.ends_with('.'), "{rule:?}");
        }
    }
}
