//! A reader of JSON, for the messages of cargo: with a library for it this program would be built later than its first users.

/// Deepest nesting: messages of cargo have five levels.
const MAX_DEPTH: usize = 64;

/// A value. Numbers and `null` are not read by any caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Other,
    Bool(bool),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value of a key; `Other` where there is none.
    pub(crate) fn get(&self, key: &str) -> &Self {
        match self {
            Self::Object(entries) => entries.iter().find(|(own, _)| own == key).map_or(&Self::Other, |(_, value)| value),
            _ => &Self::Other,
        }
    }

    /// The first value of a list; `Other` where there is none.
    pub(crate) fn first(&self) -> &Self {
        match self {
            Self::List(items) => items.first().unwrap_or(&Self::Other),
            _ => &Self::Other,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The value that a text is; `None` where it is not JSON.
pub(crate) fn read(text: &str) -> Option<Value> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_spaces();
    (reader.at == text.len()).then_some(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Steps over this text, with spaces before it.
    fn take(&mut self, expected: &str) -> Option<()> {
        self.skip_spaces();
        self.rest().starts_with(expected).then(|| self.at += expected.len())
    }

    fn character(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_spaces();
        match self.rest().chars().next()? {
            '{' => self.object(depth),
            '[' => self.list(depth),
            '"' => self.string().map(Value::Text),
            't' => self.take("true").map(|()| Value::Bool(true)),
            'f' => self.take("false").map(|()| Value::Bool(false)),
            'n' => self.take("null").map(|()| Value::Other),
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<Value> {
        let length = self.rest().find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(self.rest().len());
        self.at += length;
        (length > 0).then_some(Value::Other)
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.take("[")?;
        let mut items = Vec::new();
        if self.take("]").is_some() {
            return Some(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(",").is_none() {
                return self.take("]").map(|()| Value::List(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.take("{")?;
        let mut entries = Vec::new();
        if self.take("}").is_some() {
            return Some(Value::Object(entries));
        }
        loop {
            let key = self.string()?;
            self.take(":")?;
            entries.push((key, self.value(depth + 1)?));
            if self.take(",").is_none() {
                return self.take("}").map(|()| Value::Object(entries));
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut text = String::new();
        loop {
            match self.character()? {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                c if c < ' ' => return None,
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        match self.character()? {
            c @ ('"' | '\\' | '/') => Some(c),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                let first = self.unit()?;
                let mut units = vec![first];
                if (0xd800..0xdc00).contains(&first) {
                    self.rest().starts_with("\\u").then(|| self.at += 2)?;
                    units.push(self.unit()?);
                }
                char::decode_utf16(units).next()?.ok()
            }
            _ => None,
        }
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u16> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        let unit = u16::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn values_are_read() {
        let value = read(r#" {"a": [true, false , null,-1.5e3], "b":{"c":"d"}, "e":[], "f":{} } "#).unwrap();
        assert_eq!(*value.get("a"), Value::List(vec![Value::Bool(true), Value::Bool(false), Value::Other, Value::Other]));
        assert_eq!(value.get("b").get("c").text(), Some("d"));
        assert_eq!((value.get("e"), value.get("f")), (&Value::List(Vec::new()), &Value::Object(Vec::new())));
        assert_eq!((value.get("g").get("h"), value.get("b").first()), (&Value::Other, &Value::Other));
        assert_eq!(*value.get("a").first(), Value::Bool(true));
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(read(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é""#), Some(text("\"\\/\u{8}\u{c}\n\r\té😀é")));
    }

    #[test]
    fn what_is_no_json_has_no_value() {
        for wrong in [
            "",
            "{",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{a:1}",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud83d\"",
            "\"\\ud83dxxdc00\"",
            "\"\\uzzzz\"",
            "\"a\nb\"",
            "tru",
            "1 2",
            "x",
            "\"\\u+123\"",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(&("[".repeat(1000) + &"]".repeat(1000))), None);
    }
}
