//! What an entry of the annotation table says.

use std::fmt;
use std::str::FromStr;

use ngx_value::Invalid;

use crate::config::{Config, ConfigEntry};
use crate::parse::FindingKind;
use crate::spec::Spec;

/// One annotation: everything that is known about it, and how its value becomes part of a [`Spec`].
///
/// Support for another annotation is another entry in its group (and a field of the group's struct); reading, the risk gate, findings
/// and the reference page follow from it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name without the prefix.
    pub name: &'static str,
    /// Older names. Consulted in this order when the annotation is missing or empty.
    pub aliases: &'static [&'static str],
    /// The scope of its value.
    pub scope: Scope,
    /// What a tenant who may set it could do with it.
    pub risk: Risk,
    /// The key of the ConfigMap that gives its default.
    pub config_key: Option<&'static str>,
    /// How a change reaches NGINX.
    pub applies: Applies,
    /// What it takes, in words: a noun phrase.
    pub value: &'static str,
    /// What it does: sentences in Markdown.
    pub doc: &'static str,
    /// A value that it takes.
    pub example: &'static str,
    /// Annotations that must stand beside the example: names and values.
    pub companions: &'static [(&'static str, &'static str)],
    /// What a value that it does not take leads to.
    pub on_invalid: OnInvalid,
    /// What an empty value leads to.
    pub on_empty: OnEmpty,
    /// What must hold for it to be read at all. Otherwise it is reported and counts as not set.
    pub needs: Option<Needs>,
    /// The annotation beside which it is not read, however it is written: that one wins.
    pub yields_to: Option<&'static str>,
    /// Its part in access control.
    pub guard: Guard,
    /// Which controller had it first.
    pub since: Since,
    /// Why its example changes neither what is built nor the text. `None`: it does, which is checked.
    pub inert: Option<&'static str>,
    /// Puts a value into the draft, or says what was expected.
    pub parse: fn(&str, &mut Draft) -> Result<(), Invalid>,
}

impl Entry {
    /// Whether a value that can't be used closes the locations.
    pub fn protects(&self) -> bool {
        self.guard == Guard::Protects
    }

    /// Whether leaving out this value would open something. Where emptiness is a value, as with a range of addresses, it closes; a name that is
    /// empty says nothing.
    pub(crate) fn protects_with(&self, value: &str) -> bool {
        self.protects() && (self.on_empty == OnEmpty::Value || !value.trim().is_empty())
    }
}

/// What an annotation depends on.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The annotation, with its value if only one will do: `affinity: cookie`.
    pub what: &'static str,
    /// Whether it is so. Annotations that need nothing are read before those that need something.
    pub met: fn(&Spec) -> bool,
}

/// Annotations that belong together: a file below `groups`, a section of the reference, and a field of [`Spec`].
#[derive(Debug)]
pub struct Group {
    /// Heading of the section.
    pub title: &'static str,
    /// What applies to all of them: sentences in Markdown, may be empty.
    pub doc: &'static str,
    /// The annotations, ordered by name.
    pub entries: &'static [Entry],
    /// The keys of the ConfigMap that are about the same.
    pub keys: &'static [ConfigEntry],
    /// Runs when all values are read: looks at combinations.
    pub finish: fn(&mut Draft),
    /// Runs after that: looks at what must fit the global settings.
    pub settle: fn(&mut Draft, &Config),
    /// Forgets the whole group; for [`OnInvalid::DropGroup`].
    pub clear: fn(&mut Spec),
}

/// A [`Spec`] in the making, and what was found on the way.
#[derive(Debug, Default)]
pub struct Draft {
    /// What was read so far.
    pub spec: Spec,
    /// Names of the annotations that were given a value so far.
    pub(crate) present: Vec<&'static str>,
    pub(crate) notes: Vec<(FindingKind, String)>,
    pub(crate) consequence: Option<OnInvalid>,
    pub(crate) faults: Vec<Fault>,
    /// Names of annotations whose value was not taken.
    pub(crate) failed: Vec<&'static str>,
}

/// Something that was found after reading, about one annotation.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(crate) kind: FindingKind,
    pub(crate) detail: String,
    /// What it leads to, besides being reported.
    pub(crate) consequence: Option<OnInvalid>,
}

impl Draft {
    /// Adds a remark about the annotation that is being read: what was expected and what happens instead.
    pub fn note(&mut self, kind: FindingKind, detail: impl Into<String>) {
        self.notes.push((kind, detail.into()));
    }

