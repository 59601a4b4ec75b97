//! Cookie affinity.

use ngx_value::{CookieDomain, CookieName, CookiePath, Invalid, parse_bool, parse_integer};

use super::common::{self, BOOL, LOCATION, set, without_blanks};
use crate::parse::FindingKind;
use crate::rare::Rare;
use crate::table::{Applies, Draft, Entry, Group, Needs, Risk, Scope};

pub(super) static GROUP: Group = Group {
    title: "Cookie affinity",
    doc: "A cookie keeps a client at its endpoint. Affinity belongs to a backend and overrides `upstream-hash-by` and `load-balance`. \
        With several Ingresses on one backend the youngest with affinity names the cookie.",
    entries: ENTRIES,
    finish,
    clear: |spec| spec.affinity = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Affinity {
    /// `affinity: cookie` with everything about the cookie.
    pub cookie: Option<AffinityCookie>,
    /// `affinity-canary-behavior`, of a canary.
    pub affinity_canary_behavior: CanaryBehavior,
}

/// The cookie that keeps a client at its endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AffinityCookie {
    /// `affinity-mode`.
    pub affinity_mode: AffinityMode,
    /// `session-cookie-name`.
    pub session_cookie_name: CookieName,
    /// `session-cookie-secure`: always `Secure`. Otherwise only where the connection has TLS.
    pub session_cookie_secure: bool,
    /// `session-cookie-expires`: `Expires` is so many seconds after now; may be negative.
    pub session_cookie_expires: Option<i32>,
    /// `session-cookie-max-age`: `Max-Age` in seconds; may be negative.
    pub session_cookie_max_age: Option<i32>,
    /// `session-cookie-path`. `None`: the path of the rule.
    pub session_cookie_path: Option<CookiePath>,
    /// `session-cookie-domain`.
    pub session_cookie_domain: Option<CookieDomain>,
    /// `session-cookie-samesite`.
    pub session_cookie_samesite: Option<SameSite>,
    /// `session-cookie-conditional-samesite-none`: no `SameSite=None` for browsers that misunderstand it.
    pub session_cookie_conditional_samesite_none: bool,
    /// `session-cookie-change-on-failure`: a failed attempt leads to another endpoint and another cookie.
    pub session_cookie_change_on_failure: bool,
}

impl Default for AffinityCookie {
    fn default() -> Self {
        Self {
            affinity_mode: AffinityMode::Balanced,
            session_cookie_name: "INGRESSCOOKIE".parse().expect("the text is a cookie's name"),
            session_cookie_secure: false,
            session_cookie_expires: None,
            session_cookie_max_age: None,
            session_cookie_path: None,
            session_cookie_domain: None,
            session_cookie_samesite: None,
            session_cookie_conditional_samesite_none: false,
            session_cookie_change_on_failure: false,
        }
    }
}

/// Whether clients move when endpoints come and go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AffinityMode {
    /// Some move, so that the load stays even.
    #[default]
    Balanced,
    /// None moves while its endpoint exists.
    Persistent,
}

/// What the affinity of a backend means for its canary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CanaryBehavior {
    /// The canary has the same; clients stay where they are.
    #[default]
    Sticky,
    /// The canary has none.
    Legacy,
}

/// Which requests from other sites carry the cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SameSite {
    /// All.
    None,
    /// Those that open a page.
    Lax,
    /// None of them.
    Strict,
}

impl SameSite {
    /// As it stands in the cookie.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Lax => "Lax",
            Self::Strict => "Strict",
        }
    }
}

const COOKIE: Entry = Entry {
    scope: Scope::Backend,
    applies: Applies::Backend,
    companions: &[("affinity", "cookie")],
    needs: Some(Needs { what: "affinity: cookie", met: |spec| spec.affinity.cookie.is_some() }),
    ..LOCATION
};

/// Whole seconds, a sign is allowed.
const SIGNED_SECONDS: &str = "seconds, a whole number; may be negative";

