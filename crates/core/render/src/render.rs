//! The file set: `nginx.conf`, the Lua side, the static certificate.

use model::{Fixed, Part};
use ngx_value::Snippet;
use serde::Serialize;
use settings::groups::BackendProtocol;
use sha2::{Digest, Sha256};

use crate::auth;
use crate::files::{File, FileSet, Origin};
use crate::globals::{self, GlobalView};
use crate::mirror::MirrorLocation;
use crate::page::Page;
use crate::paths::STATIC_CERTIFICATE;
use crate::print::Printed;
use crate::profile::{self, ProfileView};
use crate::proxy::HeadersView;
use crate::server::{Names, ServerView, Side, unix};
use crate::used_variables::UsedVariables;
use crate::{Capabilities, Paths, RenderError, clients, firewall, lua, mirror, pass, passthrough, stream, stream_map, stream_services};

/// The name of the default server.
pub(crate) const CATCH_ALL: &str = "_";

/// Longest path of a unix socket, without the byte that ends it.
const MAX_SOCKET_PATH: usize = 107;

/// Renders everything that NGINX reads from disk. The same input gives the same bytes.
///
/// # Errors
/// A required module is missing, the work directory can't be used, a port or the static certificate is missing, or a value can't stand in a
/// configuration. The same input fails again.
pub fn render(fixed: &Fixed, caps: &Capabilities, paths: &Paths) -> Result<FileSet, RenderError> {
    check(fixed, paths)?;
    let mut others: Vec<File> = lua::files().collect();
    others.push(certificate(fixed));
    others.extend(globals::tls_files(&fixed.globals));
    others.extend(pass::files(fixed));
    others.extend(firewall::files(fixed, caps));
    others.extend(clients::files(fixed));
    others.extend(stream_map::files(fixed));
    others.extend(stream_services::files(fixed));

    // The revision is part of the text that it is the address of: computed over the text without it.
    let draft = Input { fixed, caps, paths, revision: "0", used: &UsedVariables::default() };
    let used = UsedVariables::of(&blocks(draft)?.0);
    let anonymous = Input { used: &used, ..draft };
    let revision = address(text(anonymous)?.0.as_bytes(), &others);
    let (text, origins) = text(Input { revision: &revision, ..anonymous })?;

    let conf = File { path: "nginx.conf".into(), mode: 0o644, bytes: text.into() };
    let moves = fixed.globals.places.values().any(|place| place.former.is_some());
    Ok(FileSet { revision, files: [conf].into_iter().chain(others).collect(), moves, origins })
}

/// What no configuration can be without.
pub(crate) fn check(fixed: &Fixed, paths: &Paths) -> Result<(), RenderError> {
    let refuse = |reason| Err(RenderError::WorkDir { path: paths.work_dir.clone(), reason });
    let Some(directory) = paths.work_dir.to_str() else { return refuse("expected UTF-8") };
    if !paths.work_dir.is_absolute() {
        return refuse("expected an absolute path");
    }
    // In Lua's search path `;` and `?` have a meaning, in NGINX's paths `$` and `*` may have one.
    if directory.contains(|c: char| c.is_control() || ";?$*[]\"\\".contains(c)) {
        return refuse("expected a path without control characters and any of ; ? $ * [ ] \" \\");
    }
    if paths.control_socket().as_os_str().len() > MAX_SOCKET_PATH {
        return refuse("expected a shorter path: that of the control socket below it may have at most 107 bytes");
    }
    let globals = &*fixed.globals;
    for (port, key) in [(globals.listen.http, "--http-port"), (globals.listen.https, "--https-port")] {
        if port == 0 {
            return Err(RenderError::Setting { key, reason: "0 is not a port NGINX can listen on; expected 1 to 65535".to_owned() });
        }
    }
    passthrough::check(globals)?;
    if globals.listen.http == globals.listen.https {
        let reason = format!("{} is the port of plain HTTP too; expected another", globals.listen.https);
        return Err(RenderError::Setting { key: "--https-port", reason });
    }
    if globals.static_certificate.chain.is_empty() || globals.static_certificate.key.is_empty() {
        let reason = "neither this nor a generated certificate is at hand; NGINX opens no TLS port without one".to_owned();
        return Err(RenderError::Setting { key: "--default-ssl-certificate", reason });
    }
    Ok(())
}

fn certificate(fixed: &Fixed) -> File {
    let pair = &fixed.globals.static_certificate;
    let bytes = format!("{}\n{}\n", pair.chain.trim_end(), pair.key.trim_end()).into();
    File { path: STATIC_CERTIFICATE.into(), mode: 0o600, bytes }
}

#[derive(Serialize)]
struct ServerBlock {
    server: ServerView,
    /// Something asks for the host of the rule.
    named: bool,
    /// The default profile is served by the location that finds the route.
    inline: bool,
    mirrors: Vec<MirrorLocation>,
    /// All headers of the request, where they are not inherited.
    headers: Option<HeadersView>,
}

#[derive(Serialize)]
struct ProfileBlock {
    profile: ProfileView,
    /// All headers of the request, where they are not inherited.
    headers: Option<HeadersView>,
    /// `location-snippet` of the ConfigMap.
    location_snippet: Option<Printed>,
}

#[derive(Serialize)]
struct ServerEnd {
    /// `server-snippet` of the ConfigMap.
    global_snippet: Option<Printed>,
}

