//! NGINX's command line and the titles of its processes.

use std::path::Path;

/// The options of an NGINX command line that matter to a test of its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    /// `-c`: the configuration file.
    pub conf: Option<String>,
    /// `-p`: the prefix.
    pub prefix: Option<String>,
    /// `-g`: global directives.
    pub globals: Option<String>,
    /// `-e`: the log until the configuration names another.
    pub error_log: Option<String>,
    /// `true` if it doesn't serve: it tests, sends a signal, or prints something.
    pub transient: bool,
}

impl Arguments {
    /// Reads arguments (without the program) as NGINX does: `-c FILE` and `-cFILE`, several letters to a dash.
    pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Self {
        let mut found = Self::default();
        let mut rest = arguments.iter().map(AsRef::as_ref);
        while let Some(argument) = rest.next() {
            let Some(mut letters) = argument.strip_prefix('-') else { continue };
            while let Some(letter) = letters.chars().next() {
                letters = &letters[letter.len_utf8()..];
                let field = match letter {
                    'c' => &mut found.conf,
                    'p' => &mut found.prefix,
                    'g' => &mut found.globals,
                    'e' => &mut found.error_log,
                    't' | 'T' | 'v' | 'V' | 'h' | '?' | 's' => {
                        found.transient = true;
                        continue;
                    }
                    _ => continue,
                };
                *field = if letters.is_empty() { rest.next().map(str::to_owned) } else { Some(letters.to_owned()) };
                break;
            }
        }
        found
    }

    /// Reads the title of a master, `nginx: master process /usr/sbin/nginx -g daemon off;`, in which spaces no longer separate the arguments unambiguously:
    /// the directives of `-g` end with a `;` before the next option.
    pub fn of_title(title: &str) -> Self {
        let command = title.split_once("master process ").map_or("", |(_, command)| command);
        let mut arguments: Vec<String> = Vec::new();
        let mut words = command.split(' ').skip(1).peekable();
        while let Some(word) = words.next() {
            if !(word.starts_with("-g")) {
                arguments.push(word.to_owned());
                continue;
            }
            let mut text = word[2..].to_owned();
            while let Some(next) = words.peek() {
                if text.trim_end().ends_with(';') && next.starts_with('-') {
                    break;
                }
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(next);
                words.next();
            }
            arguments.extend(["-g".to_owned(), text]);
        }
        Self::parse(&arguments)
    }

    /// The arguments again, without those that make it transient.
    pub fn to_arguments(&self) -> Vec<String> {
        let options = [("-c", &self.conf), ("-p", &self.prefix), ("-g", &self.globals), ("-e", &self.error_log)];
        options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value.clone()?])).flatten().collect()
    }
}

/// The role of a process of NGINX, by its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Reads the configuration and starts the others; workers bear this title for a moment, too.
    Master,
    /// Accepts connections.
    Worker,
    /// Accepts no more and finishes what it has begun.
    Leaving,
    /// Something else: looks after a cache.
    Helper,
    /// None yet: it has not set a title.
    Untitled,
}

impl Role {
    /// Reads a title: `nginx: worker process is shutting down`, whatever the program is called.
    pub fn of(title: &str) -> Self {
        let role = match title.split_once(": ") {
            Some((name, role)) if !name.contains([' ', '/']) => role,
            _ => return Self::Untitled,
        };
        match role {
            _ if role.starts_with("master process") => Self::Master,
            _ if role.contains("shutting down") => Self::Leaving,
            _ if role.starts_with("worker process") => Self::Worker,
            _ => Self::Helper,
        }
    }
}

/// The last part of a path, for comparison with a program's name.
pub(crate) fn base_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(conf: Option<&str>, prefix: Option<&str>, globals: Option<&str>) -> Arguments {
        let own = |text: Option<&str>| text.map(str::to_owned);
        Arguments { conf: own(conf), prefix: own(prefix), globals: own(globals), ..Arguments::default() }
    }

    #[test]
    fn a_command_line_is_read_as_nginx_reads_it() {
        assert_eq!(Arguments::parse(&["-g", "daemon off;", "-c/x.conf"]), of(Some("/x.conf"), None, Some("daemon off;")));
        assert_eq!(Arguments::parse(&["-qc", "/x.conf", "-p", "/w"]), of(Some("/x.conf"), Some("/w"), None));
        for transient in [&["-t"][..], &["-s", "reload"], &["-qt"], &["-V"], &["-sreload"]] {
            assert!(Arguments::parse(transient).transient, "{transient:?}");
        }
        assert!(!Arguments::parse(&["-c", "-t"]).transient);
        assert_eq!(Arguments::parse::<&str>(&[]), Arguments::default());
    }

    #[test]
    fn the_arguments_are_found_again_in_a_title() {
        #[track_caller]
        fn check(title: &str, expected: &Arguments) {
            assert_eq!(Arguments::of_title(title), *expected, "{title}");
        }
        check("nginx: master process nginx", &Arguments::default());
        check("nginx: master process nginx -g daemon off;", &of(None, None, Some("daemon off;")));
        check(
            "nginx: master process /usr/sbin/nginx -g daemon on; master_process on; -c /x.conf",
            &of(Some("/x.conf"), None, Some("daemon on; master_process on;")),
        );
        check("openresty: master process nginx -c /x.conf -p /w/", &of(Some("/x.conf"), Some("/w/"), None));
        check("nginx: worker process", &Arguments::default());
    }

    #[test]
    fn arguments_are_written_again() {
        let arguments = of(Some("/x"), None, Some("daemon off;"));
        assert_eq!(arguments.to_arguments(), ["-c", "/x", "-g", "daemon off;"]);
        assert_eq!(Arguments::parse(&arguments.to_arguments()), arguments);
    }

    #[test]
    fn titles_say_what_a_process_does() {
        for (title, role) in [
            ("nginx: master process nginx -g daemon off;", Role::Master),
            ("nginx: worker process", Role::Worker),
            ("angie: worker process is shutting down", Role::Leaving),
            ("nginx: cache manager process", Role::Helper),
            ("nginx -g daemon off;", Role::Untitled),
            ("/usr/sbin/nginx: x", Role::Untitled),
            ("", Role::Untitled),
        ] {
            assert_eq!(Role::of(title), role, "{title}");
        }
    }
}
