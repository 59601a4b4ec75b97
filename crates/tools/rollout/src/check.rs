//! Checks of changed content before its rollout. Each content is checked once.

use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use children::{Children, late};
use ngx_value::lexer;
use parking_lot::Mutex;
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::content::Digest;
use crate::kind::{ContentId, ContentKind};
use crate::rules::Check;

/// The content of an object, by key.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Most of a command's output that is reported.
const OUTPUT: usize = 400;

/// The outcome of a check: passed, or why not.
pub(crate) type CheckVerdict = Result<(), String>;

type Cell = Arc<OnceCell<CheckVerdict>>;

/// The newest content, and what each check found.
type Newest = (Digest, HashMap<Check, Cell>);

/// Runs checks and remembers what came of each content.
#[derive(Debug)]
pub(crate) struct Checks {
    command: Vec<String>,
    timeout: Duration,
    /// By namespace and object.
    known: Mutex<HashMap<(String, ContentId), Newest>>,
}

impl Checks {
    pub(crate) fn new(command: Vec<String>, timeout: Duration) -> Self {
        Self { command, timeout, known: Mutex::default() }
    }

    /// The place for the outcome of a check of this content; what is known of other content is forgotten.
    pub(crate) fn cell(&self, namespace: &str, id: &ContentId, digest: &Digest, check: Check) -> Cell {
        let mut known = self.known.lock();
        let entry = known.entry((namespace.to_owned(), id.clone())).or_insert_with(|| (digest.clone(), HashMap::new()));
        if entry.0 != *digest {
            *entry = (digest.clone(), HashMap::new());
        }
        entry.1.entry(check).or_default().clone()
    }

    /// Checks. What a Secret holds stands in no message.
    pub(crate) async fn run(&self, check: Check, id: &ContentId, files: &Files) -> CheckVerdict {
        let verdict = match check {
            Check::None => Ok(()),
            Check::Nginx => nginx(files),
            Check::Command => self.command(files).await,
        };
        verdict.map_err(|why| match id.source {
            ContentKind::ConfigMap => why.to_string(),
            ContentKind::Secret => why.discreet,
        })
    }

    async fn command(&self, files: &Files) -> Result<(), Why> {
        let plain = |text: String| Why { discreet: text, detail: String::new() };
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(plain("--check-command is not set".into()));
        };
        let directory = write(files).map_err(|error| plain(format!("its files could not be written: {error}")))?;
        let path = directory.path().join("files");
        let text = path.display().to_string();
        let mut command = Command::new(program);
        command.args(arguments.iter().map(|word| word.replace("{}", &text))).current_dir(&path);
        command.stdin(Stdio::null());
        let output = match Children::default().output(command, Vec::new(), late(self.timeout)).await {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                return Err(plain(format!("--check-command did not end within {} s", self.timeout.as_secs())));
            }
            Err(error) => return Err(plain(format!("--check-command {program:?} can't be run: {error}"))),
        };
        if output.status.success() {
            return Ok(());
        }
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said).trim().replace(&text, "");
        let begin = said.ceil_char_boundary(said.len().saturating_sub(OUTPUT));
        Err(Why { discreet: format!("--check-command ended with {}", output.status), detail: said[begin..].to_owned() })
    }
}

/// The reason why a check failed: the part that may be reported for a Secret, and the rest.
struct Why {
    discreet: String,
    detail: String,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.detail.as_str() {
            "" => f.write_str(&self.discreet),
            detail => write!(f, "{}: {detail}", self.discreet),
        }
    }
}

/// A check that every key that ends in `.conf` is complete NGINX configuration: directives ended, blocks and quotes closed.
fn nginx(files: &Files) -> Result<(), Why> {
    for (key, content) in files.iter().filter(|(key, _)| key.ends_with(".conf")) {
        let Ok(text) = std::str::from_utf8(content) else {
            return Err(Why { discreet: format!("{key} is not UTF-8, as NGINX configuration is"), detail: String::new() });
        };
        if let Err(error) = lexer::parse(text) {
            return Err(Why {
                discreet: format!("{key} is not complete NGINX configuration, line {}", error.line),
                detail: error.kind.to_string(),
            });
        }
    }
    Ok(())
}

