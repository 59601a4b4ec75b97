//! What is about a whole host: its names, its server block, its root.

use std::sync::Arc;

use super::{CATCH_ALL, Draft, Entry, Host};
use crate::fixed::{ClientVerification, Shell};
use crate::key::ObjectRef;
use crate::passes::resolve::ClientTrust;
use crate::problem::{Problem, ProblemKind};

/// Annotations that need a server block of their own.
pub(crate) const SHELL: [&str; 4] = ["auth-tls-secret", "server-snippet", "ssl-ciphers", "ssl-prefer-server-ciphers"];

/// Whether an Ingress has an annotation that is about the whole host.
pub(crate) fn asks_for(entry: &Entry, annotation: &str) -> bool {
    let spec = &entry.spec;
    match annotation {
        "auth-tls-secret" => matches!(entry.resolved.client_trust, Some(ClientTrust::Trusted(_))),
        "from-to-www-redirect" => spec.redirect.from_to_www_redirect,
        "server-alias" => !spec.names.server_alias.is_empty() || !spec.names.server_alias_patterns.is_empty(),
        "server-snippet" => spec.snippets.server_snippet.is_some(),
        "ssl-ciphers" => spec.client_tls.ssl_ciphers.is_some(),
        "ssl-prefer-server-ciphers" => spec.client_tls.ssl_prefer_server_ciphers.is_some(),
        _ => false,
    }
}

/// Whether an Ingress asks for a server block of its own.
pub(crate) fn has_server_block(entry: &Entry) -> bool {
    SHELL.iter().any(|annotation| asks_for(entry, annotation))
}

/// The first Ingress with a list decides.
pub(super) fn aliases(host: &str, entries: &[&Entry]) -> Vec<Arc<str>> {
    let Some(entry) = entries.iter().find(|entry| asks_for(entry, "server-alias")) else { return Vec::new() };
    let names = &entry.spec.names;
    let literal = names.server_alias.iter().map(ToString::to_string).filter(|alias| alias != host);
    let mut aliases: Vec<Arc<str>> =
        literal.chain(names.server_alias_patterns.iter().map(|pattern| format!("~{pattern}"))).map(Arc::from).collect();
    aliases.sort();
    aliases.dedup();
    aliases
}

/// The first Ingress decides about each. What has no host has none: the server block that serves it serves all other hosts, too.
pub(super) fn shell(name: &str, entries: &[&Entry], host: &Host, clients: Option<ClientVerification>) -> Option<Shell> {
    let asks = |entry: &&Entry| SHELL.iter().any(|annotation| *annotation != "auth-tls-secret" && asks_for(entry, annotation));
    (name != CATCH_ALL && (clients.is_some() || entries.iter().any(asks))).then(|| Shell {
        aliases: host.aliases.clone(),
        snippet: entries.iter().find_map(|entry| entry.spec.snippets.server_snippet.clone()),
        clients,
        ciphers: entries.iter().find_map(|entry| entry.spec.client_tls.ssl_ciphers.clone()),
        prefer_server_ciphers: entries.iter().find_map(|entry| entry.spec.client_tls.ssl_prefer_server_ciphers),
        profiles: host.profiles.iter().map(|(id, _)| id.clone()).collect(),
    })
}

/// The name with or without `www.`, if one of the locations asks for its redirect.
pub(super) fn twin(host: &str, drafts: &[Draft<'_>], problems: &mut Vec<Problem>) -> Option<Arc<str>> {
    let mut entries = drafts.iter().filter(|draft| draft.redirects).filter_map(|draft| draft.entry);
    let entry = entries.find(|entry| asks_for(entry, "from-to-www-redirect"))?;
    if host == CATCH_ALL || host.starts_with("*.") {
        let who = if host == CATCH_ALL { "rules without a host have" } else { "wildcards have" };
        let detail = format!("from-to-www-redirect: {who} no name with or without www.; nothing is redirected for {host:?}");
        problems.push(Problem { object: ObjectRef::ingress(entry.key()), field: String::new(), kind: ProblemKind::Surprise, detail });
        return None;
    }
    Some(host.strip_prefix("www.").map_or_else(|| format!("www.{host}").into(), Arc::from))
}

/// Where `/` of the host is redirected to: what the location with the longest path says.
pub(super) fn app_root(drafts: &[Draft<'_>]) -> Option<Arc<str>> {
    let named =
        drafts.iter().filter(|draft| draft.redirects).filter_map(|draft| Some((&draft.path, draft.entry?.spec.path.app_root.as_ref()?)));
    let (_, root) = named.max_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)))?;
    Some(root.as_str().into())
}
