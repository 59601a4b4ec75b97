//! Headers of the answer.

use ngx_value::{Invalid, parse_bool};

use super::common::{self, BOOL, LOCATION, object};
use crate::parse::FindingKind;
use crate::rare::Rare;
use crate::reference::Reference;
use crate::table::*;

pub(super) static GROUP: Group =
    Group { title: "Headers of the answer", entries: ENTRIES, clear: |spec| spec.headers = Rare::default(), ..common::GROUP };

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Headers {
    /// `custom-headers`: the ConfigMap with headers of the answer. A namespace is always written.
    pub custom_headers: Option<Reference>,
    /// `http2-push-preload`: without effect, as NGINX has no server push any more.
    pub http2_push_preload: Option<bool>,
}

static ENTRIES: &[Entry] = &[
    Entry {
        name: "custom-headers",
        risk: Risk::Medium,
        value: "`namespace/name` of a ConfigMap",
        doc: "Headers of every answer, from a ConfigMap; they replace the backend's. Each name must stand in `global-allowed-response-headers`, letter by letter. A `$` means itself.",
        example: "default/response-headers",
        parse: |text, draft| {
            draft.spec.headers.custom_headers = object(text, draft, true)?;
            Ok(())
        },
        ..LOCATION
    },
    Entry {
        name: "http2-push-preload",
        value: BOOL,
        doc: "Has no effect: NGINX and browsers gave up server push.",
        inert: Some("NGINX and browsers gave up server push"),
        example: "false",
        on_invalid: OnInvalid::Refuse,
        parse: push_preload,
        ..LOCATION
    },
];

fn push_preload(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let push = parse_bool(text)?;
    if push {
        draft.note(FindingKind::Surprise, "NGINX and browsers gave up server push; it has no effect");
    }
    draft.spec.headers.http2_push_preload = Some(push);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use crate::parse::FindingKind::{Invalid, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Denied, Refused};

    #[test]
    fn headers_come_from_a_configmap_with_a_namespace() {
        assert_eq!(
            good(&[("custom-headers", "ns/custom-headers")]).headers.custom_headers.clone().unwrap().to_string(),
            "ns/custom-headers"
        );
        for (value, verdict) in [("custom-headers", Denied), ("a/b/c", Denied), ("a;b/c", Accepted), ("$a/b", Accepted)] {
            let spec = bad(&[("custom-headers", value)], verdict, &[("custom-headers", Invalid, "expected a namespace and a name")]);
            assert_eq!(spec.headers.custom_headers, None);
        }
    }

    #[test]
    fn push_has_no_effect() {
        bad(&[("http2-push-preload", "true")], Accepted, &[("http2-push-preload", Surprise, "NGINX and browsers gave up")]);
        bad(&[("http2-push-preload", "yes")], Refused, &[("http2-push-preload", Invalid, "expected true or false")]);
    }
}