#[derive(Serialize)]
struct ControlBlock {
    listen: Printed,
}

/// What `nginx.conf` is made of.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) fixed: &'a Fixed,
    pub(crate) caps: &'a Capabilities,
    pub(crate) paths: &'a Paths,
    pub(crate) revision: &'a str,
    pub(crate) used: &'a UsedVariables,
}

fn text(input: Input<'_>) -> Result<(String, Vec<Origin>), RenderError> {
    let (text, origins) = blocks(input)?;
    Ok((input.used.renamed(text), origins))
}

fn blocks(input: Input<'_>) -> Result<(String, Vec<Origin>), RenderError> {
    let Input { fixed, caps, paths, used, .. } = input;
    let globals = &*fixed.globals;
    let named = used.server_name;
    let names =
        fixed.host_servers.iter().flat_map(|(host, host_server)| [host].into_iter().chain(&host_server.aliases)).chain(&fixed.pinned_names);
    let names = names.map(|name| &**name);
    let view = GlobalView::new(input, names.chain([CATCH_ALL]))?;
    let mut page = Page::default();
    page.block("main.conf", &view)?;
    page.block("http.conf", &view)?;
    auth::upstreams(&mut page, fixed)?;

    for side in Side::all(globals).iter().copied() {
        server(&mut page, fixed, paths, ServerView::catch_all(fixed, caps, paths, side)?, None, named)?;
        for names in [Names::Own, Names::Regexes] {
            for (host, host_server) in fixed.host_servers.iter().filter(|(_, host_server)| names.has(host_server)) {
                server(
                    &mut page,
                    fixed,
                    paths,
                    ServerView::host_server(globals, caps, paths, host, host_server, side, names)?,
                    Some(host),
                    named,
                )?;
            }
        }
    }

    page.block("control.conf", ControlBlock { listen: unix(&paths.control_socket())? })?;
    page.block("http_end.conf", ())?;
    stream::block(&mut page, fixed, caps, paths)?;
    Ok(page.finish())
}

/// A server of the router. Named locations are a server's own: the default one has all of them, a host server's those of its host's routes.
fn server(
    page: &mut Page,
    fixed: &Fixed,
    paths: &Paths,
    view: ServerView,
    host_server: Option<&str>,
    named: bool,
) -> Result<(), RenderError> {
    let config = &fixed.globals.config;
    let of_server = host_server.and_then(|host| fixed.host_servers.get(host)).map(|host_server| &**host_server);
    let profiles = profile::of_server(fixed, of_server);
    let block = |page: &mut Page| {
        let inline = lua::serves_base_inline(config);
        let headers = |snippet: Option<&Snippet>| {
            let of_host = of_server.and_then(|host_server| host_server.snippet.as_ref());
            let asks = of_server.is_some_and(|host_server| host_server.clients.is_some());
            let own = asks || [of_host, config.snippets.server_snippet.as_ref(), snippet].into_iter().flatten().any(may_set_headers);
            own.then(|| HeadersView::profile(&fixed.globals).map(|headers| headers.of_server(of_server))).transpose()
        };
        page.block(
            "server.conf",
            ServerBlock { server: view, named, inline, mirrors: mirror::locations(&profiles), headers: headers(None)? },
        )?;
        for (id, profile) in profiles.iter().copied() {
            let headers = match profile.transport.protocol {
                BackendProtocol::Grpc | BackendProtocol::Grpcs => Some(HeadersView::grpc(&fixed.globals)?.of_server(of_server)),
                _ => match headers(profile.snippet.as_ref())? {
                    None => headers(config.snippets.location_snippet.as_ref())?,
                    own => own,
                },
            };
            let location_snippet = config.snippets.location_snippet.as_ref().map(Printed::raw);
            let view =
                ProfileBlock { profile: ProfileView::new(config, paths, id, profile)?.of_server(of_server), headers, location_snippet };
            page.origin(Part::Profile(model::ProfileId(id.into())), |page| page.block("profile.conf", view))?;
        }
        if profiles.iter().any(|(_, profile)| profile.external_auth.as_ref().is_some_and(|auth| auth.signin)) {
            page.block("sign_in.conf", ())?;
        }
        if of_server.is_some_and(|host_server| host_server.clients.is_some()) {
            page.block("client_refused.conf", ())?;
        }
        page.block("server_end.conf", ServerEnd { global_snippet: config.snippets.server_snippet.as_ref().map(Printed::raw) })
    };
    match host_server {
        Some(host) => page.origin(Part::Server(host.into()), block),
        None => page.origin(Part::Globals, block),
    }
}

/// Whether a snippet may hold a `proxy_set_header`, which ends the inheritance of all others.
fn may_set_headers(snippet: &Snippet) -> bool {
    ["proxy_set_header", "include"].into_iter().any(|name| snippet.as_str().contains(name))
}

/// The content address of a file set: path, mode and length before each content, so that nothing can pass for something else.
fn address(conf: &[u8], others: &[File]) -> String {
    let mut digest = Sha256::new();
    digest.update(conf.len().to_le_bytes());
    digest.update(conf);
    for file in others {
        let path = file.path.as_os_str().as_encoded_bytes();
        digest.update(path.len().to_le_bytes());
        digest.update(path);
        digest.update(file.mode.to_le_bytes());
        digest.update(file.bytes.len().to_le_bytes());
        digest.update(&file.bytes);
    }
    const_hex::encode(&digest.finalize()[..8])
}
