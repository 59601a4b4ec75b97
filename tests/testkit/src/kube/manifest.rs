//! Manifests as people write them.

use anyhow::Context;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Client, ResourceExt};
use serde_json::Value;

/// Field manager of what tests apply.
const MANAGER: &str = "testkit";

/// The documents of a YAML or JSON text, in its order.
///
/// # Errors
/// When it isn't YAML.
pub fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    Ok(serde_saphyr::from_multiple(text)?)
}

/// Reads YAML (several documents) or JSON; `List`s are taken apart, empty documents passed over.
///
/// # Errors
/// When it isn't YAML, or a document isn't an object with `apiVersion`, `kind` and a name.
pub fn read(text: &str) -> anyhow::Result<Vec<DynamicObject>> {
    let documents = documents(text).context("manifest is not YAML")?;
    let mut objects = Vec::new();
    for mut document in documents.into_iter().filter(|document| !document.is_null()) {
        match document.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) if document["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => objects.extend(items),
            _ => objects.push(document),
        }
    }
    objects
        .into_iter()
        .map(|value| {
            object(&value).with_context(|| format!("not a Kubernetes object: {}", value.to_string().chars().take(200).collect::<String>()))
        })
        .collect()
}

fn object(value: &Value) -> anyhow::Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(value.clone())?;
    anyhow::ensure!(object.types.is_some(), "apiVersion or kind is missing");
    anyhow::ensure!(object.metadata.name.is_some(), "metadata.name is missing");
    Ok(object)
}

/// Applies a manifest on the server's side, in its order; objects of a namespace that name none go to `namespace`. Returns them as stored.
///
/// # Errors
/// The manifest can't be read, or the API server refuses an object; the ones before it stay.
pub async fn apply(client: &Client, namespace: &str, text: &str) -> anyhow::Result<Vec<DynamicObject>> {
    let mut stored = Vec::new();
    for object in read(text)? {
        let types = object.types.as_ref().expect("read() requires it");
        let gvk = GroupVersionKind::try_from(types).with_context(|| format!("apiVersion {:?}", types.api_version))?;
        let name = object.name_any();
        let what = || format!("apply {} {name:?}", gvk.kind);
        let (resource, capabilities) = discovery::pinned_kind(client, &gvk).await.with_context(what)?;
        let api: Api<DynamicObject> = match capabilities.scope {
            Scope::Cluster => Api::all_with(client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(client.clone(), object.metadata.namespace.as_deref().unwrap_or(namespace), &resource),
        };
        stored.push(api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&object)).await.with_context(what)?);
    }
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lists_become_objects() {
        let text = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: v1, kind: Secret, metadata: {name: b}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n";
        let names: Vec<_> = read(text).unwrap().iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn what_is_no_object_is_quoted() {
        let error = read("kind: Service\nmetadata: {name: a}\n").unwrap_err();
        assert!(format!("{error:#}").contains("\"kind\":\"Service\""), "{error:#}");
    }
}
