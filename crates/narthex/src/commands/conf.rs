//! `narthex conf [HOST] [PATH]`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use http_client::{Address, Call, Client, escape};
use model::Settings;
use render::ConfFilter;

use crate::args::{ConfArgs, LogArgs};
use crate::offline::{self, Directory};
use crate::output;

/// Path of the controller's own socket, relative to the work directory.
pub(crate) const SOCKET: &str = "run/narthex.sock";
/// How long the controller may take: it prints all hosts within a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prints the equivalent text, computed here or asked of the running controller.
pub(crate) fn conf(args: &ConfArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    let work_dir = args.nginx.work_dir()?;
    let source = &args.source;
    let offline = source.manifests.is_some() || source.api.names_one();
    if !offline {
        let text = crate::commands::run::runtime()?.block_on(ask(&work_dir, args.host.as_deref(), args.path.as_deref()))?;
        output::text(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let capabilities = crate::commands::run::runtime()?.block_on(offline::capabilities(args.nginx.nginx_binary.as_deref()));
    let settings = Settings { missing: capabilities.missing(), ..offline::settings(&args.model)? };
    let built = match &source.manifests {
        Some(dir) => Directory::build(dir, settings)?.built,
        None => {
            crate::logging::init(log)?;
            crate::commands::run::runtime()?.block_on(offline::cluster(source, settings))?
        }
    };
    let filter = ConfFilter { host: args.host.as_deref(), path: args.path.as_deref() };
    output::text(render::conf(&built.model, &capabilities, &render::Paths { work_dir }, filter)?)?;
    Ok(ExitCode::SUCCESS)
}

async fn ask(work_dir: &Path, host: Option<&str>, path: Option<&str>) -> anyhow::Result<String> {
    let socket = work_dir.join(SOCKET);
    let query = [("host", host), ("path", path)].into_iter().filter_map(|(key, value)| Some(format!("{key}={}", escape(value?))));
    let target = format!("/conf?{}", query.collect::<Vec<_>>().join("&"));
    let answer = Client::new(Address::Unix(socket.clone())).call(&Call { target: &target, ..Call::default() }, PATIENCE).await;
    let answer = answer.with_context(|| {
        format!(
            "no controller answers on {}: give --work-dir of the running one, or --manifests or --kubeconfig to compute it",
            socket.display()
        )
    })?;
    let text = String::from_utf8(answer.body.into())?;
    if !answer.status.is_success() {
        bail!("{}", text.trim_end());
    }
    Ok(text)
}
