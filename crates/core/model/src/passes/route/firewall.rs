//! ModSecurity.

use super::Location;
use crate::profile::{FirewallText, Profile};

pub(super) fn apply(location: &Location<'_>, profile: &mut Profile) {
    // What answers 503 needs no firewall, and perhaps does so because there is none.
    if location.given.denied {
        return;
    }
    let own = &location.given.spec.firewall;
    let global = &location.config.firewall;
    let wanted = match (global.enable_modsecurity, own.enable_modsecurity) {
        (false, None | Some(false)) => return,
        (true, Some(false)) => FirewallText { switch: Some(false), ..FirewallText::default() },
        (by_all, _) => FirewallText {
            switch: (!by_all).then_some(true),
            recommended: !by_all && own.modsecurity_snippet.is_none(),
            core_rules: own.enable_owasp_core_rules == Some(true) && !(by_all && global.enable_owasp_modsecurity_crs),
            transaction_id: own.modsecurity_transaction_id.clone(),
            rules: own.modsecurity_snippet.clone(),
        },
    };
    profile.firewall = Some(wanted).filter(|wanted| *wanted != FirewallText::default());
}
