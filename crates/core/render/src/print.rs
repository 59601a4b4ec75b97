//! The one way from a value to the text of a configuration.
//!
//! Templates print with `{{ value }}` and one formatter decides by type:
//!
//! - numbers print as digits, booleans as `on` and `off`;
//! - a plain string prints quoted, as one argument; templates use it only where NGINX expands no variables;
//! - [`Printed`] prints as it was made: its constructors are the only ways to unquoted text;
//! - everything else, an undefined value above all, is an error.

use std::fmt;
use std::sync::Arc;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Object, ObjectRepr, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use ngx_value::{Snippet, Template, Text};
use serde::{Serialize, Serializer};

use crate::RenderError;

/// Text in the form in which it stands in the configuration.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Printed(Arc<str>);

impl Printed {
    /// Our own text.
    pub(crate) fn fixed(text: &'static str) -> Self {
        Self(text.into())
    }

    /// A bare word: letters, digits and `_ . / : - + = ! @ % [ ]`, never empty.
    pub(crate) fn word(text: impl fmt::Display) -> Result<Self, RenderError> {
        let text = text.to_string();
        let safe = |c: char| c.is_ascii_alphanumeric() || WORD.contains(c);
        if text.is_empty() || !text.chars().all(safe) {
            return Err(RenderError::Word { value: text, allowed: WORD });
        }
        Ok(Self(text.into()))
    }

    /// Bare words separated by spaces.
    pub(crate) fn words<T: fmt::Display>(words: impl IntoIterator<Item = T>) -> Result<Self, RenderError> {
        words.into_iter().map(Self::word).collect::<Result<Vec<_>, _>>().map(Self::joined)
    }

    /// One argument for a directive that takes it literally, or whose author meant the variables in it.
    pub(crate) fn quoted(text: &str) -> Result<Self, RenderError> {
        Ok(Self(ngx_value::quote(checked(text)?).into()))
    }

    /// Arguments, quoted each, for a directive that takes them literally.
    pub(crate) fn all_quoted<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, RenderError> {
        texts.into_iter().map(Self::quoted).collect::<Result<Vec<_>, _>>().map(Self::joined)
    }

    /// One argument as an administrator wrote it: bare where it can be, else quoted.
    pub(crate) fn argument(text: &str) -> Result<Self, RenderError> {
        Self::word(text).or_else(|_| Self::quoted(text))
    }

    /// Such arguments, separated by spaces.
    pub(crate) fn arguments<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, RenderError> {
        texts.into_iter().map(Self::argument).collect::<Result<Vec<_>, _>>().map(Self::joined)
    }

    fn joined(parts: Vec<Self>) -> Self {
        Self(parts.iter().map(|part| &*part.0).collect::<Vec<_>>().join(" ").into())
    }

    /// A text with variables for a directive that joins its arguments.
    pub(crate) fn template(template: &Template) -> Self {
        Self(ngx_value::quote_template(template).into())
    }

    /// An expression of Lua that is this text.
    pub(crate) fn lua(text: &str) -> Self {
        Self(ngx_value::json_in_lua(text).into())
    }

    /// `on` or `off`, for fields that are optional.
    pub(crate) fn switch(on: bool) -> Self {
        Self::fixed(if on { "on" } else { "off" })
    }

    /// Our own text, and a bare word right behind it.
    pub(crate) fn prefixed(prefix: &'static str, word: impl fmt::Display) -> Result<Self, RenderError> {
        Ok(Self(format!("{prefix}{}", Self::word(word)?.0).into()))
    }

    /// The name of a named location of ours. It ends in a line break, which no header can hold: no `X-Accel-Redirect` of a backend means it.
    pub(crate) fn inner(name: impl fmt::Display) -> Result<Self, RenderError> {
        Ok(Self(format!("\"@{}\\n\"", Self::word(name)?.0).into()))
    }

    /// A number of KiB as a size.
    pub(crate) fn size_kib(kib: u32) -> Self {
        Self(format!("{kib}k").into())
    }

    /// A variable.
    pub(crate) fn variable(name: &str) -> Result<Self, RenderError> {
        Ok(Self(format!("${}", Self::word(name)?.0).into()))
    }

    /// A variable, and our own text that defines it.
    pub(crate) fn definition(name: &str, arguments: &'static str) -> Result<Self, RenderError> {
        Ok(Self(format!("{} {arguments}", Self::variable(name)?.0).into()))
    }

