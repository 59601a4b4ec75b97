//! The list of binaries as a file, for a run without cargo: a line each, the fields between tabs.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::test::Binary;

/// The text of a list.
///
/// # Errors
/// A path has a tab, a line break or no text at all.
pub(crate) fn write(binaries: &[Binary]) -> Result<String> {
    let mut text = String::new();
    for binary in binaries {
        let paths = [binary.directory.to_str(), binary.executable.to_str()];
        let [Some(directory), Some(executable)] = paths else { return Err(Error::new(format!("a path of {binary} is not UTF-8"))) };
        let fields = [&binary.package, &binary.name, directory, executable];
        if fields.iter().any(|field| field.contains(['\t', '\n']) || field.is_empty()) {
            return Err(Error::new(format!("a path of {binary} is empty or has a tab or a line break")));
        }
        text.push_str(&fields.join("\t"));
        text.push('\n');
    }
    Ok(text)
}

/// The list in a text.
///
/// # Errors
/// A line has another number of fields.
pub(crate) fn read(text: &str) -> Result<Vec<Binary>> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [package, name, directory, executable] = fields[..] else {
            return Err(Error::new(format!("expected package, binary, directory and executable, got {line:?}")));
        };
        let (directory, executable) = (PathBuf::from(directory), PathBuf::from(executable));
        Ok(Binary { package: package.into(), name: name.into(), directory, executable })
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::binary;

    #[test]
    fn what_was_written_is_read() {
        let binaries = vec![binary("model", "model"), binary("model", "golden")];
        assert_eq!(read(&write(&binaries).unwrap()).unwrap(), binaries);
    }

    #[test]
    fn what_is_no_field_is_refused() {
        assert!(write(&[binary("model", "a\tb")]).is_err());
        assert!(write(&[binary("model", "a\nb")]).is_err());
        assert!(read("model\tgolden\t/src").is_err());
    }
}
