//! What the main ConfigMap names.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use ngx_value::{HeaderName, HeaderTemplate};
use settings::{Config, Reference};

use crate::fixed::GlobalHeaders;
use crate::key::{ObjectKey, ObjectRef};
use crate::problem::{Problem, ProblemKind};
use crate::references::named;
use crate::snapshot::Snapshot;

mod dh;

/// What the main ConfigMap names, as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Named {
    pub(crate) headers: GlobalHeaders,
    /// `ssl-dh-param`.
    pub(crate) dh_parameters: Option<Arc<str>>,
}

impl Named {
    /// Reads all of it. What can't be used is left out.
    pub(crate) fn read(main: &ObjectRef, config: &Config, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> Self {
        Self { headers: headers(main, config, snapshot, problems), dh_parameters: dh_parameters(main, config, snapshot, problems) }
    }

    /// What of it other settings name as well.
    pub(crate) fn of(&self, config: &Config) -> Self {
        let mut named = self.clone();
        let GlobalHeaders { answer, request } = &mut named.headers;
        for (reference, list) in [(&config.headers.add_headers, answer), (&config.headers.proxy_set_headers, request)] {
            if reference.is_none() {
                list.clear();
            }
        }
        named.dh_parameters = named.dh_parameters.filter(|_| config.ssl_dh_param.is_some());
        named
    }
}

/// Reads the Secret with the parameters of DHE.
fn dh_parameters(main: &ObjectRef, config: &Config, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> Option<Arc<str>> {
    const KEY: &str = "dhparam.pem";
    let key = config.ssl_dh_param.as_ref().and_then(named)?;
    let read = || -> Result<Arc<str>, String> {
        let secret = snapshot.secrets.get(&key).ok_or("it does not exist")?;
        let data = secret.data.as_ref().and_then(|data| data.get(KEY)).ok_or_else(|| format!("it has no {KEY}"))?;
        let text = std::str::from_utf8(&data.0).map_err(|_| format!("its {KEY} is not PEM text"))?;
        dh::parameters(text).map(Into::into).map_err(|what| format!("its {KEY} {what}"))
    };
    let found = read();
    if let Err(what) = &found {
        let detail = format!("the Secret {key}: {what}; ciphers with DHE are not used");
        problems.push(Problem { object: main.clone(), field: r#"data["ssl-dh-param"]"#.into(), kind: ProblemKind::Configuration, detail });
    }
    found.ok()
}

/// Reads the ConfigMaps with headers. What can't be used is left out.
fn headers(main: &ObjectRef, config: &Config, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> GlobalHeaders {
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
