//! The files that NGINX's stream block reads, as a channel of the live lane.

use std::sync::Arc;
use std::time::Duration;

use cluster::chain;
use controller::{Channel, LiveError, LiveState, Posted};
use model::Table;
use model::live::{Medium, record_crc};
use nginx::{StoreError, StreamMap};
use render::Paths;

/// Writes files.
#[derive(Clone)]
pub(super) struct StreamMapPort(Arc<StreamMap>);

impl StreamMapPort {
    pub(super) fn new(paths: &Paths) -> Self {
        Self(Arc::new(StreamMap::new(paths.stream_map())))
    }

    /// Works on the files, away from the tasks that must not wait.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StreamMap) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, LiveError> {
        let files = self.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&files)).await;
        done.map_err(|error| LiveError::Unreachable(error.to_string()))?.map_err(|error| LiveError::Unreachable(chain(&error)))
    }
}

impl Channel for StreamMapPort {
    const NAME: &'static str = "stream map";
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
        let held = self.work(StreamMap::held).await?;
        Ok(held.into_keys().map(|name| name.replacen('/', "\t", 1)).collect())
    }

    async fn set_generation(&self, marker: &str) -> Result<(), LiveError> {
        let marker = marker.to_owned();
        self.work(move |files| files.complete(&marker)).await
    }
}

/// What the files hold, read again.
fn state(files: &StreamMap) -> Result<LiveState, StoreError> {
    let held = files.held()?;
    let digest = held.iter().map(|(name, text)| crc(name, text)).sum();
    Ok(LiveState { generation: files.marker(), digest, entries: held.len() as u64 })
}

/// What a file adds to the digest. One that is no record's adds something all the same: it does not belong there.
fn crc(name: &str, text: &str) -> u64 {
    let (letter, key) = name.split_once('/').unwrap_or_default();
    let table = Table::ALL.iter().find(|table| letter.chars().eq([table.letter()])).unwrap_or(&Table::Passthrough);
    record_crc(*table, key, text).into()
}

/// Applies a line of the live protocol.
fn apply(files: &StreamMap, line: &str) -> Result<(), StoreError> {
    let name = |table: &str, key: &str| format!("{table}/{key}");
    match line.split('\t').collect::<Vec<_>>()[..] {
        [sign, key, text] if sign.starts_with('=') => files.set(&name(&sign[1..], key), text),
        [sign, key] if sign.starts_with('-') => files.remove(&name(&sign[1..], key)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use model::Live;

    use super::*;

    const LINES: &str = "=p\ta.example\t0a000001:443\n=l\ttcp-80\t\n";

    fn port() -> (StreamMapPort, Paths, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        (StreamMapPort::new(&paths), paths, dir)
    }

    #[tokio::test]
    async fn what_is_confirmed_is_what_the_files_hold() {
        let (port, paths, _dir) = port();
        assert_eq!(port.audit().await.unwrap(), LiveState::default());
        let mut wanted = Live::default();
        wanted.passthrough_map.insert("a.example".into(), "0a000001:443".into());
        wanted.stream_services.insert("tcp-80".into(), "".into());
        let confirmed = LiveState { generation: None, digest: wanted.digest(), entries: 2 };
        assert_eq!(port.post(LINES.into()).await.unwrap().state, confirmed);
        port.set_generation("all").await.unwrap();
        fs::write(paths.stream_map().join("p/a.example"), "0a000002:443").unwrap();
        let changed = port.audit().await.unwrap();
        assert_eq!((changed.generation.as_deref(), changed.digest == confirmed.digest), (Some("all"), false));
        assert_eq!(port.post(LINES.into()).await.unwrap().state.digest, confirmed.digest);
        assert_eq!(port.keys().await.unwrap(), ["l\ttcp-80", "p\ta.example"]);
        assert_eq!(port.post("-p\ta.example\n-l\ttcp-80\n".into()).await.unwrap().state.entries, 0);
    }

    #[tokio::test]
    async fn a_file_that_can_not_be_written_is_an_error_and_keeps_no_other_from_being_written() {
        let (port, paths, _dir) = port();
        fs::create_dir_all(paths.stream_map().join("p/a.example")).unwrap();
        assert!(port.post(LINES.into()).await.is_err());
        assert!(paths.stream_map().join("l/tcp-80").exists());
        fs::remove_dir(paths.stream_map().join("p/a.example")).unwrap();
        assert_eq!(port.post(LINES.into()).await.unwrap().state.entries, 2);
    }
}
