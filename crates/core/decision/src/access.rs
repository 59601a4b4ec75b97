//! Whether a client may pass: lists of addresses, a password, another service, and how they combine.

use std::net::IpAddr;
use std::sync::Arc;

use model::Globals;
use model::live::{AddressLists, Policy, Route};
use ngx_value::Cidr;

use crate::outcome::Condition;
use crate::variables::Variables;

/// What a client of this address gets.
pub(crate) enum Verdict {
    /// It may pass unless one of these is so.
    Passes(Vec<Condition>),
    /// It may not: the status, and why.
    Refused(u16, String),
}

/// Judges what is known of the client.
pub(crate) fn judge(route: &Route, globals: &Globals, variables: &Variables<'_>) -> Verdict {
    let policy = &*route.policy;
    let lists = Lists::of(route, globals);
    let mut conditions = Vec::new();
    let by_address = variables.seen.request.client.map(|client| lists.verdict(client));
    let external = policy.external_auth.as_deref();
    let alternatives = policy.password.is_some() || external.is_some();
    let any = policy.satisfy_any && alternatives;
    match by_address {
        Some(Some(false)) if !any => return Verdict::Refused(403, lists.refusal()),
        None if lists.ask() => conditions.push(Condition::new(lists.members(), if any { ANOTHER } else { "403" })),
        _ => {}
    }
    let consents = by_address == Some(Some(true)) && any;
    if policy.password.is_some() && !consents {
        if !has_credentials(policy, variables) && !(any && (external.is_some() || by_address.is_none() && lists.ask())) {
            let status = if external.is_some_and(|check| check.auth_signin.is_some()) { 302 } else { 401 };
            return Verdict::Refused(status, "a password is asked for, and the request has none".into());
        }
        conditions.push(Condition::new("user or password is wrong".into(), if any { ANOTHER } else { "401" }));
    }
    if let Some(check) = external {
        let refused = match check.auth_signin.as_deref() {
            Some(url) => format!("302 to {url} where it answers 401, else 403"),
            None => "its status, 401 or 403".to_owned(),
        };
        conditions.push(Condition::new(format!("{} does not answer with 2xx", check.auth_url), refused));
    }
    Verdict::Passes(conditions)
}

/// Whether anything decides who may pass.
pub(crate) fn asks(route: &Route, globals: &Globals) -> bool {
    Lists::of(route, globals).ask() || route.policy.password.is_some() || route.policy.external_auth.is_some()
}

/// With `satisfy: any`.
const ANOTHER: &str = "another of the ways to pass decides (satisfy: any)";

/// Whether the request has what the scheme of the password asks for.
fn has_credentials(policy: &Policy, variables: &Variables<'_>) -> bool {
    let scheme = if policy.password.as_ref().is_some_and(|password| password.digest) { "digest " } else { "basic " };
    let given = variables.seen.request.variable("authorization").unwrap_or_default();
    given.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

/// The lists that are asked.
struct Lists {
    deny: Vec<Arc<str>>,
    allow: Vec<Arc<str>>,
}

impl Lists {
    fn of(route: &Route, globals: &Globals) -> Self {
        if route.namespace.is_empty() {
            // The global lists are for Ingresses.
            return Self { deny: Vec::new(), allow: Vec::new() };
        }
        if let Some(AddressLists { denylist_source_range, allowlist_source_range }) = route.policy.addresses.as_deref() {
            return Self { deny: denylist_source_range.clone(), allow: allowlist_source_range.clone() };
        }
        let access = &globals.config.access;
        let texts = |set: &ngx_value::CidrSet| set.iter().map(|cidr| cidr.to_string().into()).collect();
        Self { deny: texts(&access.denylist_source_range), allow: texts(&access.whitelist_source_range) }
    }

    fn ask(&self) -> bool {
        !self.deny.is_empty() || !self.allow.is_empty()
    }

    /// `None`: the lists say nothing.
    fn verdict(&self, client: IpAddr) -> Option<bool> {
        let has = |list: &[Arc<str>]| list.iter().any(|text| text.parse::<Cidr>().is_ok_and(|cidr| cidr.contains(client)));
        if has(&self.deny) {
            return Some(false);
        }
        (!self.allow.is_empty()).then(|| has(&self.allow))
    }

    fn members(&self) -> String {
        let of = |list: &[Arc<str>]| list.iter().map(|text| &**text).collect::<Vec<_>>().join(", ");
        match (self.deny.is_empty(), self.allow.is_empty()) {
            (false, true) => format!("the client's address is in {}", of(&self.deny)),
            (true, _) => format!("the client's address is not in {}", of(&self.allow)),
            (false, false) => format!("the client's address is in {}, or not in {}", of(&self.deny), of(&self.allow)),
        }
    }

    fn refusal(&self) -> String {
        self.members()
    }
}
