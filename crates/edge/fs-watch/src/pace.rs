//! The pace of looks, and doubts about what is seen.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep_until};

use crate::scan::{Found, Id, Scan, Signature};
use crate::watch::Wake;

/// Waiting times between an event and the reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// Without any event, and with every written file closed: then reading begins.
    pub quiet: Duration,
    /// The longest wait while events go on.
    pub bound: Duration,
    /// A directory that was replaced by another has to look the same for this long.
    pub replaced: Duration,
    /// A directory that is empty and was not has to stay so for this long.
    pub empty: Duration,
    /// Looks without a reason, in case an event was lost.
    pub safety: Duration,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(50),
            bound: Duration::from_millis(500),
            replaced: Duration::from_millis(250),
            empty: Duration::from_secs(2),
            safety: Duration::from_secs(30),
        }
    }
}

/// A burst of events: a trailing debounce with a bound, so that a stream that never ends is not waited for.
#[derive(Debug)]
pub struct Quiet {
    quiet: Duration,
    bound: Instant,
    last: Instant,
    /// Files that were written to and not closed since.
    open: BTreeSet<PathBuf>,
}

impl Quiet {
    /// The burst that begins now.
    pub fn begin(pacing: &Pacing, now: Instant) -> Self {
        Self { quiet: pacing.quiet, bound: now + pacing.bound, last: now, open: BTreeSet::new() }
    }

    /// One more event.
    pub fn note(&mut self, wake: Wake, now: Instant) {
        self.last = now;
        match wake {
            Wake::Written(path) => {
                self.open.insert(path);
            }
            Wake::Closed(path) => {
                self.open.remove(&path);
            }
            Wake::Changed => {}
        }
    }

    /// The end of the burst, unless something more happens.
    pub fn until(&self) -> Instant {
        if self.open.is_empty() { self.bound.min(self.last + self.quiet) } else { self.bound }
    }
}

/// Waits until the burst that begins with `first` is over. True if it was cut short by `interrupt`; `None` if there is no waker any more.
pub async fn settle(pacing: &Pacing, first: Wake, wakes: &mut mpsc::Receiver<Wake>, interrupt: &Notify) -> Option<bool> {
    let mut burst = Quiet::begin(pacing, Instant::now());
    burst.note(first, Instant::now());
    loop {
        tokio::select! {
            biased;
            () = interrupt.notified() => return Some(true),
            () = sleep_until(burst.until()) => return Some(false),
            next = wakes.recv() => burst.note(next?, Instant::now()),
        }
    }
}

/// A sight that was believed: what the next one is held against.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Sight {
    /// The directory.
    pub root: Id,
    /// Directories that held files, by their path below the root; the root itself is the empty one.
    pub populated: BTreeSet<Arc<str>>,
}

impl Sight {
    /// The part of a scan to remember: of the directories below the root, too.
    pub fn of(found: &Scan) -> Self {
        let below = found.files.keys().flat_map(|path| path.match_indices('/').map(|(at, _)| Arc::from(&path[..at])));
        let populated = below.chain(found.files.keys().next().map(|_| Arc::from(""))).collect();
        Self { root: found.root, populated }
    }

    /// The same without the directories below the root: what goes away there is believed at once.
    pub fn of_root(found: &Scan) -> Self {
        let populated = found.files.keys().next().map(|_| Arc::from("")).into_iter().collect();
        Self { root: found.root, populated }
    }
}

/// Doubts about what is seen.
///
/// A directory that was removed and made again looks, for a moment, like one whose files were deleted; so does one that is moved away to make room for
/// another. So what is missing from a directory that is new or empty is believed only when it has looked the same for a while.
#[derive(Debug, Default)]
pub struct Doubts {
    doubt: Option<Doubt>,
}

/// A sight that is not believed yet.
#[derive(Debug)]
struct Doubt {
    root: Id,
    listing: Vec<(Arc<str>, Option<Signature>)>,
    /// The time when it was first seen like this.
    since: Instant,
    /// The time when doubt began.
    begun: Instant,
}

impl Doubts {
    /// For how long to wait before the next look; `None`: believe it. `believed` is the last sight that was.
    pub fn wait(&mut self, pacing: &Pacing, believed: &Sight, found: &Scan, now: Instant) -> Option<Duration> {
        let is_emptied = !believed.populated.is_subset(&Sight::of(found).populated);
        if believed.populated.is_empty() || believed.root == found.root && !is_emptied {
            return None;
        }
        let signature = |found: &Found| if let Found::File { signature, .. } = found { Some(*signature) } else { None };
        let listing: Vec<_> = found.files.iter().map(|(path, found)| (path.clone(), signature(found))).collect();
        let settle = if is_emptied { pacing.empty } else { pacing.replaced };
        let doubt = match self.doubt.take() {
            Some(doubt) if doubt.root == found.root && doubt.listing == listing => doubt,
            old => Doubt { root: found.root, listing, since: now, begun: old.map_or(now, |old| old.begun) },
        };
        let wait = settle.saturating_sub(now - doubt.since);
        // Files that go on changing are no reason to wait for ever; that there are none is.
        let enough = !doubt.listing.is_empty() && now - doubt.begun >= settle * 10;
        self.doubt = Some(doubt);
        (!wait.is_zero() && !enough).then_some(wait)
    }

