//! Finds the master of an NGINX: by its pid file, by its name among all processes, or below a process.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::command::{Arguments, Role, base_name};
use crate::procfs::{self, Identity};

/// A process may seem to begin so much later than it wrote its pid file: clocks of file systems and of processes are coarse.
const CLOCK: Duration = Duration::from_secs(2);
/// Characters of a long command line that a message shows.
const TITLE: usize = 80;

/// The way to find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locator {
    /// A file with its pid, and the name of its program: a process that is neither called so nor an NGINX master is another one,
    /// which got the pid of one that is gone.
    PidFile(PathBuf, String),
    /// The name of its program, among all processes that `/proc` shows.
    Name(String),
    /// This process or the one below it that is called so.
    Below(i32, String),
}

/// A running master, or a process of another program that takes signals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Master {
    /// The process.
    pub id: Identity,
    /// Its program, as it sees it; `None` where we may not look.
    pub binary: Option<PathBuf>,
    /// Its command line.
    pub arguments: Arguments,
    /// Whether it is an NGINX (or a descendant of it) by its title.
    pub is_nginx: bool,
}

/// Why there is no master.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The pid file can't be read.
    #[error("the pid file {} can't be read", .0.display())]
    PidFile(PathBuf, #[source] io::Error),
    /// The pid file holds no pid.
    #[error("the pid file {} holds {:?}: expected the number of a process", .0.display(), .1)]
    NotAPid(PathBuf, String),
    /// The process of the pid file is gone.
    #[error("the pid file {} names process {}, which does not run{}", .0.display(), .1, .2)]
    Gone(PathBuf, i32, &'static str),
    /// The pid belongs to another program by now.
    #[error(
        "the pid file {} is stale: process {pid} is {title:?}, which is neither an NGINX master nor named {name:?}; remove the file, or leave it out and have the process found by its name{hint}",
        path.display()
    )]
    Stranger {
        /// The pid file.
        path: PathBuf,
        /// What it holds.
        pid: i32,
        /// The process that runs there.
        title: String,
        /// The expectation.
        name: String,
        /// Another possible reason.
        hint: &'static str,
    },
    /// The pid belongs to another process by now.
    #[error(
        "the pid file {} is stale: it was written {} s before process {pid} began; remove the file, or leave it out and have the process found by its name",
        path.display(), by.as_secs()
    )]
    Younger {
        /// The pid file.
        path: PathBuf,
        /// What it holds.
        pid: i32,
        /// Time by which the process began later.
        by: Duration,
    },
    /// No process is called so.
    #[error("no process is named {name:?}{hint}")]
    NotFound {
        /// The name.
        name: String,
        /// A possible reason.
        hint: &'static str,
    },
    /// Several masters.
    #[error("{} processes named {name:?} could be meant (pids {}): name one by its pid file", pids.len(), list(pids))]
    Several {
        /// The name.
        name: String,
        /// Their pids.
        pids: Vec<i32>,
    },
}

fn list(pids: &[i32]) -> String {
    pids.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
}

/// The criteria by which a process is meant.
#[derive(Debug, Clone)]
struct Process {
    pid: i32,
    parent: i32,
    /// Its possible names: the names of its program and of its first argument, and the kernel's.
    names: Vec<String>,
    role: Role,
    transient: bool,
}

impl Process {
    fn is_called(&self, name: &str) -> bool {
        // The kernel's names have at most 15 bytes.
        let short = self.names.first().is_some_and(|comm| comm.len() == 15 && name.starts_with(comm.as_str()));
        short || self.names.iter().any(|known| known == name)
    }
}

/// Finds the master.
///
/// # Errors
/// There is none, or there are several.
pub fn find(locator: &Locator) -> Result<Master, FindError> {
    let pid = match locator {
        Locator::PidFile(path, name) => return from_file(path, name),
        Locator::Name(name) => choose(&all(), name, None)?,
        Locator::Below(top, name) => choose(&all(), name, Some(*top))?,
    };
    let gone = || FindError::NotFound { name: format!("process {pid}"), hint: ": it has just ended" };
    describe(pid).ok_or_else(gone)
}

