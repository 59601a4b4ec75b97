//! Headers of the answers of a location: CORS and `custom-headers`.

use model::live::{Cors, Header};
use model::{Globals, Route};
use serde::Serialize;

use crate::RenderError;
use crate::print::Printed;
use crate::proxy::HeaderView;

/// What `equivalent/cors.conf` prints.
#[derive(Serialize)]
pub(super) struct CorsView {
    /// What the header `Origin` must match; none: everybody's pages may read the answers.
    origins: Option<Printed>,
    headers: Vec<Conditional>,
}

/// A header that depends on the origin.
#[derive(Serialize)]
struct Conditional {
    name: Printed,
    value: Printed,
    variable: Printed,
}

/// A header of every answer.
#[derive(Serialize)]
pub(super) struct Literal {
    name: Printed,
    value: Printed,
}

/// What a location with headers of its own inherits no more.
#[derive(Serialize)]
pub(super) struct Inherited {
    added: Vec<HeaderView>,
    hidden: Vec<Printed>,
}

/// The headers of the ConfigMap, where the location has others.
pub(super) fn inherited(globals: &Globals, route: &Route) -> Result<Inherited, RenderError> {
    if route.cors.is_none() && route.custom_headers.is_empty() {
        return Ok(Inherited { added: Vec::new(), hidden: Vec::new() });
    }
    let hidden = globals.config.headers.hide_headers.iter().map(Printed::word);
    Ok(Inherited { added: HeaderView::all(&globals.headers.answer)?, hidden: hidden.collect::<Result<_, _>>()? })
}

/// CORS of a location, if it has any.
pub(super) fn cors(route: &Route) -> Result<Option<CorsView>, RenderError> {
    let Some(Cors { cors_allow_origin: origins, headers }) = route.cors.as_deref() else { return Ok(None) };
    let origins = origins.as_ref().map(|origins| Printed::quoted(&pattern(origins)));
    let headers = headers.iter().map(|(name, value)| {
        let variable = name.to_ascii_lowercase().replace("access-control", "cors").replace('-', "_");
        Ok(Conditional { name: Printed::word(name)?, value: Printed::literal(value)?, variable: Printed::variable(&variable)? })
    });
    Ok(Some(CorsView { origins: origins.transpose()?, headers: headers.collect::<Result<_, RenderError>>()? }))
}

/// The headers of `custom-headers`.
pub(super) fn custom(route: &Route) -> Result<Vec<Literal>, RenderError> {
    let header = |(name, value): &Header| Ok(Literal { name: Printed::word(name)?, value: Printed::literal(value)? });
    route.custom_headers.iter().map(header).collect()
}

/// A regex over origins; of none, one that nothing matches.
fn pattern<O: AsRef<str>>(origins: &[O]) -> String {
    if origins.is_empty() {
        return "^(?!)".to_owned();
    }
    let one = |origin: &O| super::super::escape_regex(origin.as_ref()).replace(r"\*", "[a-z0-9-]+");
    format!("^({})$", origins.iter().map(one).collect::<Vec<_>>().join("|"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn origins_are_a_regex() {
        assert_eq!(super::pattern(&["https://a.b:80", "http://*.c"]), r"^(https\:\/\/a\.b\:80|http\:\/\/[a-z0-9-]+\.c)$");
        assert_eq!(super::pattern::<&str>(&[]), "^(?!)");
    }
}
