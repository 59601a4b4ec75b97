//! Texts with `$variables`.

use std::str::FromStr;

use crate::Invalid;

/// A piece of a text with variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part<'a> {
    /// Plain text.
    Literal(&'a str),
    /// `$1` to `$9`: a group of the path's regular expression.
    Capture(u8),
    /// `$name` or `${name}`: a variable of NGINX.
    Variable(&'a str),
}

/// Cuts a text as NGINX does: `$` and one digit 1–9 is a capture, `$` and a name of letters, digits and `_` is a variable,
/// `${name}` likewise. `None` when a `$` stands for neither: NGINX refuses such a text.
pub(crate) fn parts(text: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        if at > 0 {
            parts.push(Part::Literal(&rest[..at]));
        }
        let after = &rest[at + 1..];
        rest = match after.as_bytes().first()? {
            digit @ b'1'..=b'9' => {
                parts.push(Part::Capture(digit - b'0'));
                &after[1..]
            }
            b'{' => {
                let (name, rest) = after[1..].split_once('}')?;
                parts.push(Part::Variable(variable(name)?));
                rest
            }
            _ => {
                let end = after.bytes().take_while(|byte| is_name(*byte)).count();
                parts.push(Part::Variable(variable(&after[..end])?));
                &after[end..]
            }
        };
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest));
    }
    Some(parts)
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn variable(name: &str) -> Option<&str> {
    ((1..=128).contains(&name.len()) && name.bytes().all(is_name)).then_some(name)
}

/// Letters, digits and `- . _ ~ / :`.
pub(crate) const fn is_basic(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/' | b':')
}

macro_rules! template {
    ($(#[$doc:meta])* $name:ident, $expected:literal, |$text:ident| $valid:expr) => {
        $crate::newtype::newtype! {
            $(#[$doc])*
            $name
        }

        impl $name {
            /// The text in pieces.
            pub fn parts(&self) -> Vec<Part<'_>> {
                parts(&self.0).expect("the text was cut once when it was read")
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str($text: &str) -> Result<Self, Invalid> {
                if $valid && parts($text).is_some() { Ok(Self($text.to_owned())) } else { Err(Invalid::new($expected)) }
            }
        }
    };
}

template! {
    /// The new URI of a rewrite: letters, digits, `- . _ ~ / :` and variables or captures without braces; at most 4000 bytes, not empty.
    RewriteTarget,
    "a path of letters, digits and - . _ ~ / : with captures such as $1",
    |text| (1..=4000).contains(&text.len()) && text.bytes().all(|byte| is_basic(byte) || byte == b'$')
}

template! {
    /// A Host header with variables: letters, digits, `- . _ ~ / :` and the signs of regular expressions; no space; at most 4000 bytes, not empty.
    VhostTemplate,
    "a host name of letters, digits and - . _ ~ / : ^ $ [ ] ( ) { } * + ? & = \\ | with variables such as $host or ${host}",
    |text| (1..=4000).contains(&text.len()) && text.bytes().all(|byte| is_basic(byte) || br"^$[](){}*+?&=\|".contains(&byte))
}

template! {
    /// Text of the administrator in which variables are meant, such as a log format: no NUL, at most 16 KiB, may be empty.
    ///
    /// Print it with [`crate::quote_template`].
    Template,
    "a text of at most 16 KiB without NUL, in which every $ begins a variable",
    |text| text.len() <= 16_384 && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Part::{Capture, Literal, Variable};
    use super::*;

    #[test]
    fn a_rewrite_target_holds_captures_and_variables() {
        let check = |text: &str, expected: &[Part<'_>]| assert_eq!(text.parse::<RewriteTarget>().unwrap().parts(), expected, "{text}");
        check("/", &[Literal("/")]);
        check("/$1/x$2", &[Literal("/"), Capture(1), Literal("/x"), Capture(2)]);
        check("$10", &[Capture(1), Literal("0")]);
        check("/$host/a", &[Literal("/"), Variable("host"), Literal("/a")]);
        for text in ["", "/a b", "/a?b=c", "/${host}", "/a;", "/$", "/$/", "/a\n", "/\"", "/a#b", "/%20", "/a,b", "/é"] {
            assert!(text.parse::<RewriteTarget>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_vhost_template_holds_braced_variables() {
        let check = |text: &str, expected: &[Part<'_>]| assert_eq!(text.parse::<VhostTemplate>().unwrap().parts(), expected, "{text}");
        check("upstream.bar.com", &[Literal("upstream.bar.com")]);
        check("${host}.x:80", &[Variable("host"), Literal(".x:80")]);
        check("$service_name.$namespace", &[Variable("service_name"), Literal("."), Variable("namespace")]);
        for text in ["", "a b", "a;b", "${", "${}", "${a-b}", "a$", "\"", "a\r", "a,b"] {
            assert!(text.parse::<VhostTemplate>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_log_format_holds_any_text_with_proper_variables() {
        for text in ["", "[$time_local] \"$request\" {\"a\": \"$b\"}", "plain\n\u{1}"] {
            assert_eq!(text.parse::<Template>().unwrap().as_str(), text);
        }
        for text in ["cost: 5$", "$-", "\0"] {
            assert!(text.parse::<Template>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_text_put_together_from_parts_has_the_same_parts(text in r"[a-z0-9$/{}.]{0,12}") {
            if let Ok(template) = text.parse::<Template>() {
                let joined: String = template.parts().iter().map(|part| match part {
                    Literal(text) => (*text).to_owned(),
                    Capture(digit) => format!("${digit}"),
                    Variable(name) => format!("${{{name}}}"),
                }).collect();
                let joined: Template = joined.parse().unwrap();
                prop_assert_eq!(joined.parts(), template.parts());
            }
        }

        #[test]
        fn any_text_is_a_template_or_an_error(text in ".*") {
            if let Ok(template) = text.parse::<RewriteTarget>() {
                prop_assert_eq!(template.to_string().parse(), Ok(template));
            }
        }
    }
}