fn from_file(path: &Path, name: &str) -> Result<Master, FindError> {
    let unreadable = |error| FindError::PidFile(path.to_owned(), error);
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let written = fs::metadata(path).and_then(|file| file.modified()).map_err(unreadable)?;
    let pid: i32 = text.trim().parse().map_err(|_| FindError::NotAPid(path.to_owned(), text.trim().to_owned()))?;
    let gone = || FindError::Gone(path.to_owned(), pid, hint(None, &all()));
    let master = describe(pid).ok_or_else(gone)?;
    if !master.is_nginx && !process(pid).ok_or_else(gone)?.is_called(name) {
        let title = procfs::title(pid).chars().take(TITLE).collect();
        let hint = hint(None, &all());
        return Err(FindError::Stranger { path: path.to_owned(), pid, title, name: name.to_owned(), hint });
    }
    // A process writes its pid file after it began, and never before.
    match procfs::began(master.id).and_then(|began| began.duration_since(written).ok()) {
        Some(by) if by > CLOCK => Err(FindError::Younger { path: path.to_owned(), pid, by }),
        _ => Ok(master),
    }
}

fn describe(pid: i32) -> Option<Master> {
    let id = procfs::identity(pid)?;
    let title = procfs::title(pid);
    let words = words(pid);
    let role = Role::of(&title);
    let arguments = if role == Role::Master { Arguments::of_title(&title) } else { Arguments::parse(words.get(1..).unwrap_or_default()) };
    let binary = binary(pid);
    let untitled = || {
        let is_nginx = |name: &str| name.contains("nginx") || name == "openresty" || name == "angie";
        let of_binary = binary.as_ref().and_then(|path| path.file_name()?.to_str()).is_some_and(is_nginx);
        of_binary || words.first().is_some_and(|first| is_nginx(base_name(first)))
    };
    let is_nginx = role == Role::Master || role == Role::Untitled && untitled();
    Some(Master { id, binary, arguments, is_nginx })
}

/// The program of a process, by the path at which the process itself sees it.
fn binary(pid: i32) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let path = path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map_or_else(|| path.clone(), PathBuf::from);
    let root = fs::read_link(format!("/proc/{pid}/root")).unwrap_or_else(|_| "/".into());
    Some(path.strip_prefix(&root).map_or_else(|_| path.clone(), |below| PathBuf::from("/").join(below)))
}

