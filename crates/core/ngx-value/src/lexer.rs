//! NGINX configuration text as a tree of directives.
//!
//! Reads exactly as NGINX does: spaces separate words; `"` and `'` open a quoted word only at its beginning, and after the closing
//! quote a space, `;`, `{` or `)` must follow; `\` takes the next character along; `${` does not open a block; `#` begins a comment
//! only where a word could begin; `}` is punctuation only there, too. The body of a `*_by_lua_block` is Lua and kept as one piece.
//! Where NGINX's reader has limits ([`MAX_WORD`]), so has this one. Never panics.

mod lua;

use std::fmt;

/// One directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// The line of its first word, counted from 1.
    pub line: u32,
    /// The name and the arguments, at least the name.
    pub words: Vec<Word>,
    /// The text after the words.
    pub body: Body,
}

/// One word of a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its content: without quotes, escapes resolved.
    pub text: String,
    /// `true` if it stood in quotes.
    pub quoted: bool,
}

/// The end of a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// `;`
    None,
    /// `{ ... }`
    Block(Vec<Directive>),
    /// The source between the braces of a `*_by_lua_block`.
    Lua(String),
}

impl Directive {
    /// The first word.
    pub fn name(&self) -> &str {
        self.words.first().map_or("", |word| &word.text)
    }

    /// The words after the name.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.words.iter().skip(1).map(|word| word.text.as_str())
    }

    /// The directives inside, if it is a block.
    pub fn children(&self) -> &[Directive] {
        match &self.body {
            Body::Block(children) => children,
            Body::None | Body::Lua(_) => &[],
        }
    }
}

/// The reason why a text is not complete, balanced configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct LexError {
    /// The line, counted from 1: for something unfinished, where it began.
    pub line: u32,
    /// The kind of fault.
    pub kind: LexErrorKind,
}

/// Sorts of [`LexError`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LexErrorKind {
    /// A NUL character.
    Nul,
    /// `;` or `{` where a directive's name was expected.
    NoName(char),
    /// `}` before the directive was ended by `;`. Holds its name.
    Unended(String),
    /// `}` that closes a block which the text did not open.
    Unopened,
    /// A `{` without its `}`. Holds the directive's name.
    Unclosed(String),
    /// A quote without its end.
    Quote(char),
    /// This character directly after a closing quote.
    AfterQuote(char),
    /// The text ended within a directive. Holds its name.
    Cut(String),
    /// A word or a comment that is longer than NGINX reads.
    LongWord,
    /// Blocks nested more than [`MAX_DEPTH`] deep.
    Deep,
    /// A string or long bracket of Lua without its end.
    LuaString,
    /// A string or comment of Lua that NGINX's reader may tear apart.
    LuaLong,
}

/// The depth to which blocks may be nested.
pub const MAX_DEPTH: usize = 32;
/// The longest word (as it stands in the text, without its quotes) and the longest comment: NGINX's buffer of 4096 bytes, less a margin
/// for what else it keeps there.
pub const MAX_WORD: usize = 4090;

impl fmt::Display for LexErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nul => f.write_str("a NUL character, which NGINX can't hold"),
            Self::NoName(c) => write!(f, "\"{c}\" where a directive was expected"),
            Self::Unended(name) => write!(f, "directive {name:?} is not ended by \";\" before \"}}\""),
            Self::Unopened => f.write_str("\"}\" closes a block that was not opened here"),
            Self::Unclosed(name) => write!(f, "the block of {name:?} is not closed by \"}}\""),
            Self::Quote(c) => write!(f, "a quoted word is not closed by {c}"),
            Self::AfterQuote(c) => write!(f, "{c:?} directly after a closing quote, where a space, \";\" or \"{{\" was expected"),
            Self::Cut(name) => write!(f, "directive {name:?} is not ended by \";\""),
            Self::LongWord => write!(f, "a word or comment longer than the {MAX_WORD} bytes that NGINX reads"),
            Self::Deep => write!(f, "blocks nested more than {MAX_DEPTH} deep"),
            Self::LuaString => f.write_str("a Lua string or comment is not closed, or a string holds a line break"),
            Self::LuaLong => write!(
                f,
                "a Lua string or comment ends more than {} bytes after the one before it, which NGINX may misread",
                lua::MAX_REACH
            ),
        }
    }
}

/// Reads a complete text: every directive ended, every block closed that was opened here, and no other.
pub fn parse(text: &str) -> Result<Vec<Directive>, LexError> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    if let Some(at) = text.find('\0') {
        lexer.skip_to(at);
        return Err(lexer.error(LexErrorKind::Nul));
    }
    let mut open: Vec<(Directive, Vec<Directive>)> = Vec::new();
    let mut siblings = Vec::new();
    loop {
        match lexer.directive()? {
            Step::Simple(directive) => siblings.push(directive),
            Step::Open(mut directive) if directive.name().ends_with("_by_lua_block") => {
                let rest = &text[lexer.at..];
                let end = lua::block_end(rest).map_err(|(at, kind)| {
                    lexer.skip_to(lexer.at + at);
                    lexer.error(kind.unwrap_or_else(|| LexErrorKind::Unclosed(directive.name().to_owned())))
                })?;
                directive.body = Body::Lua(rest[..end].to_owned());
                lexer.skip_to(lexer.at + end + 1);
                siblings.push(directive);
            }
            Step::Open(_) if open.len() == MAX_DEPTH => return Err(lexer.error(LexErrorKind::Deep)),
            Step::Open(directive) => open.push((directive, std::mem::take(&mut siblings))),
            Step::Close => {
                let Some((mut directive, before)) = open.pop() else {
                    return Err(lexer.error(LexErrorKind::Unopened));
                };
                directive.body = Body::Block(std::mem::replace(&mut siblings, before));
                siblings.push(directive);
            }
            Step::End => {
                return match open.pop() {
                    None => Ok(siblings),
                    Some((directive, _)) => {
                        Err(LexError { line: directive.line, kind: LexErrorKind::Unclosed(directive.name().to_owned()) })
                    }
                };
            }
        }
    }
}

