//! Errors, the firewall and logs.

use ngx_value::{Expression, FirewallRules};

/// What of these NGINX takes only as text. Unset fields inherit the global settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Watching {
    /// `custom-http-errors`.
    pub errors: Option<ErrorPages>,
    /// ModSecurity, where it is not as the global settings say.
    pub firewall: Option<FirewallText>,
    /// `enable-rewrite-log`: for the directives of snippets; Lua logs its own rewrites.
    pub rewrite_log: bool,
}

/// Errors that another backend answers, instead of the global list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct ErrorPages {
    /// Statuses in order, never empty.
    pub statuses: Vec<u16>,
    /// Only those that NGINX makes, not the endpoint's.
    pub only_own: bool,
}

/// ModSecurity for a location. What is not set is inherited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct FirewallText {
    /// `modsecurity`.
    pub switch: Option<bool>,
    /// The recommended settings, on which everything else builds.
    pub recommended: bool,
    /// The core rule set.
    pub core_rules: bool,
    /// `modsecurity_transaction_id`.
    pub transaction_id: Option<Expression>,
    /// Rules of the Ingress.
    pub rules: Option<FirewallRules>,
}

impl FirewallText {
    fn canonical(&self) -> String {
        let Self { switch, recommended, core_rules, transaction_id, rules } = self;
        let id = transaction_id.as_ref().map(Expression::as_str);
        format!("{switch:?} {recommended} {core_rules} {id:?} {:?}", rules.as_ref().map(FirewallRules::as_str))
    }
}

impl Watching {
    /// Every field as (name, value if set), in a fixed order.
    pub(super) fn parts(&self) -> Vec<(&'static str, Option<String>)> {
        // Destructured so that a new field can't be forgotten in the digest.
        let Self { errors, firewall, rewrite_log } = self;
        let list = |errors: &ErrorPages| {
            let statuses: Vec<String> = errors.statuses.iter().map(u16::to_string).collect();
            format!("{}{}", statuses.join(","), if errors.only_own { " of NGINX itself" } else { "" })
        };
        vec![
            ("custom-http-errors", errors.as_ref().map(list)),
            ("firewall", firewall.as_ref().map(FirewallText::canonical)),
            ("enable-rewrite-log", rewrite_log.then(|| "true".to_owned())),
        ]
    }
}
