//! The configuration as if everything were text: for people, who know how to read it, and for tests, which run it.
//!
//! What it answers is what the Lua router answers from the same records (`docs/live-protocol.md`, "How a request finds its
//! route"). Where NGINX would do more than is asked for, a location of its own prevents it ([`location`]).

mod location;
mod names;
mod serving;

use std::sync::Arc;

use model::{Globals, HostRecord, Model};
use serde::Serialize;

use self::location::{ErrorLocation, ErrorLocations, LocationView, ZonesView};
use self::names::Group;
use crate::auth;
use crate::globals::{Form, GlobalView};
use crate::mirror::{self, MirrorLocation};
use crate::page::Page;
use crate::pass::TlsView;
use crate::print::Printed;
use crate::server::{Common, Side};
use crate::{Capabilities, Paths, RenderError, passthrough, stream};

/// Which part of the equivalent text is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConfFilter<'a> {
    /// Only the server block that answers for this host, without what is around it.
    pub host: Option<&'a str>,
    /// Only the locations made from this path of a rule, or of this name; where there is none, the one that a request for this path comes to.
    pub path: Option<&'a str>,
}

/// The configuration as if everything were text: a `server` block per host, a `location` per match (`narthex conf [HOST] [PATH]`).
///
/// Without a host it is a whole file that NGINX can run; with one, its `server` block.
///
/// # Errors
/// Those of [`crate::render`], [`RenderError::UnknownHost`] and, with a host, [`RenderError::UnknownPath`].
pub fn conf(model: &Model, caps: &Capabilities, paths: &Paths, filter: ConfFilter<'_>) -> Result<String, RenderError> {
    let mut page = Page::default();
    let groups = names::groups(model);
    if let Some(host) = filter.host {
        let group = names::find(&groups, host).ok_or_else(|| RenderError::UnknownHost(host.to_owned()))?;
        let view = server(model, caps, paths, group, filter.path)?;
        let is_redirected = group.record.is_some_and(|record| record.redirect_to.is_some());
        if let (Some(path), true) = (filter.path, view.server.locations.is_empty() && !is_redirected) {
            let known = group.record.map(|record| known_paths(record)).unwrap_or_default();
            return Err(RenderError::UnknownPath { host: host.to_owned(), path: path.to_owned(), known });
        }
        page.block("equivalent/server.conf", view)?;
        passthrough::equivalent_of_host(&mut page, model, caps, paths, host)?;
        return Ok(page.finish().0);
    }
    let revision = crate::render(&model.fixed, caps, paths)?.revision;
    let names = groups.iter().flat_map(|group| group.server_names.iter().map(String::as_str));
    let globals = GlobalView::new(&model.fixed, caps, paths, &revision, Form::Equivalent, names)?;
    page.block("main.conf", &globals)?;
    page.block("http.conf", &globals)?;
    auth::upstreams(&mut page, &model.fixed, Form::Equivalent)?;
    page.block("equivalent/maps.conf", &globals)?;
    page.block("equivalent/zones.conf", Zones { zones: ZonesView::new(model)? })?;
    for group in &groups {
        page.block("equivalent/server.conf", server(model, caps, paths, group, filter.path)?)?;
    }
    page.block("http_end.conf", &globals)?;
    stream::block(&mut page, &model.fixed, caps, |page| passthrough::equivalent(page, model, caps, paths, None))?;
    Ok(page.finish().0)
}

/// The paths of the rules of a host, in their order.
fn known_paths(record: &HostRecord) -> Vec<String> {
    let mut paths: Vec<String> = record.routes.iter().map(|route| route.path.to_string()).collect();
    paths.dedup();
    paths
}

#[derive(Serialize)]
struct Zones {
    zones: ZonesView,
}

#[derive(Serialize)]
struct View {
    server: ServerView,
}

