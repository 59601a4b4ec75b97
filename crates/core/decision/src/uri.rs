//! The path of a request as NGINX compares it (`$uri`).

/// Decodes and resolves the target of a request in origin form: escapes are decoded, slashes merged, segments of dots resolved; what begins at `?` or `#`
/// is left out. `None`: NGINX answers 400, as it is no path, an escape is incomplete or stands for NUL, or the path leads out of the root.
pub fn normalised(target: &[u8]) -> Option<Vec<u8>> {
    let mut resolved = Resolved::default();
    let mut rest = target;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'?' | b'#' => break,
            b'%' => {
                let (digits, after) = (rest.get(..2)?, rest.get(2..)?);
                rest = after;
                match hex(digits)? {
                    0 => return None,
                    // These would mean something else if they were not escaped.
                    byte @ (b'%' | b'#' | b'?') => resolved.text(byte),
                    byte => resolved.add(byte)?,
                }
            }
            byte => resolved.add(byte)?,
        }
    }
    resolved.end()
}

fn hex(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)? as u8))
}

/// A path on its way: `bytes` ends with the segment that is being read.
#[derive(Default)]
struct Resolved {
    bytes: Vec<u8>,
    /// Where the segment begins, behind its slash.
    segment: usize,
}

impl Resolved {
    fn text(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn add(&mut self, byte: u8) -> Option<()> {
        if byte != b'/' {
            if self.bytes.is_empty() {
                return None;
            }
            self.text(byte);
            return Some(());
        }
        self.close()?;
        if self.bytes.last() != Some(&b'/') {
            self.text(b'/');
        }
        self.segment = self.bytes.len();
        Some(())
    }

    /// Resolves a segment of dots, which leaves the slash before it or before the segment above.
    fn close(&mut self) -> Option<()> {
        let kept = match self.bytes.get(self.segment..)? {
            b"." => self.segment,
            b".." => {
                // Without the slash before the segment.
                let above = self.bytes.get(..self.segment.checked_sub(1)?)?;
                above.iter().rposition(|byte| *byte == b'/')? + 1
            }
            _ => return Some(()),
        };
        self.bytes.truncate(kept);
        self.segment = kept;
        Some(())
    }

    fn end(mut self) -> Option<Vec<u8>> {
        self.close()?;
        Some(self.bytes).filter(|bytes| !bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_as_nginx_does_it() {
        for (path, uri) in [
            ("/", "/"),
            ("/cart/5?x=/y", "/cart/5"),
            ("/cart#x?y", "/cart"),
            ("//cart///5/", "/cart/5/"),
            ("/a/./b/../c", "/a/c"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/a/...", "/a/..."),
            ("/a../b", "/a../b"),
            ("/%63art%2F5", "/cart/5"),
            ("/a/%2e%2E/b", "/b"),
            ("/a%2f%2fb", "/a/b"),
            ("/a%3fb%23c%25d", "/a?b#c%d"),
            ("/.well-known", "/.well-known"),
        ] {
            assert_eq!(normalised(path.as_bytes()).as_deref(), Some(uri.as_bytes()), "{path}");
        }
        for path in ["", "cart", "?", "/..", "/a/../../b", "/100%", "/%zz", "/%00"] {
            assert_eq!(normalised(path.as_bytes()), None, "{path}");
        }
    }
}
