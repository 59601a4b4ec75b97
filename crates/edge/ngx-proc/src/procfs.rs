//! Processes as `/proc` shows them: which live, their parents, their titles.
//!
//! A pid alone names no process: it is used again. Here a process is its pid and its start time.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::command::Role;

/// One process, for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot; 0 where it could not be read.
    pub start: u64,
}

/// A worker process of NGINX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// The process.
    pub id: Identity,
    /// `true` if it has closed its listening sockets and finishes what it has begun.
    pub leaving: bool,
}

/// The fields of `/proc/PID/stat` that matter here.
struct Stat {
    dead: bool,
    parent: i32,
    group: i32,
    start: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    try_stat(pid).ok().flatten()
}

/// `None`: there is no such process.
///
/// # Errors
/// When `/proc` can't be read, for want of descriptors, say: nothing is known of the process then.
fn try_stat(pid: i32) -> io::Result<Option<Stat>> {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(text) => Ok(parse_stat(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The command's name is in parentheses and may hold anything, so the fields are counted from the last `)`.
fn parse_stat(text: &str) -> Option<Stat> {
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let dead = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let start = fields.nth(16)?.parse().ok()?;
    Some(Stat { dead, parent, group, start })
}

/// The living process with this pid; a zombie is dead.
pub fn identity(pid: i32) -> Option<Identity> {
    let stat = stat(pid).filter(|stat| pid > 0 && !stat.dead)?;
    Some(Identity { pid, start: stat.start })
}

/// Whether this very process still lives.
///
/// Where `/proc` can't be read the kernel is asked about the number alone, which needs no descriptor: a process is taken for dead only when it is.
pub fn alive(id: Identity) -> bool {
    match try_stat(id.pid) {
        Ok(stat) => id.pid > 0 && stat.is_some_and(|stat| !stat.dead && (id.start == 0 || stat.start == id.start)),
        Err(_) => Pid::from_raw(id.pid).is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH))),
    }
}

/// The parent of a living process.
pub fn parent(pid: i32) -> Option<i32> {
    stat(pid).filter(|stat| !stat.dead).map(|stat| stat.parent)
}

/// Whether the process has a handler for this signal, or ignores it; `None` where that can't be seen. Without one most signals end a process.
pub fn handles(pid: i32, signal: i32) -> Option<bool> {
    parse_handled(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?, signal)
}

/// The masks are hexadecimal; the lowest bit is signal 1.
fn parse_handled(status: &str, signal: i32) -> Option<bool> {
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(line.trim(), 16).ok()
    };
    let bit = 1_u64.checked_shl(u32::try_from(signal - 1).ok()?)?;
    Some((mask("SigCgt:")? | mask("SigIgn:")?) & bit != 0)
}

/// Running time of the process. By the kernel's own clock: some containers have a `/proc/uptime` that is the container's.
pub fn age(id: Identity) -> Option<Duration> {
    let uptime: Duration = rustix::time::clock_gettime(rustix::time::ClockId::Boottime).try_into().ok()?;
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let started = Duration::from_millis(id.start.saturating_mul(1000) / ticks);
    Some(uptime.saturating_sub(started))
}

/// Start of the process, by the clock of files.
pub fn began(id: Identity) -> Option<SystemTime> {
    SystemTime::now().checked_sub(age(id)?)
}

/// Command line, or the title that the process gave itself, with spaces between the arguments.
pub fn title(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}

/// Whether the process is an NGINX master that runs this configuration file. A worker bears the same title for a moment, but
/// does not lead a process group.
pub fn is_master(pid: i32, binary: &Path, conf: &Path) -> bool {
    runs(&title(pid), binary, conf) && stat(pid).is_some_and(|stat| stat.group == pid && !stat.dead)
}

fn runs(title: &str, binary: &Path, conf: &Path) -> bool {
    let command = title.split(' ').next().unwrap_or_default();
    let nginx = title.starts_with("nginx: master process ") || Path::new(command).file_name() == binary.file_name();
    nginx && format!("{title} ").contains(&format!(" -c {} ", conf.display()))
}

/// Every pid.
pub fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The worker processes of a master. Empty for a master that is gone.
pub fn workers(master: i32) -> Vec<Worker> {
    children(master).into_iter().filter_map(worker).collect()
}

/// Number of workers of a master that accept connections; `None` where that can't be seen, for want of descriptors, say.
pub fn accepting(master: i32) -> Option<usize> {
    let list = fs::read_to_string(format!("/proc/{master}/task/{master}/children")).ok()?;
    let mut count = 0;
    for pid in list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
        let living = try_stat(pid).ok()?.is_some_and(|stat| !stat.dead);
        count += usize::from(living && worker(pid).is_some_and(|worker| !worker.leaving));
    }
    Some(count)
}

/// The children of a process. Empty for one that is gone.
pub fn children(parent: i32) -> Vec<i32> {
    match fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")) {
        Ok(text) => text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        // A kernel without that file.
        Err(_) => pids().into_iter().filter(|&pid| stat(pid).is_some_and(|stat| stat.parent == parent)).collect(),
    }
}

/// Processor time in clock ticks, user and system; also that of children that have ended and were waited for.
pub fn cpu_ticks(pid: i32, with_children: bool) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // utime, stime, cutime, cstime: the 14th field and the next.
    let fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().skip(11);
    fields.take(if with_children { 4 } else { 2 }).map(|field| field.parse::<u64>().ok()).sum()
}

/// The living processes of a process group.
pub fn group(leader: i32) -> Vec<Identity> {
    let member = |pid: i32| stat(pid).filter(|stat| stat.group == leader && !stat.dead).map(|stat| Identity { pid, start: stat.start });
    pids().into_iter().filter_map(member).collect()
}