static ENTRIES: &[Entry] = &[
    Entry {
        name: "affinity",
        value: "cookie",
        doc: "Keep a client at its endpoint by a cookie.",
        example: "cookie",
        companions: &[],
        needs: None,
        parse: |text, draft| match text.trim() {
            "cookie" => {
                draft.spec.affinity.cookie = Some(AffinityCookie::default());
                Ok(())
            }
            "" => Ok(()),
            _ => Err(Invalid::new("cookie")),
        },
        ..COOKIE
    },
    Entry {
        name: "affinity-canary-behavior",
        value: "sticky or legacy",
        doc: "On a canary Ingress: whether the affinity of the backend applies to the canary, too (`sticky`), or the canary has none (`legacy`).",
        example: "legacy",
        companions: &[("canary", "true"), ("canary-weight", "20")],
        needs: Some(Needs { what: "canary: true", met: |spec| spec.canary.canary }),
        parse: |text, draft| {
            let options = [("sticky", CanaryBehavior::Sticky), ("legacy", CanaryBehavior::Legacy)];
            set(&mut draft.spec.affinity.affinity_canary_behavior, option(text, &options, "sticky or legacy"))
        },
        ..COOKIE
    },
    Entry {
        name: "affinity-mode",
        risk: Risk::Medium,
        value: "balanced or persistent",
        doc: "With `balanced` some clients move when endpoints come and go; with `persistent` a client stays while its endpoint exists.",
        example: "persistent",
        parse: |text, draft| {
            let options = [("balanced", AffinityMode::Balanced), ("persistent", AffinityMode::Persistent)];
            put(draft, |cookie, mode| cookie.affinity_mode = mode, option(text, &options, "balanced or persistent"))
        },
        ..COOKIE
    },
    Entry {
        name: "session-cookie-change-on-failure",
        value: BOOL,
        doc: "Whether a request whose endpoint failed goes on to another one and its client stays there.",
        example: "true",
        parse: |text, draft| put(draft, |cookie, change| cookie.session_cookie_change_on_failure = change, parse_bool(text)),
        ..COOKIE
    },
    Entry {
        name: "session-cookie-conditional-samesite-none",
        value: BOOL,
        doc: "With `session-cookie-samesite: None`: leave it out for browsers that misunderstand it.",
        example: "true",
        parse: |text, draft| {
            put(draft, |cookie, conditional| cookie.session_cookie_conditional_samesite_none = conditional, parse_bool(text))
        },
        ..COOKIE
    },
    Entry {
        name: "session-cookie-domain",
        risk: Risk::Medium,
        value: "a domain",
        doc: "The cookie's `Domain`.",
        example: "example.com",
        parse: |text, draft| put(draft, |cookie, domain| cookie.session_cookie_domain = domain, without_blanks(text)),
        ..COOKIE
    },
    Entry {
        name: "session-cookie-expires",
        risk: Risk::Medium,
        value: SIGNED_SECONDS,
        doc: "The cookie's `Expires`: so many seconds from now.",
        example: "172800",
        parse: |text, draft| put(draft, |cookie, seconds| cookie.session_cookie_expires = Some(seconds), signed_seconds(text)),
        ..COOKIE
    },
    Entry {
        name: "session-cookie-max-age",
        risk: Risk::Medium,
        value: SIGNED_SECONDS,
        doc: "The cookie's `Max-Age`.",
        example: "172800",
        parse: |text, draft| put(draft, |cookie, seconds| cookie.session_cookie_max_age = Some(seconds), signed_seconds(text)),
        ..COOKIE
    },
    Entry {
        name: "session-cookie-name",
        risk: Risk::Medium,
        value: "a cookie's name",
        doc: "The cookie's name. Without it: `INGRESSCOOKIE`.",
        example: "route",
        parse: |text, draft| {
            put(
                draft,
                |cookie, name: Option<CookieName>| cookie.session_cookie_name = name.unwrap_or_else(|| cookie.session_cookie_name.clone()),
                without_blanks(text),
            )
        },
        ..COOKIE
    },
    Entry {
        name: "session-cookie-path",
        risk: Risk::Medium,
        value: "a path",
        doc: "The cookie's `Path`. Without it: the path of the rule, as it is written. With `use-regex` that is the expression, which no browser understands.",
        example: "/shop",
        parse: |text, draft| put(draft, |cookie, path| cookie.session_cookie_path = path, without_blanks(text)),
        ..COOKIE
    },
    Entry {
        name: "session-cookie-samesite",
        value: "None, Lax or Strict",
        doc: "The cookie's `SameSite`.",
        example: "Lax",
        parse: same_site,
        ..COOKIE
    },
    Entry {
        name: "session-cookie-secure",
        value: BOOL,
        doc: "With `true` the cookie is always `Secure`; otherwise only where the connection has TLS.",
        example: "true",
        parse: |text, draft| put(draft, |cookie, secure| cookie.session_cookie_secure = secure, parse_bool(text)),
        ..COOKIE
    },
];

