//! Redirects.

use ngx_value::{Invalid, RedirectUrl, parse_bool, parse_integer};

use super::common::{self, BOOL, LOCATION, trimmed};
use crate::parse::FindingKind;
use crate::table::{Draft, Entry, Group, Needs, OnEmpty, OnInvalid, Risk, Scope};

pub(super) static GROUP: Group = Group {
    title: "Redirects",
    doc: "These answer before the redirect to HTTPS, limits and authentication. An empty value of any of these annotations switches all of them off, but for those of `permanent-redirect` beside `temporal-redirect`, which are not read.",
    entries: ENTRIES,
    finish,
    clear: |spec| spec.redirect = Redirect::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Redirect {
    permanent_redirect: Option<RedirectUrl>,
    permanent_redirect_code: Option<u16>,
    temporal_redirect: Option<RedirectUrl>,
    temporal_redirect_code: Option<u16>,
    /// `from-to-www-redirect`: the name of the host with or without `www.`, whichever it is not, redirects to it.
    pub from_to_www_redirect: bool,
    /// `relative-redirects`: redirects of NGINX itself name only the path.
    pub relative_redirects: bool,
}

impl Redirect {
    /// The answer to every request: `temporal-redirect`, or else `permanent-redirect`.
    pub fn answer(&self) -> Option<RedirectAnswer<'_>> {
        let temporal = self.temporal_redirect.as_ref().map(|url| RedirectAnswer { url, code: self.temporal_redirect_code.unwrap_or(302) });
        temporal.or_else(|| {
            self.permanent_redirect.as_ref().map(|url| RedirectAnswer { url, code: self.permanent_redirect_code.unwrap_or(301) })
        })
    }
}

/// The answer to every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RedirectAnswer<'a> {
    /// Where to. Perhaps relative.
    pub url: &'a RedirectUrl,
    /// The status, 300 to 308.
    pub code: u16,
}

impl RedirectAnswer<'_> {
    /// Whether the status makes clients go there. Otherwise the URL is the body of the answer.
    pub const fn is_location(&self) -> bool {
        matches!(self.code, 301 | 302 | 303 | 307 | 308)
    }
}

const REDIRECT: Entry = Entry { on_invalid: OnInvalid::Refuse, on_empty: OnEmpty::Value, ..LOCATION };

const URL: &str = "a URL of letters, digits and `- . _ ~ / : , ? & =`, without variables";

static ENTRIES: &[Entry] = &[
    Entry {
        name: "from-to-www-redirect",
        scope: Scope::Host,
        value: BOOL,
        doc: "Redirect `www.` and the host's name to the host, or, where the host begins with `www.`, the name without it. \
            Not where that name is a host itself. The status is the setting `http-redirect-code`.",
        example: "true",
        parse: |text, draft| {
            draft.spec.redirect.from_to_www_redirect = some(text, draft).and_then(parse_bool)?;
            Ok(())
        },
        ..REDIRECT
    },
    Entry {
        name: "permanent-redirect",
        risk: Risk::Medium,
        value: URL,
        doc: "Answer every request with 301 to this URL. It may be relative. `temporal-redirect` wins.",
        example: "https://example.com/new",
        yields_to: Some("temporal-redirect"),
        parse: |text, draft| {
            draft.spec.redirect.permanent_redirect = some(text, draft).and_then(trimmed)?;
            Ok(())
        },
        ..REDIRECT
    },
    Entry {
        name: "permanent-redirect-code",
        value: "a status from 300 to 308",
        doc: "The status of `permanent-redirect`. With 300, 304, 305 and 306 the URL is the body of the answer.",
        example: "308",
        companions: &[("permanent-redirect", "https://example.com/new")],
        needs: Some(Needs { what: "permanent-redirect", met: |spec| spec.redirect.permanent_redirect.is_some() }),
        yields_to: Some("temporal-redirect"),
        parse: |text, draft| {
            draft.spec.redirect.permanent_redirect_code = some(text, draft).and_then(|text| code(text, draft, 308))?;
            Ok(())
        },
        ..REDIRECT
    },
    Entry {
        name: "relative-redirects",
        value: BOOL,
        doc: "Redirects of NGINX itself, such as the one of `permanent-redirect`, name only the path. \
            `false` does not undo the setting of the same name.",
        example: "true",
        parse: |text, draft| {
            draft.spec.redirect.relative_redirects = some(text, draft).and_then(parse_bool)?;
            Ok(())
        },
        ..REDIRECT
    },
    Entry {
        name: "temporal-redirect",
        risk: Risk::Medium,
        value: "a URL as above, with `http://` or `https://`",
        doc: "Answer every request with 302 to this URL. A URL without scheme switches all annotations of this group off.",
        example: "https://example.com/new",
        parse: temporal,
        ..REDIRECT
    },
    Entry {
        name: "temporal-redirect-code",
        value: "a status from 300 to 307",
        doc: "The status of `temporal-redirect`. With 300, 304, 305 and 306 the URL is the body of the answer.",
        example: "307",
        companions: &[("temporal-redirect", "https://example.com/new")],
        needs: Some(Needs { what: "temporal-redirect", met: |spec| spec.redirect.temporal_redirect.is_some() }),
        parse: |text, draft| {
            draft.spec.redirect.temporal_redirect_code = some(text, draft).and_then(|text| code(text, draft, 307))?;
            Ok(())
        },
        ..REDIRECT
    },
];

