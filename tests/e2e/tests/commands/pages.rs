//! Every command in the pages for operators, run in the order of the page.
//!
//! Each fenced block `sh` or `console` is cut into commands, a line each. They run in a scratch directory that has the repository's files,
//! with the real helm, kubectl and narthex, against an API server of the page's own. A page's [`Page::stand_ins`] put what exists here in
//! the place of names that don't; what can't run here at all stands in [`Page::excuses`], with the reason and what is checked instead.

mod list;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use e2e::{Case, Controller, PATIENCE};
use testkit::bed::Bed;
use testkit::poll;
use testkit::ports::Ports;
use tokio::process::Command;

use super::fake;
use list::{Excuse, PAGES, Page};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command of a page, with the number of its first line.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    number: usize,
    command: String,
}

/// The commands of a page: lines of its blocks, with those that a backslash joins.
fn commands(text: &str) -> Vec<Line> {
    let (mut found, mut inside, mut open) = (Vec::<Line>::new(), false, false);
    for (at, line) in text.lines().enumerate() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            inside = !inside && ["sh", "console"].contains(&fence.trim());
            open = false;
        } else if inside && open {
            let last = found.last_mut().expect("a line before it");
            last.command = format!("{}\n{line}", last.command);
            open = line.ends_with('\\');
        } else if inside && !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            let command = line.trim_start().trim_start_matches("$ ").to_owned();
            open = command.ends_with('\\');
            found.push(Line { number: at + 1, command });
        }
    }
    found
}

/// The surroundings of a page.
struct Stage {
    scratch: tempfile::TempDir,
    environment: Vec<(String, String)>,
}

impl Stage {
    fn new(case: &Case, controllers: &[Controller]) -> anyhow::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("page-").tempdir()?;
        let place = scratch.path();
        for name in ["charts", "deploy", "examples", "scripts", "Makefile"] {
            symlink(root().join(name), place.join(name))?;
        }
        for directory in ["bin", "home", "root/usr/bin", "root/etc/systemd/system"] {
            fs::create_dir_all(place.join(directory))?;
        }
        let binaries = &case.bed.info().binaries;
        symlink(binaries.join("helm"), place.join("bin/helm"))?;
        fake::kubectl(&place.join("bin/kubectl"))?;
        fake::programs(&place.join("bin"), &["narthex", "kubectl-narthex", "kubectl_complete-narthex"])?;
        let mut stage = Self { environment: Vec::new(), scratch };
        let place = stage.scratch.path().to_owned();
        let path = std::env::var("PATH")?;
        let ports = Ports::take(3)?;
        for (name, value) in [
            ("PATH", format!("{}:{path}", place.join("bin").display())),
            ("HOME", place.join("home").display().to_string()),
            ("ROOT", place.join("root").display().to_string()),
            ("KUBECONFIG", case.bed.kubeconfig().display().to_string()),
            ("REAL", binaries.join("kubectl").display().to_string()),
            ("CALLS", place.join("calls").display().to_string()),
            ("LOG", place.join("log").display().to_string()),
            ("PORTS", ports.iter().map(u16::to_string).collect::<Vec<_>>().join(" ")),
        ] {
            stage.environment.push((name.to_owned(), value));
        }
        for (controller, name) in controllers.iter().zip(["OLD", "NEW"]) {
            let address = format!("127.0.0.1:{},{}", controller.http().port(), controller.https().port());
            stage.environment.push((name.to_owned(), address));
        }
        if let Some(controller) = controllers.first() {
            stage.environment.push(("WORK".into(), controller.work_dir().display().to_string()));
            stage.environment.push(("HEALTH".into(), controller.health().to_string()));
        }
        fs::write(place.join("log"), list::LOG)?;
        Ok(stage)
    }

    /// Runs a command of the shell.
    async fn run(&self, script: &str) -> anyhow::Result<()> {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("set -euo pipefail\n{script}\n")]).current_dir(self.scratch.path());
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await?;
        if !output.status.success() {
            bail!("{script}\n{}\n{}{}", output.status, String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// The same; what only looks at the cluster is repeated for a while, as what it sees may be a moment behind.
    async fn follow(&self, command: &str) -> anyhow::Result<()> {
        if ["kubectl narthex", "curl"].iter().any(|looks| command.starts_with(looks)) {
            return poll(PATIENCE, || self.run(command)).await;
        }
        self.run(command).await
    }
}

/// Runs all commands of a page.
async fn page(name: &str) -> anyhow::Result<()> {
    let page = PAGES.iter().find(|page| page.name == name).context("a row of the list")?;
    let text = fs::read_to_string(root().join("docs").join(name))?;
    let lines = commands(&text);
    ensure!(lines.len() > 4, "{name}: {lines:?}");
    let case = Case::with_bed(Bed::start_private().await?, "page").await?;
    let _servers = case.echo(2).await?;
    let mut controllers = Vec::new();
    for _ in 0..page.controllers {
        controllers.push(case.bare_controller().flag("--update-status=false").flag("--disable-leader-election").start().await?);
    }
    let stage = Stage::new(&case, &controllers)?;
    stage.run(&page.setup.replace("{NS}", case.ns())).await.context("the setup of the page")?;
    let mut used = vec![false; page.excuses.len()];
    for Line { number, command } in lines {
        let place = || format!("docs/{name}:{number}");
        let excuse = page.excuses.iter().position(|excuse| command.contains(excuse.command));
        let script = match excuse.map(|at| (at, &page.excuses[at])) {
            Some((at, Excuse { instead, .. })) => {
                used[at] = true;
                (*instead).to_owned()
            }
            None => page.stand_ins.iter().fold(command.clone(), |command, (name, here)| command.replace(name, here)),
        };
        stage.follow(&script).await.with_context(place)?;
    }
    let unused: Vec<&str> = page.excuses.iter().zip(used).filter(|(_, used)| !used).map(|(excuse, _)| excuse.command).collect();
    ensure!(unused.is_empty(), "{name}: excuses for commands that are not there: {unused:?}");
    ensure!(page.excuses.iter().all(|excuse| !excuse.why.is_empty()));
    Ok(())
}

#[tokio::test]
async fn getting_started() -> anyhow::Result<()> {
    page("getting-started.md").await
}

#[tokio::test]
async fn install() -> anyhow::Result<()> {
    page("install.md").await
}

#[tokio::test]
async fn upgrade() -> anyhow::Result<()> {
    page("upgrade.md").await
}

#[tokio::test]
async fn migrate() -> anyhow::Result<()> {
    page("migrate.md").await
}

#[tokio::test]
async fn troubleshooting() -> anyhow::Result<()> {
    page("troubleshooting.md").await
}

#[tokio::test]
async fn tuning() -> anyhow::Result<()> {
    page("tuning.md").await
}

#[test]
fn the_readme_leads_to_every_page() -> anyhow::Result<()> {
    let text = fs::read_to_string(root().join("README.md"))?;
    for Page { name, .. } in PAGES {
        ensure!(text.contains(&format!("(docs/{name}")), "README.md has no link to docs/{name}");
    }
    Ok(())
}

#[test]
fn blocks_are_cut_into_commands() {
    let text = "a\n```sh\n# A comment.\nfirst one  # says\n\nsecond \\\n  --more\n```\n```text\nno\n```\n```console\n$ third\n```\n";
    let found: Vec<(usize, String)> = commands(text).into_iter().map(|line| (line.number, line.command)).collect();
    let expected =
        [(4, "first one  # says"), (6, "second \\\n  --more"), (13, "third")].map(|(number, command)| (number, command.to_owned()));
    assert_eq!(found, expected);
}
