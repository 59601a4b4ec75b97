//! Other names of the program. The image of ingress-nginx has a program each for what are commands here; manifests, hooks and scripts
//! call them by their paths.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::commands::plugin;

/// A file name, and the command that it stands for.
struct Entry {
    name: &'static str,
    command: &'static [&'static str],
}

/// All other names.
const ENTRIES: &[Entry] = &[
    Entry { name: "nginx-ingress-controller", command: &["run"] },
    Entry { name: "dbg", command: &["dbg"] },
    Entry { name: "wait-shutdown", command: &["wait-shutdown"] },
];

/// The program by the name that it was called with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// `narthex`, with its whole command line.
    Command(Vec<OsString>),
    /// `kubectl-narthex`, with its whole command line.
    Plugin(Vec<OsString>),
    /// `kubectl_complete-narthex`, with the words to complete.
    Completer(Vec<OsString>),
}

/// Tells them apart.
pub(crate) fn program(words: Vec<OsString>) -> Program {
    let called = |name: &str| words.first().and_then(|word| Path::new(word).file_name()).is_some_and(|called| called == name);
    match () {
        () if called(plugin::PROGRAM) => Program::Plugin(words),
        () if called(plugin::COMPLETER) => Program::Completer(words.into_iter().skip(1).collect()),
        () => Program::Command(command_line(words)),
    }
}

/// The command line with the command in it, by the name that the program was called with.
///
/// That is the file name of the first word. An absolute path as the second word counts likewise: where the program is the entry point
/// of an image, arguments begin with the path of what to run.
pub(crate) fn command_line(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.into_iter().collect();
    let called = words.first().and_then(|word| find(word)).map(|entry| (entry, 1));
    let named = || words.get(1).filter(|word| Path::new(word).is_absolute()).and_then(|word| find(word)).map(|entry| (entry, 2));
    let Some((entry, used)) = called.or_else(named) else { return words };
    let command = entry.command.iter().map(OsString::from);
    ["narthex".into()].into_iter().chain(command).chain(words.iter().skip(used).cloned()).collect()
}

fn find(word: &OsStr) -> Option<&'static Entry> {
    let name = Path::new(word).file_name()?;
    ENTRIES.iter().find(|entry| name == entry.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &[&str]) {
        assert_eq!(command_line(words.iter().map(OsString::from)), expected);
    }

    #[test]
    fn the_names_of_the_predecessor_s_programs_are_commands() {
        check(&["/nginx-ingress-controller", "--http-port=81"], &["narthex", "run", "--http-port=81"]);
        check(&["nginx-ingress-controller"], &["narthex", "run"]);
        check(&["/dbg", "backends", "list"], &["narthex", "dbg", "backends", "list"]);
        check(&["/wait-shutdown"], &["narthex", "wait-shutdown"]);
    }

    #[test]
    fn a_path_after_the_entry_point_of_an_image_counts_likewise() {
        check(&["/usr/bin/narthex", "/nginx-ingress-controller", "--http-port=81"], &["narthex", "run", "--http-port=81"]);
        check(&["narthex", "/usr/bin/dbg", "conf"], &["narthex", "dbg", "conf"]);
    }

    #[test]
    fn the_plugin_of_kubectl_is_a_program_of_its_own() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(program(words(&["/usr/bin/kubectl-narthex", "info"])), Program::Plugin(words(&["/usr/bin/kubectl-narthex", "info"])));
        assert_eq!(program(words(&["kubectl_complete-narthex", "in", ""])), Program::Completer(words(&["in", ""])));
        assert_eq!(program(words(&["/dbg", "conf"])), Program::Command(words(&["narthex", "dbg", "conf"])));
    }

    #[test]
    fn other_command_lines_stay_as_they_are() {
        check(&["/usr/bin/narthex", "run", "/dbg"], &["/usr/bin/narthex", "run", "/dbg"]);
        check(&["narthex", "check", "nginx-ingress-controller"], &["narthex", "check", "nginx-ingress-controller"]);
        check(&["narthex", "dbg", "general"], &["narthex", "dbg", "general"]);
        check(&["narthex"], &["narthex"]);
        check(&[], &[]);
    }
}
