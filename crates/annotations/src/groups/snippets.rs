//! Snippets.

use ngx_value::Snippet;

use super::common::{self, DIRECTIVES, LOCATION, set, snippet};
use crate::table::{Applies, Entry, Group, OnInvalid, Risk, Scope};

pub(super) static GROUP: Group =
    Group { title: "Snippets", entries: ENTRIES, clear: |spec| spec.snippets = Snippets::default(), ..common::GROUP };

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snippets {
    /// `configuration-snippet`: text at location level. Only where snippets are allowed; never empty.
    pub configuration: Option<Snippet>,
    /// `server-snippet`: text at server level. Only where snippets are allowed; never empty.
    pub server: Option<Snippet>,
    /// `stream-snippet`: text in the stream block, for the whole proxy. Only where snippets are allowed; never empty.
    pub stream: Option<Snippet>,
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
        parse: |text, draft| set(&mut draft.spec.snippets.configuration, snippet(text)),
        ..LOCATION
    },
    Entry {
        name: "server-snippet",
        scope: Scope::Host,
        risk: Risk::Critical,
        applies: Applies::Shell,
        value: DIRECTIVES,
        doc: "Text for the server block; the oldest Ingress of the host that has any decides. It must be balanced: it can't close the block it stands in.",
        example: "location = /robots.txt { return 200; }",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.snippets.server, snippet(text)),
        ..LOCATION
    },
    Entry {
        name: "stream-snippet",
        scope: Scope::Ingress,
        risk: Risk::Critical,
        applies: Applies::Shell,
        value: DIRECTIVES,
        doc: "Text for the stream block, after that of older Ingresses and before the global one. It must be balanced: it can't close the block it stands in.",
        example: "server { listen 8000; proxy_pass 127.0.0.1:80; }",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.snippets.stream, snippet(text)),
        ..LOCATION
    },
];

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use crate::parse::FindingKind::Invalid;
    use crate::parse::Verdict::Refused;

    #[test]
    fn a_snippet_is_kept_as_text() {
        let snippets = good(&[("stream-snippet", "server {listen 8000; proxy_pass 127.0.0.1:80;}")]).snippets;
        assert_eq!(snippets.stream.unwrap().as_str(), "server {listen 8000; proxy_pass 127.0.0.1:80;}\n");
        assert_eq!(good(&[("server-snippet", " \n "), ("configuration-snippet", "# only a comment {")]).snippets.server, None);
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
