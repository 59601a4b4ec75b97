//! Raw NGINX text that passed the gate.

use std::fmt;
use std::str::FromStr;

use crate::lexer::{self, Directive, LexError};

/// Raw configuration text: complete directives and blocks, balanced, so that it cannot end the block it is put into.
///
/// The only raw text that templates print. It ends in a line break (so a comment can't swallow what follows) unless it is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Snippet(String);

/// The reason why a text is not a [`Snippet`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected complete NGINX directives")]
pub struct SnippetError(#[from] LexError);

impl SnippetError {
    /// The fault, and its line.
    pub const fn reason(&self) -> &LexError {
        &self.0
    }
}

impl Snippet {
    /// Checks a text. Spaces and line breaks around it are dropped, the rest stays as it is.
    pub fn parse(text: &str) -> Result<Self, SnippetError> {
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        let text = if text.is_empty() { String::new() } else { format!("{text}\n") };
        lexer::parse(&text)?;
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text as directives.
    pub fn directives(&self) -> Vec<Directive> {
        lexer::parse(&self.0).expect("the text was parsed once when it was read")
    }
}

impl FromStr for Snippet {
    type Err = SnippetError;

    fn from_str(text: &str) -> Result<Self, SnippetError> {
        Self::parse(text)
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_snippet_ends_in_a_line_break() {
        for (text, kept) in [
            ("", ""),
            (" \n", ""),
            ("a b;", "a b;\n"),
            ("\n  a;\n  b;\n", "a;\n  b;\n"),
            ("# only a comment {", "# only a comment {\n"),
            ("a { b; } # c", "a { b; } # c\n"),
        ] {
            assert_eq!(Snippet::parse(text).unwrap().as_str(), kept, "{text:?}");
        }
        assert_eq!(Snippet::parse("a b; c { d; }").unwrap().directives().len(), 2);
    }

    #[test]
    fn a_snippet_cannot_leave_its_block() {
        for text in ["}", "a; } server { b;", "a", "a {", "a \"", "a; \0", "a 'b'c;", "content_by_lua_block { '} }"] {
            let error = Snippet::parse(text).unwrap_err();
            assert_eq!(error.to_string(), "expected complete NGINX directives");
            assert_eq!(error.reason().line, 1, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_snippet_parses_back(text in r#"([ab ;{}$#"'\\\n)]){0,20}"#) {
            if let Ok(snippet) = Snippet::parse(&text) {
                prop_assert_eq!(Snippet::parse(&snippet.to_string()), Ok(snippet));
            }
        }
    }
}
