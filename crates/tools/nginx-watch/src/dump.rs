//! The output of `nginx -T`: every file that NGINX reads, and so every path that its configuration names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ngx_value::lexer::{Body, Directive, parse};

/// The line before each file.
const HEADER: &str = "# configuration file ";
/// Directives whose arguments begin with a `/` and are no paths of files.
const LOCATIONS: [&str; 6] = ["location", "return", "rewrite", "if", "try_files", "error_page"];

/// The paths of a configuration, as NGINX sees them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Dump {
    /// The files that were read, the main one first.
    pub(crate) files: Vec<PathBuf>,
    /// The arguments of `include`, relative ones completed: paths or patterns.
    pub(crate) includes: BTreeSet<PathBuf>,
    /// Other arguments that may be paths, relative ones completed.
    pub(crate) named: BTreeSet<PathBuf>,
    /// Texts that may hold paths: Lua, and arguments that are more than a path.
    pub(crate) texts: Vec<String>,
}

impl Dump {
    /// Reads the output; `None` if it holds no file.
    pub(crate) fn read(output: &str) -> Option<Self> {
        let mut parts: Vec<(PathBuf, String)> = Vec::new();
        for line in output.lines() {
            match line.strip_prefix(HEADER).and_then(|rest| rest.strip_suffix(':')) {
                Some(path) => parts.push((path.into(), String::new())),
                None => {
                    if let Some((_, text)) = parts.last_mut() {
                        text.push_str(line);
                        text.push('\n');
                    }
                }
            }
        }
        let home = parts.first()?.0.parent()?.to_owned();
        let mut dump = Self::default();
        for (path, text) in parts {
            match parse(&text) {
                Ok(directives) => dump.walk(&directives, &home),
                // Beyond a limit of our lexer: what it names is looked for in its text.
                Err(_) => dump.texts.push(text),
            }
            dump.files.push(path);
        }
        Some(dump)
    }

    fn walk(&mut self, directives: &[Directive], home: &Path) {
        for directive in directives {
            let name = directive.name();
            for word in directive.arguments().filter(|word| word.contains('/')) {
                if name == "include" {
                    self.includes.insert(home.join(word));
                } else if word.contains([' ', ';', ':', '?']) {
                    self.texts.push(word.to_owned());
                } else if !LOCATIONS.contains(&name) {
                    // Up to a variable: the rest is known to the workers only.
                    self.named.insert(home.join(word.split('$').next().unwrap_or_default()));
                }
            }
            if let Body::Lua(text) = &directive.body {
                self.texts.push(text.clone());
            }
            // A file beside the main one.
            if name == "include" {
                self.includes.extend(directive.arguments().filter(|word| !word.contains('/')).map(|word| home.join(word)));
            }
            self.walk(directive.children(), home);
        }
    }

    /// Its includes, for a message: patterns first.
    pub(crate) fn summary(&self) -> String {
        const SHOWN: usize = 6;
        let (patterns, files): (Vec<_>, Vec<_>) = self.includes.iter().partition(|path| is_pattern(&path.to_string_lossy()));
        let all: Vec<String> = patterns.into_iter().chain(files).map(|path| path.display().to_string()).collect();
        let main = self.files.first().map(|path| path.display().to_string()).unwrap_or_default();
        match all.len() {
            0 => format!("its configuration {main} includes no files"),
            count if count > SHOWN => format!("its configuration {main} includes {} and {} more", all[..SHOWN].join(", "), count - SHOWN),
            _ => format!("its configuration {main} includes {}", all.join(", ")),
        }
    }
}

/// `true` if a part of a path is one for glob(3).
pub(crate) fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// `true` if a part of a path fits one of a pattern. Sets of characters fit everything.
pub(crate) fn fits(pattern: &str, part: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return part.is_empty() };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '[' => true,
        '*' => (0..=part.len()).filter(|at| part.is_char_boundary(*at)).any(|at| fits(rest, &part[at..])),
        '?' => part.chars().next().is_some_and(|c| fits(rest, &part[c.len_utf8()..])),
        c => part.strip_prefix(c).is_some_and(|part| fits(rest, part)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"# configuration file /etc/nginx/nginx.conf:
user www;
http {
    include mime.types;
    include /etc/nginx/conf.d/*.conf;
    lua_package_path "/srv/lua/?.lua;;";
    init_by_lua_block { dofile("/srv/init.lua") }
}

# configuration file /etc/nginx/mime.types:
types { text/html html; }

# configuration file /etc/nginx/conf.d/a.conf:
server {
    ssl_certificate tls/$host.pem;
    location /api/ { proxy_pass http://x/y; root /var/www; }
}
"#;

    #[test]
    fn files_includes_and_other_paths_are_found() {
        let dump = Dump::read(OUTPUT).unwrap();
        assert_eq!(dump.files, ["/etc/nginx/nginx.conf", "/etc/nginx/mime.types", "/etc/nginx/conf.d/a.conf"].map(PathBuf::from));
        assert_eq!(dump.includes, ["/etc/nginx/conf.d/*.conf", "/etc/nginx/mime.types"].map(PathBuf::from).into());
        assert!(dump.named.contains(Path::new("/var/www")) && dump.named.contains(Path::new("/etc/nginx/tls/")), "{:?}", dump.named);
        assert!(!dump.named.contains(Path::new("/api/")));
        assert!(dump.texts.iter().any(|text| text.contains("/srv/lua/")) && dump.texts.iter().any(|text| text.contains("/srv/init.lua")));
        assert_eq!(dump.summary(), "its configuration /etc/nginx/nginx.conf includes /etc/nginx/conf.d/*.conf, /etc/nginx/mime.types");
        assert_eq!(Dump::read("nonsense"), None);
    }

    #[test]
    fn parts_of_paths_fit_patterns() {
        for (pattern, part, expected) in [
            ("*", "x", true),
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conf~", false),
            ("s?te", "site", true),
            ("a", "a", true),
            ("a", "b", false),
        ] {
            assert_eq!(fits(pattern, part), expected, "{pattern} {part}");
        }
    }
}
