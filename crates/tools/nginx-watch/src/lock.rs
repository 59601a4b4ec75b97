//! A lock by which one of several replicas does a work; it also remembers when the work was last done.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tokio::sync::Mutex;

/// A future made behind a trait.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The work: what went wrong is for people.
pub type Work<'a> = Boxed<'a, Result<(), String>>;

/// Something that one replica at a time can hold.
pub trait Lock: Debug + Send + Sync + 'static {
    /// A contender, which remembers what it has seen of the lock.
    fn contend(&self) -> Box<dyn Contender>;
    /// Its name, for messages.
    fn name(&self) -> String;
}

/// A replica that wants a lock.
pub trait Contender: Send {
    /// Does the work under the lock if it is free and the work is wanted.
    ///
    /// # Errors
    /// The lock is unavailable, it was lost meanwhile, or the work failed; then it does not count as done.
    fn attempt<'a>(&'a mut self, wanted: &'a Wanted, work: Work<'a>) -> Boxed<'a, Result<Tried, String>>;
    /// Time to wait before another attempt.
    fn pause(&self) -> Duration;
}

/// The time when the work was last done, as the replica that did it wrote it down.
pub type Mark = Option<String>;

/// The condition for doing the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Whenever it was done last.
    Anyway,
    /// Unless it was done since this was seen. No clocks are compared.
    UnlessSince(Mark),
    /// Unless it was done within so long; a record that can't be read doesn't count.
    UnlessWithin(Duration),
}

impl Wanted {
    /// `true` if the work is to be done, after what the lock says.
    pub fn holds(&self, mark: &Mark, now: Timestamp) -> bool {
        match self {
            Self::Anyway => true,
            Self::UnlessSince(seen) => mark == seen,
            Self::UnlessWithin(age) => {
                let done: Option<Timestamp> = mark.as_ref().and_then(|mark| mark.parse().ok());
                let since = done.map(|done| Duration::try_from(now.duration_since(done)).unwrap_or_default());
                since.is_none_or(|since| since >= *age)
            }
        }
    }
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// The work was done here.
    Ran,
    /// The work is not wanted: it was done before, at this time.
    Done(Mark),
    /// Another replica holds the lock. Its mark now.
    Held(Mark),
}

/// The time to write down.
pub fn mark(now: Timestamp) -> String {
    format!("{now:.3}")
}

/// Within this process only.
#[derive(Debug, Clone, Default)]
pub struct LocalLock {
    done: Arc<Mutex<Mark>>,
}

impl Lock for LocalLock {
    fn contend(&self) -> Box<dyn Contender> {
        Box::new(self.clone())
    }

    fn name(&self) -> String {
        "this process".to_owned()
    }
}

impl Contender for LocalLock {
    fn attempt<'a>(&'a mut self, wanted: &'a Wanted, work: Work<'a>) -> Boxed<'a, Result<Tried, String>> {
        Box::pin(async move {
            let mut done = self.done.lock().await;
            if !wanted.holds(&done, Timestamp::now()) {
                return Ok(Tried::Done(done.clone()));
            }
            work.await?;
            *done = Some(mark(Timestamp::now()));
            Ok(Tried::Ran)
        })
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(50)
    }
}

/// A file on storage that all replicas share; the kernel takes the lock back when its holder dies. What it holds is the time of the last success.
#[derive(Debug, Clone)]
pub struct FileLock {
    /// The file; made if it is not there.
    pub path: PathBuf,
}

impl FileLock {
    /// A check that it can be taken at all, by this user and at this place.
    ///
    /// # Errors
    /// The file can't be opened.
    pub fn check(&self) -> io::Result<()> {
        open(&self.path).map(drop)
    }
}

impl Lock for FileLock {
    fn contend(&self) -> Box<dyn Contender> {
        Box::new(self.clone())
    }

    fn name(&self) -> String {
        format!("the lock file {}", self.path.display())
    }
}

impl Contender for FileLock {
    fn attempt<'a>(&'a mut self, wanted: &'a Wanted, work: Work<'a>) -> Boxed<'a, Result<Tried, String>> {
        Box::pin(async move {
            let failed = |error: io::Error| format!("{}: {error}", self.name());
            let Some(mut held) = lock(&self.path).map_err(failed)? else { return Ok(Tried::Held(written(&self.path).map_err(failed)?)) };
            let done = written(&self.path).map_err(failed)?;
            if !wanted.holds(&done, Timestamp::now()) {
                return Ok(Tried::Done(done));
            }
            work.await?;
            held.set_len(0).and_then(|()| writeln!(held, "{}", mark(Timestamp::now()))).map_err(failed)?;
            Ok(Tried::Ran)
        })
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(50)
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Read as well: it holds the time of the last success.
    OpenOptions::new().create(true).append(true).read(true).open(path)
}

/// The lock, or `None` if another process has it.
fn lock(path: &Path) -> io::Result<Option<Flock<File>>> {
    match Flock::lock(open(path)?, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, errno)) => Err(errno.into()),
    }
}

fn written(path: &Path) -> io::Result<Mark> {
    let text = std::fs::read_to_string(path)?;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_wanted_by_what_was_written_down() {
        let now: Timestamp = "2026-05-06T07:08:09Z".parse().unwrap();
        let mark = |text: &str| Some(text.to_owned());
        let within = Wanted::UnlessWithin(Duration::from_secs(60));
        for (done, expected) in [
            (None, true),
            (mark("2026-05-06T07:07:09Z"), true),
            (mark("2026-05-06T07:07:10Z"), false),
            // The clock of the replica that did it goes ahead.
            (mark("2026-05-06T07:09:00Z"), false),
            (mark("?"), true),
        ] {
            assert_eq!(within.holds(&done, now), expected, "{done:?}");
        }
        assert!(Wanted::Anyway.holds(&mark("2026-05-06T07:08:09Z"), now));
        assert!(Wanted::UnlessSince(None).holds(&None, now) && !Wanted::UnlessSince(None).holds(&mark("x"), now));
    }

    #[tokio::test]
    async fn a_file_is_held_by_one_and_remembers_the_last_success() {
        let scratch = tempfile::tempdir().unwrap();
        let file = FileLock { path: scratch.path().join("lock") };
        let (mut first, mut second) = (file.contend(), file.contend());
        let failing = first.attempt(&Wanted::Anyway, Box::pin(async { Err("no".to_owned()) })).await;
        assert_eq!(failing, Err("no".to_owned()));
        let seen = Tried::Held(None);
        let within = second.attempt(&Wanted::Anyway, Box::pin(async { Ok(()) }));
        let outer = first
            .attempt(
                &Wanted::Anyway,
                Box::pin(async {
                    assert_eq!(within.await, Ok(seen));
                    Ok(())
                }),
            )
            .await;
        assert_eq!(outer, Ok(Tried::Ran));
        let wanted = Wanted::UnlessSince(None);
        let later = second.attempt(&wanted, Box::pin(async { panic!("it was done") })).await;
        assert!(matches!(later, Ok(Tried::Done(Some(_)))), "{later:?}");
        assert_eq!(second.attempt(&Wanted::Anyway, Box::pin(async { Ok(()) })).await, Ok(Tried::Ran));
    }
}
