//! What the main ConfigMap names.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use ngx_value::{HeaderName, HeaderTemplate};
use settings::{Config, Reference};

use crate::fixed::{GlobalHeaders, LONGEST_FOR_GRPC};
use crate::key::{ObjectKey, ObjectRef};
use crate::problem::{Problem, ProblemKind};
use crate::references::named;
use crate::snapshot::Snapshot;

mod dh;

const ADD_HEADERS: &str = "add-headers";
const PROXY_SET_HEADERS: &str = "proxy-set-headers";
const SSL_DH_PARAM: &str = "ssl-dh-param";

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

    /// Its content as text, by key; nothing for what is empty.
    pub(crate) fn contents(&self) -> BTreeMap<String, String> {
        let headers = [(ADD_HEADERS, &self.headers.answer), (PROXY_SET_HEADERS, &self.headers.request)];
        let headers = headers.into_iter().filter(|(_, list)| !list.is_empty()).map(|(key, list)| {
            let list: Vec<_> = list.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            (key.to_owned(), serde_json::to_string(&list).expect("a list of texts"))
        });
        let parameters = self.dh_parameters.iter().map(|text| (SSL_DH_PARAM.to_owned(), text.to_string()));
        headers.chain(parameters).collect()
    }

    /// What such content is for settings. What they don't name, and what can't be used, is left out.
    pub(crate) fn of(contents: &BTreeMap<String, String>, config: &Config) -> Self {
        let list = |key: &str, reference: &Option<Reference>| -> Vec<(HeaderName, HeaderTemplate)> {
            let content = reference.as_ref().and_then(|_| contents.get(key));
            let list: Vec<(String, String)> = content.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            list.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?))).collect()
        };
        let parameters = config.ssl_dh_param.as_ref().and_then(|_| contents.get(SSL_DH_PARAM));
        Self {
            headers: GlobalHeaders {
                answer: list(ADD_HEADERS, &config.headers.add_headers),
                request: list(PROXY_SET_HEADERS, &config.headers.proxy_set_headers),
            },
            dh_parameters: parameters.and_then(|text| dh::parameters(text).ok()).map(Into::into),
        }
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
        problems.push(Problem { object: main.clone(), field: format!("data[{SSL_DH_PARAM:?}]"), kind: ProblemKind::Configuration, detail });
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
    let headers = GlobalHeaders {
        answer: list(ADD_HEADERS, &config.headers.add_headers),
        request: list(PROXY_SET_HEADERS, &config.headers.proxy_set_headers),
    };
    let map = config.headers.proxy_set_headers.as_ref().and_then(named);
    for (name, _) in headers.request.iter().filter(|(name, _)| name.as_str().len() > LONGEST_FOR_GRPC) {
        problems.extend(map.as_ref().map(|map| Problem {
            object: ObjectRef::namespaced("ConfigMap", map),
            field: format!("data[{:?}]", name.as_str()),
            kind: ProblemKind::Configuration,
            detail: format!(
                "the name is longer than {LONGEST_FOR_GRPC} bytes, which NGINX can't set for gRPC; requests to gRPC endpoints go without it"
            ),
        }));
    }
    headers
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