/// Changes the cookie, which is there: `affinity: cookie` is needed for this.
fn put<T>(draft: &mut Draft, put: fn(&mut AffinityCookie, T), value: Result<T, Invalid>) -> Result<(), Invalid> {
    let value = value?;
    if let Some(cookie) = &mut draft.spec.affinity.cookie {
        put(cookie, value);
    }
    Ok(())
}

/// One of several words, or the first one's meaning if there is none.
fn option<T: Copy + Default>(text: &str, options: &[(&str, T)], expected: &'static str) -> Result<T, Invalid> {
    match text.trim() {
        "" => Ok(T::default()),
        text => options.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or(Invalid::new(expected)),
    }
}

fn signed_seconds(text: &str) -> Result<i32, Invalid> {
    const EXPECTED: Invalid = Invalid::new("a whole number of seconds from -2147483648 to 2147483647, without a unit");
    parse_integer(text).ok().and_then(|seconds| i32::try_from(seconds).ok()).ok_or(EXPECTED)
}

/// Other letter cases are accepted, but no browser gets to see them.
fn same_site(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let value = match text.trim() {
        "None" => Some(SameSite::None),
        "Lax" => Some(SameSite::Lax),
        "Strict" => Some(SameSite::Strict),
        "" => None,
        text if ["none", "lax", "strict"].contains(&text.to_ascii_lowercase().as_str()) => {
            draft.note(FindingKind::Surprise, "expected None, Lax or Strict in exactly this letter case; the cookie has no SameSite");
            None
        }
        _ => return Err(Invalid::new("None, Lax or Strict")),
    };
    put(draft, |cookie, value| cookie.session_cookie_samesite = value, Ok(value))
}

