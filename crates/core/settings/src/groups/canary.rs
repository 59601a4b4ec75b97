//! Canary.

use ngx_value::{BasicText, CookieName, HeaderName, Invalid, Pattern, parse_bool, parse_integer};

use super::common::{self, BOOL, LOCATION, set, trimmed, without_blanks};
use crate::parse::FindingKind;
use crate::rare::Rare;
use crate::table::{Applies, Draft, Entry, Group, Needs, Risk, Scope};

pub(super) static GROUP: Group = Group {
    title: "Canary releases",
    doc: "An Ingress with `canary: \"true\"` adds alternatives to the backends of other Ingresses: for each of its paths, to the backend that the \
        host serves there with the same path type. Per request, the header decides first, then the cookie, then the weight. An alternative belongs to \
        a backend, so every path that uses the backend is split. Only the oldest alternative of a backend is used.",
    entries: ENTRIES,
    finish,
    clear: |spec| spec.canary = Rare::default(),
    ..common::GROUP
};

/// What makes a request go to the canary. Empty unless `enabled`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Canary {
    /// `canary`: the Ingress defines no hosts and no locations, but alternatives.
    pub canary: bool,
    /// `canary-weight`: out of [`Canary::total`]; 0 is never.
    pub canary_weight: u32,
    /// `canary-weight-total`, where it is above 100.
    pub canary_weight_total: Option<u32>,
    /// `canary-by-header` and what goes with it.
    pub canary_by_header: Option<CanaryHeader>,
    /// `canary-by-cookie`: the cookie that says `always` or `never`. Letter case does not matter.
    pub canary_by_cookie: Option<CookieName>,
}

impl Canary {
    /// What the weight is compared with, at least 100.
    pub fn total(&self) -> u32 {
        self.canary_weight_total.unwrap_or(100)
    }
}

/// The header that decides. A request without it goes on to the cookie.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CanaryHeader {
    /// Its name. Letter case does not matter, `-` and `_` are the same.
    pub name: HeaderName,
    /// What its values mean.
    pub rule: HeaderRule,
}

/// What the values of a header mean. Where none of it fits, the cookie decides.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HeaderRule {
    /// `always` and `never`.
    Words,
    /// `canary-by-header-value`: exactly this text is the canary.
    Value(BasicText),
    /// `canary-by-header-pattern`: a text in which this is found is the canary.
    Pattern(Pattern),
    /// The pattern is no regular expression: with this header a request goes to the primary, whatever cookie and weight say.
    Primary,
}

const ENABLED: Needs = Needs { what: "canary: true", met: |spec| spec.canary.canary };
const HEADER: Needs = Needs { what: "canary: true and canary-by-header", met: |spec| spec.canary.canary_by_header.is_some() };

const CANARY: Entry = Entry {
    scope: Scope::Backend,
    risk: Risk::Medium,
    applies: Applies::Backend,
    companions: &[("canary", "true")],
    needs: Some(ENABLED),
    ..LOCATION
};

static ENTRIES: &[Entry] = &[
    Entry {
        name: "canary",
        scope: Scope::Ingress,
        risk: Risk::Low,
        value: BOOL,
        doc: "The Ingress defines no hosts and no locations; its backends become alternatives of those that others define.",
        example: "true",
        companions: &[("canary-weight", "20")],
        needs: None,
        parse: |text, draft| set(&mut draft.spec.canary.canary, parse_bool(text)),
        ..CANARY
    },
    Entry {
        name: "canary-by-cookie",
        value: "a cookie's name",
        doc: "A request whose cookie of this name is `always` goes to the canary, one with `never` does not. Anything else leaves it to the weight.",
        example: "try_new",
        parse: |text, draft| set(&mut draft.spec.canary.canary_by_cookie, without_blanks(text)),
        ..CANARY
    },
    Entry {
        name: "canary-by-header",
        value: "a header's name",
        doc: "A request whose header of this name is `always` goes to the canary, one with `never` does not. Anything else leaves it to cookie and weight.",
        example: "X-Canary",
        parse: |text, draft| {
            let name = without_blanks(text)?;
            draft.spec.canary.canary_by_header = name.map(|name| CanaryHeader { name, rule: HeaderRule::Words });
            Ok(())
        },
        ..CANARY
    },
    Entry {
        name: "canary-by-header-pattern",
        value: "a regular expression (PCRE), matched anywhere in the value and with regard to letter case",
        doc: "A request whose header of `canary-by-header` matches goes to the canary; `always` and `never` lose their meaning. \
            `canary-by-header-value` wins. With an expression that can't be compiled every request that has the header goes to the primary.",
        example: "^beta-[0-9]+$",
        companions: &[("canary", "true"), ("canary-by-header", "X-Canary")],
        needs: Some(HEADER),
        parse: header_pattern,
        ..CANARY
    },
    Entry {
        name: "canary-by-header-value",
        value: "letters, digits, spaces and `- . _ ~ / :`",
        doc: "A request whose header of `canary-by-header` is exactly this goes to the canary; `always` and `never` lose their meaning.",
        example: "beta",
        companions: &[("canary", "true"), ("canary-by-header", "X-Canary")],
        needs: Some(HEADER),
        parse: header_value,
        ..CANARY
    },
    Entry {
        name: "canary-weight",
        risk: Risk::Low,
        value: "a whole number; 0 and less is never, `canary-weight-total` and more is always",
        doc: "How many of 100 requests go to the canary, at random.",
        example: "20",
        parse: |text, draft| set(&mut draft.spec.canary.canary_weight, count(text)),
        ..CANARY
    },
    Entry {
        name: "canary-weight-total",
        risk: Risk::Low,
        value: "a whole number above 100; otherwise it is 100",
        doc: "Of how many requests `canary-weight` go to the canary.",
        example: "1000",
        companions: &[("canary", "true"), ("canary-weight", "20")],
        parse: weight_total,
        ..CANARY
    },
];

