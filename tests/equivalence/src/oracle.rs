//! A model as NGINX's own text, without Lua: a `server` block per host, a `location` per match, an `upstream` block per backend.
//!
//! What does not depend on hosts (variables, headers, the defaults of proxying) is taken from the text that is tested.

mod access;
mod answers;
mod backends;
mod hosts;
mod location;

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use model::{Globals, HostRecord, Model};
use ngx_value::Text;
use render::{Capabilities, Paths};

use self::backends::Backends;
use self::hosts::{CATCH_ALL, Group};
use self::location::Place;

/// The response header that tells which rule answered.
pub const RULE_HEADER: &str = "x-rule";

/// What may be said of the rule that answered.
const RULE: [&str; 6] = ["namespace", "ingress_name", "service_name", "service_port", "location_path", "proxy_upstream_name"];

/// The directive that adds [`RULE_HEADER`].
pub fn rule_header() -> String {
    let value: Vec<String> = RULE.iter().map(|name| format!("${{{name}}}")).collect();
    format!("add_header {RULE_HEADER} \"{}\" always;", value.join(" | "))
}

/// A whole configuration, which listens on `listen`, and in `dir` the files that it needs.
///
/// # Errors
/// The model can't be rendered, or has a text that no configuration can hold, or a file can't be written.
pub fn write(model: &Model, caps: &Capabilities, dir: &Path, listen: SocketAddr) -> anyhow::Result<String> {
    std::fs::create_dir(dir.join("tmp"))?;
    std::fs::write(access::users_file(dir), crate::rules::USERS)?;
    conf(model, caps, dir, listen)
}

fn conf(model: &Model, caps: &Capabilities, dir: &Path, listen: SocketAddr) -> anyhow::Result<String> {
    let set = render::render(&model.fixed, caps, &Paths::new(dir))?;
    let rendered = String::from_utf8(set.conf().to_vec())?;
    let (_, http) = rendered.split_once("\n    aio threads;").context("the http block has no beginning")?;
    let (http, _) = http.split_once("\n    # Every backend").context("the http block has no upstream block")?;
    let http: String = http.lines().filter(|line| !line.trim_start().starts_with("ssl_")).map(|line| format!("{line}\n")).collect();
    let user = rendered.lines().find(|line| line.starts_with("user ")).unwrap_or_default();
    let headers: Vec<&str> = http.lines().map(str::trim).filter(|line| line.starts_with("proxy_set_header ")).collect();
    let backends = Backends::new(model);

    let mut text = format!(
        "pid {pid};\ndaemon off;\n{user}\nworker_processes 1;\nerror_log {log} crit;\nevents {{\n    worker_connections 4096;\n}}\nhttp {{{http}{MAPS}",
        pid = quoted(&dir.join("nginx.pid").display().to_string())?,
        log = quoted(&dir.join("error.log").display().to_string())?,
    );
    // Behind the checks of a location, where there is no default backend.
    let socket = quoted(&format!("unix:{}", dir.join("missing.sock").display()))?;
    write!(
        text,
        "    upstream missing {{\n        server {socket};\n    }}\n    server {{\n        listen {socket};\n        return 404;\n    }}\n"
    )?;
    text += &backends.text()?;
    text += &answers::zones(model)?;
    for group in hosts::groups(model) {
        text += &server(&Place { model, group: &group, backends: &backends, headers: &headers, dir }, listen)?;
    }
    text.push_str("}\n");
    Ok(text)
}

/// Parts of redirects.
const MAPS: &str = r#"
    map $best_http_host $narthex_redirect_host {
        "~^(?<narthex_name>.*?)(:[0-9]*)?$" $narthex_name;
    }
    map $request_uri $narthex_trimmed_uri {
        "~^(?<narthex_target>.*)/$" $narthex_target;
        default $request_uri;
    }
"#;

fn server(place: &Place<'_>, listen: SocketAddr) -> anyhow::Result<String> {
    let globals = &*place.model.fixed.globals;
    let Group { names, server_names, record, .. } = place.group;
    let catch_all = CATCH_ALL == &*names[0];
    let empty = Arc::new(HostRecord::default());
    let record = record.unwrap_or(&empty);

    let mut text = format!("    server {{\n        listen {listen}{};\n", if catch_all { " default_server backlog=511" } else { "" });
    let names: Vec<String> = server_names.iter().map(|name| quoted(name)).collect::<Result<_, _>>()?;
    writeln!(text, "        server_name {};\n        {}", names.join(" "), rule_header())?;
    if let Some(path) = &record.app_root {
        writeln!(
            text,
            "        if ($uri = /) {{\n            return 302 {};\n        }}",
            quoted(&format!("$scheme://$http_host{path}"))?
        )?;
    }
    if let Some(host) = &record.redirect_to {
        let url = quoted(&format!("$pass_access_scheme://{host}:$pass_port$narthex_trimmed_uri"))?;
        writeln!(text, "        set $redirect_to {url};\n        return {} $redirect_to;", globals.config.https.http_redirect_code)?;
    } else {
        text += &location::locations(place, record)?;
    }
    if catch_all {
        text += &health_check(globals, record)?;
    }
    text.push_str("    }\n");
    Ok(text)
}

/// A location that answers 200: exact, or behind the regexes of a host that has some.
fn health_check(globals: &Globals, record: &HostRecord) -> anyhow::Result<String> {
    let path = &*globals.health_check_path;
    if path.is_empty() || record.exact.contains_key(path) {
        return Ok(String::new());
    }
    let (modifier, name) = if record.regex.is_empty() { ("=", path.to_owned()) } else { ("~", format!(r"^{}\z", escape_regex(path))) };
    Ok(format!("        location {modifier} {} {{\n            return 200;\n        }}\n", quoted(&name)?))
}

/// A regex that matches a text literally.
fn escape_regex(text: &str) -> String {
    text.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}

/// One argument, whose variables are meant or which is taken literally.
fn quoted(text: &str) -> anyhow::Result<String> {
    Ok(ngx_value::quote(Text::new(text)?))
}

/// One argument in which nothing is a variable.
fn literal(text: &str) -> anyhow::Result<String> {
    Ok(ngx_value::quote_text(Text::new(text)?))
}
