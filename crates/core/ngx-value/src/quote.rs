//! Escaping. Nothing else in this workspace escapes for NGINX or Lua.

use std::fmt::Write;

use crate::Invalid;
use crate::lexer::MAX_WORD;

/// Bytes of source per Lua string literal: NGINX's reader of Lua blocks looks at about 1300 bytes at a time.
const MAX_LUA_LITERAL: usize = 500;

/// Any text that NGINX can hold as one word, however it is quoted: no NUL, and not longer than NGINX's buffer even when escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Checks a text.
    pub fn new(text: &'a str) -> Result<Self, Invalid> {
        if text.contains('\0') {
            return Err(Invalid::new("a text without NUL"));
        }
        if quote_text(Self(text)).len() - 2 > MAX_WORD {
            return Err(Invalid::new("a text of at most 4090 bytes after escaping"));
        }
        Ok(Self(text))
    }

    /// The text.
    pub const fn as_str(self) -> &'a str {
        self.0
    }
}

/// The text as one double-quoted word.
///
/// A `$` stays as it is: literal where the directive takes its argument literally, the start of a variable where it interpolates.
/// So use it for arguments that do not interpolate, and for types whose variables are meant ([`crate::Template`], [`crate::VhostTemplate`]).
/// Total: NGINX's only metacharacters inside double quotes are `"` and `\`.
pub fn quote(text: Text<'_>) -> String {
    escape(text.0, "$")
}

/// The text as one double-quoted word for a directive that interpolates variables: every `$` comes out as a literal.
///
/// NGINX has no escape for `$`, so it is written as the variable `narthex_dollar`, which the `http` block defines (`geo`, constant `$`).
pub fn quote_text(text: Text<'_>) -> String {
    escape(text.0, "${narthex_dollar}")
}

/// A text with variables as quoted words of one directive, which NGINX joins (`log_format`): no word is longer than NGINX reads.
pub fn quote_template(text: &crate::Template) -> String {
    let mut words = Vec::new();
    let mut word = String::new();
    for part in text.parts() {
        match part {
            crate::Part::Literal(literal) => {
                for c in literal.chars() {
                    flush(&mut words, &mut word);
                    word.push(c);
                }
            }
            crate::Part::Capture(digit) => word.push_str(&format!("${{{digit}}}")),
            crate::Part::Variable(name) => word.push_str(&format!("${{{name}}}")),
        }
        flush(&mut words, &mut word);
    }
    words.push(word);
    words.iter().map(|word| escape(word, "$")).collect::<Vec<_>>().join("\n        ")
}

/// Ends a word before it gets long.
fn flush(words: &mut Vec<String>, word: &mut String) {
    if word.len() >= 1000 {
        words.push(std::mem::take(word));
    }
}

fn escape(text: &str, dollar: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' => out.push_str(dollar),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Any text, such as JSON, as an expression of Lua source inside a `*_by_lua_block`.
///
/// Letters and digits stay, every other byte becomes a decimal escape, so neither Lua's nor NGINX's reader can find a quote, brace,
/// bracket or comment in it. Long texts are concatenated from short literals.
pub fn json_in_lua(text: &str) -> String {
    let mut literals = vec![String::new()];
    for byte in text.bytes() {
        if literals.last().is_some_and(|literal| literal.len() >= MAX_LUA_LITERAL) {
            literals.push(String::new());
        }
        if let Some(literal) = literals.last_mut() {
            if byte.is_ascii_alphanumeric() {
                literal.push(byte.into());
            } else {
                let _ = write!(literal, "\\{byte:03}");
            }
        }
    }
    match literals.as_slice() {
        [only] => format!("\"{only}\""),
        many => format!("table.concat({{\n\"{}\"\n}})", many.join("\",\n\"")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lexer::{self, Body};

    /// The arguments of the one directive that the text is.
    fn arguments(text: &str) -> Vec<String> {
        let directives = lexer::parse(text).unwrap();
        assert_eq!(directives.len(), 1, "{text}");
        directives[0].arguments().map(str::to_owned).collect()
    }

    #[test]
    fn a_quoted_text_escapes_quotes_and_backslashes() {
        for (text, quoted) in [
            ("", r#""""#),
            ("a b", r#""a b""#),
            (r#"a"; } b"#, r#""a\"; } b""#),
            (r"a\", r#""a\\""#),
            ("a\nb\tc\r", r#""a\nb\tc\r""#),
            ("$x ${y}", r#""$x ${y}""#),
        ] {
            assert_eq!(quote(Text::new(text).unwrap()), quoted);
        }
        assert_eq!(quote_text(Text::new("5$ ${x}").unwrap()), r#""5${narthex_dollar} ${narthex_dollar}{x}""#);
    }

    #[test]
    fn a_text_that_nginx_cannot_hold_is_refused() {
        assert_eq!(Text::new("a\0b").unwrap_err().to_string(), "expected a text without NUL");
        assert!(Text::new(&"a".repeat(4090)).is_ok());
        assert!(Text::new(&"a".repeat(4091)).is_err());
        assert!(Text::new(&"$".repeat(1000)).is_err());
    }

    #[test]
    fn a_long_template_becomes_several_words() {
        let text = format!("{}$a{}", "x\"".repeat(1000), "$bc ".repeat(1000));
        let words = arguments(&format!("log_format name {};", quote_template(&text.parse().unwrap())));
        assert!(words.len() > 4);
        assert_eq!(words[1..].concat(), text.replace("$a", "${a}").replace("$bc", "${bc}"));
        assert_eq!(quote_template(&"[$time_local] \"$request\"".parse().unwrap()), r#""[${time_local}] \"${request}\"""#);
    }

    #[test]
    fn json_in_lua_has_letters_digits_and_escapes_only() {
        assert_eq!(json_in_lua(""), r#""""#);
        assert_eq!(json_in_lua(r#"{"a":1}"#), r#""\123\034a\034\0581\125""#);
        assert_eq!(json_in_lua("é]]\n"), r#""\195\169\093\093\010""#);
        let long = json_in_lua(&"}".repeat(1000));
        assert!(long.starts_with("table.concat({\n\"\\125") && long.lines().all(|line| line.len() < 520));
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_one_word_with_the_same_content(text in "[^\0]{0,60}") {
            let text = Text::new(&text).unwrap();
            prop_assert_eq!(arguments(&format!("d {};", quote(text))), vec![text.as_str().to_owned()]);
        }

        #[test]
        fn quoted_metacharacters_are_one_word_with_the_same_content(text in r#"[\\"'${};#\n )(]{0,30}"#) {
            let text = Text::new(&text).unwrap();
            prop_assert_eq!(arguments(&format!("d {};", quote(text))), vec![text.as_str().to_owned()]);
            let literal = arguments(&format!("d {};", quote_text(text)));
            prop_assert_eq!(literal, vec![text.as_str().replace('$', "${narthex_dollar}")]);
        }

        #[test]
        fn json_in_lua_stays_in_its_block(text in ".{0,2000}") {
            let source = format!(" local json = {} ", json_in_lua(&text));
            let directives = lexer::parse(&format!("a_by_lua_block {{{source}}}")).unwrap();
            prop_assert_eq!(&directives[0].body, &Body::Lua(source));
        }
    }
}
