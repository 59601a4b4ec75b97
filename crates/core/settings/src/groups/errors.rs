//! Errors and the default backend.

use std::collections::BTreeSet;

use ngx_value::{ErrorStatus, Invalid, ServiceName, parse_bool};

use super::common::{self, BOOL, LOCATION, set};
use crate::config::grammar::{self, Grammar, usable};
use crate::config::table::settings;
use crate::parse::FindingKind;
use crate::rare::Rare;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "Errors and the default backend",
    doc: "An error that is taken over goes to the default backend as a request for `/` with headers such as `X-Code`; the client gets that answer with its status.",
    entries: ENTRIES,
    keys: KEYS,
    finish,
    clear: |spec| spec.errors = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Errors {
    /// `custom-http-errors`: statuses from 400 that are taken over. Never empty. `None`: the global list.
    pub custom_http_errors: Option<BTreeSet<ErrorStatus>>,
    /// `disable-proxy-intercept-errors`: only errors of the proxy itself are taken over, not the backend's.
    pub disable_proxy_intercept_errors: bool,
    /// `default-backend`: a Service of the same namespace; its first port counts.
    pub default_backend: Option<ServiceName>,
}

settings! {
    /// Errors of all Ingresses that another backend answers.
    ErrorDefaults in errors;

    /// Errors that the default backend answers instead.
    custom_http_errors: BTreeSet<ErrorStatus> = BTreeSet::new(), STATUSES, "404,503", [Text];
    /// Take over only errors that the proxy itself makes, and leave the backend's alone.
    disable_proxy_intercept_errors: bool = false, grammar::BOOL, "true", [Text];
}

const STATUSES: Grammar<BTreeSet<ErrorStatus>> = Grammar {
    value: "statuses from 300 to 599 other than 499, between commas",
    read: |text, notes| Ok(usable(text, notes, str::parse).into_iter().collect()),
    print: |statuses| statuses.iter().map(ErrorStatus::to_string).collect::<Vec<_>>().join(","),
};

static ENTRIES: &[Entry] = &[
    Entry {
        name: "custom-http-errors",
        config_key: Some("custom-http-errors"),
        applies: Applies::Profile,
        value: "statuses from 400 to 599 other than 499, between commas",
        doc: "Errors that the default backend answers instead. Replaces the global list.",
        example: "404,503",
        on_invalid: OnInvalid::Refuse,
        parse: statuses,
        ..LOCATION
    },
    Entry {
        name: "default-backend",
        value: "the name of a Service in the same namespace",
        doc: "Answers the errors of the annotation `custom-http-errors`, and requests while the backend has no endpoint; errors of the global list go to the default backend of all. Its first port is used. A Service that does not exist counts as not set.",
        example: "error-pages",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.errors.default_backend, text.parse().map(Some)),
        ..LOCATION
    },
    Entry {
        name: "disable-proxy-intercept-errors",
        applies: Applies::Profile,
        value: BOOL,
        doc: "Take over only errors that the proxy itself makes, and leave the backend's alone. Can't undo what the global list does.",
        example: "true",
        companions: &[("custom-http-errors", "404")],
        parse: |text, draft| set(&mut draft.spec.errors.disable_proxy_intercept_errors, parse_bool(text)),
        ..LOCATION
    },
];

fn statuses(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let mut statuses = BTreeSet::new();
    let items: Vec<String> = text.split(',').map(|item| item.replace(' ', "")).collect();
    for item in items.iter().filter(|item| !item.is_empty()) {
        let status = item.parse::<ErrorStatus>().ok().filter(|status| status.code() >= 400);
        statuses.insert(status.ok_or(Invalid::new("statuses from 400 to 599 other than 499, between commas"))?);
    }
    if statuses.is_empty() {
        return Ok(());
    }
    if items.iter().any(String::is_empty) {
        draft.note(FindingKind::Surprise, "an item between the commas is empty; it is left out");
    }
    draft.spec.errors.custom_http_errors = Some(statuses);
    Ok(())
}

fn finish(draft: &mut Draft) {
    let statuses = draft.spec.errors.custom_http_errors.iter().flatten().map(|status| status.code());
    let authentication = draft.spec.external_auth.auth_url.is_some() || draft.spec.basic_auth.auth_type.is_some();
    if authentication && statuses.into_iter().any(|status| status == 401) {
        let detail = "401 is taken over as well: clients are not asked for their password unless the default backend answers 401 with WWW-Authenticate";
        draft.note_on("custom-http-errors", FindingKind::Surprise, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::{Invalid, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Refused};

    fn codes(errors: &Errors) -> Vec<u16> {
        errors.custom_http_errors.iter().flatten().map(|status| status.code()).collect()
    }

    #[test]
    fn statuses_are_sorted_errors() {
        assert_eq!(codes(&good(&[("custom-http-errors", "500, 404,500")]).errors), [404, 500]);
        assert_eq!(good(&[("custom-http-errors", " ")]).errors.custom_http_errors, None);
        for value in ["301", "499", "600", "404 500", "404;500", "4044", "x", "-404"] {
            bad(&[("custom-http-errors", value)], Refused, &[("custom-http-errors", Invalid, "expected statuses from 400 to 599")]);
        }
        let errors = bad(&[("custom-http-errors", "404,")], Accepted, &[("custom-http-errors", Surprise, "an item")]).errors;
        assert_eq!(codes(&errors), [404]);
    }

    #[test]
    fn a_default_backend_is_a_service_of_the_same_namespace() {
        assert_eq!(good(&[("default-backend", "from-annotation")]).errors.default_backend.clone().unwrap().as_str(), "from-annotation");
        for value in ["ns/a", "1a", "A", "a:80", "a;", "a b", " a", "a ", " "] {
            bad(&[("default-backend", value)], Refused, &[("default-backend", Invalid, "expected the name of a Service")]);
        }
    }

    #[test]
    fn a_boolean_that_is_none_takes_over_everything() {
        assert!(good(&[("disable-proxy-intercept-errors", "true")]).errors.disable_proxy_intercept_errors);
        let expected = [("disable-proxy-intercept-errors", Invalid, "expected true or false")];
        assert!(!bad(&[("disable-proxy-intercept-errors", "yes")], Accepted, &expected).errors.disable_proxy_intercept_errors);
    }

    #[test]
    fn taking_over_401_of_ones_own_authentication_is_a_surprise() {
        let pairs = [("custom-http-errors", "401"), ("auth-url", "http://a/")];
        bad(&pairs, Accepted, &[("custom-http-errors", Surprise, "401 is taken over")]);
    }
}
