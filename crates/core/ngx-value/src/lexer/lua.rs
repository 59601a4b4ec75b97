//! The end of a block of Lua.
//!
//! The Lua module finds the closing brace by looking for strings, comments, long brackets and braces, a buffer at a time: it
//! guarantees to see only the next 1365 bytes. A string or comment that ends further from the token before it can be torn apart, and
//! a brace inside it be taken for the end of the block. Such text is refused here.

use super::LexErrorKind;

/// The longest way from the end of one token to the end of the next string or comment.
pub(super) const MAX_REACH: usize = 1300;

/// Offset of the brace that closes a block whose opening brace stands right before `text`.
///
/// The error is an offset and what is wrong there; nothing means that the closing brace is missing.
pub(super) fn block_end(text: &str) -> Result<usize, (usize, Option<LexErrorKind>)> {
    let bytes = text.as_bytes();
    let (mut at, mut last, mut depth) = (0, 0, 1);
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'{' => {
                depth += 1;
                at + 1
            }
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at);
                }
                at + 1
            }
            b'"' | b'\'' => string_end(bytes, at).ok_or((at, Some(LexErrorKind::LuaString)))?,
            b'-' if bytes[at..].starts_with(b"--") => match bracket_level(&bytes[at + 2..]) {
                Some(level) => bracket_end(text, at + 2, level).ok_or((at, Some(LexErrorKind::LuaString)))?,
                None => text[at..].find('\n').map_or(bytes.len(), |length| at + length + 1),
            },
            b'[' => match bracket_level(&bytes[at..]) {
                Some(level) => bracket_end(text, at, level).ok_or((at, Some(LexErrorKind::LuaString)))?,
                None => {
                    at += 1;
                    continue;
                }
            },
            _ => {
                at += 1;
                continue;
            }
        };
        if end - at > 1 && end - last > MAX_REACH {
            return Err((at, Some(LexErrorKind::LuaLong)));
        }
        (at, last) = (end, end);
    }
    Err((0, None))
}

/// Behind the closing quote. No line break: Lua takes an escaped one, but the Lua module then does not see a string at all.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'\n' | b'\r' => return None,
            b'\\' if !matches!(bytes.get(at + 1), Some(b'\n' | b'\r')) => at += 2,
            byte if *byte == bytes[start] => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The number of `=` in a long bracket that opens here.
fn bracket_level(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"[")?;
    let level = rest.iter().take_while(|byte| **byte == b'=').count();
    (rest.get(level) == Some(&b'[')).then_some(level)
}

/// Behind the closing long bracket.
fn bracket_end(text: &str, open: usize, level: usize) -> Option<usize> {
    let close = format!("]{}]", "=".repeat(level));
    let content = open + level + 2;
    text[content..].find(&close).map(|length| content + length + close.len())
}
