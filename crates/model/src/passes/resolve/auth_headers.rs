//! The ConfigMap with further headers for an authentication service.

use ngx_value::{HeaderName, HeaderTemplate};

use super::{Lookup, Outcome};

/// Reads the headers, in the order of their names. Anything wrong denies the Ingress.
pub(super) fn resolve(lookup: &Lookup<'_>, outcome: &mut Outcome<'_>) -> Vec<(HeaderName, HeaderTemplate)> {
    let Some(reference) = lookup.spec.external_auth.proxy_set_headers.as_ref() else { return Vec::new() };
    read(lookup, reference).unwrap_or_else(|what| {
        outcome.deny("auth-proxy-set-headers", &what);
        Vec::new()
    })
}

fn read(lookup: &Lookup<'_>, reference: &annotations::Reference) -> Result<Vec<(HeaderName, HeaderTemplate)>, String> {
    let key = lookup.key(reference).map_err(|invalid| invalid.to_string())?;
    let missing = || format!("expected a ConfigMap that exists, but there is no {key}");
    let map = lookup.snapshot.config_maps.get(&key).ok_or_else(missing)?;
    let headers = map.data.iter().flatten().map(|(name, value)| {
        let at = |what: ngx_value::Invalid| format!("{name:?} of ConfigMap {key}: {what}");
        Ok((name.parse().map_err(at)?, value.parse().map_err(at)?))
    });
    headers.collect()
}