/// Something: nothing switches the group off.
fn some<'a>(text: &'a str, draft: &mut Draft) -> Result<&'a str, Invalid> {
    if !text.trim().is_empty() {
        return Ok(text);
    }
    draft.on_invalid(OnInvalid::DropGroup);
    Err(Invalid::new("a value"))
}

fn temporal(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let url: Option<RedirectUrl> = some(text, draft).and_then(trimmed)?;
    if url.as_ref().is_some_and(|url| !url.is_absolute()) {
        draft.on_invalid(OnInvalid::DropGroup);
        return Err(Invalid::new("a URL with http:// or https://"));
    }
    draft.spec.redirect.temporal_redirect = url;
    Ok(())
}

/// A status from 300 to `last`. Another number counts as not set, another text refuses the Ingress.
fn code(text: &str, draft: &mut Draft, last: u16) -> Result<Option<u16>, Invalid> {
    let expected = || Invalid::because(format!("a status from 300 to {last}"));
    let number = parse_integer(text).map_err(|_| expected())?;
    let code = u16::try_from(number).ok().filter(|code| (300..=last).contains(code));
    if code.is_none() {
        draft.on_invalid(OnInvalid::Ignore);
    }
    code.map(Some).ok_or_else(expected)
}

/// Annotations that let only some requests through.
const GUARDS: &[&str] = &["allowlist-source-range", "auth-type", "auth-url", "denylist-source-range"];