/// The arguments of a process that has set no title.
fn words(pid: i32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn all() -> Vec<Process> {
    procfs::pids().into_iter().filter_map(process).collect()
}

fn process(pid: i32) -> Option<Process> {
    let parent = procfs::parent(pid)?;
    let title = procfs::title(pid);
    let role = Role::of(&title);
    let words = words(pid);
    let mut names = vec![fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()];
    if let Ok(path) = fs::read_link(format!("/proc/{pid}/exe")) {
        names.push(base_name(path.to_string_lossy().trim_end_matches(" (deleted)")).to_owned());
    }
    match (role, title.split_once(": ")) {
        (Role::Untitled, _) | (_, None) => names.extend(words.first().map(|first| base_name(first).to_owned())),
        (_, Some((name, _))) => names.push(name.to_owned()),
    }
    let transient = role == Role::Untitled && Arguments::parse(words.get(1..).unwrap_or_default()).transient;
    Some(Process { pid, parent, names, role, transient })
}

/// The one that is called so and whose parent is not; of several, the one whose title says that it is the master.
fn choose(processes: &[Process], name: &str, top: Option<i32>) -> Result<i32, FindError> {
    let by_pid: BTreeMap<i32, &Process> = processes.iter().map(|process| (process.pid, process)).collect();
    let called = |process: &Process| !process.transient && process.is_called(name);
    let below = |pid: i32| {
        top.is_none_or(|top| {
            std::iter::successors(Some(pid), |pid| by_pid.get(pid).map(|process| process.parent)).take(64).any(|pid| pid == top)
        })
    };
    let mut found: Vec<&Process> = processes
        .iter()
        .filter(|process| called(process) && below(process.pid) && !by_pid.get(&process.parent).is_some_and(|parent| called(parent)))
        .collect();
    // Workers whose master is gone, and other processes without such a title.
    if found.iter().any(|process| process.role == Role::Master) {
        found.retain(|process| process.role == Role::Master);
    } else {
        found.retain(|process| process.role == Role::Untitled);
    }
    match found.as_slice() {
        [one] => Ok(one.pid),
        [] => Err(FindError::NotFound { name: name.to_owned(), hint: hint(top, processes) }),
        several => Err(FindError::Several { name: name.to_owned(), pids: several.iter().map(|process| process.pid).collect() }),
    }
}

fn hint(top: Option<i32>, processes: &[Process]) -> &'static str {
    // In a Pod whose containers share their processes the first one is the sandbox's; on a machine, its init.
    let shared = ["pause", "systemd", "init"];
    let first = processes.iter().find(|process| process.pid == 1);
    match top {
        Some(_) => " below the command that was started",
        None if first.is_some_and(|first| first.names.iter().any(|name| shared.contains(&name.as_str()))) => "",
        None => "; in a Pod, a sidecar sees the processes of other containers only with shareProcessNamespace: true",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, name: &str, title: &str) -> Process {
        let role = Role::of(title);
        let words: Vec<&str> = title.split(' ').skip(1).collect();
        let transient = role == Role::Untitled && Arguments::parse(&words).transient;
        Process { pid, parent, names: vec![name.to_owned()], role, transient }
    }

    #[test]
    fn the_master_is_the_one_whose_parent_is_not_an_nginx() {
        let titled = [
            process(1, 0, "pause", "/pause"),
            process(7, 0, "nginx", "nginx: master process nginx -g daemon off;"),
            process(8, 7, "nginx", "nginx: worker process"),
            process(9, 7, "nginx", "nginx: master process nginx -g daemon off;"),
            process(20, 0, "narthex", "narthex watch"),
            process(21, 20, "nginx", "nginx -t -g daemon off;"),
        ];
        assert_eq!(choose(&titled, "nginx", None).unwrap(), 7);
        let untitled = [
            process(7, 1, "nginx", "/usr/sbin/nginx"),
            process(8, 7, "nginx", "/usr/sbin/nginx"),
            process(9, 1, "nginx", "nginx -s reload"),
        ];
        assert_eq!(choose(&untitled, "nginx", None).unwrap(), 7);
        let error = |processes: &[Process]| choose(processes, "angie", None).unwrap_err().to_string();
        assert_eq!(error(&titled), "no process is named \"angie\"");
        // Here the first process is not that of a Pod or a machine.
        assert!(error(&untitled).ends_with("shareProcessNamespace: true"), "{}", error(&untitled));
    }

    #[test]
    fn workers_without_a_master_are_nobody() {
        let orphans = [process(8, 1, "nginx", "nginx: worker process"), process(9, 1, "nginx", "nginx: worker process is shutting down")];
        assert!(matches!(choose(&orphans, "nginx", None), Err(FindError::NotFound { .. })));
    }

    #[test]
    fn of_several_masters_none_is_chosen_unless_one_is_below_the_child() {
        let two = [
            process(5, 1, "sh", "sh -c x"),
            process(7, 5, "nginx", "nginx: master process nginx"),
            process(8, 1, "nginx", "nginx: master process nginx -c /b"),
        ];
        let error = choose(&two, "nginx", None).unwrap_err().to_string();
        assert!(error.contains("pids 7, 8"), "{error}");
        assert_eq!(choose(&two, "nginx", Some(5)).unwrap(), 7);
        assert_eq!(choose(&two, "nginx", Some(8)).unwrap(), 8);
    }

    #[test]
    fn long_names_are_known_by_their_beginning() {
        let long = [process(7, 1, "a-rather-long-n", "/usr/bin/something -x")];
        assert_eq!(choose(&long, "a-rather-long-name", None).unwrap(), 7);
    }

    #[test]
    fn pid_files_are_read() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("pid");
        let us = fs::read_to_string("/proc/self/comm").unwrap().trim_end().to_owned();
        let find = |name: &str| find(&Locator::PidFile(path.clone(), name.to_owned()));
        assert!(matches!(find(&us), Err(FindError::PidFile(..))));
        fs::write(&path, "x\n").unwrap();
        assert!(find(&us).unwrap_err().to_string().contains("expected the number"));
        fs::write(&path, "4194305\n").unwrap();
        assert!(matches!(find(&us), Err(FindError::Gone(_, 4_194_305, _))));
        fs::write(&path, format!("{}\n", std::process::id())).unwrap();
        let found = find(&us).unwrap();
        assert_eq!((found.id.pid, found.is_nginx), (std::process::id() as i32, false));
    }

    #[test]
    fn a_pid_file_that_is_older_than_the_process_or_names_another_program_is_stale() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("pid");
        fs::write(&path, std::process::id().to_string()).unwrap();
        let us = fs::read_to_string("/proc/self/comm").unwrap().trim_end().to_owned();
        let find = |name: &str| find(&Locator::PidFile(path.clone(), name.to_owned()));
        let error = find("nginx").unwrap_err();
        assert!(matches!(error, FindError::Stranger { .. }), "{error}");
        assert!(error.to_string().contains("neither an NGINX master nor named \"nginx\""), "{error}");
        let old = std::time::SystemTime::now() - Duration::from_secs(7200);
        fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
        let error = find(&us).unwrap_err();
        assert!(matches!(error, FindError::Younger { .. }), "{error}");
    }
}
