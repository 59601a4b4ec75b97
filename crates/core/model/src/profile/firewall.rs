//! The firewall.

use ngx_value::{Expression, FirewallRules};

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
    pub(super) fn canonical(&self) -> String {
        let Self { switch, recommended, core_rules, transaction_id, rules } = self;
        let id = transaction_id.as_ref().map(Expression::as_str);
        format!("{switch:?} {recommended} {core_rules} {id:?} {:?}", rules.as_ref().map(FirewallRules::as_str))
    }
}
