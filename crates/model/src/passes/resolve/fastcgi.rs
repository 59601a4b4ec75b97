//! `fastcgi-params-configmap`: more parameters for FastCGI.

use std::sync::Arc;

use ngx_value::{FastcgiName, FastcgiValue, Invalid};

use super::{Lookup, Outcome};
use crate::key::ObjectKey;
use crate::problem::ProblemKind;

const ANNOTATION: &str = "fastcgi-params-configmap";

/// What is sent to FastCGI servers besides the usual parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FastcgiSettings {
    /// `fastcgi-index`.
    pub(crate) index: Option<FastcgiName>,
    /// Ordered by name.
    pub(crate) params: Arc<[(FastcgiName, FastcgiValue)]>,
}

/// Reads the parameters. Another namespace: nothing of the group counts. No such ConfigMap: the locations are closed. An unusable entry:
/// the Ingress is not served.
pub(crate) fn read(lookup: &Lookup<'_>, outcome: &mut Outcome<'_>) -> FastcgiSettings {
    let fastcgi = &lookup.spec.fastcgi;
    let mut settings = FastcgiSettings { index: fastcgi.index.clone(), params: Arc::default() };
    let Some(reference) = &fastcgi.params else { return settings };
    let home = &lookup.ingress.namespace;
    if let Err(invalid) = reference.resolve(home, lookup.config.allow_cross_namespace_resources) {
        let detail = format!("\"{reference}\": {invalid}; fastcgi-index and {ANNOTATION} are ignored");
        outcome.problem(ANNOTATION, ProblemKind::InvalidValue, detail);
        return FastcgiSettings::default();
    }
    // The namespace is checked and not used.
    let key = ObjectKey::new(home.clone(), reference.name());
    let Some(map) = lookup.snapshot.config_maps.get(&key) else {
        outcome.deny(ANNOTATION, &format!("ConfigMap {key}: expected one that exists"));
        return settings;
    };
    let read = |(name, value): (&String, &String)| -> Result<_, (String, Invalid)> {
        let fault = |invalid| (name.clone(), invalid);
        Ok((name.parse::<FastcgiName>().map_err(fault)?, value.parse::<FastcgiValue>().map_err(fault)?))
    };
    match map.data.iter().flatten().map(read).collect::<Result<Vec<_>, _>>() {
        Ok(params) => settings.params = params.into(),
        Err((name, invalid)) => outcome.refuse(ANNOTATION, &format!("ConfigMap {key}: entry {name:?}: {invalid}")),
    }
    settings
}
