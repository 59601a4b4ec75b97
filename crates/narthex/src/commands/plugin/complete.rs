//! Completion by kubectl: it runs `kubectl_complete-narthex` with the words so far, of which the last one is to be completed.
//! Words that are passed on to `narthex` in a container are completed as its own.

use clap::{Arg, Command, CommandFactory};

use crate::args::{Cli, Plugin};

/// Commands whose words are those of the command of `narthex` with the same name.
const PASSED_ON: [&str; 5] = ["get", "top", "events", "diff", "explain"];
/// The argument that stands for those words.
const WORDS: &str = "words";

/// The end of the answer: no names of files.
const NO_FILES: &str = ":4";

/// The command line of the plugin, with the arguments and subcommands of `narthex` in the place of words that are passed on. For completion alone.
pub(super) fn whole() -> Command {
    with_words(Plugin::command(), &Cli::command())
}

/// The command line of `narthex`, whose command `kubectl` is the plugin. Likewise.
pub(crate) fn narthex() -> Command {
    Cli::command().mut_subcommand("kubectl", |plugin| with_words(plugin, &Cli::command()))
}

fn with_words(plugin: Command, narthex: &Command) -> Command {
    PASSED_ON.into_iter().fold(plugin, |plugin, name| {
        let Some(passed) = narthex.find_subcommand(name) else { return plugin };
        let global: Vec<Arg> = plugin.get_arguments().filter(|argument| argument.is_global_set()).cloned().collect();
        plugin.mut_subcommand(name, |own| joined(name, &own, passed, &global))
    })
}

/// A command of the plugin with what `narthex` takes. A flag that both have is the plugin's.
fn joined(name: &'static str, own: &Command, passed: &Command, global: &[Arg]) -> Command {
    let own_arguments: Vec<&Arg> = own.get_arguments().filter(|argument| argument.get_id() != WORDS).collect();
    let is_taken = |argument: &Arg| {
        let is_same = |other: &Arg| {
            other.get_id() == argument.get_id()
                || other.get_long().is_some_and(|long| argument.get_long() == Some(long))
                || other.get_short().is_some_and(|short| argument.get_short() == Some(short))
        };
        own_arguments.iter().copied().chain(global).any(is_same)
    };
    let more = passed.get_arguments().filter(|argument| !is_taken(argument));
    Command::new(name)
        .about(own.get_about().cloned().unwrap_or_default())
        .args(own_arguments.iter().copied().chain(more))
        .subcommands(passed.get_subcommands().cloned())
}

/// The answer to kubectl: a line for each candidate with its help behind a tab, then what the shell is to do.
pub(super) fn answer(root: &Command, words: &[String]) -> String {
    let mut lines = candidates(root, words);
    lines.push(NO_FILES.to_owned());
    lines.join("\n") + "\n"
}

fn candidates(root: &Command, words: &[String]) -> Vec<String> {
    let Some((last, before)) = words.split_last() else { return Vec::new() };
    let (mut commands, mut open, mut positionals) = (vec![root], None, 0);
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
            None => match command.find_subcommand(word) {
                Some(found) => {
                    commands.push(found);
                    positionals = 0;
                }
                None => positionals += 1,
            },
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
    let subcommands = command.get_subcommands().filter(|sub| positionals == 0 && !sub.is_hide_set() && starts(sub.get_name()));
    let mut found: Vec<String> = subcommands.map(|sub| line(sub.get_name(), first_line(sub.get_about()))).collect();
    found.extend(command.get_positionals().nth(positionals).into_iter().flat_map(values).filter(|value| starts(value)));
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
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = answer(&whole(), &words);
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
    fn words_that_are_passed_on_are_completed_as_those_of_narthex() {
        check(&["get", "ho"], &["hosts"]);
        check(&["get", "-n", "ingress", "--pod", "p", "in"], &["ingresses"]);
        check(&["get", "hosts", ""], &[]);
        check(&["get", "hosts", "-n", "shop", "-o", "w"], &["wide"]);
        check(&["get", "hosts", "--ch"], &["--changed"]);
        check(&["get", "--sel"], &["--selector"]);
        check(&["top", "--by", "b"], &["backend"]);
        check(&["explain", "requ"], &["request"]);
        check(&["explain", "request", "--meth"], &["--method"]);
        check(&["events", "--fol"], &["--follow"]);
    }

    #[test]
    fn the_joined_command_line_is_consistent() {
        whole().debug_assert();
        narthex().debug_assert();
        for name in PASSED_ON {
            let command = whole();
            let joined = command.find_subcommand(name).unwrap();
            assert!(joined.get_arguments().all(|argument| argument.get_id() != WORDS), "{name}");
        }
    }

    #[test]
    fn a_candidate_has_its_help_behind_a_tab() {
        let text = answer(&whole(), &["gen".to_owned()]);
        assert_eq!(text, "general\tPrint the state of NGINX of a controller, as JSON\n:4\n");
    }
}
