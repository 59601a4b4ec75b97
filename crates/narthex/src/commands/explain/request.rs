//! `narthex explain request`: what serves a request, and why.

use std::process::ExitCode;

use anyhow::Context;
use decision::{Decision, Request};
use model::{BuildOptions, Built, Snapshot};
use ops::{Question, RequestQuery};

use crate::FAILED;
use crate::args::{ExplainRequestArgs, Format, LogArgs};
use crate::commands::{conf, run};
use crate::offline::{self, Directory};
use crate::output;

/// Explains a request: computed here, or asked of the running controller.
pub(crate) fn explain(args: &ExplainRequestArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    let headers: Vec<&str> = args.headers.iter().map(String::as_str).collect();
    let client = args.client.map(|client| client.to_string());
    let json = args.format == Format::Json;
    let query = RequestQuery { url: &args.url, method: &args.method, headers: &headers, client: client.as_deref(), json };
    // What is wrong with the request itself is found without any rules.
    if let Err(error) = read(&query) {
        output::remark(format_args!("narthex: {error:#}"));
        return Ok(ExitCode::from(crate::USAGE));
    }
    let source = &args.source;
    if source.manifests.is_none() && !source.api.names_one() {
        let whole = RequestQuery { json: true, ..query };
        let text = run::runtime()?.block_on(conf::ask(&args.nginx.work_dir()?, Question::Request(whole)))?;
        let decision: Decision = serde_json::from_str(&text).context("the controller is of another version")?;
        return print(&decision, json);
    }
    let capabilities = run::runtime()?.block_on(offline::capabilities(args.nginx.nginx_binary.as_deref()));
    let settings = BuildOptions { missing: capabilities.missing(), ..offline::settings(&args.model)? };
    let (snapshot, built) = match &source.manifests {
        Some(dir) => {
            let Directory { loaded, built } = Directory::build(dir, settings)?;
            (loaded.snapshot, built)
        }
        None => {
            crate::logging::init(log)?;
            run::runtime()?.block_on(offline::cluster(source, settings))?
        }
    };
    print(&decision::decide(&built, &snapshot.ingresses, &read(&query)?)?, json)
}

/// What a running controller answers, as JSON.
pub(crate) fn answer(built: &Built, snapshot: &Snapshot, query: &RequestQuery<'_>) -> anyhow::Result<String> {
    let decision = decision::decide(built, &snapshot.ingresses, &read(query)?)?;
    Ok(if query.json { serde_json::to_string_pretty(&decision)? + "\n" } else { decision.to_string() })
}

fn read(query: &RequestQuery<'_>) -> anyhow::Result<Request> {
    let method = query.method;
    anyhow::ensure!(
        !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase() || b"-_".contains(&byte)),
        "method {method:?}: expected capital letters, such as POST"
    );
    let client =
        query.client.map(|client| client.parse().with_context(|| format!("client {client:?}: expected an IP address"))).transpose()?;
    let request = query.headers.iter().try_fold(Request::get(query.url)?, |request, header| request.with_header(header))?;
    let request = Request { method: method.to_owned(), client, ..request };
    request.check()?;
    Ok(request)
}

fn print(decision: &Decision, json: bool) -> anyhow::Result<ExitCode> {
    output::text(if json { serde_json::to_string_pretty(decision)? + "\n" } else { decision.to_string() })?;
    Ok(if decision.is_served() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}
