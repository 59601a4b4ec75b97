//! kubectl: it knows every way to a cluster, and is there where its plugin is called.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::args::KubectlArgs;

/// kubectl with the flags of the command line.
pub(super) struct Kubectl {
    program: OsString,
    flags: Vec<String>,
    namespace: Option<String>,
}

/// What a command of kubectl says.
pub(super) struct Answer {
    pub(super) success: bool,
    pub(super) stdout: Vec<u8>,
    stderr: String,
}

impl Answer {
    /// Warnings and errors, without lines of the log.
    pub(super) fn message(&self) -> String {
        message(&self.stderr)
    }
}

impl Kubectl {
    /// The first kubectl on the PATH, unless the variable `KUBECTL` names another one.
    pub(super) fn new(args: &KubectlArgs) -> Self {
        let program = std::env::var_os("KUBECTL").filter(|program| !program.is_empty()).unwrap_or_else(|| "kubectl".into());
        Self { program, flags: args.words(), namespace: args.namespace.clone() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        // Flags first: behind `--` they would belong to what `exec` runs.
        command.args(&self.flags).args(words);
        command
    }

    fn missing(&self) -> String {
        format!("{:?} can't be run: expected kubectl on the PATH, or the variable KUBECTL to name it", self.program)
    }

    /// The items of a list: `words` are those after `kubectl get`.
    ///
    /// # Errors
    /// kubectl fails: its message.
    pub(super) fn list(&self, words: &[&str], all_namespaces: bool) -> anyhow::Result<Vec<Value>> {
        let scope = match (&self.namespace, all_namespaces) {
            (_, true) => vec!["--all-namespaces".to_owned()],
            (Some(namespace), false) => vec![format!("--namespace={namespace}")],
            (None, false) => Vec::new(),
        };
        let words: Vec<&str> =
            ["get", "--output=json"].into_iter().chain(scope.iter().map(String::as_str)).chain(words.iter().copied()).collect();
        let mut answer: Value = serde_json::from_slice(&self.output(&words)?).context("kubectl get prints no JSON")?;
        match answer["items"].take() {
            Value::Array(items) => Ok(items),
            _ => bail!("kubectl {}: expected a list", words.join(" ")),
        }
    }

    /// An object: `words` are those after `kubectl get`.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub(super) fn object(&self, words: &[&str]) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.output(&[&["get", "--output=json"], words].concat())?).context("kubectl get prints no JSON")
    }

    /// The standard output of a command.
    ///
    /// # Errors
    /// It fails: its standard error.
    pub(super) fn output(&self, words: &[&str]) -> anyhow::Result<Vec<u8>> {
        let answer = self.run(words)?;
        if !answer.success {
            bail!("kubectl {}: {}", words.join(" "), answer.message());
        }
        Ok(answer.stdout)
    }

    /// Everything that a command says, whether it fails or not.
    ///
    /// # Errors
    /// There is no kubectl.
    pub(super) fn run(&self, words: &[&str]) -> anyhow::Result<Answer> {
        let output = self.command(words).stdin(Stdio::null()).output().with_context(|| self.missing())?;
        Ok(Answer { success: output.status.success(), stdout: output.stdout, stderr: String::from_utf8_lossy(&output.stderr).into_owned() })
    }

    /// Goes on as kubectl, with its input, output and exit code.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn become_it(&self, words: &[&str]) -> anyhow::Result<ExitCode> {
        Err(self.command(words).exec()).with_context(|| self.missing())
    }

    /// The namespace that counts, for messages.
    pub(super) fn namespace(&self) -> String {
        let configured = || {
            let text = self.output(&["config", "view", "--minify", "--output=jsonpath={..namespace}"]).ok()?;
            String::from_utf8(text).ok().filter(|name| !name.is_empty())
        };
        self.namespace.clone().or_else(configured).unwrap_or_else(|| "default".to_owned())
    }
}

/// The message in the standard error of kubectl, without the lines of its log, which say the same at length before it. Where there is
/// nothing else, the last of those.
fn message(text: &str) -> String {
    let said: Vec<&str> = text.lines().filter(|line| logged(line).is_none()).collect();
    let said = said.join("\n");
    match (said.trim(), text.lines().filter_map(logged).next_back()) {
        ("", Some(last)) => last.to_owned(),
        (said, _) => said.to_owned(),
    }
}

/// What a line of the log says: `E1123 12:00:00.000000     123 memcache.go:265] "Unhandled Error" …`, as klog writes them.
fn logged(line: &str) -> Option<&str> {
    let (head, said) = line.split_once("] ")?;
    let [level, _time, _thread, place] = head.split_whitespace().collect::<Vec<_>>()[..] else { return None };
    let date = level.strip_prefix(['I', 'W', 'E', 'F'])?;
    (date.len() == 4 && date.bytes().all(|byte| byte.is_ascii_digit()) && place.contains(".go:")).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_log_are_left_out_of_the_message() {
        let logged =
            "E1123 12:00:00.000000     123 memcache.go:265] \"Unhandled Error\" err=\"couldn't get current server API group list\"\n";
        let refused = "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n";
        assert_eq!(message(&format!("{logged}{logged}{refused}")), refused.trim());
        assert_eq!(message(refused), refused.trim());
        assert_eq!(message(logged), "\"Unhandled Error\" err=\"couldn't get current server API group list\"");
        for other in ["", "Error: [a] b", "E11 not a log] line"] {
            assert_eq!(message(other), other);
        }
    }
}