/// The piece up to the next `;`, `{`, `}` or the end.
enum Step {
    Simple(Directive),
    Open(Directive),
    Close,
    End,
}

struct Lexer<'a> {
    text: &'a str,
    /// Offset of the next byte.
    at: usize,
    /// Line of the next byte.
    line: u32,
}

impl Lexer<'_> {
    const fn error(&self, kind: LexErrorKind) -> LexError {
        LexError { line: self.line, kind }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line = self.line.saturating_add((byte == b'\n').into());
        Some(byte)
    }

    fn skip_to(&mut self, at: usize) {
        while self.at < at && self.next().is_some() {}
    }

    fn directive(&mut self) -> Result<Step, LexError> {
        let mut directive = Directive { line: self.line, words: Vec::new(), body: Body::None };
        loop {
            let Some(byte) = self.peek() else {
                return match directive.words.is_empty() {
                    true => Ok(Step::End),
                    false => Err(LexError { line: directive.line, kind: LexErrorKind::Cut(directive.name().to_owned()) }),
                };
            };
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    self.next();
                }
                b';' | b'{' if directive.words.is_empty() => return Err(self.error(LexErrorKind::NoName(byte.into()))),
                b';' => {
                    self.next();
                    return Ok(Step::Simple(directive));
                }
                b'{' => {
                    self.next();
                    return Ok(Step::Open(directive));
                }
                b'}' if directive.words.is_empty() => {
                    self.next();
                    return Ok(Step::Close);
                }
                b'}' => return Err(self.error(LexErrorKind::Unended(directive.name().to_owned()))),
                b'#' => {
                    let end = self.text[self.at..].find('\n').map_or(self.text.len(), |length| self.at + length);
                    if end - self.at > MAX_WORD {
                        return Err(self.error(LexErrorKind::LongWord));
                    }
                    self.skip_to(end);
                }
                _ => {
                    if directive.words.is_empty() {
                        directive.line = self.line;
                    }
                    let word = match byte {
                        b'"' | b'\'' => self.quoted_word(byte)?,
                        _ => self.plain_word(directive.words.first().map(|word| word.text.as_str()))?,
                    };
                    directive.words.push(word);
                }
            }
        }
    }

    /// Reads a word that begins with a quote, and checks what follows it.
    fn quoted_word(&mut self, quote: u8) -> Result<Word, LexError> {
        let line = self.line;
        self.next();
        let start = self.at;
        loop {
            match self.next() {
                None => return Err(LexError { line, kind: LexErrorKind::Quote(quote.into()) }),
                Some(b'\\') => {
                    self.next();
                }
                Some(byte) if byte == quote => break,
                Some(_) => {}
            }
        }
        let word = word(&self.text[start..self.at - 1], true).map_err(|kind| LexError { line, kind })?;
        match self.text[self.at..].chars().next() {
            None | Some(' ' | '\t' | '\r' | '\n' | ';' | '{' | ')') => Ok(word),
            Some(c) => Err(self.error(LexErrorKind::AfterQuote(c))),
        }
    }

    /// Reads a word up to a space, `;` or `{`. `name` is the directive's first word, if this is not it.
    fn plain_word(&mut self, name: Option<&str>) -> Result<Word, LexError> {
        let (start, line) = (self.at, self.line);
        let mut variable = false;
        loop {
            match self.peek() {
                None => {
                    let name = name.map_or_else(|| self.text[start..].chars().take(40).collect(), str::to_owned);
                    return Err(LexError { line, kind: LexErrorKind::Cut(name) });
                }
                Some(b'{') if variable => {
                    self.next();
                }
                Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{') => break,
                Some(byte) => {
                    variable = byte == b'$';
                    self.next();
                    if byte == b'\\' {
                        self.next();
                    }
                }
            }
        }
        word(&self.text[start..self.at], false).map_err(|kind| LexError { line, kind })
    }
}

fn word(raw: &str, quoted: bool) -> Result<Word, LexErrorKind> {
    if raw.len() > MAX_WORD {
        return Err(LexErrorKind::LongWord);
    }
    Ok(Word { text: unescaped(raw), quoted })
}

/// The content of a word as it stands in the text, its quotes left out: the escapes that NGINX knows are resolved, a backslash before
/// anything else stays.
pub(crate) fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = match (c, chars.peek()) {
            ('\\', Some(c @ ('"' | '\'' | '\\'))) => *c,
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some('n')) => '\n',
            _ => {
                text.push(c);
                continue;
            }
        };
        chars.next();
        text.push(escaped);
    }
    text
}

#[cfg(test)]
mod tests;
