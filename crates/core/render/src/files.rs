//! The result of rendering.

use std::fmt;
use std::path::PathBuf;

use model::Part;

/// One file, ready to be written.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Relative to the work directory, without `..`.
    pub path: PathBuf,
    /// Permission bits: 0600 for what holds a private key.
    pub mode: u32,
    /// The content.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for File {
    /// Leaves the content out: it may be a private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({} {:04o}, {} bytes)", self.path.display(), self.mode, self.bytes.len())
    }
}

/// Everything that NGINX reads from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSet {
    /// 16 hexadecimal digits: the content address of all files. Workers report it, so a reload can be confirmed.
    pub revision: String,
    /// The files, `nginx.conf` first, each path once.
    pub files: Vec<File>,
    /// NGINX fills a shared dictionary from another one when it reads the text: nothing is to be written meanwhile.
    pub moves: bool,
    /// Which lines of `nginx.conf` come from what, in the order of lines; lines outside come from [`Part::Globals`].
    pub origins: Vec<Origin>,
}

impl FileSet {
    /// The text of `nginx.conf`.
    pub fn conf(&self) -> &[u8] {
        self.files.first().map_or(&[], |file| &file.bytes)
    }

    /// What a line of `nginx.conf` (counted from 1, as in NGINX's messages) comes from.
    pub fn origin(&self, line: u32) -> &Part {
        let hit = |origin: &&Origin| (origin.first_line..=origin.last_line).contains(&line);
        // The innermost: a profile inside a host server.
        self.origins
            .iter()
            .filter(hit)
            .min_by_key(|origin| origin.last_line - origin.first_line)
            .map_or(&Part::Globals, |origin| &origin.part)
    }
}

/// Lines of `nginx.conf` and what they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// First line, counted from 1.
    pub first_line: u32,
    /// Last line, included.
    pub last_line: u32,
    /// Where they come from.
    pub part: Part,
}
