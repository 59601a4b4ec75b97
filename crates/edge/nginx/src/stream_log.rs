//! The log of connections to TCP and UDP services, in which NGINX writes a line for each, to be counted.
//!
//! The stream block has no memory that outlives a connection on every NGINX that is supported, and a log that is buffered costs next to nothing.
//! What was read is given back to the file system as a hole at the beginning: the file is never made shorter, as a worker may be writing.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{FallocateFlags, fallocate};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;
/// Bytes after which what was read is given back.
const HOLE: u64 = 1 << 20;

/// A reader of it.
#[derive(Debug)]
pub struct StreamLog {
    path: PathBuf,
    /// What was read, up to the end of a line.
    read: u64,
    /// What was given back.
    returned: u64,
}

impl StreamLog {
    /// From the present end on: what is there was an earlier controller's to count.
    pub fn new(path: PathBuf) -> Self {
        let read = path.metadata().map_or(0, |file| file.len());
        Self { path, read, returned: 0 }
    }

    /// Complete lines that were not read before; empty where there is none.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn lines(&mut self) -> io::Result<String> {
        let file = match OpenOptions::new().read(true).write(true).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(error),
        };
        // Another one has taken its place.
        if file.metadata()?.len() < self.read {
            (self.read, self.returned) = (0, 0);
        }
        let mut bytes = vec![0; CHUNK];
        let found = file.read_at(&mut bytes, self.read)?;
        let complete = bytes[..found].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(complete);
        self.read += complete as u64;
        if self.read - self.returned >= HOLE {
            self.give_back(&file);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file system that knows no holes keeps it.
    fn give_back(&mut self, file: &File) {
        if let Err(error) = fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, self.read) {
            tracing::debug!(path = %self.path.display(), %error, "the file system keeps what was read of the log");
        }
        self.returned = self.read;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn complete_lines_are_read_once_and_take_no_room() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stream.log");
        let mut log = StreamLog::new(path.clone());
        assert_eq!(log.lines().unwrap(), "");
        let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        file.write_all(b"one\ntwo\nthr").unwrap();
        assert_eq!((log.lines().unwrap().as_str(), log.lines().unwrap().as_str()), ("one\ntwo\n", ""));
        file.write_all(b"ee\n").unwrap();
        assert_eq!(log.lines().unwrap(), "three\n");
        assert_eq!(StreamLog::new(path.clone()).lines().unwrap(), "");

        for _ in 0..64 {
            file.write_all(&[b"x".repeat(65535), b"\n".to_vec()].concat()).unwrap();
        }
        let mut lines = 0;
        loop {
            match log.lines().unwrap().lines().count() {
                0 => break,
                more => lines += more,
            }
        }
        assert_eq!(lines, 64);
        let metadata = path.metadata().unwrap();
        assert!(metadata.len() > 4 << 20 && metadata.blocks() * 512 < 2 << 20, "{} bytes in {} blocks", metadata.len(), metadata.blocks());
        drop(file);
        std::fs::write(&path, "again\n").unwrap();
        assert_eq!(log.lines().unwrap(), "again\n");
    }
}
