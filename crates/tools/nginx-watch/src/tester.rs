//! Tests a snapshot before NGINX is signalled: by its own `nginx -t`, where it runs, over exactly the bytes of the snapshot; or by a command.

use std::ffi::OsString;
use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use ngx_proc::find::Master;
use ngx_proc::verdict::TestVerdict;
use tokio::process::Command;

use crate::dump::Dump;
use crate::helper;
use crate::job::{Job, Overlay};
use crate::report::Tested;
use crate::snapshot::{Snapshot, Tree};
use crate::target::{self, Place};
use children::{Children, late};

/// Options of the test.
#[derive(Debug, Clone)]
pub struct TestOptions {
    /// Run by `sh -c` instead of `nginx -t`; exit status 0 means that the configuration is good.
    pub command: Option<String>,
    /// The helper: program and arguments that lead to [`crate::run_helper`].
    pub helper: Vec<OsString>,
    /// Longest test.
    pub timeout: Duration,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SnapshotVerdict {
    /// The configuration is good.
    Accepted { tested: Tested, warnings: Vec<String> },
    /// The configuration is refused, with the message of the tester.
    Refused { tested: Tested, message: String },
    /// There is no way to test, and why.
    Unable(String),
}

/// The subject of a test: each tree where it will stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The snapshot.
    pub(crate) snapshot: &'a Snapshot,
    /// The places where its trees will stand; one for each.
    pub(crate) places: &'a [std::path::PathBuf],
    /// `true` if they stand there already, so that a test in place says something.
    pub(crate) in_place: bool,
}

/// Tests, and remembers what it could not do.
#[derive(Debug)]
pub(crate) struct Tester {
    options: TestOptions,
    children: Children,
    /// Complaints that were reported: once each.
    reported: Vec<String>,
}

impl Tester {
    pub(crate) fn new(options: TestOptions, children: Children) -> Self {
        Self { options, children, reported: Vec::new() }
    }

    /// Tests as exactly as it can be done.
    pub(crate) async fn test(&mut self, master: &Master, subject: Subject<'_>) -> SnapshotVerdict {
        if let Some(command) = self.options.command.clone() {
            return self.by_command(&command, subject).await;
        }
        let (job, place) = match self.job(master, "-t") {
            Ok(job) => job,
            Err(why) => return self.unable(why),
        };
        match self.exact(&job, subject, &place, master.id.pid).await {
            Ok(verdict) => verdict,
            Err(why) => {
                self.warn_once(format!("the files are tested where they stand, not a copy of them: {why}"));
                if subject.in_place { self.in_place(master).await } else { SnapshotVerdict::Unable(why) }
            }
        }
    }

    /// Tests what stands there.
    pub(crate) async fn in_place(&mut self, master: &Master) -> SnapshotVerdict {
        let job = match self.job(master, "-t") {
            Ok((job, _)) => job,
            Err(why) => return self.unable(why),
        };
        match self.run(&job, &[]).await {
            Ok(output) => judge(&output, Tested::InPlace),
            Err(why) => self.unable(format!("{why}; or give --test-command")),
        }
    }

    /// All that NGINX reads, of what stands there; `None` when it refuses that. The error is why it can't be asked.
    pub(crate) async fn dump(&self, master: &Master) -> Result<Option<Dump>, String> {
        let (job, _) = self.job(master, "-T")?;
        let output = self.run(&job, &[]).await?;
        if !output.status.success() {
            return Ok(None);
        }
        let dump = Dump::read(&String::from_utf8_lossy(&output.stdout));
        dump.map(Some).ok_or_else(|| "nginx -T prints no files".to_owned())
    }

    /// NGINX's own binary with this option, in place, and where NGINX sees its files. The error is why it can't be run.
    fn job(&self, master: &Master, option: &str) -> Result<(Job, Place), String> {
        if !master.is_nginx {
            return Err("it is not an NGINX, and there is no --test-command".to_owned());
        }
        let Some(binary) = &master.binary else {
            return Err(format!(
                "the program of process {} can't be looked at: run as the same user as NGINX or with the capability SYS_PTRACE, or give --test-command",
                master.id.pid
            ));
        };
        let place = target::place(master).map_err(|why| format!("{why}, or give --test-command"))?;
        let mut command = vec![binary.to_string_lossy().into_owned(), option.to_owned()];
        command.extend(master.arguments.to_arguments());
        let credentials = target::credentials(master.id.pid).map(|own| (own.uid, own.gid, own.groups));
        let enter = (place != Place::Ours).then_some(master.id.pid);
        Ok((Job { enter, credentials, overlays: Vec::new(), command }, place))
    }

