//! The listener for reloads by HTTP, of `narthex watch` and `narthex run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use children::Children;
use nginx_watch::{Access, Before, FileLock, HttpServer, LocalLock, Lock, Peer, Peers, Reloads};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use super::lease::Leased;
use crate::args::{ApiArgs, HttpArgs};

/// The opened listener.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Opens what `--listen` says.
pub(crate) async fn bind(args: &HttpArgs) -> anyhow::Result<Option<Listener>> {
    let Some(text) = &args.listen else { return Ok(None) };
    access(args).token().context("--token-file can't be used")?;
    let failed = || format!("can't listen on {text}, which --listen says");
    if let Some(path) = text.strip_prefix("unix:") {
        let path = PathBuf::from(path);
        if tokio::net::UnixStream::connect(&path).await.is_ok() {
            bail!("{}: another process listens there", failed());
        }
        // A leftover without a listener.
        let _ = std::fs::remove_file(&path);
        return Ok(Some(Listener::Unix(UnixListener::bind(&path).with_context(failed)?)));
    }
    // A port alone is one on the loopback address.
    let listener = match text.strip_prefix(':') {
        Some(port) => TcpListener::bind(format!("127.0.0.1:{port}")).await,
        None => TcpListener::bind(text).await,
    };
    Ok(Some(Listener::Tcp(listener.with_context(failed)?)))
}

fn access(args: &HttpArgs) -> Access {
    Access { allow: args.allow.clone(), token_file: args.token_file.clone() }
}

/// The needs of the command of `--before`.
pub(crate) struct Means {
    pub(crate) lock: Arc<dyn Lock>,
    pub(crate) children: Children,
}

/// The lock by which one replica alone runs the command of `--before`.
pub(crate) async fn lock(args: &HttpArgs, api: &ApiArgs) -> anyhow::Result<Arc<dyn Lock>> {
    Ok(match (&args.lock_file, &args.lock_lease) {
        (Some(path), _) => {
            let lock = FileLock { path: path.clone() };
            lock.check().with_context(|| format!("--lock-file {} can't be used", path.display()))?;
            Arc::new(lock)
        }
        (None, Some(name)) => Arc::new(Leased::connect(name, api).await?),
        (None, None) => Arc::new(LocalLock::default()),
    })
}

/// Says what a TCP port means for requests of this machine: they may be an unknown client's that an NGINX here passes on.
fn warn_of_access(access: &Access) {
    match (&access.allow, &access.token_file, access.allows_this_machine()) {
        (None, None, _) => warn!(
            "/reload and /status are refused: on a TCP port they need --token-file, or the address of who asks in --allow; --listen unix:PATH needs neither"
        ),
        (Some(_), None, true) => warn!(
            "--allow lets this machine ask for reloads without a token, and with it every client that can have an NGINX here connect to this port; --token-file or --listen unix:PATH excludes them"
        ),
        (Some(_), _, false) => warn!(
            "--allow is in place of the loopback addresses: requests from this machine, or this Pod, are refused; 127.0.0.0/8,::1 adds them"
        ),
        (_, Some(_), true) | (None, Some(_), false) => {}
    }
}

/// Starts to serve.
pub(crate) fn serve(
    listener: Listener,
    args: &HttpArgs,
    reloads: Arc<dyn Reloads>,
    Means { lock, children }: Means,
    tasks: &mut JoinSet<&'static str>,
) -> anyhow::Result<()> {
    let own = match &listener {
        Listener::Tcp(listener) => Some(listener.local_addr()?),
        Listener::Unix(_) => None,
    };
    if own.is_some() {
        warn_of_access(&access(args));
    }
    let server = HttpServer {
        reloads,
        access: access(args),
        peers: peers(args, own)?,
        before: args.before.clone().map(|command| Before { command, lock, timeout: args.request_timeout, children }.spawn(tasks)),
    };
    if let Some(period) = args.before_every {
        let server = server.clone();
        tasks.spawn(async move {
            server.by_the_clock(period).await;
            "the clock of --before-every"
        });
    }
    let service = nginx_watch::router(server).into_make_service_with_connect_info::<Peer>();
    info!(address = args.listen, "reloads by HTTP");
    tasks.spawn(async move {
        let served = match listener {
            Listener::Tcp(listener) => axum::serve(listener, service).await,
            Listener::Unix(listener) => axum::serve(listener, service).await,
        };
        if let Err(error) = served {
            error!(%error, "HTTP stopped");
        }
        "HTTP"
    });
    Ok(())
}

/// `name` or `name:port`; the port is ours unless it is given.
fn peers(args: &HttpArgs, own: Option<SocketAddr>) -> anyhow::Result<Option<Peers>> {
    let Some(text) = &args.peers else { return Ok(None) };
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().with_context(|| format!("--peers {text:?}: expected a name, or name:port"))?),
        None => (text.as_str(), own.with_context(|| format!("--peers {text:?}: expected name:port, as --listen has no port"))?.port()),
    };
    Ok(Some(Peers { name: name.to_owned(), port, timeout: args.request_timeout }))
}