/// Worker processes in the process group of a master that is gone.
///
/// A master of ours leads a process group, and a number stays taken as long as a group bears it. So the group tells its
/// orphans from the workers of others, without a list that could be out of date.
pub fn orphans(master: i32) -> Vec<Worker> {
    if master <= 1 || identity(master).is_some() {
        return Vec::new();
    }
    group(master).into_iter().filter_map(|member| worker(member.pid)).collect()
}

/// The process groups of workers that have this unix socket open, or a connection to it: those of the masters that opened it, dead or alive.
///
/// A dead master's workers are found so whether a note names it or not.
pub fn groups_on(socket: &Path) -> BTreeSet<i32> {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let inodes: BTreeSet<&str> = sockets.lines().filter_map(|line| inode_at(line, socket)).collect();
    if inodes.is_empty() {
        return BTreeSet::new();
    }
    let holds = |pid: i32| {
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let target = |entry: fs::DirEntry| fs::read_link(entry.path()).ok()?.to_str().map(str::to_owned);
        entries.filter_map(target).any(|target| {
            target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).is_some_and(|inode| inodes.contains(inode))
        })
    };
    let workers = pids().into_iter().filter(|pid| worker(*pid).is_some());
    workers.filter(|pid| holds(*pid)).filter_map(|pid| Some(stat(pid)?.group)).collect()
}

/// The inode of a line of `/proc/net/unix` whose path is this one.
fn inode_at<'a>(line: &'a str, socket: &Path) -> Option<&'a str> {
    let (fields, path) = line.split_at(line.find('/')?);
    fields.split_ascii_whitespace().nth(6).filter(|_| Path::new(path) == socket)
}

/// A worker bears its master's title until it is ready to accept connections. Processes that look after caches accept none.
fn worker(pid: i32) -> Option<Worker> {
    let role = Role::of(&title(pid));
    let id = identity(pid)?;
    matches!(role, Role::Master | Role::Worker | Role::Leaving).then(|| Worker { id, leaving: role == Role::Leaving })
}

/// The same worker as it is now; `None` when it is gone.
pub fn refresh(id: Identity) -> Option<Worker> {
    worker(id.pid).filter(|now| now.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_known_by_their_whole_path() {
        let line = "000000009e930b06: 00000002 00000000 00010000 0001 01  1234 /run/a b/control.sock";
        assert_eq!(inode_at(line, Path::new("/run/a b/control.sock")), Some("1234"));
        for other in ["/run/a", "/control.sock", "/run/a b/control.sock2"] {
            assert_eq!(inode_at(line, Path::new(other)), None, "{other}");
        }
        assert_eq!(inode_at("000000009e930b06: 00000003 00000000 00000000 0001 03 13707922", Path::new("/")), None);
    }

    #[test]
    fn a_handler_is_seen_in_the_masks() {
        let status = "Name:\tnginx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001000\nSigCgt:\t0000000018016a07\n";
        for (signal, expected) in [(1, Some(true)), (13, Some(true)), (12, Some(true)), (9, Some(false)), (0, None)] {
            assert_eq!(parse_handled(status, signal), expected, "{signal}");
        }
        assert_eq!(parse_handled("Name:\tx\n", 1), None);
        assert!(handles(std::process::id().cast_signed(), 9) == Some(false));
    }
    use std::os::unix::process::CommandExt;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = parse_stat("42 (a) b (c)) S 7 41 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 1 1").unwrap();
        assert_eq!((stat.dead, stat.parent, stat.group, stat.start), (false, 7, 41, 987_654));
        assert!(parse_stat("42 (a) Z 7 41 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 1 1 1 1").unwrap().dead);
        assert!(parse_stat("").is_none());
        assert!(parse_stat("42 (a").is_none());
    }

    #[test]
    fn a_process_has_an_age() {
        let us = identity(std::process::id() as i32).unwrap();
        assert!(age(us).unwrap() < Duration::from_secs(3600));
        assert_eq!(parent(us.pid), Some(std::os::unix::process::parent_id() as i32));
    }

    #[test]
    fn we_live_and_our_pid_with_another_start_does_not() {
        let us = identity(std::process::id() as i32).unwrap();
        assert!(alive(us));
        assert!(!alive(Identity { start: us.start + 1, ..us }));
        assert!(identity(0).is_none());
    }

    #[test]
    fn the_orphans_of_a_dead_master_are_found_by_their_group_whatever_title_they_bear_yet() {
        let child =
            "(exec -a 'nginx: master process x' sleep 60) & (exec -a 'nginx: worker process' sleep 60) & (exec -a other sleep 60) &";
        let mut master = std::process::Command::new("bash").args(["-c", child]).process_group(0).spawn().unwrap();
        let pid = master.id() as i32;
        master.wait().unwrap();
        while orphans(pid).len() < 2 {
            std::thread::yield_now();
        }
        for pid in pids().into_iter().filter(|&member| stat(member).is_some_and(|stat| stat.group == pid)) {
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).unwrap();
        }
        while !orphans(pid).is_empty() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn only_a_master_with_our_configuration_is_ours() {
        #[track_caller]
        fn check(title: &str, expected: bool) {
            assert_eq!(runs(title, Path::new("/usr/sbin/nginx"), Path::new("/w/nginx.conf")), expected, "{title}");
        }
        check("nginx: master process /usr/sbin/nginx -c /w/nginx.conf -p /w/", true);
        check("/usr/sbin/nginx -c /w/nginx.conf", true);
        check("nginx: master process /usr/sbin/nginx -c /w/nginx.conf.new -t", false);
        check("nginx: master process /usr/sbin/nginx -c /other/nginx.conf", false);
        check("nginx: worker process", false);
        check("vim -c /w/nginx.conf", false);
        check("", false);
    }
}
