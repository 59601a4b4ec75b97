//! Listening sockets of orphaned workers, handed to the next master, so that no connection is refused in between.
//!
//! NGINX takes over open sockets that the variable `NGINX` names by number: its own way of replacing a running binary. The
//! kernel gives us duplicates of the orphans' sockets (`pidfd_getfd`) if we may trace them; where we may not, there are
//! none, and the orphans must close theirs before the new master can open its own.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::procfs::{self, Worker};

/// Duplicates of the TCP sockets on which the first of these workers that lets us listens.
pub(crate) fn listening(workers: &[Worker]) -> Vec<OwnedFd> {
    workers.iter().filter(|worker| !worker.leaving).map(of_worker).find(|sockets| !sockets.is_empty()).unwrap_or_default()
}

fn of_worker(worker: &Worker) -> Vec<OwnedFd> {
    let Some(pidfd) = Pid::from_raw(worker.id.pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return Vec::new();
    };
    if !procfs::alive(worker.id) {
        return Vec::new();
    }
    let entries = fs::read_dir(format!("/proc/{}/fd", worker.id.pid)).into_iter().flatten().flatten();
    let is_socket = |entry: &fs::DirEntry| {
        fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"socket:"))
    };
    let numbers = entries.filter(is_socket).filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let sockets = numbers.filter_map(|number| pidfd_getfd(&pidfd, number, PidfdGetfdFlags::empty()).ok());
    sockets.filter(listens_on_tcp).collect()
}

fn listens_on_tcp(socket: &OwnedFd) -> bool {
    let family = sockopt::socket_domain(socket);
    matches!(family, Ok(AddressFamily::INET | AddressFamily::INET6)) && sockopt::socket_acceptconn(socket).unwrap_or(false)
}

/// Makes the sockets survive `exec` and gives the value of the variable `NGINX` that names them.
pub(crate) fn inherit_env(sockets: &[OwnedFd]) -> OsString {
    let mut value = Vec::new();
    for socket in sockets {
        if fcntl_setfd(socket, FdFlags::empty()).is_ok() {
            value.extend_from_slice(format!("{};", socket.as_raw_fd()).as_bytes());
        }
    }
    OsString::from_vec(value)
}
