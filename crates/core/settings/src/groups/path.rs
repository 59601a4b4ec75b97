//! Paths and rewriting.

use ngx_value::{Invalid, RewriteTarget, parse_bool};

use super::common::{self, BOOL, LOCATION, set, trimmed, without_blanks};
use crate::table::{Entry, Group, Needs, OnInvalid, Risk, Scope};

pub(super) static GROUP: Group = Group {
    title: "Paths and rewriting",
    doc: "A host has one way of matching: as soon as one of its Ingresses says `use-regex: \"true\"` or has a `rewrite-target` that differs from \
        its path, every path of the host, of all its Ingresses and of type Exact as well, is a regular expression, anchored at its start only \
        and whatever the letter case.",
    entries: ENTRIES,
    clear: |spec| spec.path = Path::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Path {
    /// `rewrite-target`: what the URI becomes. Every location of the host is then matched as a regular expression.
    pub rewrite_target: Option<RewriteTarget>,
    /// `use-regex`: every location of the host is matched as a regular expression.
    pub use_regex: bool,
    /// `app-root`: where `/` of the host is redirected to; begins with `/`.
    pub app_root: Option<RewriteTarget>,
    /// `x-forwarded-prefix`: the prefix that the rewrite cut off, for the backend. Only with `rewrite_target`.
    pub x_forwarded_prefix: Option<RewriteTarget>,
}

const PATH: &str = "a path of letters, digits and `- . _ ~ / :` with captures such as `$1`";

static ENTRIES: &[Entry] = &[
    Entry {
        name: "app-root",
        scope: Scope::Host,
        risk: Risk::Medium,
        value: "a path that begins with `/`",
        doc: "Requests for `/` of the host are answered with 302 to this path, whatever paths the Ingress has, before any redirect to HTTPS and \
            authentication. Of several the one at the longest path counts.",
        example: "/app",
        parse: |text, draft| set(&mut draft.spec.path.app_root, app_root(text)),
        ..LOCATION
    },
    Entry {
        name: "rewrite-target",
        risk: Risk::Medium,
        value: PATH,
        doc: "What the URI becomes; the query stays. If it differs from the path, every location of the host is matched as a regular expression, \
            anchored at its start only and whatever the letter case. Where a capture makes a path with segments `.` or `..`, requests get 400.",
        example: "/$2",
        parse: |text, draft| set(&mut draft.spec.path.rewrite_target, trimmed(text)),
        ..LOCATION
    },
    Entry {
        name: "use-regex",
        value: BOOL,
        doc: "Match every location of the host, of all its Ingresses, as a regular expression, anchored at its start only and whatever the letter case.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.path.use_regex, parse_bool(text)),
        ..LOCATION
    },
    Entry {
        name: "x-forwarded-prefix",
        risk: Risk::Medium,
        value: PATH,
        doc: "The header `X-Forwarded-Prefix` to the backend: what `rewrite-target` cut off. Captures are those of the path.",
        example: "/shop",
        companions: &[("rewrite-target", "/$2")],
        on_invalid: OnInvalid::Refuse,
        needs: Some(Needs { what: "rewrite-target", met: |spec| spec.path.rewrite_target.is_some() }),
        parse: |text, draft| set(&mut draft.spec.path.x_forwarded_prefix, without_blanks(text)),
        ..LOCATION
    },
];

fn app_root(text: &str) -> Result<Option<RewriteTarget>, Invalid> {
    match trimmed::<RewriteTarget>(text)? {
        Some(path) if !path.as_str().starts_with('/') => Err(Invalid::new("a path that begins with /")),
        path => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use crate::groups::testing::{bad, good};
    use crate::parse::FindingKind::{Invalid as Bad, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Refused};

    #[test]
    fn the_root_of_an_application_is_a_path() {
        assert_eq!(good(&[("app-root", "/foo/$1")]).path.app_root.unwrap().as_str(), "/foo/$1");
        for text in ["http://a.com", "foo", "/a?b", "/a b", "/;"] {
            bad(&[("app-root", text)], Accepted, &[("app-root", Bad, "expected a path ")]);
        }
    }

    #[test]
    fn a_prefix_needs_a_rewrite() {
        let spec = good(&[("rewrite-target", "/$2"), ("x-forwarded-prefix", "/test/$1")]);
        assert_eq!(spec.path.x_forwarded_prefix.unwrap().as_str(), "/test/$1");
        bad(&[("x-forwarded-prefix", "/test")], Accepted, &[("x-forwarded-prefix", Surprise, "it has no effect without rewrite-target")]);
        bad(&[("rewrite-target", "/"), ("x-forwarded-prefix", "\"")], Refused, &[("x-forwarded-prefix", Bad, "expected a path")]);
    }
}
