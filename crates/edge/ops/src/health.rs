//! Health checks, answered as the predecessor's probes know them.

use std::fmt::Write;

/// One check: its name and what it finds; an error says why not.
pub struct Check {
    /// Name in the verbose answer and in the path.
    pub name: &'static str,
    /// Evaluated on every request; must be quick.
    pub run: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// All checks, in the order of the verbose answer.
#[derive(Default)]
pub struct Health {
    /// The checks; names are unique.
    pub checks: Vec<Check>,
}

impl Health {
    /// Whether all checks pass that are not excluded, and the body of the answer. `segment` is the health path without slashes.
    pub(crate) fn summary(&self, segment: &str, verbose: bool, excluded: &[&str]) -> (bool, String) {
        let mut ok = true;
        let mut lines = String::new();
        for check in self.checks.iter().filter(|check| !excluded.contains(&check.name)) {
            let name = check.name;
            let line = match (check.run)() {
                Ok(()) => writeln!(lines, "[+]{name} ok"),
                Err(_) => {
                    ok = false;
                    writeln!(lines, "[-]{name} failed: reason withheld")
                }
            };
            line.expect("writing to a String can't fail");
        }
        match (ok, verbose) {
            (true, false) => (true, "ok".into()),
            (true, true) => (true, format!("{lines}{segment} check passed\n")),
            (false, _) => (false, format!("{lines}{segment} check failed\n")),
        }
    }

    /// The result of one check, `None` if there is none of that name.
    pub(crate) fn single(&self, name: &str) -> Option<Result<(), String>> {
        self.checks.iter().find(|check| check.name == name).map(|check| (check.run)())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(broken: bool) -> Health {
        let check = move || if broken { Err("no master".to_owned()) } else { Ok(()) };
        Health {
            checks: vec![
                Check { name: "ping", run: Box::new(|| Ok(())) },
                Check { name: "nginx-ingress-controller", run: Box::new(check) },
            ],
        }
    }

    #[test]
    fn a_sound_controller_answers_ok_and_the_verbose_answer_lists_the_checks() {
        assert_eq!(health(false).summary("healthz", false, &[]), (true, "ok".into()));
        let (ok, body) = health(false).summary("healthz", true, &[]);
        assert!(ok);
        assert_eq!(body, "[+]ping ok\n[+]nginx-ingress-controller ok\nhealthz check passed\n");
    }

    #[test]
    fn a_failure_withholds_its_reason_and_an_excluded_check_does_not_count() {
        let (ok, body) = health(true).summary("healthz", false, &[]);
        assert!(!ok);
        assert_eq!(body, "[+]ping ok\n[-]nginx-ingress-controller failed: reason withheld\nhealthz check failed\n");
        assert!(health(true).summary("healthz", false, &["nginx-ingress-controller"]).0);
        assert_eq!(health(true).single("nginx-ingress-controller"), Some(Err("no master".into())));
        assert_eq!(health(true).single("other"), None);
    }
}
