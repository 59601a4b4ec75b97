//! A [`Node`] to a Kubernetes type, by the rules of the API server's JSON decoder: `null` is the zero value, a key given twice is refused,
//! a field that the type doesn't have is noted. A fault names the field, the value and the place.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor, value::CowStrDeserializer};
use serde::forward_to_deserialize_any;

use super::node::{Entry, Mark, Node, Scalar, Value, repeated};

/// The reason why a value does not fit the type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeFault {
    /// Field path within the value.
    pub(crate) field: String,
    pub(crate) mark: Mark,
    /// Quotes the value.
    pub(crate) detail: String,
    /// The same without the value.
    pub(crate) redacted: String,
}

/// A field that the type doesn't have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownField {
    /// Field path within the value.
    pub(crate) field: String,
    pub(crate) mark: Mark,
}

/// Reads a value, and lists the fields that went unread.
pub(crate) fn decode<T: DeserializeOwned>(node: &Node<'_>) -> Result<(T, Vec<UnknownField>), TypeFault> {
    let unknown = RefCell::default();
    let value = T::deserialize(At { node, path: Path::Root, unknown: &unknown }).map_err(Fault::finish)?;
    Ok((value, unknown.into_inner()))
}

/// The way from the object to a value; lives on the stack while the value is read.
#[derive(Clone, Copy)]
enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

/// `spec.rules[0].http`, `metadata.annotations["example.com/a"]`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Key(parent, key) if key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !key.is_empty() => {
                let dot = if matches!(parent, Self::Root) { "" } else { "." };
                write!(f, "{parent}{dot}{key}")
            }
            Self::Key(parent, key) => write!(f, "{parent}[{key:?}]"),
        }
    }
}

/// A fault on its way up; it gets its place from the innermost value it passes.
#[derive(Debug)]
struct Fault {
    what: What,
    place: Option<Place>,
}

#[derive(Debug)]
enum What {
    Expected(String),
    Repeated,
    Other(String),
}

#[derive(Debug)]
struct Place {
    field: String,
    mark: Mark,
    found: String,
    sort: &'static str,
    hint: &'static str,
}

impl Fault {
    fn at(mut self, at: &At<'_, '_, '_>) -> Self {
        let hint = |what: &What| match (what, &at.node.value) {
            (What::Expected(expected), Value::Scalar(_, Scalar::Text)) if expected.contains("integer") => {
                ": write a number, without quotes"
            }
            (What::Expected(expected), Value::Scalar(_, scalar)) if expected == "a string" && *scalar != Scalar::Null => {
                ": write it in quotes"
            }
            _ => "",
        };
        self.place.get_or_insert_with(|| Place {
            field: at.path.to_string(),
            mark: at.node.mark,
            found: at.node.to_string(),
            sort: at.node.sort(),
            hint: hint(&self.what),
        });
        self
    }

    fn finish(self) -> TypeFault {
        let place = self.place.unwrap_or_else(|| Place {
            field: String::new(),
            mark: Mark::START,
            found: "nothing".into(),
            sort: "nothing",
            hint: "",
        });
        let (detail, redacted) = match self.what {
            What::Expected(expected) => (
                format!("expected {expected}, found {}{}", place.found, place.hint),
                format!("expected {expected}, found {}{}", place.sort, place.hint),
            ),
            What::Repeated => ("this key is there twice".to_owned(), "this key is there twice".to_owned()),
            What::Other(message) => (format!("{message}, found {}", place.found), "the value can't be read".to_owned()),
        };
        TypeFault { field: place.field, mark: place.mark, detail, redacted }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Expected(expected) => write!(f, "expected {expected}"),
            What::Repeated => f.write_str("this key is there twice"),
            What::Other(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { what: What::Other(message.to_string()), place: None }
    }

    fn invalid_type(_: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self { what: What::Expected(plain_words(&expected.to_string())), place: None }
    }

    fn invalid_value(unexpected: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }
}

/// The name of a type, in words.
fn plain_words(expected: &str) -> String {
    match expected {
        "i8" | "i16" | "i32" => "a 32-bit integer".to_owned(),
        "i64" | "u64" => "an integer".to_owned(),
        "IntOrString" => "a number or a string".to_owned(),
        "a map" | "map" => "a mapping".to_owned(),
        "a sequence" => "a list".to_owned(),
        // The name of a type, say `IngressSpec`.
        name if name.starts_with(|first: char| first.is_ascii_uppercase()) && !name.contains(' ') => "a mapping".to_owned(),
        other => other.to_owned(),
    }
}

/// A value that is being read.
#[derive(Clone, Copy)]
struct At<'n, 'i, 'c> {
    node: &'n Node<'i>,
    path: Path<'c>,
    unknown: &'c RefCell<Vec<UnknownField>>,
}

