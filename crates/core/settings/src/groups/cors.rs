//! CORS: which pages of other sites may read the answers.

use ngx_value::{Invalid, Origin, TokenList, parse_bool, parse_integer};

use super::common::{self, BOOL, LOCATION, set};
use crate::parse::FindingKind;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "CORS",
    doc: "Nothing happens without `enable-cors: \"true\"`. Preflight requests from an allowed origin are answered before authentication, access control and limits. An `Origin` that is not allowed gets no CORS header, its request goes on.",
    entries: ENTRIES,
    finish,
    clear: |spec| spec.cors = Cors::default(),
    ..common::GROUP
};

/// What these annotations ask for. Without `enabled` the others are not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cors {
    /// `enable-cors`.
    pub enable_cors: bool,
    /// `cors-allow-origin`.
    pub cors_allow_origin: AllowedOrigins,
    /// `cors-allow-methods`: the header's text. `None`: [`Cors::METHODS`].
    pub cors_allow_methods: Option<TokenList>,
    /// `cors-allow-headers`: the header's text. `None`: [`Cors::HEADERS`].
    pub cors_allow_headers: Option<TokenList>,
    /// `cors-allow-credentials`. `None`: true.
    pub cors_allow_credentials: Option<bool>,
    /// `cors-expose-headers`: the header's text. `None`: no such header.
    pub cors_expose_headers: Option<TokenList>,
    /// `cors-max-age`: seconds, negative ones included, which browsers take for 0. `None`: [`Cors::MAX_AGE`].
    pub cors_max_age: Option<i64>,
}

impl Cors {
    /// The methods that are allowed by default.
    pub const METHODS: &'static str = "GET, PUT, POST, DELETE, PATCH, OPTIONS";
    /// The headers that are allowed by default.
    pub const HEADERS: &'static str =
        "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization";
    /// How long browsers may remember by default.
    pub const MAX_AGE: i64 = 1_728_000;
}

/// Whose pages may read the answers (`cors-allow-origin`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AllowedOrigins {
    /// Everybody's: `*`, with or without the header `Origin`.
    #[default]
    Any,
    /// Those that one of these covers; their origin is echoed. Empty: those of no peer.
    Listed(Vec<Origin>),
}

const NEEDS: Option<Needs> = Some(Needs { what: "enable-cors: true", met: |spec| spec.cors.enable_cors });

/// What all but `enable-cors` have in common.
const WITH_CORS: Entry = Entry { risk: Risk::Medium, needs: NEEDS, companions: &[("enable-cors", "true")], ..LOCATION };

