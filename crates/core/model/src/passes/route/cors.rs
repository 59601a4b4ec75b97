//! CORS.

use std::sync::Arc;

use settings::groups::{AllowedOrigins, Cors as Spec};

use super::Location;
use crate::live::{Cors, Header, Policy};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    let cors = &location.given.spec.cors;
    if cors.enable_cors {
        policy.cors = Some(Arc::new(Cors { cors_allow_origin: origins(&cors.cors_allow_origin), headers: headers(cors) }));
    }
}

fn origins(allowed: &AllowedOrigins) -> Option<Vec<Arc<str>>> {
    match allowed {
        AllowedOrigins::Any => None,
        AllowedOrigins::Listed(origins) => Some(origins.iter().map(|origin| origin.to_string().into()).collect()),
    }
}

fn headers(cors: &Spec) -> Vec<Header> {
    let methods = cors.cors_allow_methods.as_ref().map_or(Spec::METHODS, |methods| methods.as_str());
    let headers = cors.cors_allow_headers.as_ref().map_or(Spec::HEADERS, |headers| headers.as_str());
    let max_age = cors.cors_max_age.unwrap_or(Spec::MAX_AGE).to_string();
    let values = [
        ("Access-Control-Allow-Credentials", cors.cors_allow_credentials.unwrap_or(true).then_some("true")),
        ("Access-Control-Allow-Methods", Some(methods)),
        ("Access-Control-Allow-Headers", Some(headers)),
        ("Access-Control-Expose-Headers", cors.cors_expose_headers.as_ref().map(|headers| headers.as_str())),
        ("Access-Control-Max-Age", Some(&*max_age)),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into()))).collect()
}
