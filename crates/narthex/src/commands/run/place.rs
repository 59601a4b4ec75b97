//! Where NGINX runs: in this container, or in one of its own.

use std::time::Duration;

use nginx::{DataPlane, Place};
use render::{Capabilities, Paths};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::shutdown::Signals;
use crate::args::RunArgs;

/// Containers of a Pod are asked to end within this time of each other.
const TOGETHER: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(100);

/// The place and what NGINX can do there. Another container is waited for; `None`: a signal ended the wait.
///
/// # Errors
/// There is no NGINX that can be used, or the other container has another version.
pub(super) async fn find(args: &RunArgs, paths: &Paths, signals: &mut Signals) -> anyhow::Result<Option<(Place, Capabilities)>> {
    if !args.split_data_plane {
        let capabilities = nginx::detect(args.nginx.nginx_binary.as_deref()).await?;
        let binary = nginx::find_binary(args.nginx.nginx_binary.as_deref())?;
        return Ok(Some((Place::Here(binary), capabilities)));
    }
    if args.nginx.nginx_binary.is_some() {
        warn!("--nginx-binary has no effect with --split-data-plane: `narthex data-plane` has it, too");
    }
    let socket = DataPlane::socket(paths);
    let Some(capabilities) = signals.or_second(DataPlane::new(&socket).wait()).await else {
        return Ok(None);
    };
    Ok(Some((Place::DataPlane(socket), capabilities?)))
}

/// Another container with NGINX, if there is one.
pub(super) fn data_plane(place: &Place) -> Option<DataPlane> {
    match place {
        Place::Here(_) => None,
        Place::DataPlane(socket) => Some(DataPlane::new(socket)),
    }
}

/// Whether the container of NGINX ends as well: else the controller alone is ended, and NGINX serves on.
pub(super) async fn ends_too(data_plane: &DataPlane, signals: &mut Signals) -> bool {
    let ending = async {
        // One that does not answer has ended, or will come again.
        while !data_plane.ending().await.unwrap_or(false) && data_plane.is_there().await {
            sleep(POLL).await;
        }
    };
    let ends = signals.or_second(timeout(TOGETHER, ending)).await.is_some_and(|ended| ended.is_ok());
    if !ends {
        info!("the container of NGINX goes on, and serves; the next controller adopts it");
    }
    ends
}

/// Waits for the end of the container of NGINX, which finishes its open requests, for at most `limit`.
pub(super) async fn wait_for_end(data_plane: &DataPlane, limit: Duration, signals: &mut Signals) {
    info!(seconds = limit.as_secs(), "waiting for the container of NGINX, which finishes its open requests");
    let gone = async {
        while data_plane.is_there().await {
            sleep(POLL).await;
        }
    };
    if let Some(Err(_)) = signals.or_second(timeout(limit, gone)).await {
        warn!("the container of NGINX has not ended in this time");
    }
}
