//! One object: named, typed, checked, and cut down to what the model reads.

use std::borrow::Cow;
use std::sync::Arc;

use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::ObjectRef;
use serde::de::DeserializeOwned;

use super::lines::Lines;
use super::validate::{Check, Refusals, metadata};
use super::{Kind, Object};
use crate::parse::decode::{TypeFault, decode};
use crate::parse::node::{Entry, Node, Scalar, Value};

/// A fault of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Field path within the object.
    pub(crate) field: String,
    /// Line of the document.
    pub(crate) line: u32,
    /// The value that was found and the one that was expected.
    pub(crate) detail: String,
}

/// The result of reading an object.
#[derive(Debug)]
pub(crate) struct ReadOutcome {
    /// The object, unless it can't be decoded.
    pub(crate) object: Option<Object>,
    /// Findings that the API server would refuse: the object is not to be used.
    pub(crate) refused: Vec<Finding>,
    /// Fields that the API does not have.
    pub(crate) unknown: Vec<Finding>,
    /// The lines of its fields.
    pub(crate) lines: Lines,
}

/// The name under which an object is known, or why it has none.
type Identity = Result<ObjectRef, Finding>;

/// Reads the name and the namespace, which `default` stands in for.
pub(crate) fn identify(kind: Kind, node: &Node<'_>) -> Identity {
    let metadata = node.get("metadata");
    let text = |field: &str| match metadata.and_then(|metadata| metadata.get(field)) {
        Some(value) if !value.is_null() => match value.text() {
            Some(text) => Ok(Some(text)),
            None => Err(Finding {
                field: format!("metadata.{field}"),
                line: value.mark.line,
                detail: format!(
                    "expected a string, found {value}{}",
                    if matches!(value.value, Value::Scalar(..)) { ": write it in quotes" } else { "" }
                ),
            }),
        },
        Some(_) | None => Ok(None),
    };
    let Some(name) = text("name")?.filter(|name| !name.is_empty()) else {
        let generated = text("generateName")?.is_some();
        return Err(Finding {
            field: "metadata.name".to_owned(),
            line: metadata.map_or(node.mark, |metadata| metadata.mark).line,
            detail: format!("this {} has no name{}", kind.name(), if generated { " (generateName needs an API server)" } else { "" }),
        });
    };
    let namespace =
        if kind.namespaced() { Some(text("namespace")?.filter(|name| !name.is_empty()).unwrap_or("default").into()) } else { None };
    Ok(ObjectRef { kind: kind.name(), namespace, name: name.into() })
}

/// Reads the object that goes by the name of `reference`.
pub(crate) fn read(kind: Kind, reference: &ObjectRef, node: &Node<'_>) -> ReadOutcome {
    match kind {
        Kind::Ingress => typed(reference, node, |object: Ingress| Object::Ingress(Arc::new(object.into()))),
        Kind::IngressClass => typed(reference, node, |object| Object::IngressClass(Arc::new(object))),
        Kind::Service => typed(reference, node, |object: v1::Service| Object::Service(Arc::new(object.into()))),
        Kind::EndpointSlice => typed(reference, node, |object: EndpointSlice| Object::EndpointSlice(Arc::new(object.into()))),
        Kind::Secret => typed(reference, &joined_base64(node, "data"), |object| Object::Secret(Arc::new(object))),
        Kind::ConfigMap => typed(reference, &joined_base64(node, "binaryData"), |object| Object::ConfigMap(Arc::new(object))),
        Kind::Namespace => typed(reference, node, |object| Object::Namespace(Arc::new(object))),
    }
}

fn typed<T>(reference: &ObjectRef, node: &Node<'_>, wrap: fn(T) -> Object) -> ReadOutcome
where
    T: DeserializeOwned + Metadata<Ty = ObjectMeta> + Check,
{
    let lines = Lines::of(node);
    let (mut value, unknown) = match decode::<T>(node) {
        Ok(decoded) => decoded,
        Err(fault) => return ReadOutcome { object: None, refused: vec![finding_of(reference, fault)], unknown: Vec::new(), lines },
    };
    let unknown = unknown
        .into_iter()
        .map(|unknown| Finding { field: unknown.field, line: unknown.mark.line, detail: format!("{} has no such field", reference.kind) })
        .collect();

    let mut refusals = Refusals::default();
    metadata(value.metadata(), reference, &mut refusals);
    value.check(&mut refusals);
    let refused: Vec<Finding> = refusals
        .into_vec()
        .into_iter()
        .map(|(field, detail)| Finding { line: node.mark.line + lines.find(&field), field, detail })
        .collect();

    value.trim();
    let metadata = value.metadata_mut();
    metadata.namespace = reference.namespace.as_deref().map(str::to_owned);
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    ReadOutcome { object: Some(wrap(value)), refused, unknown, lines }
}

/// A Secret's values are not repeated in a message.
fn finding_of(reference: &ObjectRef, fault: TypeFault) -> Finding {
    let secret = reference.kind == Kind::Secret.name() && (fault.field.starts_with("data") || fault.field.starts_with("stringData"));
    Finding { field: fault.field, line: fault.mark.line, detail: if secret { fault.redacted } else { fault.detail } }
}

/// The object with the line breaks taken out of the values of `field`: base64 may be wrapped.
fn joined_base64<'i>(node: &Node<'i>, field: &str) -> Node<'i> {
    fn change<'i>(node: &Node<'i>, with: impl Fn(&Entry<'i>) -> Option<Node<'i>>) -> Node<'i> {
        let Value::Map(entries) = &node.value else { return node.clone() };
        if !entries.iter().any(|entry| with(entry).is_some()) {
            return node.clone();
        }
        let entries =
            entries.iter().map(|entry| Entry { value: with(entry).unwrap_or_else(|| entry.value.clone()), ..entry.clone() }).collect();
        Node { value: Value::Map(entries), ..node.clone() }
    }
    let join = |entry: &Entry<'i>| match &entry.value.value {
        Value::Scalar(text, Scalar::Text) if text.contains(['\n', '\r']) => {
            Some(Node { value: Value::Scalar(Cow::Owned(text.replace(['\n', '\r'], "")), Scalar::Text), ..entry.value.clone() })
        }
        _ => None,
    };
    change(node, |entry| (entry.key == field).then(|| change(&entry.value, join)))
}
