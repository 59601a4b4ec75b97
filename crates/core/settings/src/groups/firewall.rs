//! The web application firewall.

use ngx_value::{Expression, FirewallRules, parse_bool};

use super::common::{self, BOOL, LOCATION, set};
use crate::config::grammar::{self, optional};
use crate::config::table::settings;
use crate::rare::Rare;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "Firewall",
    doc: "ModSecurity looks at requests where it is switched on globally or here; elsewhere the rules and the id have no effect. It never looks at requests to authentication services, redirects to sign in, and error pages.",
    entries: ENTRIES,
    keys: KEYS,
    clear: |spec| spec.firewall = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Firewall {
    /// `enable-modsecurity`.
    pub enable_modsecurity: Option<bool>,
    /// `enable-owasp-core-rules`: the core rule set as well.
    pub enable_owasp_core_rules: Option<bool>,
    /// `modsecurity-transaction-id`.
    pub modsecurity_transaction_id: Option<Expression>,
    /// `modsecurity-snippet`: rules instead of the recommended configuration. Only where snippets are allowed.
    pub modsecurity_snippet: Option<FirewallRules>,
}

settings! {
    /// The firewall of all requests.
    FirewallDefaults in firewall;

    /// Let ModSecurity look at all requests.
    enable_modsecurity: bool = false, grammar::BOOL, "true", [Text, Ingresses];
    /// Rules instead of the recommended configuration. As in `modsecurity_rules '...'`, a backslash before `\`, `"`, `'`, `n`, `r` and `t` is an escape.
    modsecurity_snippet: Option<FirewallRules> = None, optional("rules in the language of ModSecurity, or empty"), "SecRuleEngine DetectionOnly", [Text];
    /// Add the OWASP core rule set.
    enable_owasp_modsecurity_crs: bool = false, grammar::BOOL, "true", [Text, Routes];
}

const COMPANIONS: &[(&str, &str)] = &[("enable-modsecurity", "true")];

static ENTRIES: &[Entry] = &[
    Entry {
        name: "enable-modsecurity",
        config_key: Some("enable-modsecurity"),
        applies: Applies::Profile,
        value: BOOL,
        doc: "Whether the firewall looks at requests. Without rules of one's own it only reports.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.firewall.enable_modsecurity, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "enable-owasp-core-rules",
        config_key: Some("enable-owasp-modsecurity-crs"),
        applies: Applies::Profile,
        value: BOOL,
        doc: "Add the OWASP core rule set.",
        example: "true",
        companions: COMPANIONS,
        parse: |text, draft| set(&mut draft.spec.firewall.enable_owasp_core_rules, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "modsecurity-snippet",
        risk: Risk::Critical,
        applies: Applies::Profile,
        value: "rules in the language of ModSecurity, written as between quotes of NGINX, at most 64 KiB",
        doc: "Rules instead of the recommended configuration; where the firewall is on for all, besides the global ones. As in `modsecurity_rules '...'`, a backslash before `\\`, `\"`, `'`, `n`, `r` and `t` is an escape: `\\\\.` reaches ModSecurity as `\\.`, and so does `\\.`.",
        example: "SecRuleEngine On",
        companions: COMPANIONS,
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| {
            let blank = text.trim().is_empty();
            set(&mut draft.spec.firewall.modsecurity_snippet, if blank { Ok(None) } else { text.parse().map(Some) })
        },
        ..LOCATION
    },
    Entry {
        name: "modsecurity-transaction-id",
        risk: Risk::High,
        applies: Applies::Profile,
        value: "letters, digits, `-`, `_` and variables",
        doc: "What the firewall's log calls a request.",
        example: "$request_id",
        companions: COMPANIONS,
        parse: |text, draft| {
            let text = text.trim_matches(' ');
            set(&mut draft.spec.firewall.modsecurity_transaction_id, if text.is_empty() { Ok(None) } else { text.parse().map(Some) })
        },
        ..LOCATION
    },
];

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::Invalid;
    use crate::parse::ParseVerdict::{Accepted, Refused};

    #[test]
    fn rules_are_a_text_of_their_own() {
        let rules = "SecRuleEngine On\nSecRule REQUEST_HEADERS:User-Agent \"block-ua\" \"log,deny,id:107,status:403,msg:'UA blocked'\"\n";
        assert_eq!(good(&[("modsecurity-snippet", rules)]).firewall.modsecurity_snippet.clone().unwrap().as_str(), rules);
        bad(&[("modsecurity-snippet", "a\0")], Refused, &[("modsecurity-snippet", Invalid, "expected rules")]);
        assert_eq!(good(&[("modsecurity-snippet", "\n ")]).firewall.modsecurity_snippet, None);
    }

    #[test]
    fn an_id_is_made_of_variables() {
        assert_eq!(
            good(&[("modsecurity-transaction-id", " $request_id")]).firewall.modsecurity_transaction_id.clone().unwrap().as_str(),
            "$request_id"
        );
        for value in ["$nothing", "a;b", "$1", "a.b", "\""] {
            let spec = bad(&[("modsecurity-transaction-id", value)], Accepted, &[("modsecurity-transaction-id", Invalid, "expected ")]);
            assert_eq!(spec.firewall, Firewall::default());
        }
    }

    #[test]
    fn switches_are_booleans() {
        let firewall = good(&[("enable-modsecurity", "false"), ("enable-owasp-core-rules", "true")]).firewall;
        assert_eq!((firewall.enable_modsecurity, firewall.enable_owasp_core_rules), (Some(false), Some(true)));
        bad(&[("enable-modsecurity", "on")], Accepted, &[("enable-modsecurity", Invalid, "expected true or false")]);
    }
}
