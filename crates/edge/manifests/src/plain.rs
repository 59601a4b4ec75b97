//! A document that is no object, such as the values of a chart.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::parse::decode::decode;
use crate::parse::json;
use crate::parse::node::{Node, Scalar, Value as Parsed};
use crate::parse::split::{Format, split};

/// A document, and the lines of what is in it.
#[derive(Debug, Clone, Default)]
pub struct Plain {
    /// The document; of a key that is there twice, the last value. `null` where there is nothing.
    pub value: Value,
    /// Lines of the keys of maps, from 1, by their paths.
    lines: BTreeMap<Vec<String>, u32>,
    /// Paths of keys that are there twice.
    pub repeated: Vec<Vec<String>>,
}

impl Plain {
    /// Reads the only document of a text in YAML or JSON; scalars mean what they mean to kubectl and Helm.
    ///
    /// # Errors
    /// It is no YAML, or holds more than one document: what and in which line.
    pub fn read(text: &str) -> Result<Self, String> {
        let (chunks, fault) = split(text, Format::Yaml);
        if let Some(fault) = fault {
            return Err(format!("line {}: {}", fault.mark.line, fault.detail));
        }
        let mut plain = Self::default();
        let mut found = 0;
        for chunk in chunks {
            let above = chunk.line - 1;
            let node = chunk.parse().map_err(|fault| format!("line {}: {}", above + fault.mark.line, fault.detail))?;
            let Some(node) = node else { continue };
            found += 1;
            if found > 1 {
                return Err(format!("line {}: a second document, expected one", above + node.mark.line));
            }
            plain.value = plain.node(&node, above, &mut Vec::new());
        }
        Ok(plain)
    }

    /// The line of a key, from 1, or of the nearest one around it; `None` where there is none.
    pub fn line(&self, path: &[String]) -> Option<u32> {
        (1..=path.len()).rev().find_map(|length| self.lines.get(&path[..length]).copied())
    }

    fn node(&mut self, node: &Node<'_>, above: u32, path: &mut Vec<String>) -> Value {
        match &node.value {
            Parsed::Scalar(text, scalar) => match scalar {
                Scalar::Null => Value::Null,
                Scalar::Bool(value) => (*value).into(),
                Scalar::Int(value) => (*value).into(),
                Scalar::Unsigned(value) => (*value).into(),
                Scalar::Float(value) => (*value).into(),
                Scalar::Text => text.to_string().into(),
            },
            // Lines within a list are those of its key.
            Parsed::List(nodes) => nodes.iter().map(|node| Self::default().node(node, 0, &mut Vec::new())).collect(),
            Parsed::Map(entries) => {
                let mut map = Map::new();
                for entry in entries.iter() {
                    path.push(entry.key.to_string());
                    self.lines.insert(path.clone(), above + entry.mark.line);
                    let value = self.node(&entry.value, above, path);
                    if map.insert(entry.key.to_string(), value).is_some() {
                        self.repeated.push(path.clone());
                    }
                    path.pop();
                }
                Value::Object(map)
            }
        }
    }
}

/// Fields of a value that a Kubernetes type does not have, or can't hold: their paths, and the fault where it is another than that.
pub fn misfits<T: DeserializeOwned>(value: &Value) -> Vec<(String, Option<String>)> {
    let text = value.to_string();
    let Ok(node) = json::parse(&text) else { return Vec::new() };
    match decode::<T>(&node) {
        Ok((_, unknown)) => unknown.into_iter().map(|unknown| (unknown.field, None)).collect(),
        Err(fault) => vec![(fault.field, Some(fault.detail))],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_mean_what_they_mean_to_helm_and_have_their_lines() {
        let plain = Plain::read("# A comment.\n---\na:\n  b: yes\n  c: '7'\n  d: [1, {e: f}]\nnone:\na.b: 1e3\n").unwrap();
        assert_eq!(plain.value, json!({"a": {"b": true, "c": "7", "d": [1, {"e": "f"}]}, "none": null, "a.b": 1000}));
        let line = |path: &[&str]| plain.line(&path.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
        assert_eq!((line(&["a", "c"]), line(&["a", "d", "0", "e"]), line(&["none"]), line(&["x"])), (Some(5), Some(6), Some(7), None));
        assert_eq!(Plain::read("").unwrap().value, Value::Null);
    }

    #[test]
    fn what_is_no_document_is_named_with_its_line() {
        let error = |text: &str| Plain::read(text).unwrap_err();
        assert!(error("a:\n  b: [\n").starts_with("line "), "{}", error("a:\n  b: [\n"));
        assert_eq!(error("a: 1\n---\nb: 2\n"), "line 3: a second document, expected one");
        let twice = Plain::read("a: {b: 1}\na: {c: 2}\n").unwrap();
        assert_eq!((twice.value, twice.repeated), (json!({"a": {"c": 2}}), vec![vec!["a".to_owned()]]));
    }

    #[test]
    fn fields_that_a_type_lacks_are_found_below_lists_too() {
        use k8s_openapi::api::core::v1::{Probe, Toleration};
        let found = misfits::<Probe>(&json!({"httpGet": {"path": "/", "prot": 1, "port": 80}, "timeoutSecond": 1}));
        assert_eq!(found, [("httpGet.prot".to_owned(), None), ("timeoutSecond".to_owned(), None)]);
        assert_eq!(misfits::<Vec<Toleration>>(&json!([{"key": "a"}, {"kee": "b"}])), [("[1].kee".to_owned(), None)]);
        let wrong = misfits::<Probe>(&json!({"timeoutSeconds": "x"}));
        assert!(wrong[0].0 == "timeoutSeconds" && wrong[0].1.as_ref().is_some_and(|detail| detail.contains("\"x\"")), "{wrong:?}");
    }
}