    /// Over the bytes of the snapshot alone.
    async fn exact(&self, job: &Job, subject: Subject<'_>, place: &Place, pid: i32) -> Result<SnapshotVerdict, String> {
        let mut job = job.clone();
        let mut trees = Vec::new();
        for (tree, path) in subject.snapshot.trees.iter().zip(subject.places) {
            if tree.is_file {
                return Err(format!("{} is a single file: follow its directory instead", path.display()));
            }
            let theirs = target::seen_as(path, place, pid);
            if theirs.is_empty() {
                return Err(format!("process {pid} does not have {} among its mounts", path.display()));
            }
            for directory in theirs {
                job.overlays.push(Overlay::new(directory, tree));
                trees.push(tree);
            }
        }
        self.run(&job, &trees).await.map(|output| judge(&output, Tested::Exact))
    }

    /// Runs the helper. The error is why the command could not be run at all.
    async fn run(&self, job: &Job, trees: &[&Tree]) -> Result<Output, String> {
        let mut message = Vec::new();
        job.write(trees, &mut message).map_err(|error| error.to_string())?;
        let Some((program, arguments)) = self.options.helper.split_first() else { return Err("there is no helper".to_owned()) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped());
        let output = self.children.output(command, message, late(self.options.timeout)).await.map_err(|error| self.failure(&error))?;
        if output.status.code() == Some(helper::CANNOT.into()) {
            let text = String::from_utf8_lossy(&output.stderr);
            if let Some(why) = text.lines().last().and_then(|line| line.strip_prefix(helper::PREFIX)) {
                return Err(why.to_owned());
            }
        }
        Ok(output)
    }

    fn failure(&self, error: &io::Error) -> String {
        match error.kind() {
            io::ErrorKind::TimedOut => format!("the test did not end within {:?}", self.options.timeout),
            _ => format!("the test can't be run: {error}"),
        }
    }

    /// The command with the environment that says where the copy is and what it is of.
    async fn by_command(&self, text: &str, subject: Subject<'_>) -> SnapshotVerdict {
        let tested = Tested::Command;
        let copies = match crate::tree::Copies::make(subject.snapshot) {
            Ok(copies) => copies,
            Err(error) => {
                return SnapshotVerdict::Refused { tested, message: format!("the files can't be copied for --test-command: {error}") };
            }
        };
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", text])
            .env("NARTHEX_SNAPSHOT", std::env::join_paths(copies.all()).unwrap_or_default())
            .env("NARTHEX_CONFIG_DIR", std::env::join_paths(subject.places).unwrap_or_default())
            .stdin(Stdio::null());
        match self.children.output(command, Vec::new(), late(self.options.timeout)).await {
            Ok(output) => judge(&output, tested),
            Err(error) => SnapshotVerdict::Refused { tested, message: self.failure(&error) },
        }
    }

    fn unable(&mut self, why: String) -> SnapshotVerdict {
        self.warn_once(format!("no test before a reload, NGINX itself is the judge: {why}"));
        SnapshotVerdict::Unable(why)
    }

    /// Complains, once.
    pub(crate) fn warn_once(&mut self, text: String) {
        if !self.reported.contains(&text) {
            tracing::warn!("{text}");
            self.reported.push(text);
        }
    }
}

/// Reads the end of a test. A command may use other words than NGINX: all of them count then.
fn judge(output: &Output, tested: Tested) -> SnapshotVerdict {
    let text = String::from_utf8_lossy(&output.stderr);
    match ngx_proc::verdict::judge(output.status, &text) {
        TestVerdict::Accepted { warnings } => SnapshotVerdict::Accepted { tested, warnings },
        TestVerdict::Refused(message) | TestVerdict::Doubtful(message) => SnapshotVerdict::Refused { tested, message },
        TestVerdict::Failed(_) => {
            let said = format!("{}\n{}", text.trim(), String::from_utf8_lossy(&output.stdout).trim());
            let silent = || format!("the test ended with {} and no word", output.status);
            SnapshotVerdict::Refused {
                tested,
                message: Some(said.trim()).filter(|said| !said.is_empty()).map_or_else(silent, str::to_owned),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    #[test]
    fn the_message_of_nginx_is_found_among_its_lines() {
        let output = |code: i32, stderr: &str| Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: b"out\n".to_vec(),
            stderr: stderr.as_bytes().to_vec(),
        };
        let refused = judge(
            &output(
                1,
                "nginx: [warn] w in /a:1\nnginx: [emerg] unknown directive \"x\" in /a:2\nnginx: configuration file /a test failed\n",
            ),
            Tested::Exact,
        );
        assert_eq!(refused, SnapshotVerdict::Refused { tested: Tested::Exact, message: "unknown directive \"x\" in /a:2".into() });
        let accepted = judge(&output(0, "nginx: [warn] w in /a:1\nnginx: ok\n"), Tested::InPlace);
        assert_eq!(accepted, SnapshotVerdict::Accepted { tested: Tested::InPlace, warnings: vec!["w in /a:1".into()] });
        assert!(matches!(judge(&output(3, ""), Tested::Command), SnapshotVerdict::Refused { message, .. } if message == "out"));
    }
}
