//! Connections that a process has open: its TCP sockets, by their inodes, without those that listen.
//!
//! The table of all TCP sockets is long where connections are many, so it is not read: a socket that is in none of the short tables is a connection.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// Sockets that are no connections.
#[derive(Debug, Default)]
pub(crate) struct Inodes(BTreeSet<u64>);

/// State of a socket that listens; the kernel lists these first.
const LISTENS: &str = "0A";

impl Inodes {
    /// Those of the network that a process is in: unix and UDP sockets, and TCP sockets that listen.
    pub(crate) fn of_others(pid: i32) -> Self {
        let lines = |table: &str| File::open(format!("/proc/{pid}/net/{table}")).into_iter().flat_map(|file| BufReader::new(file).lines());
        let rows = |table: &str| lines(table).skip(1).map_while(Result::ok);
        let unix = rows("unix").filter_map(|row| row.split_ascii_whitespace().nth(6)?.parse().ok());
        let udp = ["udp", "udp6"].into_iter().flat_map(rows).filter_map(|row| inode(&row));
        let listens = |row: &String| row.split_ascii_whitespace().nth(3) == Some(LISTENS);
        let tcp = ["tcp", "tcp6"].into_iter().flat_map(|table| rows(table).take_while(listens)).filter_map(|row| inode(&row));
        Self(unix.chain(udp).chain(tcp).collect())
    }
}

/// The inode of a row of the table of TCP or UDP sockets.
fn inode(row: &str) -> Option<u64> {
    row.split_ascii_whitespace().nth(9)?.parse().ok()
}

/// Connections of a process; `None` where its descriptors can't be seen. Cost: the number of its descriptors.
pub(crate) fn count(pid: i32, others: &Inodes) -> Option<u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    let inode = |entry: fs::DirEntry| -> Option<u64> {
        fs::read_link(entry.path()).ok()?.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Some(entries.filter_map(inode).filter(|inode| !others.0.contains(inode)).count() as u64)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn only_connections_count() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (_unix, _udp) = (UnixStream::pair().unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let before = count(pid, &Inodes::of_others(pid)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap();
        assert_eq!(count(pid, &Inodes::of_others(pid)), Some(before + 2));
        drop((client, server));
        assert_eq!(count(pid, &Inodes::of_others(pid)), Some(before));
        assert_eq!(count(i32::MAX, &Inodes::default()), None);
    }
}
