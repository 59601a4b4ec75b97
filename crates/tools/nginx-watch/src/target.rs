//! The NGINX that follows: its place, its process, and its view of our files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fs_watch::{Id, mounts};
use ngx_proc::find::Master;

/// The rights of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
}

/// The way to the files as a process sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The same files that we see.
    Ours,
    /// Mounts or a root of its own: `/proc/PID/root`.
    Other(PathBuf),
}

/// The place where a process sees its files.
///
/// # Errors
/// We may not look, and why.
pub(crate) fn place(master: &Master) -> Result<Place, String> {
    let pid = master.id.pid;
    let namespace = |who: &str| fs::read_link(format!("/proc/{who}/ns/mnt"));
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let theirs = namespace(&pid.to_string()).map_err(|error| not_ours(pid, &error))?;
    let own = namespace("self").map_err(|error| error.to_string())?;
    let same_root = Id::at(&root.join(".")).is_some() && Id::at(&root.join(".")) == Id::at(Path::new("/"));
    if theirs == own && same_root {
        return Ok(Place::Ours);
    }
    fs::metadata(root.join(".")).map_err(|error| not_ours(pid, &error))?;
    Ok(Place::Other(root))
}

impl Place {
    /// The path at which we see what the process sees at `path`.
    pub(crate) fn inside(&self, path: &Path) -> PathBuf {
        match self {
            Self::Ours => path.to_owned(),
            Self::Other(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
        }
    }
}

fn not_ours(pid: i32, error: &std::io::Error) -> String {
    format!(
        "the files of process {pid} can't be looked at ({error}): run this container as the same user as NGINX, or with the capability SYS_PTRACE"
    )
}

/// The rights of the process.
pub(crate) fn credentials(pid: i32) -> Option<Credentials> {
    parse_credentials(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// The effective ids.
fn parse_credentials(status: &str) -> Option<Credentials> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let effective = |name: &str| field(name)?.split_ascii_whitespace().nth(1)?.parse().ok();
    let groups = field("Groups:").unwrap_or_default().split_ascii_whitespace().filter_map(|group| group.parse().ok()).collect();
    Some(Credentials { uid: effective("Uid:")?, gid: effective("Gid:")?, groups })
}

/// The paths at which the process sees the directory that we see at `path`: at the same path, and wherever else the same volume is mounted for it. Empty: nowhere.
pub(crate) fn seen_as(path: &Path, place: &Place, pid: i32) -> Vec<PathBuf> {
    let mounts_of = match place {
        Place::Ours => "self".to_owned(),
        Place::Other(_) => pid.to_string(),
    };
    let Ok(ours) = fs::metadata(path) else { return Vec::new() };
    let same = |theirs: &Path| fs::metadata(place.inside(theirs)).is_ok_and(|found| (found.dev(), found.ino()) == (ours.dev(), ours.ino()));
    let mut found: Vec<PathBuf> = Vec::new();
    if same(path) {
        found.push(path.to_owned());
    }
    for mount in mounts::parse(&fs::read_to_string(format!("/proc/{mounts_of}/mountinfo")).unwrap_or_default()) {
        let Ok(top) = fs::metadata(place.inside(&mount.point)) else { continue };
        if top.dev() != ours.dev() {
            continue;
        }
        // A directory on the way to ours is mounted there.
        let is_top =
            |ancestor: &&Path| fs::metadata(ancestor).is_ok_and(|ancestor| (ancestor.dev(), ancestor.ino()) == (top.dev(), top.ino()));
        let below = path.ancestors().find(is_top).and_then(|above| path.strip_prefix(above).ok());
        let theirs = below.map(|below| mount.point.join(below).components().collect::<PathBuf>());
        found.extend(theirs.filter(|theirs| !found.contains(theirs) && same(theirs)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_user_of_a_process_is_read() {
        let status = "Name:\tnginx\nUid:\t0\t101\t0\t0\nGid:\t0\t102\t0\t0\nGroups:\t1 2 \nVmPeak: 1 kB\n";
        assert_eq!(parse_credentials(status), Some(Credentials { uid: 101, gid: 102, groups: vec![1, 2] }));
        assert_eq!(parse_credentials("Name: x\n"), None);
        assert!(credentials(std::process::id() as i32).is_some());
    }

    #[test]
    fn we_see_what_we_see() {
        let us = ngx_proc::find::Master {
            id: ngx_proc::procfs::identity(std::process::id() as i32).unwrap(),
            binary: None,
            arguments: Default::default(),
            is_nginx: false,
        };
        assert_eq!(place(&us), Ok(Place::Ours));
        assert_eq!(seen_as(Path::new("/etc"), &Place::Ours, us.id.pid), vec![PathBuf::from("/etc")]);
        // The same through /proc, as for another root.
        let other = Place::Other(format!("/proc/{}/root", us.id.pid).into());
        assert_eq!(seen_as(Path::new("/etc"), &other, us.id.pid), vec![PathBuf::from("/etc")]);
        assert_eq!(seen_as(Path::new("/nowhere"), &other, us.id.pid), Vec::<PathBuf>::new());
    }
}
