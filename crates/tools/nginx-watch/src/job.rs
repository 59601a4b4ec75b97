//! The job of the helper process: a line of JSON, and the bytes of the files after it.

use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::snapshot::Tree;

/// A command to run where another process is, over files of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The process whose mounts and root to enter; `None`: ours.
    pub(crate) enter: Option<i32>,
    /// User, group and further groups to run as, where we may choose.
    pub(crate) credentials: Option<(u32, u32, Vec<u32>)>,
    /// Directories whose content is replaced, for this command only.
    pub(crate) overlays: Vec<Overlay>,
    /// Program and arguments.
    pub(crate) command: Vec<String>,
}

/// A directory and what stands in it instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Overlay {
    /// The directory; it exists.
    pub(crate) directory: PathBuf,
    /// The files in the order of their bytes.
    pub(crate) files: Vec<Item>,
}

/// A file of an overlay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    /// Relative to the directory.
    pub(crate) path: String,
    /// Length in bytes; `None` for a link that leads nowhere.
    pub(crate) length: Option<u64>,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
}

impl Overlay {
    pub(crate) fn new(directory: PathBuf, tree: &Tree) -> Self {
        let item = |(path, file): (&std::sync::Arc<str>, &crate::snapshot::File)| Item {
            path: path.to_string(),
            length: file.bytes.as_ref().map(|bytes| bytes.len() as u64),
            mode: file.mode,
            owner: file.owner,
        };
        Self { directory, files: tree.files.iter().map(item).collect() }
    }
}

impl Job {
    /// The message for the helper. `trees` are those of the overlays, in their order.
    pub(crate) fn write(&self, trees: &[&Tree], mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut out, self)?;
        out.write_all(b"\n")?;
        for bytes in trees.iter().flat_map(|tree| tree.files.values()).filter_map(|file| file.bytes.as_ref()) {
            out.write_all(bytes)?;
        }
        out.flush()
    }

    /// Reads a message: the job, and the bytes of all its files in order.
    pub(crate) fn read(mut input: impl BufRead) -> io::Result<(Self, Vec<Vec<u8>>)> {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let job: Self = serde_json::from_str(&line)?;
        let mut contents = Vec::new();
        for item in job.overlays.iter().flat_map(|overlay| &overlay.files) {
            let length = item.length.unwrap_or(0);
            let mut bytes = Vec::new();
            input.by_ref().take(length).read_to_end(&mut bytes)?;
            if bytes.len() as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            contents.push(bytes);
        }
        Ok((job, contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::File;

    #[test]
    fn a_job_is_read_as_it_was_written() {
        let file = |bytes: Option<&[u8]>| File { bytes: bytes.map(Into::into), mode: 0o640, owner: (1, 2) };
        let files = [("a.conf".into(), file(Some(b"one\ntwo"))), ("dead".into(), file(None)), ("sub/b".into(), file(Some(b"\0\xff")))];
        let tree = Tree { root: "/r".into(), is_file: false, files: files.into() };
        let job = Job {
            enter: Some(7),
            credentials: Some((101, 101, vec![4])),
            overlays: vec![Overlay::new("/etc/nginx/conf.d".into(), &tree)],
            command: vec!["nginx".into(), "-t".into()],
        };
        let mut message = Vec::new();
        job.write(&[&tree], &mut message).unwrap();
        let (read, contents) = Job::read(message.as_slice()).unwrap();
        assert_eq!(read, job);
        assert_eq!(contents, [b"one\ntwo".to_vec(), Vec::new(), b"\0\xff".to_vec()]);
        message.pop();
        assert!(Job::read(message.as_slice()).is_err());
    }
}
