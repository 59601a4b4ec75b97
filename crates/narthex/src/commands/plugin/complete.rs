//! Completion by kubectl: it runs `kubectl_complete-narthex` with the words so far, of which the last one is to be completed.

use clap::{Arg, Command};

/// The end of the answer: no names of files.
const NO_FILES: &str = ":4";

/// The answer to kubectl: a line for each candidate with its help behind a tab, then what the shell is to do.
pub(super) fn answer(root: &Command, words: &[String]) -> String {
    let mut lines = candidates(root, words);
    lines.push(NO_FILES.to_owned());
    lines.join("\n") + "\n"
}

fn candidates(root: &Command, words: &[String]) -> Vec<String> {
    let Some((last, before)) = words.split_last() else { return Vec::new() };
    let (mut commands, mut open) = (vec![root], None);
    for word in before {
        let command = commands[commands.len() - 1];
        // `--` and what follows is a command of exec.
        if word == "--" {
            return Vec::new();
        }
        if open.take().is_some() {
            continue;
        }
        match flag(&commands, word) {
            Some(argument) => open = takes_value(argument).then_some(argument).filter(|_| !word.contains('=')),
            None => commands.extend(command.find_subcommand(word)),
        }
    }
    let starts = |text: &str| text.starts_with(last.as_str());
    let line = |text: &str, help: Option<String>| help.map_or_else(|| text.to_owned(), |help| format!("{text}\t{help}"));
    let command = commands[commands.len() - 1];
    if let Some(argument) = open {
        return values(argument).into_iter().filter(|value| starts(value)).collect();
    }
    if last.starts_with('-') {
        let flags = arguments(&commands).filter_map(|argument| Some((format!("--{}", argument.get_long()?), argument)));
        return flags.filter(|(flag, _)| starts(flag)).map(|(flag, argument)| line(&flag, first_line(argument.get_help()))).collect();
    }
    let subcommands = command.get_subcommands().filter(|sub| !sub.is_hide_set() && starts(sub.get_name()));
    let mut found: Vec<String> = subcommands.map(|sub| line(sub.get_name(), first_line(sub.get_about()))).collect();
    found.extend(command.get_positionals().flat_map(values).filter(|value| starts(value)));
    found
}

/// The arguments that may stand here: those of the command, and the global ones of those around it.
fn arguments<'a>(commands: &[&'a Command]) -> impl Iterator<Item = &'a Arg> {
    let last = commands.len() - 1;
    let own: Vec<&Arg> = commands
        .iter()
        .enumerate()
        .flat_map(|(at, command)| command.get_arguments().filter(move |arg| at == last || arg.is_global_set()))
        .collect();
    own.into_iter().filter(|argument| !argument.is_hide_set())
}

/// The argument that a word is the flag of.
fn flag<'a>(commands: &[&'a Command], word: &str) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    arguments(commands).find(|argument| match name.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        // Of several letters the last one may have a value.
        None => name.strip_prefix('-').and_then(|letters| letters.chars().last()).is_some_and(|short| argument.get_short() == Some(short)),
    })
}

fn takes_value(argument: &Arg) -> bool {
    argument.get_action().takes_values()
}

fn values(argument: &Arg) -> Vec<String> {
    argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).filter(|_| takes_value(argument)).collect()
}

fn first_line(help: Option<&clap::builder::StyledStr>) -> Option<String> {
    help.and_then(|help| help.to_string().lines().next().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Plugin;

    #[track_caller]
    fn check(words: &[&str], expected: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = answer(&Plugin::command(), &words);
        let names: Vec<&str> = found.lines().map(|line| line.split('\t').next().unwrap()).collect();
        assert_eq!(names, [expected, &[NO_FILES]].concat());
    }

    #[test]
    fn commands_flags_and_values_are_completed() {
        check(&["c"], &["certs", "conf", "completion"]);
        check(&["-n", "exec", "ba"], &["backends"]);
        check(&["--namespace=x", "lint", ""], &["ingresses", "deployments"]);
        check(&["backends", "--b"], &["--backend"]);
        check(&["backends", "--conte"], &["--context"]);
        check(&["backends", "-o", ""], &["table", "json"]);
        check(&["lint", "ing", "--from-"], &["--from-version"]);
        check(&["completion", "f"], &["fish"]);
        check(&["exec", "--", "l"], &[]);
        check(&[], &[]);
    }

    #[test]
    fn a_candidate_has_its_help_behind_a_tab() {
        let text = answer(&Plugin::command(), &["gen".to_owned()]);
        assert_eq!(text, "general\tPrint the state of NGINX of a controller, as JSON\n:4\n");
    }
}
