//! The ports for people on the machine itself: the state of NGINX, and of this process.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::Context;
use controller::{Handle, Tasks};
use nginx::LiveClient;
use ops::{ConfSource, Question, Status};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tracing::{info, warn};

use crate::args::{Listening, RunArgs};
use crate::commands::dbg;

/// The listeners, where there are any.
pub(super) struct Listeners {
    status: Option<TcpListener>,
    profiler: Option<TcpListener>,
}

/// Those ports with the flag that sets each.
pub(super) fn ports(args: &RunArgs) -> impl Iterator<Item = (u16, &'static str)> {
    let in_pod = super::in_pod();
    let all = [args.loopback.status(in_pod), args.loopback.profiler(in_pod)];
    all.into_iter().flatten().map(|listening| (listening.address.port(), listening.flag))
}

pub(super) async fn bind(args: &RunArgs) -> anyhow::Result<Listeners> {
    let in_pod = super::in_pod();
    Ok(Listeners { status: listen(args.loopback.status(in_pod)).await?, profiler: listen(args.loopback.profiler(in_pod)).await? })
}

/// A port that was not asked for keeps nothing down: in the network of the node another Pod may have it.
async fn listen(listening: Option<Listening>) -> anyhow::Result<Option<TcpListener>> {
    let Some(Listening { address, flag, is_given }) = listening else { return Ok(None) };
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if is_given => Err(error).with_context(|| format!("can't listen on {address}, whose port {flag} sets")),
        Err(error) => {
            warn!(%address, flag, %error, "this port is not served");
            Ok(None)
        }
    }
}

impl Listeners {
    /// Serves them until the process ends.
    pub(super) fn spawn(self, health_path: String, status: NginxStatus, tasks: &mut Tasks) {
        if let Some(listener) = self.status {
            info!(address = ?listener.local_addr(), "status of nginx");
            tasks.spawn(async move { match ops::serve_status(listener, &health_path, Arc::new(status)).await {} });
        }
        if let Some(listener) = self.profiler {
            info!(address = ?listener.local_addr(), "figures about the process");
            tasks.spawn(async move { match ops::serve_profiler(listener, shown(std::env::args())).await {} });
        }
    }
}

/// Flags whose values are not shown.
const SECRET: [&str; 1] = ["--maxmind-license-key"];

/// A command line without the values of secret flags.
fn shown(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut is_value = false;
    let mut show = |argument: String| match argument.split_once('=') {
        _ if std::mem::replace(&mut is_value, SECRET.contains(&argument.as_str())) => "***".to_owned(),
        Some((flag, _)) if SECRET.contains(&flag) => format!("{flag}=***"),
        _ => argument,
    };
    arguments.map(&mut show).collect()
}

/// What the status port answers from.
pub(super) struct NginxStatus {
    pub(super) live: LiveClient,
    pub(super) handle: Handle,
    /// That of `narthex conf`.
    pub(super) source: ConfSource,
    /// One walk over all backends at a time, however many ask.
    pub(super) walk: Mutex<()>,
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

impl Status for NginxStatus {
    fn alive(&self) -> Answer<'_> {
        Box::pin(async { self.live.state().await.map(|_| String::new()).map_err(|error| cluster::chain(&error)) })
    }

    fn initialised(&self) -> Result<(), String> {
        if self.handle.live.borrow().synced() { Ok(()) } else { Err("nginx does not hold the routes and endpoints yet".to_owned()) }
    }

    fn connections(&self) -> Answer<'_> {
        Box::pin(async { self.live.status_page().await.map_err(|error| cluster::chain(&error)) })
    }

    fn backends(&self) -> Answer<'_> {
        Box::pin(async {
            let _walk = self.walk.lock().await;
            dbg::backends(&self.live).await.map(|backends| backends.to_string()).map_err(|error| format!("{error:#}"))
        })
    }

    fn general(&self) -> Answer<'_> {
        Box::pin(async {
            let state = self.live.state().await.map_err(|error| cluster::chain(&error))?;
            serde_json::to_string(&state).map_err(|error| error.to_string())
        })
    }

    fn certificate(&self, host: &str) -> Result<String, String> {
        (self.source)(Question::Certificate(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_license_key_is_not_shown() {
        let line = ["narthex", "--maxmind-license-key=abc", "--maxmind-license-key", "abc", "--http-port=80", "abc"];
        let expected = ["narthex", "--maxmind-license-key=***", "--maxmind-license-key", "***", "--http-port=80", "abc"];
        assert_eq!(shown(line.into_iter().map(str::to_owned)), expected);
    }
}