/// A whole number; what is below 0 is 0.
fn count(text: &str) -> Result<u32, Invalid> {
    Ok(u32::try_from(parse_integer(text)?.max(0)).unwrap_or(u32::MAX))
}

fn weight_total(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let total = count(text)?;
    if total < 100 {
        draft.note(FindingKind::Surprise, "expected a total of at least 100; 100 is used");
    }
    draft.spec.canary.canary_weight_total = Some(total).filter(|total| *total > 100);
    Ok(())
}

fn header_pattern(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    if !text.bytes().all(common::is_regex) {
        return Err(Invalid::new("a regular expression without spaces, commas, quotes and semicolons"));
    }
    let rule = text.parse().map(HeaderRule::Pattern).unwrap_or_else(|invalid: Invalid| {
        draft.note(FindingKind::Invalid, format!("{invalid}; requests with the header go to the primary"));
        HeaderRule::Primary
    });
    if let Some(header) = &mut draft.spec.canary.canary_by_header {
        header.rule = rule;
    }
    Ok(())
}

/// Comes after the pattern, and wins.
fn header_value(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let Some((value, header)) = trimmed(text)?.zip(draft.spec.canary.canary_by_header.as_mut()) else { return Ok(()) };
    let pattern = std::mem::replace(&mut header.rule, HeaderRule::Value(value));
    if pattern != HeaderRule::Words {
        draft.note_on("canary-by-header-pattern", FindingKind::Surprise, "canary-by-header-value is set as well and wins; it is ignored");
    }
    Ok(())
}

/// What a canary Ingress decides itself, besides this group. Everything else comes from the Ingress that it adds to.
const OWN: &[&str] = &[
    "affinity-canary-behavior",
    "load-balance",
    "service-upstream",
    "stream-snippet",
    "upstream-hash-by",
    "upstream-hash-by-subset",
    "upstream-hash-by-subset-size",
];

