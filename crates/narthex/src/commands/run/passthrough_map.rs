//! The files that NGINX's stream block reads, as a channel of the live lane.

use std::sync::Arc;
use std::time::Duration;

use cluster::chain;
use controller::{Channel, LiveError, LiveState, Posted};
use model::Table;
use model::live::{Medium, record_crc};
use nginx::{PassthroughMap, StoreError};
use render::Paths;

/// Writes files.
#[derive(Clone)]
pub(super) struct PassthroughPort(Arc<PassthroughMap>);

impl PassthroughPort {
    pub(super) fn new(paths: &Paths) -> Self {
        Self(Arc::new(PassthroughMap::new(paths.passthrough_dir())))
    }

    /// Works on the files, away from the tasks that must not wait.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&PassthroughMap) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LiveError> {
        let files = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&files)).await;
        done.map_err(|error| LiveError::Unreachable(error.to_string()))?.map_err(|error| LiveError::Unreachable(chain(&error)))
    }
}

impl Channel for PassthroughPort {
    const NAME: &'static str = "passthrough_map";
    const LOST_WITH_NGINX: bool = false;
    const AUDIT_EVERY: Option<Duration> = Some(Duration::from_secs(30));

    fn carries(table: Table) -> bool {
        table.row().medium == Medium::Files
    }

    async fn audit(&self) -> Result<LiveState, LiveError> {
        self.work(state).await
    }

    async fn post(&self, lines: String) -> Result<Posted, LiveError> {
        self.work(move |files| {
            // One that fails keeps no other from being written.
            let failed = lines.lines().filter_map(|line| apply(files, line).err()).reduce(|first, _| first);
            let state = state(files)?;
            failed.map_or(Ok(Posted { state, refused: Vec::new() }), Err)
        })
        .await
    }

    async fn keys(&self) -> Result<Vec<String>, LiveError> {
        let held = self.work(PassthroughMap::held).await?;
        Ok(held.into_keys().map(|name| format!("{}\t{name}", Table::Passthrough.letter())).collect())
    }

    async fn set_generation(&self, marker: &str) -> Result<(), LiveError> {
        let marker = marker.to_owned();
        self.work(move |files| files.complete(&marker)).await
    }
}

/// What the files hold, read again.
fn state(files: &PassthroughMap) -> Result<LiveState, StoreError> {
    let held = files.held()?;
    let digest = held.iter().map(|(name, text)| u64::from(record_crc(Table::Passthrough, name, text))).sum();
    Ok(LiveState { generation: files.marker(), digest, entries: held.len() as u64 })
}

/// Applies a line of the live protocol.
fn apply(files: &PassthroughMap, line: &str) -> Result<(), StoreError> {
    match line.split('\t').collect::<Vec<_>>()[..] {
        [sign, name, text] if sign.starts_with('=') => files.set(name, text),
        [_, name] => files.remove(name),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use model::Live;

    use super::*;

    const LINES: &str = "=p\ta.example\t10.0.0.1:443\n=p\tb.example\t\n";

    fn port() -> (PassthroughPort, Paths, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        (PassthroughPort::new(&paths), paths, dir)
    }

    #[tokio::test]
    async fn what_is_confirmed_is_what_the_files_hold() {
        let (port, paths, _dir) = port();
        assert_eq!(port.audit().await.unwrap(), LiveState::default());
        let mut wanted = Live::default();
        wanted.passthrough_map.insert("a.example".into(), "10.0.0.1:443".into());
        wanted.passthrough_map.insert("b.example".into(), "".into());
        let confirmed = LiveState { generation: None, digest: wanted.digest(), entries: 2 };
        assert_eq!(port.post(LINES.into()).await.unwrap().state, confirmed);
        port.set_generation("all").await.unwrap();
        fs::write(paths.passthrough_dir().join("a.example"), "10.0.0.2:443").unwrap();
        let changed = port.audit().await.unwrap();
        assert_eq!((changed.generation.as_deref(), changed.digest == confirmed.digest), (Some("all"), false));
        assert_eq!(port.post(LINES.into()).await.unwrap().state.digest, confirmed.digest);
        assert_eq!(port.keys().await.unwrap(), ["p\ta.example", "p\tb.example"]);
        assert_eq!(port.post("-p\ta.example\n-p\tb.example\n".into()).await.unwrap().state.entries, 0);
    }

    #[tokio::test]
    async fn a_file_that_can_not_be_written_is_an_error_and_keeps_no_other_from_being_written() {
        let (port, paths, _dir) = port();
        fs::create_dir_all(paths.passthrough_dir().join("a.example")).unwrap();
        assert!(port.post(LINES.into()).await.is_err());
        assert!(paths.passthrough_dir().join("b.example").exists());
        fs::remove_dir(paths.passthrough_dir().join("a.example")).unwrap();
        assert_eq!(port.post(LINES.into()).await.unwrap().state.entries, 2);
    }
}
