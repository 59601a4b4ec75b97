//! Small names and texts that annotations write.

use std::borrow::Borrow;
use std::str::FromStr;

use crate::Invalid;
use crate::template::is_basic;
use crate::words::word;

word! {
    /// The name of a Service: lower case letters, digits and `-`, a letter first, no `-` last, at most 63.
    ServiceName,
    "the name of a Service: lower case letters, digits and -, a letter first, at most 63",
    |text| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        text.len() <= 63 && text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.ends_with('-') && text.bytes().all(inner)
    }
}

word! {
    /// The text that a browser shows when it asks for a password: letters, digits, `- . _ ~ / :` and spaces; not empty, at most 256, not `off`, which
    /// NGINX takes for a switch.
    Realm,
    "a text of letters, digits, - . _ ~ / : and spaces, at most 256, but not off, which would switch authentication off",
    |text| (1..=256).contains(&text.len()) && text != "off" && text.bytes().all(|byte| is_basic(byte) || byte == b' ')
}

word! {
    /// The name of a parameter in a query: letters, digits, `-`, `.`, `_` and `~`, at most 64, not empty.
    QueryName,
    "the name of a query parameter: letters, digits, - . _ ~",
    |text| (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

word! {
    /// The name of an operation in a trace: letters, digits, `-`, `_` and spaces between them; at most 256, not empty.
    SpanName,
    "a name of letters, digits, - and _",
    |text| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b' ');
        (1..=256).contains(&text.len()) && text.trim() == text && text.bytes().all(allowed)
    }
}

word! {
    /// The name of a named location, without the `@`: letters, digits and `_`, at most 64, not empty.
    ///
    /// Our own named locations are `base`, hexadecimal digests and what begins with `narthex`; such a name is refused, so that no tenant jumps
    /// into a profile past its checks.
    LocationName,
    "the name of a named location: letters, digits and _, but not base, a hexadecimal number or what begins with narthex",
    |text| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let ours = text == "base" || text.starts_with("narthex") || text.bytes().all(|byte| byte.is_ascii_hexdigit());
        (1..=64).contains(&text.len()) && text.bytes().all(allowed) && !ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;

    #[test]
    fn names_hold_what_they_must() {
        check::<ServiceName>(&["a", "from-annotation", "a1"], &["", "1a", "A", "a-", "a.b", "a/b", "a b", &"a".repeat(64)]);
        check::<Realm>(&["test auth", "a.b/c:d~_-", "OFF"], &["", "off", "a\"b", "a;b", "a\nb", "$host"]);
        check::<QueryName>(&["rd", "a-b.c_d~"], &["", "a&b", "a=b", "a b", "a?b", "a/b"]);
        check::<SpanName>(&["my-op", "a_b c"], &["", " a", "a ", "a$b", "a.b", "\""]);
        check::<LocationName>(&["oops", "a_1"], &["", "a-b", "a b", "narthex_x", "@x", "x;", "base", "0123abcd", "A"]);
    }
}
