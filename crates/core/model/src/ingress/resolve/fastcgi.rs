//! `fastcgi-params-configmap`: more parameters for FastCGI.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use ngx_value::{FastcgiName, FastcgiValue, Invalid};

use super::{Lookup, Resolution};
use crate::key::ObjectKey;
use crate::problem::ProblemKind;
use crate::rule::FastcgiSettings;

const ANNOTATION: &str = "fastcgi-params-configmap";

/// Reads the parameters. Another namespace: nothing of the group counts. No such ConfigMap: the locations are closed. An unusable entry:
/// the Ingress is not served.
pub(super) fn read(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) -> FastcgiSettings {
    let fastcgi = &lookup.spec.fastcgi;
    let mut settings = FastcgiSettings { index: fastcgi.fastcgi_index.clone(), params: Arc::default() };
    let Some(reference) = &fastcgi.fastcgi_params_configmap else { return settings };
    let home = &lookup.ingress.namespace;
    if let Err(invalid) = reference.resolve(home, lookup.config.allow_cross_namespace_resources) {
        let detail = format!("\"{reference}\": {invalid}; fastcgi-index and {ANNOTATION} are ignored");
        outcome.problem(ANNOTATION, ProblemKind::InvalidValue, detail);
        return FastcgiSettings::default();
    }
    // The namespace is checked and not used.
    let key = ObjectKey::new(home.clone(), reference.name());
    match lookup.config_map(&key, ANNOTATION, outcome, params) {
        None => outcome.deny(ANNOTATION, &format!("ConfigMap {key}: expected one that exists")),
        Some(Ok(params)) => settings.params = params.into(),
        Some(Err(fault)) => outcome.refuse(ANNOTATION, &format!("ConfigMap {key}: {fault}")),
    }
    settings
}

fn params(map: &ConfigMap) -> Result<Vec<(FastcgiName, FastcgiValue)>, String> {
    let read = |(name, value): (&String, &String)| {
        let fault = |invalid: Invalid| format!("entry {name:?}: {invalid}");
        Ok((name.parse().map_err(fault)?, value.parse().map_err(fault)?))
    };
    map.data.iter().flatten().map(read).collect()
}
