//! The directory followed, on a real file system: each test does to it what a kubelet, an editor or a person does.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use manifests::{DirectorySource, LoadError, Loaded, Pacing, SourceHandle, SourceOptions, load};
use model::Snapshot;
use testkit::mounted::Mounted;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Longer than any test waits for anything that does happen.
const LIMIT: Duration = Duration::from_secs(20);

/// A directory and the source that follows it.
struct Bed {
    scratch: tempfile::TempDir,
    handle: SourceHandle,
    tasks: JoinSet<&'static str>,
}

impl Bed {
    /// Follows `manifests` below a scratch directory, after `prepare` was there.
    fn new(prepare: impl FnOnce(&Path), change: impl FnOnce(&mut SourceOptions)) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        prepare(scratch.path());
        let mut options = SourceOptions::new(scratch.path().join("manifests"));
        // Whatever is seen is seen by an event, unless a test says otherwise.
        options.poll_interval = Duration::from_secs(3600);
        options.pacing.safety = Duration::from_secs(3600);
        change(&mut options);
        let mut tasks = JoinSet::new();
        let handle = DirectorySource::spawn(options, &mut tasks);
        Self { scratch, handle, tasks }
    }

    /// Follows a directory that holds one file with these ConfigMaps.
    async fn with(names: &[&str]) -> Self {
        let text = config_maps(names);
        let mut bed = Self::new(
            |scratch| {
                fs::create_dir(scratch.join("manifests")).unwrap();
                fs::write(scratch.join("manifests/a.yaml"), text).unwrap();
            },
            |_| {},
        );
        bed.see(names).await;
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join("manifests").join(name)
    }

    /// Waits for a snapshot of which this holds.
    async fn until(&mut self, what: &str, holds: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let wanted = |snapshot: &Option<Arc<Snapshot>>| snapshot.as_ref().is_some_and(|snapshot| holds(snapshot));
        let seen = timeout(LIMIT, self.handle.snapshots.wait_for(wanted)).await.map(|seen| seen.unwrap().clone().unwrap());
        seen.unwrap_or_else(|_| panic!("not seen: {what}; the last snapshot is {:?}", self.handle.snapshots.borrow()))
    }

    /// Waits for exactly these ConfigMaps.
    async fn see(&mut self, names: &[&str]) -> Arc<Snapshot> {
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        self.until(&format!("{names:?}"), |snapshot| config_map_names(snapshot) == names).await
    }

    /// Waits for a Problem that says this.
    async fn see_problem(&mut self, part: &str) -> Arc<Snapshot> {
        self.until(part, |snapshot| snapshot.problems.iter().any(|problem| problem.to_string().contains(part))).await
    }
}