fn finish(draft: &mut Draft) {
    if !draft.spec.canary.canary {
        return;
    }
    for name in draft.present.clone() {
        if OWN.contains(&name) || ENTRIES.iter().any(|entry| entry.name == name) {
            continue;
        }
        let protects = super::annotation(name).is_some_and(|(entry, _)| entry.protects());
        let detail = if protects {
            "a canary protects nothing: access is controlled by the Ingress whose backend it adds to, set it there; it is ignored"
        } else {
            "a canary takes this from the Ingress whose backend it adds to; it is ignored"
        };
        draft.note_on(name, FindingKind::Surprise, detail);
    }
    let canary = &draft.spec.canary;
    if canary.canary_weight == 0 && canary.canary_by_header.is_none() && canary.canary_by_cookie.is_none() {
        draft.note_on("canary", FindingKind::Surprise, "neither weight nor header nor cookie is set; no request goes to the canary");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::testing::{bad, good};
    use crate::parse::ParseVerdict::Accepted;
    use FindingKind::{Invalid as Bad, Surprise};

    fn canary<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        [&[("canary", "true")], more].concat()
    }

    #[test]
    fn header_cookie_and_weight_are_read() {
        let spec = good(&canary(&[
            ("canary-by-header", "X-Go"),
            ("canary-by-cookie", "go"),
            ("canary-weight", "5"),
            ("canary-weight-total", "1000"),
        ]));
        let canary = spec.canary;
        assert_eq!((canary.canary_weight, canary.total(), canary.canary_by_cookie.clone().unwrap().as_str()), (5, 1000, "go"));
        assert_eq!(canary.canary_by_header, Some(CanaryHeader { name: "X-Go".parse().unwrap(), rule: HeaderRule::Words }));
    }

    #[test]
    fn weights_are_clamped() {
        for (text, weight) in [("-5", 0), ("0", 0), ("100", 100), ("99999999999", u32::MAX)] {
            let spec = good(&canary(&[("canary-by-cookie", "a"), ("canary-weight", text)]));
            assert_eq!(spec.canary.canary_weight, weight, "{text}");
        }
        let note = [("canary-weight-total", Surprise, "expected a total of at least 100; 100 is used")];
        let spec = bad(&canary(&[("canary-weight", "10"), ("canary-weight-total", "50")]), Accepted, &note);
        assert_eq!(spec.canary.total(), 100);
    }

    #[test]
    fn a_value_wins_over_a_pattern() {
        let pattern = ("canary-by-header-pattern", "^Do");
        let header = ("canary-by-header", "X-Go");
        let spec = good(&canary(&[header, pattern]));
        assert_eq!(spec.canary.canary_by_header.clone().unwrap().rule, HeaderRule::Pattern("^Do".parse().unwrap()));
        let note = [("canary-by-header-pattern", Surprise, "canary-by-header-value is set as well and wins")];
        let spec = bad(&canary(&[header, pattern, ("canary-by-header-value", "Do it")]), Accepted, &note);
        assert_eq!(spec.canary.canary_by_header.clone().unwrap().rule, HeaderRule::Value("Do it".parse().unwrap()));
    }

    #[test]
    fn a_pattern_that_can_t_be_compiled_keeps_the_primary() {
        let found = [("canary-by-header-pattern", Bad, "expected a regular expression (")];
        let spec = bad(&canary(&[("canary-by-header", "X-Go"), ("canary-by-header-pattern", "[][**da?$&*")]), Accepted, &found);
        assert_eq!(spec.canary.canary_by_header.clone().unwrap().rule, HeaderRule::Primary);
        let found = [(
            "canary-by-header-pattern",
            Bad,
            "expected a regular expression without spaces, commas, quotes and semicolons; it is ignored",
        )];
        let spec = bad(&canary(&[("canary-by-header", "X-Go"), ("canary-by-header-pattern", "a b;")]), Accepted, &found);
        assert_eq!(spec.canary.canary_by_header.clone().unwrap().rule, HeaderRule::Words);
    }

    #[test]
    fn settings_without_the_switch_are_dropped() {
        let found = [
            ("canary-by-header", Surprise, "it has no effect without canary: true; it is ignored"),
            ("canary-weight", Surprise, "it has no effect without canary: true; it is ignored"),
        ];
        let spec = bad(&[("canary-by-header", "X-Go"), ("canary-weight", "5")], Accepted, &found);
        assert_eq!(spec.canary, Canary::default());
        let found = [("canary-by-header-value", Surprise, "it has no effect without canary: true and canary-by-header; it is ignored")];
        bad(&canary(&[("canary-by-header-value", "x"), ("canary-weight", "5")]), Accepted, &found);
    }

    #[test]
    fn what_a_canary_can_t_decide_is_named() {
        let found = [
            ("canary", Surprise, "neither weight nor header nor cookie is set"),
            ("ssl-redirect", Surprise, "a canary takes this from the Ingress whose backend it adds to"),
        ];
        bad(&canary(&[("ssl-redirect", "false"), ("load-balance", "ewma")]), Accepted, &found);
        let found = [("auth-url", Surprise, "a canary protects nothing: access is controlled by the Ingress whose backend it adds to")];
        bad(&canary(&[("canary-weight", "5"), ("auth-url", "http://a/")]), Accepted, &found);
    }

    #[test]
    fn values_that_are_not_taken_are_ignored() {
        for (name, value) in [("canary-by-header", "a:b"), ("canary-by-cookie", "a;b"), ("canary-weight-total", "many")] {
            let found = [(name, Bad, "expected ")];
            let spec = bad(&canary(&[(name, value), ("canary-weight", "1")]), Accepted, &found);
            assert_eq!(spec.canary, Canary { canary: true, canary_weight: 1, ..Canary::default() });
        }
        assert!(!good(&[("canary", "0")]).canary.canary);
    }
}
