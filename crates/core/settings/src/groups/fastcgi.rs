//! FastCGI.

use ngx_value::FastcgiName;

use super::common::{self, LOCATION, object, set, without_blanks};
use crate::rare::Rare;
use crate::reference::Reference;
use crate::table::{Applies, Entry, Group, OnInvalid, Risk};

pub(super) static GROUP: Group = Group {
    title: "FastCGI",
    doc: "For `backend-protocol: FCGI`. The usual parameters are always sent.",
    entries: ENTRIES,
    clear: |spec| spec.fastcgi = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fastcgi {
    /// `fastcgi-index`: the file that a URI with `/` at its end means.
    pub fastcgi_index: Option<FastcgiName>,
    /// `fastcgi-params-configmap`: more parameters ([`ngx_value::FastcgiName`] → [`ngx_value::FastcgiValue`]), of the Ingress' own namespace.
    /// One that names another namespace (unless that is allowed) makes the group count as not set, one that is missing closes the locations,
    /// one with an unusable key or value refuses the Ingress.
    pub fastcgi_params_configmap: Option<Reference>,
}

const FASTCGI: Entry = Entry {
    companions: &[("backend-protocol", "FCGI")],
    risk: Risk::Medium,
    applies: Applies::Profile,
    on_invalid: OnInvalid::Refuse,
    ..LOCATION
};

static ENTRIES: &[Entry] = &[
    Entry {
        name: "fastcgi-index",
        applies: Applies::Route,
        value: "a file name of letters, digits and `. - _`",
        doc: "The file that is meant by a URI with `/` at its end.",
        example: "index.php",
        parse: |text, draft| set(&mut draft.spec.fastcgi.fastcgi_index, without_blanks::<FastcgiName>(text)),
        ..FASTCGI
    },
    Entry {
        name: "fastcgi-params-configmap",
        value: "a ConfigMap of the same namespace, with or without the namespace",
        doc: "More parameters: the data of this ConfigMap, ordered by key. Keys are letters, digits and `. - _`; values are letters, digits and \
            `- _ / .` with variables such as `$fastcgi_script_name`.",
        example: "php-parameters",
        parse: |text, draft| {
            draft.spec.fastcgi.fastcgi_params_configmap = object(text, draft, false)?;
            Ok(())
        },
        ..FASTCGI
    },
];

#[cfg(test)]
mod tests {
    use crate::groups::testing::{bad, good};
    use crate::parse::FindingKind::Invalid as Bad;
    use crate::parse::ParseVerdict::{Denied, Refused};

    #[test]
    fn an_index_is_a_file_name() {
        assert_eq!(good(&[("fastcgi-index", "index.php")]).fastcgi.fastcgi_index.clone().unwrap().as_str(), "index.php");
        for text in ["a/b", "a;", "$a", "a\n"] {
            bad(&[("fastcgi-index", text)], Refused, &[("fastcgi-index", Bad, "expected a name")]);
        }
    }

    #[test]
    fn parameters_come_from_a_configmap() {
        assert_eq!(good(&[("fastcgi-params-configmap", "params")]).fastcgi.fastcgi_params_configmap.clone().unwrap().name(), "params");
        assert_eq!(
            good(&[("fastcgi-params-configmap", "shop/params")]).fastcgi.fastcgi_params_configmap.clone().unwrap().resolve("shop", false),
            Ok(("shop", "params"))
        );
        bad(&[("fastcgi-params-configmap", "a/b/c")], Denied, &[("fastcgi-params-configmap", Bad, "expected a name")]);
        bad(&[("fastcgi-params-configmap", "a;b")], Refused, &[("fastcgi-params-configmap", Bad, "expected a name")]);
    }
}
