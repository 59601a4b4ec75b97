//! What the main ConfigMap names.

use k8s_openapi::api::core::v1::ConfigMap;
use ngx_value::{HeaderName, HeaderTemplate};
use settings::{Config, Reference};

use crate::fixed::GlobalHeaders;
use crate::key::{ObjectKey, ObjectRef};
use crate::problem::{Problem, ProblemKind};
use crate::references::named;
use crate::snapshot::Snapshot;

/// Reads the ConfigMaps with headers. What can't be used is left out.
pub(crate) fn headers(main: &ObjectRef, config: &Config, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> GlobalHeaders {
    let mut list = |setting: &str, reference: &Option<Reference>| {
        let Some(key) = reference.as_ref().and_then(named) else { return Vec::new() };
        let Some(map) = snapshot.config_maps.get(&key) else {
            let detail = format!("the ConfigMap {key} does not exist; no header is set");
            let field = format!("data[{setting:?}]");
            problems.push(Problem { object: main.clone(), field, kind: ProblemKind::Configuration, detail });
            return Vec::new();
        };
        read(&key, map, problems)
    };
    GlobalHeaders {
        answer: list("add-headers", &config.headers.add_headers),
        request: list("proxy-set-headers", &config.headers.proxy_set_headers),
    }
}

fn read(key: &ObjectKey, map: &ConfigMap, problems: &mut Vec<Problem>) -> Vec<(HeaderName, HeaderTemplate)> {
    let mut headers = Vec::new();
    for (name, value) in map.data.iter().flatten() {
        match name.parse().and_then(|parsed| Ok((parsed, value.parse()?))) {
            Ok(header) => headers.push(header),
            Err(invalid) => problems.push(Problem {
                object: ObjectRef::namespaced("ConfigMap", key),
                field: format!("data[{name:?}]"),
                kind: ProblemKind::Configuration,
                detail: format!("{value:?}: {invalid}; the header is left out"),
            }),
        }
    }
    headers
}
