//! A check by a command of the user's.

use std::io::ErrorKind;
use std::process::Stdio;
use std::time::Duration;

use children::{Children, late};
use tokio::time::Instant;

use super::record::Entry;

/// Between two runs of a command that fails.
const AGAIN: Duration = Duration::from_secs(1);

/// A command for the shell. It learns by its environment what is going on: `NARTHEX_PHASE` (`before` or `after`), `NARTHEX_STEP`, and
/// `NARTHEX_OBJECTS`, `Kind/namespace/name` separated by spaces.
#[derive(Debug, Clone)]
pub struct Command {
    /// The text for the shell.
    pub text: String,
    /// Longest run, and how long a failing one is run again after a step.
    pub settle: Duration,
}

impl Command {
    /// Runs it once.
    pub(crate) async fn run(&self, phase: &str, entries: &[Entry]) -> Result<(), String> {
        let objects: Vec<String> =
            entries.iter().map(|entry| format!("{}/{}/{}", entry.kind.label(), entry.namespace, entry.name)).collect();
        let mut command = tokio::process::Command::new("sh");
        command.arg("-c").arg(&self.text).env("NARTHEX_PHASE", phase).env("NARTHEX_OBJECTS", objects.join(" "));
        command.env("NARTHEX_STEP", entries.first().map_or(0, |entry| entry.step).to_string());
        command.stdin(Stdio::null());
        let failed = |why: String| Err(format!("the check {:?} {why}", self.text));
        let limit = self.settle.max(AGAIN);
        let output = match Children::default().output(command, Vec::new(), late(limit)).await {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::TimedOut => return failed(format!("does not end within {} s", limit.as_secs())),
            Err(error) => return failed(format!("can't be run: {error}")),
        };
        if output.status.success() {
            return Ok(());
        }
        let said = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
        let last = said.iter().filter_map(|text| text.lines().next_back()).next().unwrap_or_default().chars().take(200).collect::<String>();
        failed(format!("ends with {}{}{last}", output.status, if last.is_empty() { "" } else { ": " }))
    }

    /// Runs it until it succeeds, or has had its time.
    pub(crate) async fn until_good(&self, phase: &str, entries: &[Entry]) -> Result<(), String> {
        let deadline = Instant::now() + self.settle;
        loop {
            match self.run(phase, entries).await {
                Err(_) if Instant::now() + AGAIN < deadline => tokio::time::sleep(AGAIN).await,
                outcome => return outcome,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::record::tests::entry;

    fn command(text: &str) -> Command {
        Command { text: text.into(), settle: Duration::from_secs(1) }
    }

    #[tokio::test]
    async fn the_exit_code_decides_and_the_environment_says_what_is_going_on() {
        let good = command("test \"$NARTHEX_PHASE $NARTHEX_STEP $NARTHEX_OBJECTS\" = 'after 2 Ingress/n/a Ingress/n/b'");
        assert_eq!(good.until_good("after", &[entry(2, "a"), entry(2, "b")]).await, Ok(()));
        let error = command("echo one; echo two; exit 3").run("before", &[]).await.unwrap_err();
        assert!(error.ends_with("ends with exit status: 3: two"), "{error}");
    }

    #[tokio::test]
    async fn a_check_that_takes_too_long_is_ended_with_all_that_it_started() {
        let said = std::env::temp_dir().join(format!("narthex-check-{}", std::process::id()));
        let script = format!("sleep 600 & echo $! > {}; wait", said.display());
        let error = command(&script).run("before", &[]).await.unwrap_err();
        assert!(error.ends_with("does not end within 1 s"), "{error}");
        let pid = std::fs::read_to_string(&said).unwrap();
        std::fs::remove_file(&said).unwrap();
        assert_eq!(ngx_proc::procfs::identity(pid.trim().parse().unwrap()), None);
    }
}
