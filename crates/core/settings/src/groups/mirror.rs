//! Mirroring: a copy of each request goes elsewhere too.

use ngx_value::{Invalid, UrlTemplate, VhostTemplate, parse_on_off};

use super::common::{self, LOCATION, ON_OFF, set, trimmed};
use crate::rare::Rare;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "Mirroring",
    doc: "The answer to the copy is thrown away, but a slow one holds back the client's request.",
    entries: ENTRIES,
    clear: |spec| spec.mirror = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for. Without `target` the others are not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mirror {
    /// `mirror-target`: where the copy goes.
    pub mirror_target: Option<UrlTemplate>,
    /// `mirror-request-body`: `Some(false)`: the copy has no body. `None`: it has.
    pub mirror_request_body: Option<bool>,
    /// `mirror-host`: the Host header of the copy. `None`: [`Mirror::default_host`].
    pub mirror_host: Option<VhostTemplate>,
}

impl Mirror {
    /// The target's host without the port, up to its first variable. `None`: there is nothing before that, so the variable decides.
    pub fn default_host(&self) -> Option<&str> {
        let host = self.mirror_target.as_ref()?.host();
        host.split('$').next().filter(|host| !host.is_empty())
    }
}

const NEEDS: Option<Needs> = Some(Needs { what: "mirror-target", met: |spec| spec.mirror.mirror_target.is_some() });
const COMPANIONS: &[(&str, &str)] = &[("mirror-target", "https://test.example.com/$request_uri")];

static ENTRIES: &[Entry] = &[
    Entry {
        name: "mirror-host",
        risk: Risk::High,
        value: "a host name, or text with variables such as `$host`, without spaces",
        doc: "The Host header of the copy; without it the target's host.",
        example: "mirror.example.com",
        companions: COMPANIONS,
        needs: NEEDS,
        parse: |text, draft| set(&mut draft.spec.mirror.mirror_host, trimmed(text)),
        ..LOCATION
    },
    Entry {
        name: "mirror-request-body",
        applies: Applies::Ready,
        value: ON_OFF,
        doc: "Whether the copy has the body; without it on.",
        example: "off",
        companions: COMPANIONS,
        needs: NEEDS,
        parse: |text, draft| {
            let text = text.replace(' ', "");
            set(&mut draft.spec.mirror.mirror_request_body, if text.is_empty() { Ok(None) } else { parse_on_off(&text).map(Some) })
        },
        ..LOCATION
    },
    Entry {
        name: "mirror-target",
        applies: Applies::Ready,
        risk: Risk::High,
        value: "a URL with http or https, perhaps with variables",
        doc: "Where a copy of each request goes.",
        example: "https://test.example.com$request_uri",
        parse: |text, draft| set(&mut draft.spec.mirror.mirror_target, target(text)),
        ..LOCATION
    },
];

/// The grammar of the predecessor has no comma.
fn target(text: &str) -> Result<Option<UrlTemplate>, Invalid> {
    if text.contains(',') { Err(Invalid::new("a URL such as https://test.example.com/, without a comma")) } else { trimmed(text) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::{Invalid, Surprise};
    use crate::parse::ParseVerdict::Accepted;

    #[test]
    fn a_copy_goes_to_a_url() {
        for (value, host) in [
            ("http://localhost/mirror", Some("localhost")),
            (" https://test.env.com:8443/$request_uri ", Some("test.env.com")),
            ("https://test.env.com$request_uri", Some("test.env.com")),
            ("http://$host/", None),
        ] {
            let mirror = good(&[("mirror-target", value)]).mirror;
            assert_eq!((mirror.default_host(), mirror.mirror_target.as_ref().unwrap().as_str()), (host, value.trim()));
        }
        for value in ["localhost/mirror", "/mirror", "http://a/;", "http://a/$", "http://a/b,c", "http://a\n", "ftp://a/", "$scheme://a/"] {
            assert_eq!(bad(&[("mirror-target", value)], Accepted, &[("mirror-target", Invalid, "expected ")]).mirror, Mirror::default());
        }
    }

    #[test]
    fn details_need_a_target() {
        let target = ("mirror-target", "http://localhost/mirror");
        let mirror = good(&[target, ("mirror-request-body", " off"), ("mirror-host", "a.b")]).mirror;
        assert_eq!((mirror.mirror_request_body, mirror.mirror_host.clone().unwrap().as_str()), (Some(false), "a.b"));
        for (name, value) in [("mirror-request-body", "false"), ("mirror-host", "a b"), ("mirror-host", "a;b")] {
            bad(&[target, (name, value)], Accepted, &[(name, Invalid, "expected ")]);
        }
        bad(&[("mirror-host", "a")], Accepted, &[("mirror-host", Surprise, "it has no effect without mirror-target")]);
    }
}