fn finish(draft: &mut Draft) {
    let redirect = &draft.spec.redirect;
    let name = if redirect.temporal_redirect.is_some() { "temporal-redirect" } else { "permanent-redirect" };
    if redirect.answer().is_some() && draft.present.iter().any(|name| GUARDS.contains(name)) {
        draft.note_on(name, FindingKind::Surprise, "it answers before access control and authentication, so everybody gets the redirect");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::testing::{bad, good};
    use crate::parse::FindingKind::{Invalid as Bad, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Refused};

    const NEW: &str = "http://redirect.example.com";

    #[track_caller]
    fn check(pairs: &[(&str, &str)], url: &str, code: u16) {
        let spec = good(pairs);
        let answer = spec.redirect.answer().unwrap();
        assert_eq!((answer.url.as_str(), answer.code), (url, code), "{pairs:?}");
    }

    #[test]
    fn a_redirect_has_a_url_and_a_status() {
        check(&[("permanent-redirect", NEW)], NEW, 301);
        check(&[("permanent-redirect", " /new-location ")], "/new-location", 301);
        check(&[("permanent-redirect", NEW), ("permanent-redirect-code", "308")], NEW, 308);
        check(&[("temporal-redirect", NEW)], NEW, 302);
        check(&[("temporal-redirect", NEW), ("temporal-redirect-code", "307")], NEW, 307);
        let spec = good(&[("permanent-redirect", NEW), ("permanent-redirect-code", "304")]);
        assert!(!spec.redirect.answer().unwrap().is_location());
    }

    #[test]
    fn a_url_is_a_value_and_never_syntax() {
        for text in ["http://a.com/;", "http://$host", "http://a.com/%0a", "a\nb", "\"", "/a#b", "/{"] {
            bad(&[("permanent-redirect", text)], Refused, &[("permanent-redirect", Bad, "expected ")]);
            bad(&[("temporal-redirect", text)], Refused, &[("temporal-redirect", Bad, "expected ")]);
        }
    }

    #[test]
    fn a_status_out_of_range_is_ignored_and_other_text_refuses() {
        for (name, other, value) in
            [("permanent-redirect", "permanent-redirect-code", "309"), ("temporal-redirect", "temporal-redirect-code", "308")]
        {
            let spec = bad(&[(name, NEW), (other, value)], Accepted, &[(other, Bad, "expected a status from 300 to 30")]);
            assert!(spec.redirect.answer().unwrap().code < 303);
            bad(&[(name, NEW), (other, "moved")], Refused, &[(other, Bad, "expected a status from 300 to 30")]);
            bad(&[(other, "301")], Accepted, &[(other, Surprise, "it has no effect without ")]);
        }
    }

    #[test]
    fn beside_the_temporal_one_the_permanent_one_is_not_read() {
        let wins = |name| (name, Surprise, "temporal-redirect is set as well and wins");
        for text in ["/", "", " ", "http://a.com/;"] {
            let spec = bad(&[("temporal-redirect", NEW), ("permanent-redirect", text)], Accepted, &[wins("permanent-redirect")]);
            assert_eq!(spec.redirect.answer().unwrap().code, 302, "{text:?}");
        }
        for text in ["", "301", "moved"] {
            let spec = bad(&[("temporal-redirect", NEW), ("permanent-redirect-code", text)], Accepted, &[wins("permanent-redirect-code")]);
            assert_eq!(spec.redirect.answer().unwrap().code, 302, "{text:?}");
        }
    }

    #[test]
    fn a_redirect_answers_before_anybody_is_asked() {
        let found = [("permanent-redirect", Surprise, "it answers before access control and authentication")];
        bad(&[("permanent-redirect", NEW), ("allowlist-source-range", "10.0.0.0/8")], Accepted, &found);
    }

    #[test]
    fn one_bad_member_can_switch_all_off() {
        let ignored = "all annotations of the group \"Redirects\" are ignored";
        let found = [("temporal-redirect", Bad, format!("expected a URL with http:// or https://; {ignored}"))];
        let found: Vec<_> = found.iter().map(|(name, kind, detail)| (*name, *kind, detail.as_str())).collect();
        let spec = bad(&[("from-to-www-redirect", "true"), ("temporal-redirect", "/new")], Accepted, &found);
        assert_eq!(spec.redirect, Redirect::default());
        let detail = format!("expected a value; {ignored}");
        let spec = bad(&[("permanent-redirect", NEW), ("relative-redirects", "")], Accepted, &[("relative-redirects", Bad, &detail)]);
        assert_eq!(spec.redirect, Redirect::default());
        assert_eq!(good(&[("permanent-redirect", "")]).redirect, Redirect::default());
    }

    #[test]
    fn booleans_refuse_what_is_none() {
        assert!(good(&[("from-to-www-redirect", "true")]).redirect.from_to_www_redirect);
        assert!(good(&[("relative-redirects", "1")]).redirect.relative_redirects);
        bad(&[("from-to-www-redirect", "yes")], Refused, &[("from-to-www-redirect", Bad, "expected true or false")]);
        bad(&[("relative-redirects", "yes")], Refused, &[("relative-redirects", Bad, "expected true or false")]);
    }
}
