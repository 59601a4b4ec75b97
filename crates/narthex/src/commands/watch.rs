//! `narthex watch`: makes NGINX follow its configuration files.

mod events;
mod options;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use children::Children;
use nginx_watch::{ChildProcess, Handle, ReloadOutcome, ReloadReport, SignalRequest, Signals, TriggerSource};
use nix::sys::signal::Signal;
use tokio::process::Command;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::args::{Format, LogArgs, WatchArgs};
use crate::commands::http;
use crate::output;

/// Runs until a signal or the end of the child.
pub(crate) fn watch(args: &WatchArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    let mut log = log.clone();
    if options::is_verbose(std::env::var("VERBOSE").ok().as_deref()) && log.log_level == "info" {
        log.log_level = "info,nginx_watch=debug,fs_watch=debug".to_owned();
    }
    crate::logging::init(&log)?;
    let code = super::run::runtime()?.block_on(serve(args))?;
    Ok(ExitCode::from(code))
}

async fn serve(args: &WatchArgs) -> anyhow::Result<u8> {
    let children = Children::default();
    let options = options::options(args, |name| std::env::var(name).ok())?;
    nginx_watch::warn_of_mounts(&options.cycle.roots, options.follow.poll_interval);
    if args.reload.once {
        return print(&nginx_watch::once(options, children).await, args.output);
    }
    // Both before the child is started: a taken port or a missing right is a quick, clear end.
    let listener = http::bind(&args.http).await?;
    let lock = http::lock(&args.http, &args.api).await?;
    let mut signals = Signals::new()?;
    let mut child = start(args, &children)?;
    let mut options = options;
    if let Some(child) = &child {
        options.cycle.locator = child.locator();
    }
    let mut tasks = JoinSet::new();
    let paths: Vec<String> = options.cycle.roots.paths.iter().map(|path| path.display().to_string()).collect();
    info!(paths = paths.join(","), "following");
    let handle = nginx_watch::spawn(options, children.clone(), &mut tasks);
    if let Some(listener) = listener {
        http::serve(listener, &args.http, Arc::new(handle.clone()), http::Means { lock, children: children.clone() }, &mut tasks)?;
    }
    events::start(args, handle.reports(), &mut tasks).await;
    let ended = attend(&mut signals, &mut child, &handle, &children, &mut tasks).await;
    if ended.is_err()
        && let Some(child) = &mut child
    {
        // It does not outlive us: it would be without supervision.
        child.stop();
        child.ended().await?;
    }
    // A command of --before keeps its lock until it is gone; a second signal kills it.
    let mut idle = std::pin::pin!(children.idle());
    loop {
        tokio::select! {
            () = &mut idle => break,
            asked = signals.next() => match asked {
                SignalRequest::Stop(_) => break,
                SignalRequest::Ended => children.reap_others(),
                SignalRequest::Reload | SignalRequest::Reopen => {}
            },
        }
    }
    tasks.shutdown().await;
    ended
}

fn start(args: &WatchArgs, children: &Children) -> anyhow::Result<Option<ChildProcess>> {
    let Some((program, arguments)) = args.command.split_first() else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(arguments);
    let name = &args.target.process_name;
    let child = ChildProcess::start(command, name, args.reload.quit_timeout, children);
    Ok(Some(child.with_context(|| format!("{} can't be started", program.display()))?))
}

/// Signals and the child, until the end: the exit code.
async fn attend(
    signals: &mut Signals,
    child: &mut Option<ChildProcess>,
    handle: &Handle,
    children: &Children,
    tasks: &mut JoinSet<&'static str>,
) -> anyhow::Result<u8> {
    loop {
        let ending = async {
            match child.as_mut() {
                Some(child) => child.ended().await,
                None => std::future::pending().await,
            }
        };
        let asked = tokio::select! {
            code = ending => return Ok(farewell(code?, child.as_ref().is_some_and(ChildProcess::is_ending))),
            asked = signals.next() => asked,
            ended = tasks.join_next() => match ended {
                Some(Ok(name)) => bail!("{name} ended, which it may not before the process does"),
                Some(Err(error)) => bail!("a task failed: {error}"),
                None => bail!("no task is left"),
            },
        };
        match (asked, child.as_mut()) {
            (SignalRequest::Reload, _) => {
                handle.queue.trigger(TriggerSource::Signal);
            }
            (SignalRequest::Stop(signal), None) => {
                info!(signal, "stopping; NGINX is left running");
                return Ok(0);
            }
            (SignalRequest::Stop(_), Some(child)) => {
                children.stop();
                child.stop();
            }
            (SignalRequest::Reopen, Some(child)) => child.send(Signal::SIGUSR1),
            (SignalRequest::Reopen, None) => {}
            // Also what a command of --before has left to the first process of a container.
            (SignalRequest::Ended, _) => children.reap_others(),
        }
    }
}

fn farewell(code: u8, asked: bool) -> u8 {
    match code {
        _ if asked => info!(code, "NGINX has ended"),
        // So ends the process from which NGINX goes into the background.
        0 => warn!(code, "NGINX has ended by itself; if it went into the background, start it with: nginx -g 'daemon off;'"),
        129.. => {
            let name = Signal::try_from(i32::from(code) - 128).map_or("an unknown signal", Signal::as_str);
            warn!(code, "NGINX was ended by {name}");
        }
        _ => warn!(code, "NGINX has ended with an error, which its own messages name"),
    }
    code
}

/// For `--once`.
fn print(report: &ReloadReport, form: Format) -> anyhow::Result<u8> {
    match form {
        Format::Json => output::line(serde_json::to_string_pretty(report)?)?,
        Format::Text => {
            let revision = report.revision.as_ref().map(|revision| format!(" revision {revision}")).unwrap_or_default();
            output::line(format_args!("{}{revision} in {} ms", report.result.label(), report.duration_ms))?;
            if let Some(message) = &report.message {
                output::line(message)?;
            }
        }
    }
    Ok(if matches!(report.result, ReloadOutcome::Applied | ReloadOutcome::Tested) { 0 } else { crate::FAILED })
}
