//! Databases of places and networks (`use-geoip2`): which are there and can be read, and how they are fetched.
//!
//! NGINX does not start with a database that is missing or broken, so it is given only what passed [`check`]. What comes later, by a mount or by
//! [`fetch`], is found by [`follow`]. Each file is replaced by rename, so that a reader sees the whole of one version.

mod archive;
mod database;
mod fetch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use model::options::{Edition, GeoIp};
use tokio::sync::watch;
use tracing::{info, warn};

pub use archive::ArchiveError;
pub use database::{DatabaseError, check};
pub use fetch::{FetchError, FetchOptions, Origin, fetch, keep};

/// Between two looks at the files.
const LOOK: Duration = Duration::from_secs(5);

/// The editions that are there and can be read.
pub type Present = Arc<BTreeSet<Edition>>;

/// Looks once. What is there and can't be read is logged.
pub fn present(geoip: &GeoIp) -> Present {
    let mut files = Files::default();
    files.look(geoip);
    files.present()
}

/// Looks again and again, and publishes what is there when it changes. Never ends.
pub async fn follow(geoip: GeoIp, present: watch::Sender<Present>) -> &'static str {
    let mut files = Files::default();
    loop {
        let task = tokio::task::spawn_blocking({
            let geoip = geoip.clone();
            move || {
                files.look(&geoip);
                files
            }
        });
        files = match task.await {
            Ok(files) => files,
            Err(error) => {
                warn!(%error, "the databases of places could not be looked at");
                Files::default()
            }
        };
        let found = files.present();
        present.send_if_modified(|known| {
            let changed = *known != found;
            if changed {
                let names: Vec<&str> = found.iter().map(|edition| edition.name()).collect();
                info!(databases = names.join(", "), directory = %geoip.directory.display(), "databases of places");
                *known = found;
            }
            changed
        });
        tokio::time::sleep(LOOK).await;
    }
}

/// The files as they were looked at last.
#[derive(Default)]
struct Files(BTreeMap<Edition, (Version, bool)>);

/// What differs between two versions of a file.
#[derive(PartialEq)]
struct Version(u64, u64, i64, i64);

impl Version {
    fn of(metadata: &Metadata) -> Self {
        Self(metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec())
    }
}

impl Files {
    fn look(&mut self, geoip: &GeoIp) {
        for &edition in &geoip.editions {
            let file = geoip.file(edition);
            let Ok(metadata) = file.metadata() else {
                self.0.remove(&edition);
                continue;
            };
            let version = Version::of(&metadata);
            if self.0.get(&edition).is_some_and(|(known, _)| *known == version) {
                continue;
            }
            let checked = check(&file, edition);
            if let Err(error) = &checked {
                warn!(file = %file.display(), error = %cluster::chain(error), "a database of places can't be used");
            }
            self.0.insert(edition, (version, checked.is_ok()));
        }
    }

    fn present(&self) -> Present {
        Arc::new(self.0.iter().filter(|(_, (_, sound))| *sound).map(|(edition, _)| *edition).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;

    use testkit::mmdb;

    use super::*;

    #[test]
    fn a_database_is_present_once_it_can_be_read() {
        let scratch = tempfile::tempdir().unwrap();
        let geoip = GeoIp { directory: scratch.path().into(), editions: vec![Edition::LiteCity, Edition::LiteAsn] };
        let mut files = Files::default();
        let found = |files: &mut Files| {
            files.look(&geoip);
            files.present().iter().copied().collect::<Vec<_>>()
        };
        assert_eq!(found(&mut files), []);
        fs::write(geoip.file(Edition::LiteCity), "half a file").unwrap();
        assert_eq!(found(&mut files), []);
        let network = (Ipv4Addr::new(192, 0, 2, 0), 24, mmdb::map([("city", mmdb::text("x"))]));
        fs::write(geoip.file(Edition::LiteCity), mmdb::database("GeoLite2-City", &[network])).unwrap();
        assert_eq!(found(&mut files), [Edition::LiteCity]);
        fs::remove_file(geoip.file(Edition::LiteCity)).unwrap();
        assert_eq!(found(&mut files), []);
    }
}
