//! The ConfigMap of `custom-headers`.

use k8s_openapi::api::core::v1::ConfigMap;
use ngx_value::{HeaderName, HeaderValue};

use super::{Lookup, Resolution};
use crate::key::ObjectKey;
use crate::live::Header;

const ANNOTATION: &str = "custom-headers";

/// The headers in order of their names. Anything wrong closes the locations: what the headers were to protect is not known.
///
/// The ConfigMap may be of any namespace, as only headers that the administrator lists come out of it.
pub(super) fn resolve(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) -> Vec<Header> {
    let Some(reference) = &lookup.spec.headers.custom_headers else { return Vec::new() };
    let Ok((namespace, name)) = reference.resolve(&lookup.ingress.namespace, true) else { return Vec::new() };
    let key = ObjectKey::new(namespace, name);
    let allowed = &lookup.config.headers.global_allowed_response_headers;
    let found = lookup.config_map(&key, ANNOTATION, outcome, |map| read(map, allowed));
    let found = found.unwrap_or_else(|| Err("does not exist".to_owned()));
    found.unwrap_or_else(|fault| {
        // What another namespace has is not this one's to know.
        let fault = if key.namespace == lookup.ingress.namespace { &fault } else { FOREIGN };
        outcome.deny(ANNOTATION, &format!("the ConfigMap {key} {fault}"));
        Vec::new()
    })
}

const FOREIGN: &str = "can't be used: expected one that exists and holds headers of global-allowed-response-headers only";

fn read(map: &ConfigMap, allowed: &[HeaderName]) -> Result<Vec<Header>, String> {
    map.data.iter().flatten().map(|(name, value)| header(name, value, allowed)).collect()
}

fn header(name: &str, value: &str, allowed: &[HeaderName]) -> Result<Header, String> {
    let parsed: HeaderName = name.parse().map_err(|invalid| format!("has {name:?}: {invalid}"))?;
    if !allowed.contains(&parsed) {
        return Err(format!("has {name:?}, which is not among global-allowed-response-headers, which are compared letter by letter"));
    }
    let value: HeaderValue = value.parse().map_err(|invalid| format!("has {name:?} with the value {value:?}: {invalid}"))?;
    Ok((parsed.as_str().into(), value.as_str().into()))
}