fn finish(draft: &mut Draft) {
    let regex = draft.spec.path.use_regex || draft.spec.path.rewrite_target.is_some();
    if regex && draft.spec.affinity.cookie.as_ref().is_some_and(|cookie| cookie.session_cookie_path.is_none()) {
        let detail = "session-cookie-path is not set, so the cookie's Path is the text of the rule's regular expression, which browsers may not match";
        draft.note_on("affinity", FindingKind::Surprise, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::testing::{bad, good};
    use crate::parse::ParseVerdict::Accepted;
    use FindingKind::{Invalid as Bad, Surprise};

    #[track_caller]
    fn cookie(name: &str, value: &str) -> AffinityCookie {
        good(&[("affinity", "cookie"), (name, value)]).affinity.cookie.clone().unwrap()
    }

    #[test]
    fn a_cookie_has_a_name_and_attributes() {
        let usual = AffinityCookie::default();
        assert_eq!(cookie("affinity-mode", " balanced "), usual);
        assert_eq!(cookie("affinity-mode", "persistent").affinity_mode, AffinityMode::Persistent);
        assert_eq!(cookie("session-cookie-name", "SERVERID").session_cookie_name.as_str(), "SERVERID");
        assert_eq!(cookie("session-cookie-name", " "), usual);
        assert_eq!(cookie("session-cookie-expires", "172800").session_cookie_expires, Some(172_800));
        assert_eq!(cookie("session-cookie-max-age", "-1").session_cookie_max_age, Some(-1));
        assert_eq!(cookie("session-cookie-path", "/foo/bar").session_cookie_path.unwrap().as_str(), "/foo/bar");
        assert_eq!(cookie("session-cookie-domain", "foo.bar").session_cookie_domain.unwrap().as_str(), "foo.bar");
        assert_eq!(cookie("session-cookie-samesite", "None").session_cookie_samesite.map(SameSite::as_str), Some("None"));
        assert_eq!(cookie("session-cookie-samesite", "Strict").session_cookie_samesite, Some(SameSite::Strict));
        assert!(cookie("session-cookie-secure", "true").session_cookie_secure);
        assert!(cookie("session-cookie-change-on-failure", "t").session_cookie_change_on_failure);
        assert!(cookie("session-cookie-conditional-samesite-none", "1").session_cookie_conditional_samesite_none);
    }

    #[test]
    fn a_value_that_is_not_taken_is_ignored() {
        for (name, value) in [
            ("affinity-mode", "sticky"),
            ("session-cookie-name", "a;b"),
            ("session-cookie-expires", "2d"),
            ("session-cookie-max-age", "99999999999"),
            ("session-cookie-path", "/foo/(.*)"),
            ("session-cookie-domain", "a/b"),
            ("session-cookie-samesite", "any"),
            ("session-cookie-secure", "yes"),
        ] {
            let spec = bad(&[("affinity", "cookie"), (name, value)], Accepted, &[(name, Bad, "expected ")]);
            assert_eq!(spec.affinity.cookie, Some(AffinityCookie::default()), "{name}");
        }
        assert_eq!(
            bad(&[("affinity", "ip")], Accepted, &[("affinity", Bad, "expected cookie; it is ignored")]).affinity,
            Affinity::default()
        );
    }

    #[test]
    fn settings_without_affinity_have_no_effect() {
        let found = [("session-cookie-name", Surprise, "it has no effect without affinity: cookie; it is ignored")];
        assert_eq!(bad(&[("session-cookie-name", "a")], Accepted, &found).affinity, Affinity::default());
        let found = [("affinity-canary-behavior", Surprise, "it has no effect without canary: true; it is ignored")];
        bad(&[("affinity-canary-behavior", "legacy")], Accepted, &found);
    }

    #[test]
    fn another_letter_case_of_samesite_leaves_it_out() {
        let found = [("session-cookie-samesite", Surprise, "expected None, Lax or Strict in exactly this letter case")];
        let spec = bad(&[("affinity", "cookie"), ("session-cookie-samesite", "lax")], Accepted, &found);
        assert_eq!(spec.affinity.cookie.clone().unwrap().session_cookie_samesite, None);
    }

    #[test]
    fn a_regular_expression_is_no_path_of_a_cookie() {
        let found = [("affinity", Surprise, "session-cookie-path is not set, so the cookie's Path is the text")];
        bad(&[("affinity", "cookie"), ("use-regex", "true")], Accepted, &found);
        bad(&[("affinity", "cookie"), ("rewrite-target", "/$1")], Accepted, &found);
        good(&[("affinity", "cookie"), ("use-regex", "true"), ("session-cookie-path", "/")]);
    }

    #[test]
    fn a_canary_may_go_without() {
        let spec = good(&[("canary", "true"), ("canary-weight", "1"), ("affinity-canary-behavior", "legacy")]);
        assert_eq!(spec.affinity.affinity_canary_behavior, CanaryBehavior::Legacy);
    }
}
