//! The pure difference between two models: nothing, live changes, or a reload with its reasons.

use std::fmt;
use std::sync::Arc;

use crate::Model;
use crate::fixed::Fixed;
use crate::key::ObjectKey;
use crate::live::Delta;
use crate::profile::ProfileId;
use crate::signposts;

/// What must happen to bring NGINX from one model to the next.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// The two are equal.
    Nothing,
    /// Data only.
    Live(Delta),
    /// Text changed.
    Reload {
        /// Why, in the order of importance; never empty.
        reasons: Vec<Reason>,
        /// Data that changed as well.
        live: Delta,
    },
}

/// Why a reload is needed. `Display` gives words a person understands; [`Reason::label`] gives the metric label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// NGINX has no configuration yet.
    Start,
    /// A flag or a key of the ConfigMap changed; names what.
    Globals(String),
    /// First use of a combination of directives: its content in words.
    ProfileAdded(ProfileId, String),
    /// A host came to need, changed, or ceased to need a server block of its own, or its routes need another profile there.
    Shell(Arc<str>),
    /// A host must be named, or no longer, because the server block of a pattern would catch it.
    Literal(Arc<str>),
    /// Text of an Ingress for the stream block was added, changed or taken away. None: only its order changed.
    Stream(Option<ObjectKey>),
    /// Somebody asked for it: what the text refers to may have changed. Never found by [`reasons`].
    Asked,
}

impl Reason {
    /// The value of the metric label `reason`.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Globals(_) => "globals",
            Self::ProfileAdded(..) => "profile",
            Self::Shell(_) => "shell",
            Self::Literal(_) => "literal",
            Self::Stream(_) => "stream",
            Self::Asked => "asked",
        }
    }

    /// In words, with the first of the Ingresses that are behind it ([`Built::behind`](crate::Built::behind)).
    pub fn explain(&self, behind: &[ObjectKey]) -> String {
        match (self, behind) {
            (Self::ProfileAdded(_, what), [first, ..]) => format!("{first} is the first to use {what}"),
            (_, [first, ..]) => format!("{self} ({first})"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("first configuration"),
            Self::Globals(what) => write!(f, "global settings changed: {what}"),
            Self::ProfileAdded(_, what) => write!(f, "first use of {what}"),
            Self::Shell(host) => write!(f, "the server block of host {host} changed"),
            Self::Literal(host) => write!(f, "host {host} begins or ceases to lie below a pattern with a server block of its own"),
            Self::Stream(_) => f.write_str("text of the stream block changed"),
            Self::Asked => f.write_str("a reload was asked for"),
        }
    }
}

/// What turns `old` into `new`. Profiles that are merely no longer used are no reason: they leave with the next reload.
pub fn plan(old: &Model, new: &Model) -> Plan {
    let mut live = old.live.delta(&new.live);
    live.extend(signposts::delta(&old.signposts, &new.signposts));
    let reasons = reasons(&old.fixed, &new.fixed);
    if !reasons.is_empty() {
        Plan::Reload { reasons, live }
    } else if live.is_empty() {
        Plan::Nothing
    } else {
        Plan::Live(live)
    }
}

/// Why `new` needs a reload of an NGINX that runs `old`. Empty: it doesn't.
pub fn reasons(old: &Fixed, new: &Fixed) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if old.globals != new.globals {
        let mut changed: Vec<&str> = old.globals.config.changed_keys(&new.globals.config).into_iter().map(|entry| entry.name).collect();
        if old.globals.listen != new.globals.listen {
            changed.push("listening ports");
        }
        if old.globals.health_check_path != new.globals.health_check_path {
            changed.push("health check path");
        }
        if old.globals.counting != new.globals.counting {
            changed.push("request metrics");
        }
        if old.globals.static_certificate != new.globals.static_certificate && changed.is_empty() {
            changed.push("fallback certificate");
        }
        reasons.push(Reason::Globals(changed.join(", ")));
    }
    for (id, profile) in &new.profiles {
        if !old.profiles.contains_key(id) {
            reasons.push(Reason::ProfileAdded(id.clone(), profile.describe()));
        }
    }
    for host in old.shells.keys().chain(new.shells.keys().filter(|host| !old.shells.contains_key(*host))) {
        let does = match (old.shells.get(host), new.shells.get(host)) {
            (Some(old), Some(new)) => old.does_for(new),
            (old, new) => old.is_none() && new.is_none(),
        };
        if !does {
            reasons.push(Reason::Shell(host.clone()));
        }
    }
    if old.literals != new.literals {
        let changed = old.literals.iter().find(|host| !new.literals.contains(*host));
        let changed = new.literals.iter().find(|host| !old.literals.contains(*host)).or(changed);
        reasons.extend(changed.map(|host| Reason::Literal(host.clone())));
    }
    if old.streams != new.streams {
        let gone = old.streams.iter().find(|stream| !new.streams.contains(stream));
        let changed = new.streams.iter().find(|stream| !old.streams.contains(stream)).or(gone);
        reasons.push(Reason::Stream(changed.map(|(ingress, _)| ingress.clone())));
    }
    reasons
}
