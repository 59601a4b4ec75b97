//! What is about a whole host: its names, its server block, its root.

use std::sync::Arc;

use super::{Draft, Host};
use crate::fixed::{ClientVerification, HostServer};
use crate::problem::{Problem, ProblemKind};
use crate::rule::{CATCH_ALL, ClientTrust, Field, Policy, RuleSet};

/// Settings that need a server block of their own.
pub(super) const SHELL: [&str; 4] = ["auth-tls-secret", "server-snippet", "ssl-ciphers", "ssl-prefer-server-ciphers"];

/// Whether a policy has a setting that is about the whole host.
pub(crate) fn asks_for(policy: &Policy, annotation: &str) -> bool {
    let spec = &policy.spec;
    match annotation {
        "auth-tls-secret" => matches!(policy.resolved.client_trust, Some(ClientTrust::Trusted(_))),
        "from-to-www-redirect" => spec.redirect.from_to_www_redirect,
        "server-alias" => !spec.names.server_alias.is_empty() || !spec.names.server_alias_patterns.is_empty(),
        "server-snippet" => spec.snippets.server_snippet.is_some(),
        "ssl-ciphers" => spec.client_tls.ssl_ciphers.is_some(),
        "ssl-prefer-server-ciphers" => spec.client_tls.ssl_prefer_server_ciphers.is_some(),
        _ => false,
    }
}

/// Whether a policy asks for a server block of its own.
pub(crate) fn has_server_block(policy: &Policy) -> bool {
    SHELL.iter().any(|annotation| asks_for(policy, annotation))
}

/// The first object with a list decides.
pub(super) fn aliases(host: &str, sets: &[&RuleSet]) -> Vec<Arc<str>> {
    let Some(policy) = policies(sets).find(|policy| asks_for(policy, "server-alias")) else { return Vec::new() };
    let names = &policy.spec.names;
    let literal = names.server_alias.iter().map(ToString::to_string).filter(|alias| alias != host);
    let mut aliases: Vec<Arc<str>> =
        literal.chain(names.server_alias_patterns.iter().map(|pattern| format!("~{pattern}"))).map(Arc::from).collect();
    aliases.sort();
    aliases.dedup();
    aliases
}

/// The first object decides about each. What has no host has none: the server block that serves it serves all other hosts, too.
pub(super) fn host_server(name: &str, sets: &[&RuleSet], host: &Host, clients: Option<ClientVerification>) -> Option<HostServer> {
    let asks = |policy: &Policy| SHELL.iter().any(|annotation| *annotation != "auth-tls-secret" && asks_for(policy, annotation));
    (name != CATCH_ALL && (clients.is_some() || policies(sets).any(asks))).then(|| HostServer {
        aliases: host.aliases.clone(),
        snippet: policies(sets).find_map(|policy| policy.spec.snippets.server_snippet.clone()),
        clients,
        ciphers: policies(sets).find_map(|policy| policy.spec.client_tls.ssl_ciphers.clone()),
        prefer_server_ciphers: policies(sets).find_map(|policy| policy.spec.client_tls.ssl_prefer_server_ciphers),
        profiles: host.profiles.iter().map(|(id, _)| id.clone()).collect(),
    })
}

fn policies<'a>(sets: &[&'a RuleSet]) -> impl Iterator<Item = &'a Policy> {
    sets.iter().map(|rules| &*rules.policy)
}

/// The name with or without `www.`, if one of the locations asks for its redirect.
pub(super) fn www_alias(host: &str, drafts: &[Draft<'_>], problems: &mut Vec<Problem>) -> Option<Arc<str>> {
    let mut owners = drafts.iter().filter(|draft| draft.redirects).filter_map(|draft| draft.owner);
    let owner = owners.find(|owner| asks_for(owner.policy, "from-to-www-redirect"))?;
    if host == CATCH_ALL || host.starts_with("*.") {
        let who = if host == CATCH_ALL { "rules without a host have" } else { "wildcards have" };
        let detail = format!("from-to-www-redirect: {who} no name with or without www.; nothing is redirected for {host:?}");
        problems.push(owner.origin.problem(Field::Whole, ProblemKind::Surprise, detail));
        return None;
    }
    Some(host.strip_prefix("www.").map_or_else(|| format!("www.{host}").into(), Arc::from))
}

/// Where `/` of the host is redirected to: what the location with the longest path says.
pub(super) fn app_root(drafts: &[Draft<'_>]) -> Option<Arc<str>> {
    let named = drafts
        .iter()
        .filter(|draft| draft.redirects)
        .filter_map(|draft| Some((&draft.path, draft.owner?.policy.spec.path.app_root.as_ref()?)));
    let (_, root) = named.max_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)))?;
    Some(root.as_str().into())
}
