//! The pure difference between two models: nothing, live changes, or a reload with its reasons.

use std::fmt;

use imbl::ordmap::DiffItem;

use crate::Model;
use crate::fixed::Fixed;
use crate::key::ObjectKey;
use crate::live::Delta;
use crate::part::Part;

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
    /// A part is new, changed or gone. Of the globals: what of them; of a profile, which is used for the first time: its content in words; else empty.
    Changed(Part, String),
    /// A caller asked for it: what the text refers to may have changed. Never found by [`reasons`].
    Asked,
}

impl Reason {
    /// The value of the metric label `reason`.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Changed(part, _) => part.label(),
            Self::Asked => "asked",
        }
    }

    /// What changed.
    pub const fn part(&self) -> Option<&Part> {
        match self {
            Self::Changed(part, _) => Some(part),
            Self::Start | Self::Asked => None,
        }
    }

    /// In words, with the first of the Ingresses that are behind it ([`Built::behind`](crate::Built::behind)).
    pub fn explain(&self, behind: &[ObjectKey]) -> String {
        match (self, behind) {
            (Self::Changed(Part::Profile(_), what), [first, ..]) => format!("{first} is the first to use {what}"),
            (_, [first, ..]) => format!("{self} ({first})"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (part, what) = match self {
            Self::Start => return f.write_str("first configuration"),
            Self::Asked => return f.write_str("a reload was asked for"),
            Self::Changed(part, what) => (part, what),
        };
        match part {
            Part::Globals => write!(f, "global settings changed: {what}"),
            Part::Profile(_) => write!(f, "first use of {what}"),
            Part::Server(host) => write!(f, "the server block of host {host} changed"),
            Part::Name(host) => write!(f, "host {host} begins or ceases to lie below a pattern with a server block of its own"),
            Part::StreamService(port) => write!(f, "port {} of the {} services is opened, closed or changed", port.number, port.protocol),
            Part::Stream(_) | Part::StreamOrder => f.write_str("text of the stream block changed"),
        }
    }
}

/// What turns `old` into `new`. Profiles that are merely no longer used are no reason: they leave with the next reload.
pub fn plan(old: &Model, new: &Model) -> Plan {
    let live = old.live.delta(&new.live);
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
    let mut changed = |part: Part, what: String| reasons.push(Reason::Changed(part, what));
    if old.globals != new.globals {
        let mut keys: Vec<&str> = old.globals.config.changed_keys(&new.globals.config).into_iter().map(|entry| entry.name).collect();
        let (before, after) = (&old.globals.headers, &new.globals.headers);
        for (name, changed) in [("add-headers", before.answer != after.answer), ("proxy-set-headers", before.request != after.request)] {
            keys.extend(Some(name).filter(|name| changed && !keys.contains(name)));
        }
        if old.globals.listen != new.globals.listen {
            keys.push("listening ports");
        }
        if old.globals.health_check_path != new.globals.health_check_path {
            keys.push("health check path");
        }
        if old.globals.places != new.globals.places && !keys.contains(&"lua-shared-dicts") {
            keys.push("lua-shared-dicts");
        }
        if old.globals.databases != new.globals.databases && !keys.contains(&"use-geoip2") {
            keys.push("databases of use-geoip2");
        }
        if old.globals.counting != new.globals.counting {
            keys.push("request metrics");
        }
        if old.globals.dh_parameters != new.globals.dh_parameters && !keys.contains(&"ssl-dh-param") {
            keys.push("the Secret of ssl-dh-param");
        }
        if old.globals.static_certificate != new.globals.static_certificate && keys.is_empty() {
            keys.push("fallback certificate");
        }
        changed(Part::Globals, keys.join(", "));
    }
    for (id, profile) in &new.profiles {
        if !old.profiles.contains_key(id) {
            changed(Part::Profile(id.clone()), profile.describe());
        }
    }
    for host in old.host_servers.keys().chain(new.host_servers.keys().filter(|host| !old.host_servers.contains_key(*host))) {
        let does = match (old.host_servers.get(host), new.host_servers.get(host)) {
            (Some(old), Some(new)) => old.does_for(new),
            (old, new) => old.is_none() && new.is_none(),
        };
        if !does {
            changed(Part::Server(host.clone()), String::new());
        }
    }
    if old.pinned_names != new.pinned_names {
        let gone = old.pinned_names.iter().find(|host| !new.pinned_names.contains(*host));
        if let Some(host) = new.pinned_names.iter().find(|host| !old.pinned_names.contains(*host)).or(gone) {
            changed(Part::Name(host.clone()), String::new());
        }
    }
    for item in old.stream_services.diff(&new.stream_services) {
        let (DiffItem::Add(port, _) | DiffItem::Remove(port, _) | DiffItem::Update { old: (port, _), .. }) = item;
        changed(Part::StreamService(*port), String::new());
    }
    if old.streams != new.streams {
        let gone = old.streams.iter().find(|stream| !new.streams.contains(stream));
        let found = new.streams.iter().find(|stream| !old.streams.contains(stream)).or(gone);
        changed(found.map_or(Part::StreamOrder, |(ingress, _)| Part::Stream(ingress.clone())), String::new());
    }
    reasons
}
