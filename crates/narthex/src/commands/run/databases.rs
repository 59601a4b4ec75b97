//! Databases of places beside the objects of a source: both are parts of a snapshot.

use std::sync::Arc;

use controller::Tasks;
use geoip::{FetchOptions, Present};
use model::{BuildOptions, Module, Snapshot};
use tokio::sync::watch;

type Snapshots = watch::Receiver<Option<Arc<Snapshot>>>;

/// The snapshots of a source with the databases that there are; the same ones where NGINX can't read any.
///
/// Databases are fetched beside that, where it was asked for: what is missing keeps nothing waiting.
pub(super) fn join(options: &BuildOptions, fetch: Option<FetchOptions>, snapshots: Snapshots, tasks: &mut Tasks) -> Snapshots {
    let geoip = &options.geoip;
    if geoip.editions.is_empty() || options.missing.contains(&Module::GeoIp) {
        return snapshots;
    }
    // Looked at before the first build: what is there at the start needs no second configuration.
    let (found_tx, found) = watch::channel(geoip::present(geoip));
    tasks.spawn(geoip::follow(geoip.clone(), found_tx));
    if let Some(fetch) = fetch {
        tasks.spawn(geoip::keep(geoip.clone(), fetch));
    }
    let (joined_tx, joined) = watch::channel(None);
    tasks.spawn(run(snapshots, found, joined_tx));
    joined
}

async fn run(mut snapshots: Snapshots, mut found: watch::Receiver<Present>, joined: watch::Sender<Option<Arc<Snapshot>>>) -> &'static str {
    const NAME: &str = "databases of places";
    loop {
        let databases = found.borrow_and_update().clone();
        if let Some(snapshot) = snapshots.borrow_and_update().clone() {
            // Nothing to copy for most: there is no database.
            let snapshot = if databases.is_empty() { snapshot } else { Arc::new(Snapshot { databases, ..(*snapshot).clone() }) };
            joined.send_replace(Some(snapshot));
        }
        let changed = tokio::select! {
            changed = snapshots.changed() => changed,
            changed = found.changed() => changed,
        };
        if changed.is_err() {
            return NAME;
        }
    }
}