fn config_maps(names: &[&str]) -> String {
    names.iter().map(|name| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")).collect()
}

fn config_map_names(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot.config_maps.keys().map(|key| key.name.to_string()).collect()
}

#[tokio::test]
async fn a_mounted_config_map_is_followed_through_its_swaps() {
    let mut bed = Bed::new(|scratch| fs::create_dir(scratch.join("manifests")).unwrap(), |_| {});
    bed.see(&[]).await;
    let mut writer = Mounted::new(bed.path(""));
    for round in 0..5 {
        let names: Vec<String> = (0..=round).map(|number| format!("v{round}-{number}")).collect();
        let files: Vec<(String, String)> = names.iter().map(|name| (format!("{name}.yaml"), config_maps(&[name]))).collect();
        let mut files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
        files.push(("sub/same.yaml", config_maps(&[&format!("sub-{round}")])));
        writer.write(&files).unwrap();
        let sub = format!("sub-{round}");
        let expected: Vec<&str> = names.iter().map(String::as_str).chain([sub.as_str()]).collect();
        assert_eq!(bed.see(&expected).await.problems.len(), 0);
    }
}

#[tokio::test]
async fn a_change_is_seen_soon_after_the_writing_stopped() {
    let mut bed = Bed::with(&["a"]).await;
    let mut took = Vec::new();
    for round in 0..10 {
        let name = format!("r{round}");
        fs::write(bed.path("a.yaml"), config_maps(&[&name])).unwrap();
        let begun = Instant::now();
        bed.see(&[&name]).await;
        took.push(begun.elapsed());
    }
    took.sort();
    // The quiet time is 50 ms; the machine may be busy, but not every time.
    assert!(took[0] < Duration::from_millis(100), "{took:?}");
}

#[tokio::test]
async fn a_directory_that_is_made_again_loses_nothing_meanwhile() {
    let mut bed = Bed::with(&["a", "b"]).await;
    for round in 0..3 {
        let before = bed.handle.snapshots.borrow().clone().unwrap();
        fs::remove_dir_all(bed.path("")).unwrap();
        let gone = bed.see_problem("can't be read").await;
        assert!(gone.problems[0].to_string().ends_with("everything that was read from it before stays"), "{:?}", gone.problems);
        assert!(gone.config_maps.ptr_eq(&before.config_maps));

        // Empty for a moment, and then filled.
        fs::create_dir(bed.path("")).unwrap();
        let name = format!("again-{round}");
        fs::write(bed.path("b.yaml"), config_maps(&[&name])).unwrap();
        bed.handle.snapshots.mark_unchanged();
        let back = bed.until("the new objects", |snapshot| snapshot.problems.is_empty()).await;
        assert_eq!(config_map_names(&back), [name].into());
        // And it is followed again.
        fs::write(bed.path("c.yaml"), config_maps(&["more"])).unwrap();
        bed.until("the file added later", |snapshot| config_map_names(snapshot).contains("more")).await;
    }
}

#[tokio::test]
async fn a_directory_that_is_replaced_by_rename_is_followed() {
    let mut bed = Bed::with(&["a"]).await;
    fs::create_dir(bed.scratch.path().join("new")).unwrap();
    fs::write(bed.scratch.path().join("new/x.yaml"), config_maps(&["n1"])).unwrap();
    fs::rename(bed.path(""), bed.scratch.path().join("old")).unwrap();
    fs::rename(bed.scratch.path().join("new"), bed.path("")).unwrap();
    bed.see(&["n1"]).await;
    fs::write(bed.path("x.yaml"), config_maps(&["n2"])).unwrap();
    bed.see(&["n2"]).await;
}

#[tokio::test]
async fn an_emptied_directory_is_believed_after_a_while() {
    let mut bed = Bed::new(
        |scratch| {
            fs::create_dir(scratch.join("manifests")).unwrap();
            fs::write(scratch.join("manifests/a.yaml"), config_maps(&["a"])).unwrap();
        },
        |options| options.pacing.empty = Duration::from_millis(300),
    );
    bed.see(&["a"]).await;
    let begun = Instant::now();
    fs::remove_file(bed.path("a.yaml")).unwrap();
    bed.see(&[]).await;
    assert!(begun.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn editors_and_new_directories_are_followed() {
    let mut bed = Bed::with(&["a"]).await;
    // Save by rename.
    fs::write(bed.path(".a.yaml.swp"), config_maps(&["b"])).unwrap();
    fs::rename(bed.path(".a.yaml.swp"), bed.path("a.yaml")).unwrap();
    bed.see(&["b"]).await;
    // A tree that is moved in, and one that grows.
    fs::create_dir_all(bed.scratch.path().join("tree/x")).unwrap();
    fs::write(bed.scratch.path().join("tree/x/c.yml"), config_maps(&["c"])).unwrap();
    fs::rename(bed.scratch.path().join("tree"), bed.path("tree")).unwrap();
    bed.see(&["b", "c"]).await;
    fs::create_dir_all(bed.path("tree/y/z")).unwrap();
    fs::write(bed.path("tree/y/z/d.json"), r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "d"}}"#).unwrap();
    bed.see(&["b", "c", "d"]).await;
    fs::write(bed.path("tree/x/c.yml"), config_maps(&["e"])).unwrap();
    bed.see(&["b", "e", "d"]).await;
    fs::remove_dir_all(bed.path("tree")).unwrap();
    bed.see(&["b"]).await;
    // A link to a file elsewhere, under a name of its own.
    fs::write(bed.scratch.path().join("store.txt"), config_maps(&["f"])).unwrap();
    symlink(bed.scratch.path().join("store.txt"), bed.path("f.yaml")).unwrap();
    bed.see(&["b", "f"]).await;
    fs::write(bed.scratch.path().join("store.txt"), config_maps(&["g"])).unwrap();
    bed.see(&["b", "g"]).await;
}

#[tokio::test]
async fn a_broken_file_stops_no_other() {
    let mut bed = Bed::with(&["a"]).await;
    fs::write(bed.path("b.yaml"), config_maps(&["b"])).unwrap();
    bed.see(&["a", "b"]).await;
    fs::write(bed.path("b.yaml"), "kind: [").unwrap();
    fs::write(bed.path("a.yaml"), config_maps(&["a2"])).unwrap();
    let snapshot = bed.see_problem("File b.yaml: document 1, line 1").await;
    assert_eq!(config_map_names(&snapshot), ["a2".to_owned(), "b".to_owned()].into());
    let problem = snapshot.problems[0].clone();
    let loaded = bed.handle.loaded.borrow().clone().unwrap();
    assert_eq!(loaded.locate(&problem).unwrap().to_string(), "b.yaml:1");
    fs::write(bed.path("b.yaml"), config_maps(&["b2"])).unwrap();
    assert_eq!(bed.see(&["a2", "b2"]).await.problems.len(), 0);
}

#[tokio::test]
async fn a_file_that_is_being_written_is_waited_for() {
    use std::io::Write as _;
    let mut bed = Bed::with(&["a"]).await;
    let mut file = fs::File::create(bed.path("a.yaml")).unwrap();
    let begun = Instant::now();
    // Cut off here it would be valid, and one object short; written on for longer than the quiet time.
    for name in ["a", "b", "c", "d"] {
        file.write_all(config_maps(&[name]).as_bytes()).unwrap();
        let early = timeout(Duration::from_millis(80), bed.handle.snapshots.changed()).await;
        assert!(early.is_err() || begun.elapsed() > Duration::from_millis(450), "{:?}", bed.handle.snapshots.borrow());
    }
    drop(file);
    bed.see(&["a", "b", "c", "d"]).await;
}

#[tokio::test]
async fn unchanged_content_publishes_nothing() {
    let mut bed = Bed::with(&["a"]).await;
    let before = bed.handle.snapshots.borrow_and_update().clone().unwrap();
    // Written again, and with a comment: read, but not published.
    bed.handle.loaded.mark_unchanged();
    fs::write(bed.path("a.yaml"), config_maps(&["a"])).unwrap();
    timeout(LIMIT, bed.handle.loaded.changed()).await.unwrap().unwrap();
    fs::write(bed.path("a.yaml"), format!("# more\n{}", config_maps(&["a"]))).unwrap();
    timeout(LIMIT, bed.handle.loaded.wait_for(|loaded| loaded.as_ref().unwrap().positions().next().unwrap().1.line == 3))
        .await
        .unwrap()
        .unwrap();
    assert!(!bed.handle.snapshots.has_changed().unwrap());
    fs::write(bed.path("b.yaml"), config_maps(&["b"])).unwrap();
    let after = bed.see(&["a", "b"]).await;
    let key = before.config_maps.keys().next().unwrap();
    assert!(Arc::ptr_eq(&before.config_maps[key], &after.config_maps[key]));
}

#[tokio::test]
async fn addresses_are_part_of_the_snapshot() {
    let mut bed = Bed::with(&["a"]).await;
    let addresses: manifests::Addresses = [(Arc::from("example.com"), Arc::from([IpAddr::from([192, 0, 2, 1])]))].into_iter().collect();
    bed.handle.set_addresses(addresses.clone());
    let snapshot = bed.until("the addresses", |snapshot| !snapshot.addresses.is_empty()).await;
    assert_eq!((snapshot.addresses.clone(), snapshot.config_maps.len()), (addresses.clone(), 1));
    fs::write(bed.path("a.yaml"), config_maps(&["b"])).unwrap();
    assert_eq!(bed.see(&["b"]).await.addresses, addresses);
}

#[tokio::test]
async fn polling_sees_what_events_do_not_tell() {
    let mut bed = Bed::new(
        |_| {},
        |options| {
            options.force_polling = true;
            options.poll_interval = Duration::from_millis(20);
            options.pacing = Pacing { empty: Duration::from_millis(100), replaced: Duration::from_millis(100), ..Pacing::default() };
        },
    );
    // The directory is made after the source was started.
    fs::create_dir(bed.path("")).unwrap();
    bed.see(&[]).await;
    // Same size, same second: only the content tells.
    for name in ["a", "b", "c"] {
        fs::write(bed.path("a.yaml"), config_maps(&[name])).unwrap();
        bed.see(&[name]).await;
    }
    fs::remove_dir_all(bed.path("")).unwrap();
    bed.see_problem("can't be read").await;
    fs::create_dir(bed.path("")).unwrap();
    fs::write(bed.path("a.yaml"), config_maps(&["d"])).unwrap();
    assert!(bed.see(&["d"]).await.problems.is_empty());
}

#[tokio::test]
async fn a_directory_that_is_made_later_is_seen() {
    let mut bed = Bed::new(|_| {}, |options| options.directory.push("below/that"));
    fs::create_dir_all(bed.path("below/that")).unwrap();
    fs::write(bed.path("below/that/a.yaml"), config_maps(&["a"])).unwrap();
    bed.see(&["a"]).await;
}

#[tokio::test]
async fn a_reload_reads_everything_at_once() {
    let mut bed = Bed::new(
        |scratch| {
            fs::create_dir(scratch.join("manifests")).unwrap();
            fs::write(scratch.join("manifests/a.yaml"), config_maps(&["a"])).unwrap();
        },
        |options| options.force_polling = true,
    );
    bed.see(&["a"]).await;
    fs::write(bed.path("a.yaml"), config_maps(&["b"])).unwrap();
    bed.handle.reload();
    bed.see(&["b"]).await;
    // An operator who asks is believed: no waiting for an empty directory.
    fs::remove_file(bed.path("a.yaml")).unwrap();
    bed.handle.reload();
    bed.see(&[]).await;
}

#[tokio::test]
async fn a_storm_of_changes_ends_in_the_last_content() {
    let mut bed = Bed::with(&["a"]).await;
    let path = bed.path("a.yaml");
    let begun = Instant::now();
    let mut storm = tokio::task::spawn_blocking(move || {
        for round in 0..1000 {
            fs::write(&path, config_maps(&[&format!("r{round}")])).unwrap();
        }
    });
    let mut snapshots = bed.handle.snapshots.clone();
    snapshots.mark_unchanged();
    let mut published = 0;
    loop {
        tokio::select! {
            changed = snapshots.changed() => {
                changed.unwrap();
                published += 1;
            }
            ended = &mut storm => break ended.unwrap(),
        }
    }
    // Reading waits for a quiet of 50 ms (a stalled machine makes some), so there can't be more than one for each of them.
    let most = begun.elapsed().as_millis() / 50 + 1;
    assert!(published <= most, "{published} snapshots, {most} were allowed");
    bed.see(&["r999"]).await;
}

#[tokio::test]
async fn the_tasks_end_with_the_last_listener() {
    let mut bed = Bed::with(&["a"]).await;
    let scratch = bed.scratch;
    drop(bed.handle);
    let mut ended = BTreeSet::new();
    while let Some(name) = timeout(LIMIT, bed.tasks.join_next()).await.unwrap() {
        ended.insert(name.unwrap());
    }
    assert_eq!(ended, ["manifest publisher", "manifest reader"].into());
    drop(scratch);
}

#[test]
fn a_directory_is_loaded_once() {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("a.yaml"), config_maps(&["a"])).unwrap();
    fs::write(scratch.path().join("b.yaml"), "x: [").unwrap();
    let loaded: Loaded = load(scratch.path()).unwrap();
    assert_eq!((loaded.snapshot.config_maps.len(), loaded.problems().len()), (1, 1));
    assert!(matches!(load(&scratch.path().join("none")), Err(LoadError::Missing(_))));
    assert!(matches!(load(&scratch.path().join("a.yaml")), Err(LoadError::NotADirectory(_))));
    assert!(load(&scratch.path().join("none")).unwrap_err().to_string().ends_with("none does not exist"));
}