    /// For a `parse` that is about to fail: this time the value leads to something else than [`Entry::on_invalid`] says.
    pub fn on_invalid(&mut self, consequence: OnInvalid) {
        self.consequence = Some(consequence);
    }

    /// For [`Group::finish`]: whether the value of the annotation `name` was not taken, so that nothing more needs to be said about it.
    pub fn has_failed(&self, name: &str) -> bool {
        self.failed.contains(&name)
    }

    /// For [`Group::finish`] and [`Group::settle`]: a remark about the annotation `name`, as complete as in [`Draft::note`].
    pub fn note_on(&mut self, name: &'static str, kind: FindingKind, detail: impl Into<String>) {
        self.faults.push(Fault { name, kind, detail: detail.into(), consequence: None });
    }

    /// For [`Group::finish`] and [`Group::settle`]: the annotation `name` can't stand as it is. The text about the consequence is added.
    pub fn fault_on(&mut self, name: &'static str, consequence: OnInvalid, invalid: &Invalid) {
        self.faults.push(Fault { name, kind: FindingKind::Invalid, detail: invalid.to_string(), consequence: Some(consequence) });
    }
}

macro_rules! labelled {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident => $label:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $label,)* })
            }
        }
    };
}

labelled! {
    /// The scope of an annotation's value.
    Scope {
        /// The locations of the Ingress.
        Location => "location",
        /// The whole host, with all its Ingresses.
        Host => "host",
        /// The backends (Service and port) that the Ingress names first.
        Backend => "backend",
        /// The Ingress as such.
        Ingress => "ingress",
    }
}

labelled! {
    /// How a change reaches NGINX.
    Applies {
        /// Data of a route: at once.
        Route => "route (live)",
        /// Data of a backend: at once.
        Backend => "backend (live)",
        /// A certificate: at once.
        Certificate => "certificate (live)",
        /// A profile that is there from the start: at once, unless other annotations make a combination of it.
        Ready => "profile, always there (live)",
        /// A profile: one reload for the first use of a combination, at once afterwards.
        Profile => "profile (reload on first use)",
        /// Text of a host's server block: a reload for every change.
        HostServer => "server block (reload)",
    }
}

impl Applies {
    /// Whether a change never needs a reload, whatever stands beside it.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Route | Self::Backend | Self::Certificate)
    }
}

labelled! {
    /// Which controller had a setting first. Those of the predecessor are held against its own list, `known/`.
    Since {
        /// The predecessor.
        IngressNginx => "ingress-nginx",
        /// This one.
        Narthex => "Narthex",
    }
}

labelled! {
    /// How much power an annotation gives, ascending. Those above `annotations-risk-level` are not accepted.
    Risk {
        /// Only the Ingress itself.
        Low => "Low",
        /// Other Ingresses of the same host.
        Medium => "Medium",
        /// Other hosts, or what lies behind the proxy.
        High => "High",
        /// The proxy itself.
        Critical => "Critical",
    }
}

impl FromStr for Risk {
    type Err = Invalid;

    /// Any letter case.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.to_ascii_lowercase().as_str() {
            "low" => Ok(Self::Low),
            "medium" => Ok(Self::Medium),
            "high" => Ok(Self::High),
            "critical" => Ok(Self::Critical),
            _ => Err(Invalid::new("Low, Medium, High or Critical")),
        }
    }
}

labelled! {
    /// What a value that an annotation does not take leads to.
    OnInvalid {
        /// The annotation counts as not set.
        Ignore => "ignored",
        /// It and the others of its group count as not set.
        DropGroup => "its group is ignored",
        /// The locations of the Ingress answer 503.
        Deny => "locations answer 503",
        /// The Ingress is not taken; the last accepted version stays active.
        Refuse => "Ingress refused",
    }
}

labelled! {
    /// An annotation's part in access control.
    Guard {
        /// Nothing.
        Nothing => "no",
        /// It says how that is decided; without it the same clients pass, or fewer.
        Shapes => "in part: without it the same clients pass, or fewer",
        /// Leaving it out would open what its author wants closed: it is never ignored, the locations answer 503 instead.
        Protects => "yes",
    }
}

/// What an empty value leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnEmpty {
    /// The annotation counts as not set.
    Absent,
    /// It is read like any other value.
    Value,
}
