//! Where the requests of a rule go.

use std::sync::Arc;

use crate::key::BackendId;

/// The backends of a rule.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Backends {
    /// The backend of requests that no choice takes. None: the rule only adds its choice to a rule of another object.
    pub(crate) primary: Option<BackendId>,
    /// Which requests go to another backend. What chooses in NGINX tells two backends apart, so a rule has one choice at most.
    pub(crate) choice: Option<Arc<Choice>>,
}

/// A backend that takes some of another one's requests, by weight or by condition: a canary.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Choice {
    pub(crate) backend: BackendId,
    pub(crate) condition: Arc<Condition>,
}

/// Which requests are taken: the header decides first, then the cookie, then the weight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Condition {
    /// How many of `total` requests, at random.
    pub(crate) weight: u32,
    /// At least 100.
    pub(crate) total: u32,
    pub(crate) header: Option<HeaderCondition>,
    /// Name of a cookie that says `always` or `never`.
    pub(crate) cookie: Option<Arc<str>>,
    /// A client stays where it is if the primary has affinity.
    pub(crate) keeps_affinity: bool,
}

/// A header that decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HeaderCondition {
    pub(crate) name: Arc<str>,
    pub(crate) meaning: HeaderMeaning,
}

/// What the values of a header mean.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HeaderMeaning {
    /// `always` and `never`.
    Words,
    /// This text is the choice.
    Value(Arc<str>),
    /// A text in which this regular expression is found is the choice.
    Pattern(Arc<str>),
    /// Any is the primary.
    Primary,
}