    /// A sight was believed.
    pub fn clear(&mut self) {
        self.doubt = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACING: Pacing = Pacing {
        quiet: Duration::from_millis(250),
        bound: Duration::from_secs(2),
        replaced: Duration::from_millis(250),
        empty: Duration::from_secs(2),
        safety: Duration::from_secs(30),
    };

    /// Milliseconds from the first event to the end of the burst, for events at these times.
    fn ends(events: &[(u64, Wake)]) -> u64 {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut burst = Quiet::begin(&PACING, start);
        for (millis, wake) in events {
            if burst.until() < at(*millis) {
                break;
            }
            burst.note(wake.clone(), at(*millis));
        }
        (burst.until() - start).as_millis() as u64
    }

    #[test]
    fn a_burst_ends_a_quiet_time_after_its_last_event() {
        assert_eq!(ends(&[(0, Wake::Changed)]), 250);
        assert_eq!(ends(&[(0, Wake::Changed), (200, Wake::Changed), (400, Wake::Changed)]), 650);
        // What comes after the end begins another one.
        assert_eq!(ends(&[(0, Wake::Changed), (300, Wake::Changed)]), 250);
    }

    #[test]
    fn a_stream_of_events_never_starves_the_reader() {
        let stream: Vec<_> = (0..100).map(|at| (at * 100, Wake::Changed)).collect();
        assert_eq!(ends(&stream), 2000);
    }

    #[test]
    fn a_file_that_is_open_for_writing_is_waited_for_up_to_the_bound() {
        let (written, closed) = (Wake::Written("/a".into()), Wake::Closed("/a".into()));
        assert_eq!(ends(&[(0, written.clone())]), 2000);
        assert_eq!(ends(&[(0, written.clone()), (900, closed.clone())]), 1150);
        assert_eq!(ends(&[(0, written), (100, Wake::Closed("/b".into())), (200, closed)]), 450);
    }

    fn scan(files: &[&str]) -> Scan {
        let files = files.iter().map(|path| (Arc::from(*path), Found::Unreadable(String::new()))).collect();
        Scan { files, ..Scan::default() }
    }

    #[test]
    fn an_emptied_directory_is_believed_after_a_while_and_another_one_sooner() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let empty = Scan::default();
        let mut doubts = Doubts::default();
        assert_eq!(doubts.wait(&PACING, &Sight::default(), &empty, at(0)), None);
        let believed = Sight::of(&scan(&["a"]));
        assert_eq!(doubts.wait(&PACING, &believed, &empty, at(0)), Some(Duration::from_secs(2)));
        assert_eq!(doubts.wait(&PACING, &believed, &empty, at(1500)), Some(Duration::from_millis(500)));
        assert_eq!(doubts.wait(&PACING, &believed, &empty, at(2000)), None);
        doubts.clear();
        let other = Scan { root: Id::at(std::path::Path::new("/")).unwrap(), ..scan(&["a"]) };
        assert_eq!(doubts.wait(&PACING, &believed, &other, at(3000)), Some(Duration::from_millis(250)));
        assert_eq!(doubts.wait(&PACING, &believed, &other, at(3250)), None);
    }

    #[test]
    fn a_directory_below_that_vanishes_is_believed_like_an_emptied_root() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let before = scan(&["nginx.conf", "conf.d/a.conf", "conf.d/b.conf"]);
        let mut doubts = Doubts::default();
        let moved = scan(&["nginx.conf", "conf.old/a.conf", "conf.old/b.conf"]);
        assert_eq!(doubts.wait(&PACING, &Sight::of(&before), &moved, at(0)), Some(Duration::from_secs(2)));
        assert_eq!(doubts.wait(&PACING, &Sight::of(&before), &moved, at(2000)), None);
        doubts.clear();
        // A file of several is no doubt, nor is a directory more.
        assert_eq!(doubts.wait(&PACING, &Sight::of(&before), &scan(&["nginx.conf", "conf.d/b.conf", "x/y"]), at(3000)), None);
        assert_eq!(doubts.wait(&PACING, &Sight::of_root(&before), &moved, at(3000)), None);
    }
}
