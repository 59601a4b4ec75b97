//! Values made of text and variables, and the text of headers.

use std::str::FromStr;

use crate::template::{Part, parts};
use crate::variable::{complaint, has_stray_brace};
use crate::{Invalid, Text};

const MAX_BYTES: usize = 4000;

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $check:expr) => {
        $crate::newtype::newtype! {
            $(#[$doc])*
            $name
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                let check: fn(&str) -> Result<(), Invalid> = $check;
                check(text).map(|()| Self(text.to_owned()))
            }
        }
    };
}

text! {
    /// A key or an id made of variables: letters, digits, `-`, `_` and spaces, `$name` and `${name}`; not empty, at most 4000 bytes.
    ///
    /// Variables are those that tenants may use. Print it with [`crate::quote()`].
    Expression,
    |text| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b' ' | b'$' | b'{' | b'}');
        let expected = "a text of letters, digits, - and _";
        if has_stray_brace(text) { Err(Invalid::new(expected)) } else { checked(expected, text, allowed) }
    }
}

text! {
    /// The value of a header in which variables are meant: printable ASCII and UTF-8, no control character; may be empty, at most 4000 bytes.
    ///
    /// Variables are those that tenants may use. Print it with [`crate::quote()`].
    HeaderTemplate,
    |text| {
        if text.is_empty() { Ok(()) } else { checked("a header's value of at most 4000 bytes without control characters", text, is_visible) }
    }
}

text! {
    /// The value of a header that means itself, `$` included: printable ASCII, not empty, at most 4000 bytes.
    ///
    /// Print it with [`crate::quote_text`].
    HeaderValue,
    |text| {
        let valid = (1..=MAX_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if valid { Ok(()) } else { Err(Invalid::new("a header's value of printable ASCII characters, at most 4000")) }
    }
}

impl Expression {
    /// The text in pieces, without captures.
    pub fn parts(&self) -> Vec<Part<'_>> {
        parts(&self.0).expect("the text was cut once when it was read")
    }
}

impl HeaderTemplate {
    /// The text in pieces, without captures.
    pub fn parts(&self) -> Vec<Part<'_>> {
        parts(&self.0).expect("the text was cut once when it was read")
    }
}

const fn is_visible(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f
}

fn checked(expected: &str, text: &str, allowed: fn(u8) -> bool) -> Result<(), Invalid> {
    if !(1..=MAX_BYTES).contains(&text.len()) || !text.bytes().all(allowed) {
        return Err(Invalid::because(expected.to_owned()));
    }
    // Between quotes, `"` and `\` take two bytes each.
    if Text::new(text).is_err() {
        return Err(Invalid::because(format!("{expected}, escaped")));
    }
    complaint(text).map_or(Ok(()), |complaint| Err(Invalid::because(format!("{expected} {complaint}"))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{lexer, quote};

    #[test]
    fn an_expression_has_letters_digits_and_variables() {
        for text in ["fixed", "$remote_addr$http_a", "${host}-${request_id}", "$cookie_a $arg_b"] {
            assert_eq!(text.parse::<Expression>().unwrap().as_str(), text);
        }
        for text in ["", "$", "${", "{}", "a}", "a.b", "a;b", "a\n", "\"", "$1", "$nothing", "${host", "é"] {
            assert!(text.parse::<Expression>().is_err(), "{text:?}");
        }
        let message = "$secret".parse::<Expression>().unwrap_err().to_string();
        assert_eq!(message, "expected a text of letters, digits, - and _ with variables that can be used here, which $secret can't");
    }

    #[test]
    fn a_header_may_hold_anything_printable() {
        for text in ["", "42", "a; \"b\" {c} \\ 'd' #", "Bearer $http_x", "ü"] {
            assert_eq!(text.parse::<HeaderTemplate>().unwrap().as_str(), text);
        }
        for text in ["a\nb", "a\r", "\0", "\u{7f}", "a$", "5$ off", "$1", "$narthex_backend", &"a".repeat(4001)] {
            assert!(text.parse::<HeaderTemplate>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_literal_header_means_itself() {
        for text in ["42", "$remote_addr", "a; b=\"c\"", " "] {
            assert_eq!(text.parse::<HeaderValue>().unwrap().as_str(), text);
        }
        for text in ["", "a\nb", "ü", "\t"] {
            assert!(text.parse::<HeaderValue>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_quoted_header_is_one_word(text in r#"([a-c \\"';{}$#()]|\$host){0,12}"#) {
            if let Ok(header) = text.parse::<HeaderTemplate>() {
                let printed = format!("d {};", quote(Text::new(header.as_str()).unwrap()));
                let directives = lexer::parse(&printed).unwrap();
                prop_assert_eq!(directives[0].arguments().collect::<Vec<_>>(), vec![header.as_str()]);
            }
        }
    }
}