#[derive(Serialize)]
struct ServerView {
    /// Names in the comments before the block, and after it in reverse.
    begin: Vec<Printed>,
    end: Vec<Printed>,
    #[serde(flatten)]
    common: Common,
    app_root: Option<AppRoot>,
    redirect: Option<HostRedirect>,
    /// Answered with 200 unless a rule claims it.
    health_check: Option<HealthCheck>,
    /// TLS to the backends of the host.
    tls: Option<TlsView>,
    mirrors: Vec<MirrorLocation>,
    locations: Vec<LocationView>,
    error_locations: Vec<ErrorLocation>,
    /// `server-snippet` of the ConfigMap.
    global_snippet: Option<Printed>,
}

fn server(model: &Model, caps: &Capabilities, paths: &Paths, group: &Group<'_>, path: Option<&str>) -> Result<View, RenderError> {
    let globals = &*model.fixed.globals;
    let begin: Vec<Printed> = group.names.iter().map(|name| Printed::comment(name)).collect();
    let end = begin.iter().rev().cloned().collect();
    let empty = Arc::new(HostRecord::default());
    let record = group.record.unwrap_or(&empty);
    let mut error_locations = ErrorLocations::new();
    let locations = match record.redirect_to {
        Some(_) => Vec::new(),
        None => location::locations(model, paths, group, record, path, &mut error_locations)?,
    };
    let catch_all = names::CATCH_ALL == &*group.names[0];
    let common = Common::new(globals, caps, paths, &group.server_names, group.shell, catch_all, Side::Both)?;
    Ok(View {
        server: ServerView {
            begin,
            end,
            common: common.with_client_page(record.auth_tls_error_page.as_deref())?,
            health_check: if catch_all { HealthCheck::new(globals, record)? } else { None },
            app_root: record.app_root.as_deref().map(AppRoot::new).transpose()?,
            redirect: record.redirect_to.as_deref().map(|host| HostRedirect::new(globals, host)).transpose()?,
            tls: location::host_tls(model, record).map(|tls| TlsView::server(paths, tls)).transpose()?,
            mirrors: mirror::of_host(model, record)?,
            locations,
            global_snippet: globals.config.snippets.server_snippet.as_ref().map(Printed::raw),
            error_locations: error_locations.into_values().collect(),
        },
    })
}

/// Where `/` is redirected to: a plain path, or else the URL with the variables in the path.
#[derive(Serialize)]
struct AppRoot {
    path: Option<Printed>,
    url: Printed,
}

impl AppRoot {
    fn new(path: &str) -> Result<Self, RenderError> {
        Ok(Self { path: Printed::word(path).ok(), url: Printed::quoted(&format!("$scheme://$http_host{path}"))? })
    }
}

/// Everything goes to another name.
#[derive(Serialize)]
struct HostRedirect {
    code: u16,
    url: Printed,
}

impl HostRedirect {
    fn new(globals: &Globals, host: &str) -> Result<Self, RenderError> {
        let url = Printed::quoted(&format!("$pass_access_scheme://{host}:$pass_port$narthex_trimmed_uri"))?;
        Ok(Self { code: globals.config.https.http_redirect_code, url })
    }
}

/// A location that answers 200: exact, or behind the regexes of a host that has some.
#[derive(Serialize)]
struct HealthCheck {
    modifier: Printed,
    name: Printed,
}

impl HealthCheck {
    fn new(globals: &Globals, record: &HostRecord) -> Result<Option<Self>, RenderError> {
        let path = &*globals.health_check_path;
        if path.is_empty() || record.exact.contains_key(path) {
            return Ok(None);
        }
        let (modifier, name) =
            if record.regex.is_empty() { ("= ", path.to_owned()) } else { ("~ ", format!(r"^{}\z", escape_regex(path))) };
        Ok(Some(Self { modifier: Printed::fixed(modifier), name: Printed::quoted(&name)? }))
    }
}

/// A regex that matches a text literally.
fn escape_regex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
