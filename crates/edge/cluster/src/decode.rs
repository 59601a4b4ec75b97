//! Decoding of JSON to the slim object, one object at a time: an object that does not decode never costs its neighbours.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::kinds::{Slim, Watched};

/// An object as it came from the API, or the reason why it can't be read.
#[derive(Debug, Clone)]
pub(crate) enum Fetched<K> {
    /// A decoded object; cut down to what the model reads.
    Good(Slim<K>),
    /// One that does not decode.
    Broken {
        /// Name, namespace and version, as far as they can be read.
        meta: Box<ObjectMeta>,
        /// The fault, without the values of a Secret.
        error: String,
    },
}

impl<'de, K: Watched> Deserialize<'de> for Fetched<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The text is taken as it is and decoded apart, so that a failure ends here and not in the list or the stream around it.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self::from_json(text.get()))
    }
}

impl<K: Watched> Fetched<K> {
    fn from_json(text: &str) -> Self {
        match serde_json::from_str::<K::Wire>(text) {
            Ok(wire) => Self::Good(K::slim(wire)),
            Err(error) => {
                let identity = serde_json::from_str::<Identified>(text).unwrap_or_default().metadata;
                let error = match K::SECRET {
                    true => format!("the object does not decode (column {})", error.column()),
                    false => error.to_string(),
                };
                Self::Broken { meta: Box::new(identity.into()), error }
            }
        }
    }
}

#[derive(Deserialize, Default)]
struct Identified {
    metadata: Identity,
}

/// The least that identifies an object.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Identity {
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
}

impl From<Identity> for ObjectMeta {
    fn from(identity: Identity) -> Self {
        Self { name: identity.name, namespace: identity.namespace, resource_version: identity.resource_version, ..Self::default() }
    }
}

impl<K: Watched> Resource for Fetched<K> {
    type DynamicType = ();
    type Scope = <K::Api as Resource>::Scope;

    fn kind(_: &()) -> Cow<'_, str> {
        K::Api::kind(&())
    }

    fn group(_: &()) -> Cow<'_, str> {
        K::Api::group(&())
    }

    fn version(_: &()) -> Cow<'_, str> {
        K::Api::version(&())
    }

    fn plural(_: &()) -> Cow<'_, str> {
        K::Api::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Good(Slim { meta, .. }) | Self::Broken { meta, .. } => meta,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Good(Slim { meta, .. }) | Self::Broken { meta, .. } => meta,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kube::core::{ObjectList, WatchEvent};
    use model::Ingress;

    use super::*;

    const GOOD: &str = r#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"1"},"spec":{"ingressClassName":"nginx"}}"#;
    const BROKEN: &str = r#"{"metadata":{"name":"b","namespace":"n","resourceVersion":"2"},"spec":{"rules":"none"}}"#;

    #[test]
    fn one_broken_object_leaves_the_rest_of_a_list_readable() {
        let list =
            format!(r#"{{"apiVersion":"v1","kind":"IngressList","metadata":{{"resourceVersion":"7"}},"items":[{GOOD},{BROKEN},{GOOD}]}}"#);
        let list: ObjectList<Fetched<Ingress>> = serde_json::from_str(&list).unwrap();
        let good: Vec<bool> = list.items.iter().map(|item| matches!(item, Fetched::Good(_))).collect();
        assert_eq!(good, [true, false, true]);
        assert_eq!(list.items[1].meta().name.as_deref(), Some("b"));
        let Fetched::Broken { error, .. } = &list.items[1] else { panic!("b is good") };
        assert!(error.contains("expected a sequence"), "{error}");
    }

    #[test]
    fn a_broken_object_in_a_watch_event_keeps_its_version() {
        let event: WatchEvent<Fetched<Ingress>> = serde_json::from_str(&format!(r#"{{"type":"MODIFIED","object":{BROKEN}}}"#)).unwrap();
        let WatchEvent::Modified(object) = event else { panic!("{event:?}") };
        assert_eq!(object.meta().resource_version.as_deref(), Some("2"));
    }

    #[test]
    fn the_error_of_a_secret_holds_none_of_it() {
        let text = r#"{"metadata":{"name":"s","namespace":"n"},"data":"hunter2"}"#;
        let Fetched::<Secret>::Broken { error, meta } = Fetched::from_json(text) else { panic!("it decodes") };
        assert!(!error.contains("hunter2"), "{error}");
        assert_eq!(meta.name.as_deref(), Some("s"));
    }

    #[test]
    fn an_object_without_readable_metadata_is_broken_and_nameless() {
        let Fetched::<Ingress>::Broken { meta, .. } = Fetched::from_json(r#"{"metadata":3}"#) else { panic!("it decodes") };
        assert_eq!(meta.name, None);
    }
}
