//! The ConfigMap with further headers for an authentication service.

use k8s_openapi::api::core::v1::ConfigMap;
use ngx_value::{HeaderName, HeaderTemplate, Invalid};

use super::{Lookup, Resolution};

const ANNOTATION: &str = "auth-proxy-set-headers";

/// Reads the headers, in the order of their names. Anything wrong denies the Ingress.
pub(super) fn resolve(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) -> Vec<(HeaderName, HeaderTemplate)> {
    let Some(reference) = lookup.spec.external_auth.auth_proxy_set_headers.as_ref() else { return Vec::new() };
    let mut read = || {
        let key = lookup.key(reference).map_err(|invalid| invalid.to_string())?;
        let found = lookup.config_map(&key, ANNOTATION, outcome, headers);
        let found = found.ok_or_else(|| format!("expected a ConfigMap that exists, but there is no {key}"))?;
        found.map_err(|what| format!("ConfigMap {key}: {what}"))
    };
    read().unwrap_or_else(|what| {
        outcome.deny(ANNOTATION, &what);
        Vec::new()
    })
}

fn headers(map: &ConfigMap) -> Result<Vec<(HeaderName, HeaderTemplate)>, String> {
    let headers = map.data.iter().flatten().map(|(name, value)| {
        let at = |what: Invalid| format!("{name:?}: {what}");
        Ok((name.parse().map_err(at)?, value.parse().map_err(at)?))
    });
    headers.collect()
}