static ENTRIES: &[Entry] = &[
    Entry {
        name: "cors-allow-credentials",
        risk: Risk::Low,
        value: BOOL,
        doc: "Whether pages may use the client's cookies and credentials; without it true. Browsers refuse it when every origin is allowed.",
        example: "false",
        parse: |text, draft| set(&mut draft.spec.cors.cors_allow_credentials, parse_bool(text).map(Some)),
        ..WITH_CORS
    },
    Entry {
        name: "cors-allow-headers",
        value: "names of headers between commas",
        doc: "Headers that pages may send, as written. Without it `DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization`.",
        example: "X-Token, Content-Type",
        parse: |text, draft| {
            set(&mut draft.spec.cors.cors_allow_headers, tokens(text, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')))
        },
        ..WITH_CORS
    },
    Entry {
        name: "cors-allow-methods",
        value: "methods between commas",
        doc: "Methods that pages may use, as written. Without it `GET, PUT, POST, DELETE, PATCH, OPTIONS`.",
        example: "GET, POST",
        parse: |text, draft| set(&mut draft.spec.cors.cors_allow_methods, tokens(text, |byte| byte.is_ascii_alphabetic())),
        ..WITH_CORS
    },
    Entry {
        name: "cors-allow-origin",
        value: "origins between commas such as `https://example.com` or `https://*.example.com:8443`, `null`, or `*`",
        doc: "Whose pages may read the answers; without it `*`, everybody's. `*.` stands for one label. A port counts. One bad item spoils the list, and every origin is allowed.",
        example: "https://example.com, https://*.example.org",
        parse: origins,
        ..WITH_CORS
    },
    Entry {
        name: "cors-expose-headers",
        value: "names of headers between commas, or `*`",
        doc: "Headers of the answer that pages may read, as written.",
        example: "X-Total, X-Page",
        parse: |text, draft| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*');
            set(&mut draft.spec.cors.cors_expose_headers, tokens(text, allowed))
        },
        ..WITH_CORS
    },
    Entry {
        name: "cors-max-age",
        risk: Risk::Low,
        value: "seconds, a whole number",
        doc: "How long browsers may remember the answer to a preflight request; without it 1728000, which is 20 days.",
        example: "600",
        parse: |text, draft| set(&mut draft.spec.cors.cors_max_age, parse_integer(text).map(Some)),
        ..WITH_CORS
    },
    Entry {
        name: "enable-cors",
        value: BOOL,
        doc: "Let pages of other sites read the answers.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.cors.enable_cors, parse_bool(text)),
        ..LOCATION
    },
];

/// A list of words, kept as written.
fn tokens(text: &str, allowed: fn(u8) -> bool) -> Result<Option<TokenList>, Invalid> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Ok(None);
    }
    let list: TokenList = text.parse()?;
    if list.tokens().all(|token| token.bytes().all(allowed)) { Ok(Some(list)) } else { Err(Invalid::new("names between commas")) }
}

fn origins(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let items: Vec<String> = text.split(',').map(|item| item.replace(' ', "")).filter(|item| !item.is_empty()).collect();
    let mut listed = Vec::new();
    for item in &items {
        match item.parse::<Origin>() {
            Ok(origin) => listed.push(origin),
            Err(_) if item == "*" => {}
            Err(invalid) if has_no_scheme(item) => draft.note(FindingKind::Invalid, format!("{item:?}: {invalid}; it is left out")),
            Err(invalid) => {
                draft.note(FindingKind::Surprise, "every origin is allowed, as the list can't be used");
                return Err(invalid);
            }
        }
    }
    let any = items.iter().any(|item| item == "*");
    draft.spec.cors.cors_allow_origin = if any { AllowedOrigins::Any } else { AllowedOrigins::Listed(listed) };
    Ok(())
}

/// A host, perhaps with a port, as people write it who forget the scheme.
fn has_no_scheme(item: &str) -> bool {
    !item.contains("://") && item.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'*'))
}