impl At<'_, '_, '_> {
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            Value::Scalar(text, Scalar::Text) => visitor.visit_str(text),
            Value::Scalar(_, Scalar::Null) => visitor.visit_unit(),
            Value::Scalar(_, Scalar::Bool(value)) => visitor.visit_bool(*value),
            Value::Scalar(_, Scalar::Int(value)) => visitor.visit_i64(*value),
            Value::Scalar(_, Scalar::Unsigned(value)) => visitor.visit_u64(*value),
            Value::Scalar(_, Scalar::Float(value)) => visitor.visit_f64(*value),
            Value::List(nodes) => visitor.visit_seq(Items { list: self, nodes, next: 0 }),
            Value::Map(entries) => {
                if let Some(entry) = repeated(entries) {
                    let again = At { node: &entry.value, path: Path::Key(&self.path, &entry.key), unknown: self.unknown };
                    return Err(Fault { what: What::Repeated, place: None }.at(&again));
                }
                visitor.visit_map(Members { map: self, entries, next: 0 })
            }
        }
        .map_err(|fault| fault.at(&self))
    }
}

/// A typed read of `null` is the zero value of the type, as in Go.
macro_rules! null_is_zero {
    ($($method:ident => $visitor:ident.$visit:ident($($zero:expr)?);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $visitor: V) -> Result<V::Value, Fault> {
            if self.node.is_null() { $visitor.$visit($($zero)?).map_err(|fault: Fault| fault.at(&self)) } else { self.visit($visitor) }
        }
    )*};
}

impl<'de> Deserializer<'de> for At<'_, '_, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.visit(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.unknown.borrow_mut().push(UnknownField { field: self.path.to_string(), mark: self.node.mark });
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.node.is_null() { visitor.visit_none() } else { visitor.visit_some(self).map_err(|fault| fault.at(&self)) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self).map_err(|fault| fault.at(&self))
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.node.is_null() { visitor.visit_seq(Items { list: self, nodes: &[], next: 0 }) } else { self.visit(visitor) }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.node.is_null() { visitor.visit_map(Members { map: self, entries: &[], next: 0 }) } else { self.visit(visitor) }
    }

    null_is_zero! {
        deserialize_bool => visitor.visit_bool(false);
        deserialize_i32 => visitor.visit_i64(0);
        deserialize_i64 => visitor.visit_i64(0);
        deserialize_str => visitor.visit_str("");
        deserialize_string => visitor.visit_str("");
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

struct Items<'n, 'i, 'c> {
    list: At<'n, 'i, 'c>,
    nodes: &'n [Node<'i>],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, '_, '_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.nodes.get(self.next) else { return Ok(None) };
        let at = At { node, path: Path::Index(&self.list.path, self.next), unknown: self.list.unknown };
        self.next += 1;
        seed.deserialize(at).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.nodes.len() - self.next)
    }
}

struct Members<'n, 'i, 'c> {
    map: At<'n, 'i, 'c>,
    entries: &'n [Entry<'i>],
    next: usize,
}

