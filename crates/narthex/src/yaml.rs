//! JSON as YAML.

use serde_json::Value;

/// The text of a document.
pub(crate) fn document(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Array(items) if !items.is_empty() => list(items, 0, &mut text),
        Value::Object(_) if !is_empty(value) => block(value, 0, &mut text),
        _ => text = scalar(value) + "\n",
    }
    text
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// The fields of an object, the first one where the text stands.
fn block(value: &Value, depth: usize, text: &mut String) {
    for (at, (name, value)) in value.as_object().into_iter().flatten().enumerate() {
        if at > 0 {
            indent(depth, text);
        }
        text.push_str(&word(name));
        text.push(':');
        match value {
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                indent(depth, text);
                list(items, depth, text);
            }
            Value::Object(_) if !is_empty(value) => {
                text.push('\n');
                indent(depth + 1, text);
                block(value, depth + 1, text);
            }
            _ => {
                text.push(' ');
                text.push_str(&scalar(value));
                text.push('\n');
            }
        }
    }
}

/// The items of a list, the first one where the text stands.
fn list(items: &[Value], depth: usize, text: &mut String) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            indent(depth, text);
        }
        text.push_str("- ");
        match item {
            Value::Array(items) if !items.is_empty() => list(items, depth + 1, text),
            Value::Object(_) if !is_empty(item) => block(item, depth + 1, text),
            _ => {
                text.push_str(&scalar(item));
                text.push('\n');
            }
        }
    }
}

fn indent(depth: usize, text: &mut String) {
    text.push_str(&"  ".repeat(depth));
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(value) => word(value),
        other => other.to_string(),
    }
}

/// A text without quotes where every reader takes it for that text; else in quotes, as JSON, which YAML contains.
fn word(value: &str) -> String {
    let plain = value.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&value.to_ascii_lowercase().as_str());
    if plain { value.to_owned() } else { Value::from(value).to_string() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_indented_by_two_spaces() {
        let value = json!({"host": "a.example", "empty": [], "paths": [{"path": "/", "count": 1}, {"path": "/x", "tags": ["yes", "b"]}]});
        let expected = "empty: []\nhost: a.example\npaths:\n- count: 1\n  path: /\n- path: /x\n  tags:\n  - \"yes\"\n  - b\n";
        assert_eq!(document(&value), expected);
        assert_eq!(document(&json!([])), "[]\n");
        assert_eq!(document(&json!([[1], {"a": {"b": null}}])), "- - 1\n- a:\n    b: null\n");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[ -~äß\\n\\t]{0,12}".prop_map(Value::from),
            "[a-z0-9:#.~-]{1,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z0-9:# ]{1,6}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_reader_of_yaml_finds_the_same(value in values()) {
            let text = document(&value);
            let read: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            prop_assert_eq!(read, value, "{}", text);
        }
    }
}
