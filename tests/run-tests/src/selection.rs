//! The tests of a run.

use crate::error::{Error, Result};
use crate::test::{Binary, Test};

/// Of each kind: any of these (all, where there are none), and none of those.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) packages: Filter,
    pub(crate) binaries: Filter,
    /// Parts of names.
    pub(crate) names: Filter,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) any_of: Vec<String>,
    pub(crate) none_of: Vec<String>,
}

impl Filter {
    fn has(&self, matches: impl Fn(&str) -> bool) -> bool {
        let any = |texts: &[String]| texts.iter().any(|text| matches(text));
        (self.any_of.is_empty() || any(&self.any_of)) && !any(&self.none_of)
    }

    /// The first text that matches nothing: a word with a mistake in it selects, or leaves out, less than was meant.
    fn idle(&self, matches: impl Fn(&str) -> bool) -> Option<&str> {
        self.any_of.iter().chain(&self.none_of).map(String::as_str).find(|text| !matches(text))
    }
}

impl Selection {
    pub(crate) fn has_binary(&self, binary: &Binary) -> bool {
        self.packages.has(|text| text == binary.package) && self.binaries.has(|text| text == binary.name)
    }

    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.has(|text| name.contains(text))
    }

    /// # Errors
    /// A package or a binary is not there.
    pub(crate) fn check_binaries(&self, all: &[Binary]) -> Result<()> {
        if let Some(text) = self.packages.idle(|text| all.iter().any(|binary| binary.package == text)) {
            return Err(Error::new(format!("there is no package {text} with tests: {}", listed(all, |binary| &binary.package))));
        }
        if let Some(text) = self.binaries.idle(|text| all.iter().any(|binary| binary.name == text)) {
            return Err(Error::new(format!("there is no test binary {text}: {}", listed(all, |binary| &binary.name))));
        }
        Ok(())
    }

    /// # Errors
    /// A text is part of no name in the selected binaries.
    pub(crate) fn check_names(&self, tests: &[Test<'_>]) -> Result<()> {
        match self.names.idle(|text| tests.iter().any(|test| test.name.contains(text))) {
            Some(text) => Err(Error::new(format!("no test of the selected binaries has {text:?} in its name"))),
            None => Ok(()),
        }
    }
}

fn listed(all: &[Binary], name: impl Fn(&Binary) -> &String) -> String {
    let mut names: Vec<&str> = all.iter().map(|binary| name(binary).as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::binary;

    fn filter(any_of: &[&str], none_of: &[&str]) -> Filter {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Filter { any_of: owned(any_of), none_of: owned(none_of) }
    }

    #[test]
    fn binaries_are_selected_by_package_and_name() {
        let all = [binary("nginx", "nginx"), binary("narthex", "narthex"), binary("narthex", "reload"), binary("e2e", "cases")];
        #[track_caller]
        fn check(all: &[Binary], packages: Filter, binaries: Filter, expected: &[&str]) {
            let selection = Selection { packages, binaries, ..Selection::default() };
            selection.check_binaries(all).unwrap();
            let found: Vec<String> = all.iter().filter(|binary| selection.has_binary(binary)).map(Binary::to_string).collect();
            assert_eq!(found, expected);
        }
        check(&all, filter(&[], &[]), filter(&[], &[]), &["nginx", "narthex", "narthex/reload", "e2e/cases"]);
        check(&all, filter(&[], &["e2e"]), filter(&[], &[]), &["nginx", "narthex", "narthex/reload"]);
        check(&all, filter(&["nginx", "narthex"], &[]), filter(&[], &["narthex"]), &["nginx", "narthex/reload"]);
        check(&all, filter(&[], &[]), filter(&["reload", "cases"], &[]), &["narthex/reload", "e2e/cases"]);
    }

    #[test]
    fn names_are_selected_by_their_parts() {
        let names = filter(&["can::", "tls"], &["slow"]);
        let selection = Selection { names, ..Selection::default() };
        let found: Vec<&str> =
            ["cases::can::a", "cases::tls::b", "cases::tls::slow", "other"].into_iter().filter(|n| selection.has_name(n)).collect();
        assert_eq!(found, ["cases::can::a", "cases::tls::b"]);
    }

    #[test]
    fn what_matches_nothing_is_an_error() {
        let binary = binary("narthex", "reload");
        let tests = [Test { binary: &binary, name: "load::a".into() }];
        let packages = |packages| Selection { packages, ..Selection::default() };
        let error = packages(filter(&["narthexx"], &[])).check_binaries(std::slice::from_ref(&binary)).unwrap_err();
        assert_eq!(error.to_string(), "there is no package narthexx with tests: narthex");
        assert!(packages(filter(&[], &["e2e"])).check_binaries(std::slice::from_ref(&binary)).is_err());
        let binaries = Selection { binaries: filter(&["reloads"], &[]), ..Selection::default() };
        assert!(binaries.check_binaries(std::slice::from_ref(&binary)).is_err());
        for names in [filter(&["load", "laod"], &[]), filter(&[], &["laod"])] {
            assert!(Selection { names, ..Selection::default() }.check_names(&tests).is_err());
        }
        assert!(Selection { names: filter(&["load"], &["a"]), ..Selection::default() }.check_names(&tests).is_ok());
    }
}
