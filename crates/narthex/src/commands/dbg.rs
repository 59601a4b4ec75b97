//! `narthex dbg`: the state of a running NGINX, in the forms of ingress-nginx's tool of this name.

mod backends;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use nginx::LiveClient;
use ops::{ConfQuery, Question};
use render::Paths;
use serde_json::Value;

use crate::args::{DbgArgs, DbgBackends, DbgCerts, DbgSubject, work_dir};
use crate::commands::conf;
use crate::output;

/// Letter of the table of backends.
const BACKENDS: char = 'b';

/// Prints it.
pub(crate) fn dbg(args: &DbgArgs) -> anyhow::Result<ExitCode> {
    let work_dir = work_dir(args.work_dir.as_deref())?;
    super::run::runtime()?.block_on(print(&args.subject, &work_dir))?;
    Ok(ExitCode::SUCCESS)
}

async fn print(subject: &DbgSubject, work_dir: &Path) -> anyhow::Result<()> {
    match subject {
        DbgSubject::Backends(form) => print_backends(form, work_dir).await,
        DbgSubject::Certs(DbgCerts::Get { host }) => {
            output::text(conf::ask(work_dir, Question::Certificate(host)).await?)?;
            output::remark("narthex: note: the private key is not shown");
            Ok(())
        }
        DbgSubject::General => pretty(&serde_json::to_value(control(work_dir).state().await.with_context(|| silent(work_dir))?)?),
        DbgSubject::Conf => output::text(conf::ask(work_dir, Question::Conf(ConfQuery::default())).await?),
    }
}

async fn print_backends(form: &DbgBackends, work_dir: &Path) -> anyhow::Result<()> {
    let backends = backends::shape(&records(&control(work_dir)).await.with_context(|| silent(work_dir))?);
    let name = |backend: &Value| backend["name"].as_str().unwrap_or_default().to_owned();
    match form {
        DbgBackends::All => pretty(&Value::Array(backends)),
        DbgBackends::List => backends.iter().try_for_each(|backend| output::line(name(backend))),
        DbgBackends::Get { name: wanted } => {
            let found = backends.iter().find(|backend| name(backend) == *wanted);
            pretty(found.with_context(|| format!("no backend has the name {wanted:?}: expected one of `backends list`"))?)
        }
    }
}

/// The backends that NGINX has, in the form of ingress-nginx.
pub(crate) async fn backends(client: &LiveClient) -> anyhow::Result<Value> {
    Ok(Value::Array(backends::shape(&records(client).await?)))
}

/// The records of all backends that NGINX has, by their keys. One that is removed meanwhile is left out.
async fn records(client: &LiveClient) -> anyhow::Result<Vec<(String, Value)>> {
    let keys = client.keys().await?;
    let mut records = Vec::new();
    for key in keys.into_iter().filter(|key| key.table == BACKENDS) {
        if let Some(text) = client.record(key.table, &key.key).await? {
            records.push((key.key, serde_json::from_str(&text)?));
        }
    }
    Ok(records)
}

fn control(work_dir: &Path) -> LiveClient {
    LiveClient::new(&Paths::new(work_dir.to_owned()).control_socket())
}

fn silent(work_dir: &Path) -> String {
    format!("no NGINX of a controller answers in the work directory {}: give --work-dir of the running one", work_dir.display())
}

fn pretty(value: &Value) -> anyhow::Result<()> {
    output::line(format_args!("{value:#}"))
}
