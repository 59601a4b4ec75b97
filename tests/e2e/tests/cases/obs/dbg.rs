//! The debug tool of the predecessor's image, beside a running controller.

use std::process::Command;

use anyhow::{Context, ensure};
use e2e::{Case, Controller};
use serde_json::Value;

async fn serving(id: &str) -> anyhow::Result<(Case, Controller)> {
    let case = Case::new(id).await?;
    let _servers = case.echo(1).await?;
    case.serve("foo.com").await?;
    let controller = case.controller().start().await?;
    controller.until("foo.com", "/", 200).await?;
    Ok((case, controller))
}

/// What `dbg ARGS` prints, by that name.
fn dbg(controller: &Controller, args: &[&str]) -> anyhow::Result<String> {
    let scratch = tempfile::tempdir()?;
    let program = scratch.path().join("dbg");
    std::os::unix::fs::symlink(std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?, &program)?;
    let output = Command::new(program).args(args).arg("--work-dir").arg(controller.work_dir()).output()?;
    ensure!(output.status.success(), "dbg {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test]
async fn obs_01_dbg_lists_the_default_backend_and_that_of_the_ingress() -> anyhow::Result<()> {
    let (case, controller) = serving("obs-01").await?;
    let list = dbg(&controller, &["backends", "list"])?;
    assert_eq!(list.lines().collect::<Vec<_>>(), [format!("{}-echo-80", case.ns()).as_str(), "upstream-default-backend"]);
    Ok(())
}

#[tokio::test]
async fn obs_02_dbg_general_is_json() -> anyhow::Result<()> {
    let (_case, controller) = serving("obs-02").await?;
    let general: Value = serde_json::from_str(&dbg(&controller, &["general"])?)?;
    ensure!(general.is_object(), "{general}");
    Ok(())
}
