//! The archive of a database: `<edition>_<date>/<edition>.mmdb` and texts about it, in tar and gzip.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::read::GzDecoder;
use model::options::Edition;

use crate::database::MOST_BYTES;

/// Why an archive gives no database.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It can't be read or unpacked.
    #[error("the archive can't be unpacked")]
    Io(#[from] io::Error),
    /// The file is not there.
    #[error("the archive has no file {0}.mmdb")]
    Missing(Edition),
    /// It is too large.
    #[error("the database in the archive has more than {MOST_BYTES} bytes")]
    TooLarge,
}

/// Writes the database of an archive to a file, all of it or an error.
pub(crate) fn unpack(archive: &Path, edition: Edition, to: &Path) -> Result<(), ArchiveError> {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(archive)?));
    let name = format!("{edition}.mmdb");
    for entry in archive.entries()? {
        let entry = entry?;
        if !entry.header().entry_type().is_file() || entry.path()?.file_name().is_none_or(|own| own != name.as_str()) {
            continue;
        }
        let mut file = File::create(to)?;
        let written = io::copy(&mut entry.take(MOST_BYTES + 1), &mut file)?;
        if written > MOST_BYTES {
            return Err(ArchiveError::TooLarge);
        }
        file.flush()?;
        return Ok(file.sync_all()?);
    }
    Err(ArchiveError::Missing(edition))
}
