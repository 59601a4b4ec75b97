//! Whether a file is a database that NGINX can open: its metadata, which stand at its end (MaxMind DB file format 2.0).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use model::options::Edition;

/// Largest file that is taken for a database.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
/// The metadata begin behind the last occurrence of this text, in the last 128 KiB.
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";
const LARGEST_METADATA: u64 = 128 << 10;
/// Empty bytes between the search tree and the data.
const SEPARATOR: u64 = 16;
/// Deepest nesting of what is skipped.
const DEEPEST: u32 = 16;

/// Why a file is no database that NGINX can open.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// It can't be read.
    #[error("it can't be read")]
    Io(#[from] io::Error),
    /// It is too large.
    #[error("it has {0} bytes; at most {MOST_BYTES} were expected")]
    TooLarge(u64),
    /// It is no database, or a part of one.
    #[error("{0}")]
    Malformed(&'static str),
    /// It is another one.
    #[error("it is a database {found:?}; {expected} was expected")]
    Another {
        /// The type that the file says it has.
        found: String,
        /// That of its name.
        expected: Edition,
    },
}

use DatabaseError::Malformed;

/// Checks that a file is the database of an edition, and whole.
///
/// # Errors
/// It can't be read, is no database, is cut off, or is that of another edition.
pub fn check(path: &Path, edition: Edition) -> Result<(), DatabaseError> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if length > MOST_BYTES {
        return Err(DatabaseError::TooLarge(length));
    }
    let start = length.saturating_sub(LARGEST_METADATA);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(LARGEST_METADATA).read_to_end(&mut tail)?;
    let at = tail.windows(MARKER.len()).rposition(|window| window == MARKER).ok_or(Malformed("it has no metadata of MaxMind's format"))?;
    let metadata = Metadata::read(&tail[at + MARKER.len()..])?;
    metadata.check(start + at as u64)?;
    // Test databases and those of other vendors have a name of their own before or behind it.
    if !metadata.database_type.contains(edition.name()) {
        return Err(DatabaseError::Another { found: metadata.database_type, expected: edition });
    }
    Ok(())
}

/// The metadata that matter.
#[derive(Default)]
struct Metadata {
    major_version: u64,
    node_count: u64,
    /// Bits of one of the two records of a node.
    record_size: u64,
    ip_version: u64,
    database_type: String,
}

impl Metadata {
    fn read(bytes: &[u8]) -> Result<Self, DatabaseError> {
        let mut reader = Reader { rest: bytes };
        let (kind, pairs) = reader.control()?;
        if kind != MAP {
            return Err(Malformed("its metadata are no map"));
        }
        let mut metadata = Self::default();
        for _ in 0..pairs {
            match reader.text()? {
                "binary_format_major_version" => metadata.major_version = reader.number(UINT16)?,
                "node_count" => metadata.node_count = reader.number(UINT32)?,
                "record_size" => metadata.record_size = reader.number(UINT16)?,
                "ip_version" => metadata.ip_version = reader.number(UINT16)?,
                "database_type" => metadata.database_type = reader.text()?.to_owned(),
                _ => reader.skip(DEEPEST)?,
            }
        }
        Ok(metadata)
    }

    /// `end`: where the metadata begin.
    fn check(&self, end: u64) -> Result<(), DatabaseError> {
        if self.major_version != 2 {
            return Err(Malformed("its format is not of version 2"));
        }
        if !matches!(self.record_size, 24 | 28 | 32) || !matches!(self.ip_version, 4 | 6) || self.node_count == 0 {
            return Err(Malformed("its metadata make no sense"));
        }
        let tree = self.node_count.saturating_mul(self.record_size) / 4;
        if tree.saturating_add(SEPARATOR) > end { Err(Malformed("it is cut off: its search tree is longer")) } else { Ok(()) }
    }
}

const TEXT: u8 = 2;
const UINT16: u8 = 5;
const UINT32: u8 = 6;
const MAP: u8 = 7;
const UINT64: u8 = 9;
const UINT128: u8 = 10;
const ARRAY: u8 = 11;
const BOOLEAN: u8 = 14;
/// Double, bytes, int32 and float: skipped by their size.
const SIZED: [u8; 4] = [3, 4, 8, 15];

/// Reads values one after the other. Metadata have no pointers.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DatabaseError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed("its metadata are cut off"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn big_endian(&mut self, count: usize) -> Result<usize, DatabaseError> {
        Ok(self.take(count)?.iter().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// The type of the next value, and its size: bytes, or entries of a map or array.
    fn control(&mut self) -> Result<(u8, usize), DatabaseError> {
        let first = self.big_endian(1)?;
        let kind = match first >> 5 {
            0 => self.take(1)?[0].saturating_add(7),
            kind => kind as u8,
        };
        let size = match first & 31 {
            29 => 29 + self.big_endian(1)?,
            30 => 285 + self.big_endian(2)?,
            31 => 65_821 + self.big_endian(3)?,
            size => size,
        };
        Ok((kind, size))
    }

    fn text(&mut self) -> Result<&'a str, DatabaseError> {
        match self.control()? {
            (TEXT, size) => std::str::from_utf8(self.take(size)?).map_err(|_| Malformed("a text in its metadata is not UTF-8")),
            _ => Err(Malformed("its metadata have another type than a text")),
        }
    }

    /// A number of exactly this type: the library that NGINX uses takes no other.
    fn number(&mut self, expected: u8) -> Result<u64, DatabaseError> {
        match self.control()? {
            (kind, size @ 0..=8) if kind == expected => Ok(self.big_endian(size)? as u64),
            _ => Err(Malformed("its metadata have another type than a number")),
        }
    }

    fn skip(&mut self, depth: u32) -> Result<(), DatabaseError> {
        let depth = depth.checked_sub(1).ok_or(Malformed("its metadata are nested too deeply"))?;
        match self.control()? {
            (MAP, pairs) => (0..pairs * 2).try_for_each(|_| self.skip(depth)),
            (ARRAY, entries) => (0..entries).try_for_each(|_| self.skip(depth)),
            (BOOLEAN, _) => Ok(()),
            (TEXT | UINT16 | UINT32 | UINT64 | UINT128, size) => self.take(size).map(drop),
            (kind, size) if SIZED.contains(&kind) => self.take(size).map(drop),
            _ => Err(Malformed("its metadata have a value of an unknown type")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;

    use testkit::mmdb;

    use super::*;

    fn checked(bytes: &[u8]) -> String {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        fs::write(&path, bytes).unwrap();
        check(&path, Edition::LiteCity).map_or_else(|error| error.to_string(), |()| "sound".to_owned())
    }

    #[test]
    fn only_a_whole_database_of_the_edition_is_sound() {
        let networks = [(Ipv4Addr::new(192, 0, 2, 0), 24, mmdb::map([("city", mmdb::text("x"))]))];
        let whole = mmdb::database("GeoLite2-City", &networks);
        assert_eq!(checked(&whole), "sound");
        assert_eq!(checked(b""), "it has no metadata of MaxMind's format");
        assert_eq!(checked(&whole[..whole.len() - 4]), "its metadata are cut off");
        assert_eq!(checked(&whole[60..]), "it is cut off: its search tree is longer");
        let other = mmdb::database("GeoLite2-ASN", &networks);
        assert_eq!(checked(&other), "it is a database \"GeoLite2-ASN\"; GeoLite2-City was expected");
    }
}
