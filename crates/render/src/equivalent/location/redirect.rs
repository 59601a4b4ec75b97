//! Redirects of a location: the answer of an annotation, and the one to HTTPS.

use model::live::Redirects;
use model::{Model, Route};
use serde::Serialize;

use super::super::names::Group;
use crate::RenderError;
use crate::print::Printed;

/// What `equivalent/redirect.conf` prints.
#[derive(Serialize)]
pub(super) struct AnswerView {
    /// `absolute_redirect off`.
    relative: bool,
    /// `port_in_redirect`.
    with_port: Option<bool>,
    code: Option<u16>,
    url: Option<Printed>,
}

/// The redirect to HTTPS.
#[derive(Serialize)]
pub(super) struct HttpsView {
    code: u16,
    port: Printed,
    uri: Printed,
}

/// What the location says about redirects, if anything.
pub(super) fn answer(route: &Route) -> Result<Option<AnswerView>, RenderError> {
    let Some(Redirects { answer, relative_redirects, use_port_in_redirects, .. }) = route.redirects.as_deref() else { return Ok(None) };
    Ok(Some(AnswerView {
        relative: *relative_redirects,
        with_port: *use_port_in_redirects,
        code: answer.as_ref().map(|(code, _)| *code),
        url: answer.as_ref().map(|(_, url)| Printed::word(url).or_else(|_| Printed::literal(url))).transpose()?,
    }))
}

/// The redirect to HTTPS where plain HTTP gets one.
pub(super) fn https(model: &Model, group: &Group<'_>, route: &Route) -> Result<Option<HttpsView>, RenderError> {
    let globals = &*model.fixed.globals;
    let config = &globals.config;
    let force = route.force_ssl_redirect.unwrap_or(config.https.force_ssl_redirect);
    let wanted = force || group.tls && route.ssl_redirect.unwrap_or(config.https.ssl_redirect);
    let exempt = config.no_tls_redirect_locations.iter().any(|prefix| !prefix.is_empty() && route.path.starts_with(&**prefix));
    if !wanted || exempt {
        return Ok(None);
    }
    let keep = route.preserve_trailing_slash.unwrap_or(config.https.preserve_trailing_slash);
    let with_port =
        route.redirects.as_ref().and_then(|redirects| redirects.use_port_in_redirects).unwrap_or(config.https.use_port_in_redirects);
    Ok(Some(HttpsView {
        code: config.https.http_redirect_code,
        port: if with_port { Printed::word(format!(":{}", globals.listen.https))? } else { Printed::fixed("") },
        uri: Printed::fixed(if keep { "$request_uri" } else { "$narthex_trimmed_uri" }),
    }))
}