/// Writes the files into `files` below a new directory, readable by no other user.
fn write(files: &Files) -> std::io::Result<tempfile::TempDir> {
    let directory = tempfile::Builder::new().prefix("narthex-check-").tempdir()?;
    let path = directory.path().join("files");
    DirBuilder::new().mode(0o700).create(&path)?;
    for (key, content) in files {
        // The API server refuses such keys; a file's name is still no place for trust.
        if key.contains('/') || key.starts_with("..") || key == "." {
            return Err(std::io::Error::other(format!("key {key:?} is not a file's name")));
        }
        create(&path.join(key))?.write_all(content)?;
    }
    Ok(directory)
}

fn create(path: &Path) -> std::io::Result<std::fs::File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pairs: &[(&str, &str)]) -> Files {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
    }

    fn checks(command: &[&str]) -> Checks {
        Checks::new(command.iter().map(|word| (*word).to_owned()).collect(), Duration::from_secs(30))
    }

    const MAP: fn() -> ContentId = || ContentId::new(ContentKind::ConfigMap, "a");
    const SECRET: fn() -> ContentId = || ContentId::new(ContentKind::Secret, "a");

    #[tokio::test]
    async fn nginx_configuration_must_be_complete() {
        let checks = checks(&[]);
        let broken = files(&[("site.conf", "server {\n  listen 80\n}\n"), ("notes.txt", "}")]);
        let why = checks.run(Check::Nginx, &MAP(), &broken).await.unwrap_err();
        assert!(why.starts_with("site.conf is not complete NGINX configuration, line 3: ") && why.contains("listen"), "{why}");
        let why = checks.run(Check::Nginx, &SECRET(), &broken).await.unwrap_err();
        assert!(!why.contains("listen"), "{why}");
        let sound = files(&[("site.conf", "server { listen 80; }"), ("notes.txt", "}")]);
        assert_eq!(checks.run(Check::Nginx, &MAP(), &sound).await, Ok(()));
    }

    #[tokio::test]
    async fn a_command_sees_the_files_and_its_output_is_reported_but_not_of_a_secret() {
        let checks = checks(&["sh", "-c", "grep good \"$0/key\" || { echo is bad; exit 3; }", "{}"]);
        assert_eq!(checks.run(Check::Command, &MAP(), &files(&[("key", "good")])).await, Ok(()));
        let why = checks.run(Check::Command, &MAP(), &files(&[("key", "x")])).await.unwrap_err();
        assert_eq!(why, "--check-command ended with exit status: 3: is bad");
        let why = checks.run(Check::Command, &SECRET(), &files(&[("key", "x")])).await.unwrap_err();
        assert_eq!(why, "--check-command ended with exit status: 3");
    }

    #[tokio::test]
    async fn a_command_that_is_missing_or_hangs_fails_the_check() {
        assert!(checks(&[]).run(Check::Command, &MAP(), &files(&[])).await.unwrap_err().contains("not set"));
        assert!(checks(&["/nonexistent"]).run(Check::Command, &MAP(), &files(&[])).await.unwrap_err().contains("/nonexistent"));
        let hanging = Checks::new(vec!["sleep".into(), "1000".into()], Duration::from_millis(50));
        assert!(hanging.run(Check::Command, &MAP(), &files(&[])).await.unwrap_err().contains("did not end"));
    }

    #[test]
    fn the_outcome_is_kept_for_the_same_content_only() {
        let checks = checks(&[]);
        let cell = |digest: &str| checks.cell("n", &MAP(), &Digest::stored(digest), Check::Nginx);
        cell("1").set(Ok(())).unwrap();
        assert!(cell("1").initialized());
        assert!(!cell("2").initialized());
        assert!(!cell("1").initialized(), "content that comes back is checked again");
    }
}
