//! Follows directories and files: wakes when something may have changed, and says when the writing has stopped.
//!
//! Events only wake; the truth is in the next [`scan`], and the caller compares contents. So a lost, doubled or early event costs nothing but a look.
//!
//! - [`Watcher`]: inotify for every directory that a scan read, for what links point to, and for the directories above, through removal, replacement and swaps of
//!   the kubelet's `..data`. Where inotify is blind ([`reports_changes`], [`mounts`]) the caller polls.
//! - [`Quiet`] and [`settle`]: when to look, after the last event and never later than a bound.
//! - [`Doubts`]: whether to believe an empty or replaced directory yet.

pub mod mounts;
mod pace;
mod scan;
mod watch;

pub use pace::{Doubts, Pacing, Quiet, Sight, settle};
pub use scan::{Found, Id, Names, Scan, Signature, read_file, scan, scan_file};
pub use watch::{Armed, Wake, Watcher, reports_changes};