    /// Words that follow another one, each with a space before it; may be empty.
    pub(crate) fn options<T: fmt::Display>(words: impl IntoIterator<Item = T>) -> Result<Self, RenderError> {
        let words = words.into_iter().map(Self::word).collect::<Result<Vec<_>, _>>()?;
        Ok(Self(words.iter().map(|word| format!(" {}", word.0)).collect::<String>().into()))
    }

    /// Raw text that passed the gate, without the line break at its end: the template has one.
    pub(crate) fn raw(snippet: &Snippet) -> Self {
        Self(snippet.as_str().trim_end_matches('\n').into())
    }

    /// The rest of a comment line: control characters, which could end it, are replaced.
    pub(crate) fn comment(text: &str) -> Self {
        Self(text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>().into())
    }
}

fn checked(text: &str) -> Result<Text<'_>, RenderError> {
    Text::new(text).map_err(|source| RenderError::Text { value: text.chars().take(200).collect(), source })
}

/// What may stand in a bare word besides letters and digits.
const WORD: &str = "_./:-+=!@%[]";

impl fmt::Debug for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Object for Printed {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

impl Serialize for Printed {
    /// Goes through serde as an object of the template engine, so that the formatter still knows what it is.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::from_object(self.clone()).serialize(serializer)
    }
}

/// The template engine: strict about what is undefined, and with [`format_value`] as its only way to print.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    environment.set_syntax(syntax.expect("the default delimiters are valid"));
    environment.set_formatter(format_value);
    environment
}

fn format_value(out: &mut Output<'_>, _state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if let Some(printed) = value.downcast_object_ref::<Printed>() {
        return Ok(out.write_str(&printed.0)?);
    }
    match value.kind() {
        ValueKind::Number if value.is_integer() => Ok(write!(out, "{value}")?),
        ValueKind::Bool => Ok(out.write_str(if value.is_true() { "on" } else { "off" })?),
        ValueKind::String => {
            let text = Text::new(value.as_str().unwrap_or_default());
            let text = text.map_err(|error| Error::new(ErrorKind::BadSerialization, "a string can't be printed").with_source(error))?;
            Ok(out.write_str(&ngx_value::quote(text))?)
        }
        kind => Err(Error::new(ErrorKind::BadSerialization, format!("a value of kind {kind} can't be printed"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(template: &str, value: impl Into<Value>) -> Result<String, String> {
        let mut environment = environment();
        environment.add_template("test", template).unwrap();
        let template = environment.get_template("test").unwrap();
        template.render(Value::from_pairs([("value", value.into())])).map_err(|error| error.kind().to_string())
    }

    #[test]
    fn values_print_by_their_type() {
        for (value, expected) in [
            (Value::from(8), "8"),
            (Value::from(true), "on"),
            (Value::from(false), "off"),
            (Value::from("a \"b\" $c; }"), r#""a \"b\" $c; }""#),
            (Value::from_object(Printed::fixed("a b")), "a b"),
            (Value::from_object(Printed::argument("a/b").unwrap()), "a/b"),
            (Value::from_object(Printed::argument("a;b").unwrap()), "\"a;b\""),
            (Value::from_object(Printed::comment("a\nb")), "a\u{fffd}b"),
        ] {
            assert_eq!(printed("{{ value }}", value).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn what_has_no_form_is_an_error() {
        for value in [Value::from(()), Value::from(1.5), Value::from(vec![1]), Value::from("\0")] {
            assert!(printed("{{ value }}", value.clone()).is_err(), "{value:?}");
        }
        assert!(printed("{{ other }}", 1).is_err());
        assert!(printed("{% if other %}x{% endif %}", 1).is_err());
        assert!(printed("{{ value.field }}", Value::from_pairs([("a", 1)])).is_err());
    }

    #[test]
    fn a_bare_word_has_no_meaning_of_its_own() {
        for text in ["", "a b", "a;", "{", "$a", "\"", "#", "é", "a\n"] {
            assert!(Printed::word(text).is_err(), "{text:?}");
        }
        for text in ["8k", "[::1]:80", "shared:SSL:10m", "@base", "TLSv1.2", "/dev/stdout"] {
            assert_eq!(format!("{:?}", Printed::word(text).unwrap()), text);
        }
    }
}
