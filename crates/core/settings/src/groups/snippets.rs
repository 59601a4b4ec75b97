//! Snippets.

use ngx_value::Snippet;

use super::common::{self, DIRECTIVES, LOCATION, set, snippet};
use crate::config::Config;
use crate::rare::Rare;
use crate::table::{Applies, Draft, Entry, Group, OnInvalid, Risk, Scope};

pub(super) static GROUP: Group = Group {
    title: "Snippets",
    doc: "Only where `allow-snippet-annotations` and `annotations-risk-level` allow them. [Some directives](snippets.md) are refused all the same.",
    entries: ENTRIES,
    settle,
    clear: |spec| spec.snippets = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snippets {
    /// `configuration-snippet`: text at location level. Only where snippets are allowed; never empty.
    pub configuration_snippet: Option<Snippet>,
    /// `server-snippet`: text at server level. Only where snippets are allowed; never empty.
    pub server_snippet: Option<Snippet>,
    /// `stream-snippet`: text in the stream block, for the whole proxy. Only where snippets are allowed; never empty.
    pub stream_snippet: Option<Snippet>,
}

static ENTRIES: &[Entry] = &[
    Entry {
        name: "configuration-snippet",
        risk: Risk::Critical,
        applies: Applies::Profile,
        value: DIRECTIVES,
        doc: "Text for the locations. It must be balanced: it can't close the block it stands in.",
        example: "add_header X-Test 1;",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.snippets.configuration_snippet, snippet(text)),
        ..LOCATION
    },
    Entry {
        name: "server-snippet",
        scope: Scope::Host,
        risk: Risk::Critical,
        applies: Applies::HostServer,
        value: DIRECTIVES,
        doc: "Text for the server block; the oldest Ingress of the host that has any decides. Paths of rules without a host answer 503 with it. It must be balanced: it can't close the block it stands in.",
        example: "location = /robots.txt { return 200; }",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.snippets.server_snippet, snippet(text)),
        ..LOCATION
    },
    Entry {
        name: "stream-snippet",
        scope: Scope::Ingress,
        risk: Risk::Critical,
        applies: Applies::HostServer,
        value: DIRECTIVES,
        doc: "Text for the stream block, after that of older Ingresses and before the global one. It must be balanced: it can't close the block it stands in.",
        example: "server { listen 8000; proxy_pass 127.0.0.1:80; }",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.snippets.stream_snippet, snippet(text)),
        ..LOCATION
    },
];

fn settle(draft: &mut Draft, config: &Config) {
    common::hold_to_policy(draft, config, "configuration-snippet", |spec| &mut spec.snippets.configuration_snippet);
    common::hold_to_policy(draft, config, "server-snippet", |spec| &mut spec.snippets.server_snippet);
    common::hold_to_policy(draft, config, "stream-snippet", |spec| &mut spec.snippets.stream_snippet);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good, read_with};
    use crate::config::Config;
    use crate::parse::FindingKind::Invalid;
    use crate::parse::ParseVerdict::{Accepted, Denied, Refused};
    use crate::table::Risk;

    #[test]
    fn a_directive_that_reaches_beyond_refuses_the_ingress() {
        for name in ["configuration-snippet", "server-snippet", "stream-snippet"] {
            let expected = "expected directives that an Ingress may use, but line 2: include: ";
            assert_eq!(
                bad(&[(name, "# a\ninclude /etc/passwd;")], Refused, &[(name, Invalid, expected)]).snippets,
                super::Snippets::default()
            );
        }
        let pairs = [("auth-url", "http://a/"), ("auth-snippet", "root /;")];
        let spec = bad(&pairs, Denied, &[("auth-snippet", Invalid, "expected directives that an Ingress may use, but line 1: root: ")]);
        assert_eq!(spec.external_auth.auth_snippet, None);
    }

    #[test]
    fn the_administrator_may_allow_it() {
        let allowed_snippet_directives = vec!["include".to_owned()];
        let config = Config {
            allow_snippet_annotations: true,
            annotations_risk_level: Risk::Critical,
            allowed_snippet_directives,
            ..Config::default()
        };
        let parsed = read_with(&[("configuration-snippet", "include /etc/nginx/own.conf;")], &config);
        assert_eq!((parsed.verdict, parsed.findings), (Accepted, Vec::new()));
        assert!(parsed.spec.snippets.configuration_snippet.is_some());
    }

    #[test]
    fn a_snippet_is_kept_as_text() {
        let snippets = good(&[("stream-snippet", "server {listen 8000; proxy_pass 127.0.0.1:80;}")]).snippets;
        assert_eq!(snippets.stream_snippet.clone().unwrap().as_str(), "server {listen 8000; proxy_pass 127.0.0.1:80;}\n");
        assert_eq!(good(&[("server-snippet", " \n "), ("configuration-snippet", "# only a comment {")]).snippets.server_snippet, None);
    }

    #[test]
    fn a_snippet_cannot_leave_its_block() {
        for name in ["configuration-snippet", "server-snippet", "stream-snippet"] {
            for text in ["}", "a; } server { b;", "a", "a {", "content_by_lua_block { '} }"] {
                bad(&[(name, text)], Refused, &[(name, Invalid, "expected complete NGINX directives, but line 1: ")]);
            }
        }
    }
}
