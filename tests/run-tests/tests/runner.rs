//! The program, with test binaries that are shell scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;
use testkit::poll;
use tokio::process::Command;

const PATIENCE: Duration = Duration::from_secs(30);

/// A list of binaries in a directory of its own.
struct Bed {
    directory: TempDir,
}

impl Bed {
    /// Two packages with the same tests.
    fn new() -> anyhow::Result<Self> {
        let directory = TempDir::new()?;
        let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixture/suite.sh");
        let line = |package: &str, name: &str| format!("{package}\t{name}\t{}\t{suite}\n", directory.path().display());
        fs::write(directory.path().join("binaries"), line("first", "first") + &line("second", "cases"))?;
        Ok(Self { directory })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The program with these arguments, and a cargo that builds a suite of the package `first`.
    fn building(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_run-tests"));
        command.args(words.split_whitespace()).arg("--state").arg(self.path("state"));
        command.env("CARGO", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixture/cargo.sh"));
        // As cargo sets it for this program, not for the tests.
        command.env("MARKS", self.directory.path()).env("CARGO_PKG_VERSION", "7").stdin(Stdio::null());
        command
    }

    /// The program with these arguments, and the list.
    fn command(&self, words: &str) -> Command {
        let mut command = self.building(words);
        command.arg("--from").arg(self.path("binaries"));
        command
    }

    /// Runs the program to its end; its exit code and what it printed.
    async fn run(&self, words: &str) -> anyhow::Result<(i32, String)> {
        let Output { status, stdout, stderr } = self.command(words).output().await?;
        let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        Ok((status.code().with_context(|| format!("{status}: {text}"))?, text))
    }

    /// The process id in a file, once it is there.
    async fn pid(&self, name: &str) -> anyhow::Result<u32> {
        poll(PATIENCE, || async { Ok(fs::read_to_string(self.path(name))?.trim().parse()?) }).await
    }
}

/// Waits until a process is gone, or waits for a parent that asks for its end.
async fn is_gone(pid: u32) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
        ensure!(stat.is_empty() || stat.contains(") Z "), "process {pid} runs: {stat}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn each_test_runs_in_a_process_with_the_environment_of_its_package() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let (code, text) = bed.run("good --package first --jobs 2").await?;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains(" ok first good::one\n") && text.contains(" ok first good::two\n"), "{text}");
    assert!(text.contains("\n2 passed, 0 failed, in "), "{text}");
    assert!(!text.contains("left_out") && !text.contains("of good::two"), "{text}");
    let directory = bed.directory.path().display();
    let (one, expected) = (fs::read_to_string(bed.path("one"))?, format!("first in {directory} of {directory}, version unset, slot "));
    let slot = one.split(&expected).nth(1).with_context(|| one.clone())?.chars().next();
    assert!(matches!(slot, Some('0' | '1')), "{one}");
    Ok(())
}

#[tokio::test]
async fn what_cargo_builds_is_run_or_saved_and_cargo_sees_no_variable_of_this_package() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let Output { status, stdout, .. } = bed.building("good::two --test image").output().await?;
    let text = String::from_utf8(stdout)?;
    assert!(status.success() && text.starts_with("[1/1] ") && text.contains(" ok first good::two\n"), "{text}");
    let arguments = fs::read_to_string(bed.path("arguments"))?;
    assert_eq!(arguments, "test --no-run --workspace --locked --message-format=json-render-diagnostics --test image\n");
    let environment = fs::read_to_string(bed.path("environment"))?;
    let ours = |line: &&str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| line.starts_with(prefix));
    assert_eq!(environment.lines().find(ours), None);
    assert!(environment.lines().any(|line| line.starts_with("MARKS=")));

    let list = bed.path("binaries");
    assert!(bed.building(&format!("--save {}", list.display())).output().await?.status.success());
    let (code, text) = bed.run("--list good").await?;
    assert_eq!((code, text.as_str()), (0, "first good::one\nfirst good::two\n"));

    fs::write(bed.path("broken"), "")?;
    let Output { status, stderr, .. } = bed.building("good::two").output().await?;
    assert_eq!((status.code(), stderr.as_slice()), (Some(2), b"run-tests: cargo test --no-run: exit status: 1\n".as_slice()));
    Ok(())
}

#[tokio::test]
async fn what_is_selected_is_listed() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let (code, text) = bed.run("--list --not-package first --binary cases --not bad").await?;
    assert_eq!((code, text.as_str()), (0, "second/cases good::one\nsecond/cases good::two\n"));
    Ok(())
}

