//! Errors that another backend answers, and a backend that takes the place of one without endpoints.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use model::{BackendRecord, Model, Profile, Route};
use serde::Serialize;

use super::default_backend;
use crate::RenderError;
use crate::pass::intercept_directive;
use crate::print::Printed;
use crate::proxy::HeadersView;
use crate::server::{error_statuses, intercepts};

/// What `equivalent/errors.conf` prints in a location.
#[derive(Serialize)]
pub(super) struct ErrorsView {
    /// The directive that hands over errors of the endpoint.
    intercept: Option<Printed>,
    pages: Vec<Page>,
}

#[derive(Serialize)]
struct Page {
    status: u16,
    location: Printed,
}

/// The locations that ask for the pages, by name: what `equivalent/error_locations.conf` prints.
pub(in crate::equivalent) type ErrorLocations = BTreeMap<String, ErrorLocation>;

/// One of them.
#[derive(Serialize)]
pub(in crate::equivalent) struct ErrorLocation {
    name: Printed,
    status: u16,
    backend: Printed,
    upstream_name: Printed,
    /// There is nobody to ask.
    missing: bool,
    headers: HeadersView,
}

/// The backend that takes errors, with its key and its name in logs.
struct Target<'a> {
    key: &'a str,
    name: &'a str,
    missing: bool,
}

fn usable<'a>(model: &'a Model, key: &'a str) -> Option<&'a BackendRecord> {
    model.live.backends.get(key).map(|backend| &**backend).filter(|backend| !backend.endpoints.is_empty())
}

/// The backend that takes the place of the route's own, if that has no endpoint and there is one.
pub(super) fn substitute<'a>(model: &'a Model, route: &'a Route) -> Option<(&'a str, &'a BackendRecord)> {
    let key = route.errors.as_ref()?.default_backend.as_deref()?;
    if route.backend.is_empty() || usable(model, &route.backend).is_some() {
        return None;
    }
    usable(model, key).map(|backend| (key, backend))
}

fn target<'a>(model: &'a Model, route: &'a Route) -> Target<'a> {
    // Those of the global list go to the default backend, whatever the route says.
    let own =
        route.errors.as_ref().filter(|errors| errors.custom_http_errors.is_some()).and_then(|errors| errors.default_backend.as_deref());
    if let Some((key, backend)) = own.and_then(|key| Some((key, usable(model, key)?))) {
        return Target { key, name: &backend.name, missing: false };
    }
    let default = default_backend(model);
    Target {
        key: "",
        name: default.map_or("upstream-default-backend", |backend| &backend.name),
        missing: default.is_none_or(|backend| backend.endpoints.is_empty()),
    }
}

impl ErrorsView {
    /// The view of one location; the locations that it needs are added to `locations`.
    pub(super) fn new(model: &Model, profile: &Profile, route: &Route, locations: &mut ErrorLocations) -> Result<Self, RenderError> {
        let config = &model.fixed.globals.config;
        let global = error_statuses(config);
        let by_all = intercepts(config);
        let own = profile.watching.errors.as_ref();
        let statuses = own.map_or(&global, |own| &own.statuses);
        let target = target(model, route);
        let mut pages = Vec::new();
        for &status in statuses {
            let name = format!("@custom_{}_{status}", target.name);
            pages.push(Page { status, location: Printed::word(&name)? });
            if let Entry::Vacant(vacant) = locations.entry(name) {
                let location = ErrorLocation::new(model, vacant.key(), status, &target)?;
                vacant.insert(location);
            }
        }
        let intercept = by_all || own.is_some_and(|own| !own.only_own);
        Ok(Self { intercept: intercept.then(|| Printed::fixed(intercept_directive(&profile.transport))), pages })
    }
}

impl ErrorLocation {
    fn new(model: &Model, name: &str, status: u16, target: &Target<'_>) -> Result<Self, RenderError> {
        Ok(Self {
            name: Printed::word(name)?,
            status,
            backend: Printed::literal(target.key)?,
            upstream_name: Printed::literal(target.name)?,
            missing: target.missing,
            headers: HeadersView::location(&model.fixed.globals, &Profile::default(), &Route::default())?,
        })
    }
}