impl<'de> MapAccess<'de> for Members<'_, '_, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some(entry) = self.entries.get(self.next) else { return Ok(None) };
        seed.deserialize(CowStrDeserializer::new(Cow::Borrowed(&*entry.key))).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let entry = self.entries.get(self.next).ok_or_else(|| Fault::custom("a value without a key"))?;
        self.next += 1;
        seed.deserialize(At { node: &entry.value, path: Path::Key(&self.map.path, &entry.key), unknown: self.map.unknown })
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Service;
    use k8s_openapi::api::networking::v1::Ingress;
    use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

    use super::super::split::{Format, split};
    use super::*;

    fn read<T: DeserializeOwned>(text: &str) -> Result<(T, Vec<UnknownField>), TypeFault> {
        decode(&split(text, Format::Yaml).0[0].parse().unwrap().unwrap())
    }

    #[track_caller]
    fn check_fault<T: DeserializeOwned + fmt::Debug>(text: &str, field: &str, line: u32, detail: &str) {
        let fault = read::<T>(text).unwrap_err();
        assert_eq!((fault.field.as_str(), fault.mark.line, fault.detail.as_str()), (field, line, detail));
    }

    #[test]
    fn values_have_the_types_that_they_have_to_kubectl() {
        let (service, unknown) =
            read::<Service>("spec:\n  publishNotReadyAddresses: on\n  ports:\n  - {port: 0120, targetPort: \"80\"}\n  - {port: 8e1, targetPort: 80}\n  selector: {a: null}\n")
                .unwrap();
        assert_eq!(unknown, []);
        let spec = service.spec.unwrap();
        assert_eq!(spec.publish_not_ready_addresses, Some(true));
        let ports = spec.ports.unwrap();
        assert_eq!((ports[0].port, ports[1].port), (80, 80));
        assert_eq!(ports[0].target_port, Some(IntOrString::String("80".into())));
        assert_eq!(ports[1].target_port, Some(IntOrString::Int(80)));
        assert_eq!(spec.selector.unwrap()["a"], "");
    }

    #[test]
    fn nulls_are_absent_fields() {
        let (ingress, _) = read::<Ingress>("metadata:\n  creationTimestamp: null\n  labels:\nspec:\n  rules: ~\n  tls: [null]\n").unwrap();
        assert_eq!(ingress.metadata, Default::default());
        assert_eq!(ingress.spec.unwrap().tls.unwrap().len(), 1);
    }

    #[test]
    fn faults_name_field_value_and_line() {
        check_fault::<Ingress>(
            "metadata:\n  annotations:\n    a: \"x\"\n    example.com/flag: on\n",
            "metadata.annotations[\"example.com/flag\"]",
            4,
            "expected a string, found \"on\" (a boolean): write it in quotes",
        );
        check_fault::<Service>(
            "spec:\n  ports:\n  - port: 80\n  - port: \"80\"\n",
            "spec.ports[1].port",
            4,
            "expected a 32-bit integer, found \"80\" (a string): write a number, without quotes",
        );
        check_fault::<Service>(
            "spec:\n  ports:\n  - port: 8000000000\n",
            "spec.ports[0].port",
            3,
            "expected a 32-bit integer, found \"8000000000\" (a number)",
        );
        check_fault::<Service>("spec:\n  ports:\n    port: 80\n", "spec.ports", 3, "expected a list, found a mapping");
        check_fault::<Ingress>("spec:\n- rules\n", "spec", 2, "expected a mapping, found a list");
        check_fault::<Ingress>("spec:\n  rules: []\n  tls: []\n  rules: [null]\n", "spec.rules", 4, "this key is there twice");
    }

    #[test]
    fn unknown_fields_are_noted() {
        let (_, unknown) = read::<Ingress>("spec:\n  rules:\n  - hosts: a\n    http: {paths: [{pathtype: {x: 1}}]}\nspc: 1\n").unwrap();
        let found: Vec<_> = unknown.iter().map(|unknown| (unknown.field.as_str(), unknown.mark.line)).collect();
        assert_eq!(found, [("spec.rules[0].hosts", 3), ("spec.rules[0].http.paths[0].pathtype", 4), ("spc", 5)]);
    }
}
