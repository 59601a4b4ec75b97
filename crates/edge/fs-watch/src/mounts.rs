//! Mounts that don't show changes: what `/proc/self/mountinfo` says about a directory that is followed.

use std::fmt;
use std::path::{Path, PathBuf};

/// A mount, as a line of `mountinfo` describes it (proc(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The mount point.
    pub point: PathBuf,
    /// The part of the file system that is mounted: `/` or a directory or file in it.
    pub root: PathBuf,
    /// Type of the file system.
    pub kind: String,
}

/// The reason why changes may not be seen at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hazard {
    /// One version of a mounted ConfigMap or Secret is mounted (`subPath`): there will never be another.
    Pinned(PathBuf),
    /// A single file is mounted: when it is replaced by rename, the old one stays mounted.
    SingleFile(PathBuf),
    /// The file system sends no events for what other machines write.
    NoEvents(PathBuf),
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pinned(path) => write!(
                f,
                "{} is one version of a ConfigMap or Secret, mounted by subPath: the kubelet never updates it; mount the whole volume at a directory",
                path.display()
            ),
            Self::SingleFile(path) => write!(
                f,
                "{} is a file that is mounted by itself: when it is replaced rather than written to, the old one stays; mount its directory",
                path.display()
            ),
            Self::NoEvents(path) => {
                write!(f, "{} lies on a file system that sends no events for changes made elsewhere: it is polled", path.display())
            }
        }
    }
}

/// Reads `mountinfo`; lines that are not understood are passed over.
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut fields = left.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    Some(Mount { point: unescape(point), root: unescape(root), kind: right.split(' ').next()?.to_owned() })
}

/// Spaces, tabs, line feeds and backslashes are written as `\` and three octal digits.
fn unescape(text: &str) -> PathBuf {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        match rest.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out.into()
}

/// Hazards that may hide changes at or below `path` (absolute). `is_file` says whether a mount point is a file.
pub fn hazards(mounts: &[Mount], path: &Path, is_file: impl Fn(&Path) -> bool) -> Vec<Hazard> {
    let nearest = mounts.iter().rev().filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.components().count());
    let below = mounts.iter().filter(|mount| mount.point.starts_with(path) && nearest != Some(mount));
    let mut found = Vec::new();
    for mount in nearest.into_iter().chain(below) {
        // The kubelet's versions: `..2024_05_06_07_08_09.123456789`.
        let is_version = |part: &std::ffi::OsStr| part.to_str().is_some_and(|part| part.starts_with("..2"));
        if mount.root.iter().any(is_version) {
            found.push(Hazard::Pinned(mount.point.clone()));
        } else if is_file(&mount.point) {
            found.push(Hazard::SingleFile(mount.point.clone()));
        }
    }
    found
}

/// The hazards of the present mounts for what is followed at `path`.
pub fn look(path: &Path) -> Vec<Hazard> {
    let Ok(path) = path.canonicalize() else { return Vec::new() };
    let mounts = parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
    let mut found = hazards(&mounts, &path, Path::is_file);
    if !crate::reports_changes(&path) {
        found.push(Hazard::NoEvents(path));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:25 / /etc/nginx/conf.d ro,relatime - tmpfs tmpfs rw
31 22 254:0 /var/lib/kubelet/pods/1/volumes/kubernetes.io~configmap/c/..2026_01_02_03_04_05.6/nginx.conf /etc/nginx/nginx.conf ro - ext4 /dev/root rw
32 22 254:0 /home/me/my\040site.conf /etc/nginx/sites/my\040site.conf ro - ext4 /dev/root rw
nonsense";

    #[test]
    fn mounts_that_never_change_are_reported() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 4);
        let of = |path: &str| hazards(&mounts, Path::new(path), |point| point.extension().is_some_and(|end| end == "conf"));
        assert_eq!(
            of("/etc/nginx"),
            [Hazard::Pinned("/etc/nginx/nginx.conf".into()), Hazard::SingleFile("/etc/nginx/sites/my site.conf".into())]
        );
        assert_eq!(of("/etc/nginx/nginx.conf"), [Hazard::Pinned("/etc/nginx/nginx.conf".into())]);
        assert_eq!(of("/etc/nginx/conf.d"), []);
        assert_eq!(of("/var/www"), []);
        assert!(of("/etc/nginx")[0].to_string().contains("subPath"));
    }
}
