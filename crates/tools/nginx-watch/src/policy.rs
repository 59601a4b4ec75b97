//! The directives that files of other users may have: what reaches beyond serving is left to the operator of NGINX.
//!
//! Read by the lexer that reads as NGINX does, so quotes, line breaks and comments hide nothing. Every file counts that NGINX could read, whatever its name;
//! one that NGINX could not read (a picture, a certificate) does no harm, for the test refuses it where it is included.

mod place;

use std::path::Path;
use std::str::FromStr;

use ngx_value::directives::{DIRECTIVES, FileRefusal, name_matches};
use ngx_value::lexer::{Directive, LexErrorKind, parse};

use crate::snapshot::Tree;

/// The name of a directive; `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePattern(String);

/// The policy.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// `true` if the rules of the table of directives for files apply.
    pub is_strict: bool,
    /// Refused as well.
    pub deny: Vec<NamePattern>,
    /// Allowed whatever else is said, arguments too.
    pub allow: Vec<NamePattern>,
}

/// Something that a file may not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    file: String,
    line: u32,
    why: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.why)
    }
}

impl FromStr for NamePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'*');
        good.then(|| Self(text.to_owned()))
            .ok_or_else(|| format!("{text:?} is not the name of a directive: expected letters, digits, _ and * for any text"))
    }
}

impl std::fmt::Display for NamePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl NamePattern {
    fn matches(&self, name: &str) -> bool {
        name_matches(&self.0, name)
    }
}

impl Policy {
    /// The default for files of other users.
    pub fn strict() -> Self {
        Self { is_strict: true, ..Self::default() }
    }

    /// Refusals of the files, in the order of paths and lines. `to` is where they will stand.
    pub(crate) fn check(&self, tree: &Tree, to: &Path) -> Vec<Refusal> {
        if self.deny.is_empty() && !self.is_strict {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (path, file) in &tree.files {
            let text = String::from_utf8_lossy(file.bytes.as_deref().unwrap_or_default());
            // NGINX takes a NUL for any other character.
            let text = text.replace('\0', "\u{1}");
            let mut refuse = |line, why| found.push(Refusal { file: path.to_string(), line, why });
            match parse(&text) {
                Ok(directives) => self.walk(&directives, to, &mut refuse),
                // Limits of ours, where NGINX may read on.
                Err(error)
                    if matches!(
                        error.kind,
                        LexErrorKind::LongWord | LexErrorKind::Deep | LexErrorKind::LuaString | LexErrorKind::LuaLong
                    ) =>
                {
                    refuse(error.line, format!("{}: what can't be checked is refused; keep such files elsewhere", error.kind));
                }
                // NGINX can't read it either.
                Err(_) => {}
            }
        }
        found
    }

    fn walk(&self, directives: &[Directive], to: &Path, refuse: &mut impl FnMut(u32, String)) {
        for directive in directives {
            let name = directive.name();
            if !self.allow.iter().any(|pattern| pattern.matches(name))
                && let Some(why) = self.refuses(directive, to)
            {
                refuse(directive.line, format!("{why}--allow-directive {name} allows it"));
            }
            self.walk(directive.children(), to, refuse);
        }
    }

    /// The reason against a directive, as far as `--allow-directive` in a message.
    fn refuses(&self, directive: &Directive, to: &Path) -> Option<String> {
        let name = directive.name();
        let rows = DIRECTIVES.iter().filter(|rule| self.is_strict && rule.names(name));
        let by_table = rows.filter_map(|rule| rule.file).find_map(|refusal| match refusal {
            FileRefusal::Always(_) => Some(format!("the directive {name:?} is not allowed here: ")),
            FileRefusal::Unless(paths) => place::refuses(paths, directive, to).map(|why| format!("{name} {why}; ")),
        });
        let by_name = || self.deny.iter().find(|pattern| pattern.matches(name));
        by_table.or_else(|| by_name().map(|pattern| format!("the directive {name:?} is not allowed here: by --deny-directive {pattern}; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::File;

    #[track_caller]
    fn check(policy: &Policy, text: &str, expected: &[&str]) {
        let file = File { bytes: Some(text.as_bytes().into()), mode: 0o644, owner: (0, 0) };
        let tree = Tree { root: "/from".into(), is_file: false, files: [("a.conf".into(), file)].into() };
        let found: Vec<String> = policy.check(&tree, Path::new("/etc/nginx/conf.d")).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with("a.conf:") && found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn what_reaches_beyond_serving_is_refused_however_it_is_written() {
        let strict = Policy::strict();
        check(&strict, "server { listen 80; location / { return 200 'user root;'; } }", &[]);
        check(&strict, "# user root;\nload_module x.so;", &["a.conf:2: the directive \"load_module\""]);
        check(
            &strict,
            "server {\n location / {\n content_by_lua_block { os.execute('x') } } }",
            &["a.conf:3: the directive \"content_by_lua_block\""],
        );
        check(&strict, "\"load_module\"\n'x.so';", &["load_module"]);
        check(&strict, "# a\0b\nuser root;", &["\"user\""]);
        check(&strict, "user root; pid /x; js_import x;", &["user", "pid", "js_import"]);
        // NGINX can't read these either.
        check(&strict, "load_module x.so; }", &[]);
        check(&strict, "PNG\0\u{1}{{{", &[]);
        check(&strict, &format!("load_module {};", "x".repeat(5000)), &["can't be checked"]);
    }

    #[test]
    fn names_are_allowed_and_denied_by_patterns() {
        let mut policy = Policy::strict();
        policy.allow.push("js_*".parse().unwrap());
        policy.deny.push("proxy_*_path".parse().unwrap());
        check(&policy, "js_import x; proxy_temp_path x; proxy_pass y;", &["proxy_temp_path"]);
        check(&Policy::default(), "load_module x.so;", &[]);
        assert!("a b".parse::<NamePattern>().is_err() && "".parse::<NamePattern>().is_err());
    }

    #[test]
    fn paths_that_the_master_opens_are_looked_at() {
        let strict = Policy::strict();
        for good in [
            "access_log off;",
            "access_log /var/log/nginx/a.log main;",
            "error_log stderr;",
            "error_log syslog:server=10.0.0.1;",
            "access_log logs/a.log;",
            "include conf.d/sub/*.conf;",
            "include /etc/nginx/conf.d/sub/x;",
            "include /etc/nginx/mime.types;",
            "include fastcgi_params;",
            "proxy_cache_path /var/cache/nginx/a keys_zone=a:1m;",
        ] {
            check(&strict, good, &[]);
        }
        for bad in [
            "access_log /etc/cron.d/x;",
            "error_log /var/log/../../etc/cron.d/x;",
            "include /etc/shadow;",
            "include ../../etc/x.conf;",
            "include tls.key;",
            "client_body_temp_path /etc/cron.d;",
            "client_body_temp_path /tmp/x;",
            "client_body_temp_path /var/tmp/x 1 2;",
            "proxy_temp_path .;",
            "fastcgi_cache_path conf.d keys_zone=a:1m;",
            "state_path /etc/x;",
            "access_log /var/log/auth.log;",
            "access_log modules-enabled/x.conf;",
            "include /home/user/mime.types;",
            "proxy_cache_path /var/cache keys_zone=a:1m;",
        ] {
            check(&strict, bad, &["--allow-directive"]);
        }
    }
}
