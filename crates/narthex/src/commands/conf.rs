//! `narthex conf [HOST] [PATH]`, and what the controller answers on its socket.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use http_client::{Address, Call, Client, escape};
use model::live::NO_CERTIFICATE;
use model::{BuildOptions, Built, Fixed, Model, Snapshot};
use ops::{ConfQuery, Question};
use render::{Capabilities, Paths, Served};
use serde_json::json;

use crate::args::{ConfArgs, Format, LogArgs};
use crate::commands::explain::request;
use crate::offline::{self, Directory};
use crate::output;

/// Path of the controller's own socket, relative to the work directory.
pub(crate) const SOCKET: &str = "run/narthex.sock";
/// Longest time of the controller: it prints all hosts within a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prints what serves a host, or the whole `nginx.conf`: computed here, or asked of the running controller.
pub(crate) fn conf(args: &ConfArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    let work_dir = args.nginx.work_dir()?;
    let source = &args.source;
    let query = ConfQuery { host: args.host.as_deref(), path: args.path.as_deref(), json: args.format == Format::Json };
    let offline = source.manifests.is_some() || source.api.names_one();
    if !offline {
        let text = crate::commands::run::runtime()?.block_on(ask(&work_dir, Question::Conf(query)))?;
        output::text(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let capabilities = crate::commands::run::runtime()?.block_on(offline::capabilities(args.nginx.nginx_binary.as_deref()));
    let settings = BuildOptions { missing: capabilities.missing(), ..offline::settings(&args.model)? };
    let built = match &source.manifests {
        Some(dir) => Directory::build(dir, settings)?.built,
        None => {
            crate::logging::init(log)?;
            crate::commands::run::runtime()?.block_on(offline::cluster(source, settings))?.1
        }
    };
    output::text(shown(&built.model.fixed, &built.model, &capabilities, &Paths { work_dir }, query)?)?;
    Ok(ExitCode::SUCCESS)
}

/// What a running controller answers from.
pub(crate) struct State<'a> {
    /// The text of NGINX's workers.
    pub(crate) running: &'a Fixed,
    /// What is applied to them.
    pub(crate) built: &'a Built,
    /// The newest objects.
    pub(crate) snapshot: &'a Snapshot,
    /// Of NGINX.
    pub(crate) caps: &'a Capabilities,
    /// Of the work directory.
    pub(crate) paths: &'a Paths,
}

/// The answer to a question.
pub(crate) fn answer(state: &State<'_>, question: Question<'_>) -> anyhow::Result<String> {
    let model = &state.built.model;
    match question {
        Question::Conf(query) => shown(state.running, model, state.caps, state.paths, query),
        Question::Certificate(host) => certificate(model, host),
        Question::Request(query) => request::answer(state.built, state.snapshot, &query),
    }
}

/// The certificates of a name, as NGINX chooses them in the handshake: its own, else those of the wildcard above it.
fn certificate(model: &Model, host: &str) -> anyhow::Result<String> {
    let (live, host) = (&model.live, host.to_ascii_lowercase());
    let above = host.split_once('.').map(|(_, rest)| format!("*.{rest}"));
    let names = [Some(host.as_str()), above.as_deref()];
    let key = names.into_iter().flatten().find_map(|name| live.servers.get(name)).filter(|key| ***key != *NO_CERTIFICATE);
    let record = key.and_then(|key| live.certificates.get(key));
    let record = record.with_context(|| format!("no certificate for the host {host:?}: its clients get the default one, `_`"))?;
    Ok(record.pair.chain.clone())
}

fn shown(running: &Fixed, model: &Model, caps: &Capabilities, paths: &Paths, query: ConfQuery<'_>) -> anyhow::Result<String> {
    let Some(host) = query.host else {
        let set = render::render(running, caps, paths)?;
        let conf = String::from_utf8_lossy(set.conf());
        return Ok(if query.json { format!("{:#}\n", json!({ "nginx.conf": conf, "revision": set.revision })) } else { conf.into_owned() });
    };
    let served = Served::new(running, model, caps, paths, host, query.path)?;
    Ok(if query.json { serde_json::to_string_pretty(&served)? + "\n" } else { served.to_string() })
}

/// The answer of the running controller.
pub(crate) async fn ask(work_dir: &Path, question: Question<'_>) -> anyhow::Result<String> {
    let socket = work_dir.join(SOCKET);
    let query = question.pairs().into_iter().map(|(key, value)| format!("{key}={}", escape(value)));
    let target = format!("/{}?{}", question.path(), query.collect::<Vec<_>>().join("&"));
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
