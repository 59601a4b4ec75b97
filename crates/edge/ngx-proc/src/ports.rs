//! The listeners on a port, as far as `/proc` shows them: only root sees the sockets of other users.

use std::collections::BTreeSet;
use std::fs;

use crate::procfs;

/// A process that listens on a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its pid.
    pub pid: i32,
    /// The name of its program.
    pub name: String,
}

/// The process that listens on this TCP port; of several that share the socket the oldest pid, which is a master's.
pub fn listener(port: u16) -> Option<Listener> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let sockets: BTreeSet<String> = tables.iter().flat_map(|table| sockets(table, port)).collect();
    if sockets.is_empty() {
        return None;
    }
    let mut pids = procfs::pids();
    pids.sort_unstable();
    let pid = pids.into_iter().find(|pid| holds(*pid, &sockets))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned();
    Some(Listener { pid, name })
}

/// The names in `/proc/PID/fd` of the sockets of a table that listen on a port.
fn sockets(table: &str, port: u16) -> impl Iterator<Item = String> {
    table.lines().skip(1).filter_map(move |line| {
        let mut fields = line.split_ascii_whitespace();
        let local = fields.nth(1)?;
        let is_listening = fields.nth(1)? == "0A";
        let inode = fields.nth(5)?;
        let found = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        (is_listening && found == port).then(|| format!("socket:[{inode}]"))
    })
}

fn holds(pid: i32, sockets: &BTreeSet<String>) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|target| target.to_str().is_some_and(|name| sockets.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_listens_is_found_by_its_port() {
        let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listening.local_addr().unwrap().port();
        assert_eq!(listener(port).unwrap().pid, i32::try_from(std::process::id()).unwrap());
        drop(listening);
        assert_eq!(listener(port), None);
    }
}