#[tokio::test]
async fn a_failed_test_is_shown_with_its_output_and_makes_exit_code_1() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let (code, text) = bed.run("--package second fails two").await?;
    assert_eq!(code, 1, "{text}");
    let block = "FAILED second/cases bad::fails: exit status: 101\n---- output\nto standard output\nto standard error\n---- end\n";
    assert_eq!(text.matches(block).count(), 2, "{text}");
    assert!(text.contains("\n1 passed, 1 failed, in "), "{text}");
    let again = text.lines().last().context("lines")?;
    assert!(again.starts_with("these alone: ") && again.ends_with(" --package second --binary cases bad::fails"), "{again}");
    Ok(())
}

#[tokio::test]
async fn a_process_that_ends_well_without_running_its_test_has_failed() -> anyhow::Result<()> {
    let (code, text) = Bed::new()?.run("--package first runs_nothing").await?;
    assert_eq!(code, 1);
    assert!(text.contains("FAILED first bad::runs_nothing: its process ended without running it\n"), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_run_without_a_test_or_without_a_binary_has_exit_code_2() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    for (words, expected) in [
        ("--package third", "there is no package third with tests: first second"),
        ("unknown", "no test of the selected binaries has \"unknown\" in its name"),
        ("good --not good", "no test is selected"),
        ("--jobs none", "--jobs none: expected a number from 1 to 120"),
    ] {
        let (code, text) = bed.run(words).await?;
        assert_eq!((code, text), (2, format!("run-tests: {expected}\n")));
    }
    fs::write(bed.path("binaries"), "first\tfirst\t/\t/nonexistent\n")?;
    let (code, text) = bed.run("").await?;
    assert!(code == 2 && text.contains("cannot start /nonexistent"), "{text}");
    Ok(())
}

#[tokio::test]
async fn a_test_that_hangs_is_ended_at_its_limit_with_all_its_processes() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let (code, text) = bed.run("--package first hangs --limit 1").await?;
    assert_eq!(code, 1);
    assert!(text.contains("FAILED first bad::hangs: ended after its limit of 1 s\n"), "{text}");
    is_gone(bed.pid("child").await?).await
}

#[tokio::test]
async fn what_a_failed_test_leaves_behind_is_ended() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    assert_eq!(bed.run("--package first leaves").await?.0, 1);
    is_gone(bed.pid("left").await?).await
}

#[tokio::test]
async fn a_runner_that_is_killed_leaves_no_process() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let mut runner = bed.command("--package first hangs").stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let child = bed.pid("child").await?;
    runner.kill().await?;
    is_gone(child).await
}

#[tokio::test]
async fn long_tests_of_the_last_run_begin_first() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    fs::create_dir(bed.path("state"))?;
    fs::write(bed.path("state/durations"), "60000 first good::two\n20000 first good::one\n7 other test\n")?;
    let order = |text: &str| text.find("good::two").cmp(&text.find("good::one"));
    let (_, text) = bed.run("--package first good --jobs 1").await?;
    assert!(order(&text).is_lt(), "{text}");
    let durations = fs::read_to_string(bed.path("state/durations"))?;
    assert!(durations.contains("\n7 other test\n") || durations.starts_with("7 other test\n"), "{durations}");
    assert!(!durations.contains("60000") && durations.contains(" first good::two\n"), "{durations}");
    assert_eq!(fs::read_dir(bed.path("state"))?.count(), 1, "other files are left");
    Ok(())
}

#[tokio::test]
async fn without_capture_the_output_of_all_tests_is_shown() -> anyhow::Result<()> {
    let (code, text) = Bed::new()?.run("--package first good --no-capture").await?;
    assert!(code == 0 && text.contains("\nof good::two\n") && text.contains("slot 0\n"), "{text}");
    Ok(())
}

#[tokio::test]
async fn signals_that_the_runner_is_started_to_ignore_have_their_effect_in_tests() -> anyhow::Result<()> {
    let bed = Bed::new()?;
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP INT USR2; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_run-tests"), "--package", "first", "good::one"]);
    command.arg("--state").arg(bed.path("state")).arg("--from").arg(bed.path("binaries")).env("MARKS", bed.directory.path());
    let output = command.output().await?;
    ensure!(output.status.success(), "{output:?}");
    let mask = u64::from_str_radix(fs::read_to_string(bed.path("ignored"))?.trim(), 16)?;
    ensure!(mask & (1 | 1 << 1 | 1 << 11) == 0, "ignored: {mask:x}");
    Ok(())
}