fn finish(draft: &mut Draft) {
    if draft.spec.cors.cors_allow_credentials == Some(true) && draft.spec.cors.cors_allow_origin == AllowedOrigins::Any {
        let detail = "browsers refuse credentials when every origin is allowed; cors-allow-origin should name the origins";
        draft.note_on("cors-allow-credentials", FindingKind::Surprise, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::{Invalid, Surprise};
    use crate::parse::ParseVerdict::Accepted;

    const CORS: (&str, &str) = ("enable-cors", "true");

    fn with(name: &'static str, value: &'static str) -> Cors {
        good(&[CORS, (name, value)]).cors
    }

    fn listed(cors: &Cors) -> String {
        match &cors.cors_allow_origin {
            AllowedOrigins::Any => "*".to_owned(),
            AllowedOrigins::Listed(origins) => origins.iter().map(Origin::to_string).collect::<Vec<_>>().join(" "),
        }
    }

    #[test]
    fn origins_are_listed() {
        for (value, expected) in [
            ("https://origin.cors.com:8080", "https://origin.cors.com:8080"),
            ("https://a.b:8080, https://c.d ,", "https://a.b:8080 https://c.d"),
            ("http://*.origin.cors.com, null", "http://*.origin.cors.com null"),
            ("test://localhost, tauri://localhost:3000", "test://localhost tauri://localhost:3000"),
            ("*", "*"),
            ("   ", "*"),
            ("https://a.b,*", "*"),
        ] {
            assert_eq!(listed(&with("cors-allow-origin", value)), expected, "{value:?}");
        }
    }

    #[test]
    fn an_origin_without_a_scheme_is_left_out() {
        let note = [("cors-allow-origin", Invalid, "\"origin.cors.com:8080\": expected an origin")];
        let both = bad(&[CORS, ("cors-allow-origin", "origin.cors.com:8080, https://a.b")], Accepted, &note).cors;
        assert_eq!(listed(&both), "https://a.b");
        let none = bad(&[CORS, ("cors-allow-origin", "origin.cors.com:8080")], Accepted, &note).cors;
        assert_eq!(none.cors_allow_origin, AllowedOrigins::Listed(Vec::new()));
        let star = bad(&[CORS, ("cors-allow-origin", "*, foo.bar.com")], Accepted, &[("cors-allow-origin", Invalid, "\"foo.bar.com\"")]);
        assert_eq!(star.cors.cors_allow_origin, AllowedOrigins::Any);
    }

    #[test]
    fn a_list_that_cannot_be_used_allows_everybody_and_says_so() {
        for value in ["https://a.b;", "https://a.b/path", "https://a.b\"", "https://a.b:x", "https://a.b, h\nttp://c"] {
            let expected =
                [("cors-allow-origin", Surprise, "every origin is allowed"), ("cors-allow-origin", Invalid, "expected an origin")];
            assert_eq!(
                bad(&[CORS, ("cors-allow-origin", value)], Accepted, &expected).cors.cors_allow_origin,
                AllowedOrigins::Any,
                "{value:?}"
            );
        }
    }

    #[test]
    fn lists_stay_as_written() {
        assert_eq!(with("cors-allow-headers", "DNT, User-Agent").cors_allow_headers.unwrap().as_str(), "DNT, User-Agent");
        assert_eq!(with("cors-allow-methods", "GET PUT,POST").cors_allow_methods.unwrap().as_str(), "GET PUT,POST");
        assert_eq!(with("cors-expose-headers", "*, X_a").cors_expose_headers.unwrap().as_str(), "*, X_a");
        assert_eq!((with("cors-max-age", "200").cors_max_age, with("cors-max-age", "-1").cors_max_age), (Some(200), Some(-1)));
        assert_eq!(with("cors-allow-credentials", "false").cors_allow_credentials, Some(false));
        for (name, value) in [
            ("cors-allow-methods", "GET1"),
            ("cors-allow-methods", "*"),
            ("cors-allow-headers", "a\";b"),
            ("cors-allow-headers", "*"),
            ("cors-expose-headers", "a:b"),
            ("cors-max-age", "1d"),
            ("cors-allow-credentials", "yes"),
        ] {
            let cors = bad(&[CORS, (name, value)], Accepted, &[(name, Invalid, "expected ")]).cors;
            assert_eq!(cors, good(&[CORS]).cors, "{name}");
        }
    }

    #[test]
    fn nothing_is_read_unless_cors_is_on() {
        for pairs in [vec![("cors-max-age", "5")], vec![("enable-cors", "false"), ("cors-max-age", "5")]] {
            let spec = bad(&pairs, Accepted, &[("cors-max-age", Surprise, "it has no effect without enable-cors: true")]);
            assert_eq!(spec.cors, Cors::default());
        }
    }

    #[test]
    fn credentials_for_everybody_are_a_surprise() {
        bad(&[CORS, ("cors-allow-credentials", "true")], Accepted, &[("cors-allow-credentials", Surprise, "browsers refuse")]);
        good(&[CORS, ("cors-allow-credentials", "true"), ("cors-allow-origin", "https://a.b")]);
    }
}
