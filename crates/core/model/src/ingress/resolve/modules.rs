//! Annotations that need a module of NGINX which is not there.

use settings::Effective;

use super::{Lookup, Resolution};
use crate::modules::Module;
use crate::options::BuildOptions;
use crate::problem::ProblemKind;

/// Reports them. What was to be guarded by the firewall is closed.
pub(super) fn check(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) {
    let lacks = |module: Module| lookup.options.missing.contains(&module).then(|| format!("NGINX lacks {}", module.describe()));
    if lookup.spec.client_tls.ssl_passthrough
        && let Some(what) = no_passthrough(lookup.options)
    {
        outcome.problem("ssl-passthrough", ProblemKind::InvalidValue, format!("{what}; NGINX decrypts connections to its hosts"));
    }
    let firewall = &lookup.spec.firewall;
    if firewall.enable_modsecurity == Some(true)
        && let Some(what) = lacks(Module::Firewall)
    {
        return outcome.deny("enable-modsecurity", &what);
    }
    let watched = *Effective::new(&firewall.enable_modsecurity, &lookup.config.firewall.enable_modsecurity).value();
    if watched
        && firewall.enable_owasp_core_rules == Some(true)
        && let Some(what) = lacks(Module::CoreRules)
    {
        outcome.deny("enable-owasp-core-rules", &what);
    }
    if lookup.spec.snippets.stream_snippet.is_some()
        && let Some(what) = lacks(Module::Stream)
    {
        outcome.problem("stream-snippet", ProblemKind::InvalidValue, format!("{what}; the text is left out"));
    }
}

/// Why all connections are decrypted.
fn no_passthrough(options: &BuildOptions) -> Option<String> {
    match options.passthrough_port {
        None => Some("the flag --enable-ssl-passthrough is not set".to_owned()),
        Some(_) => options.missing_for_stream().map(|module| format!("NGINX lacks {}", module.describe())),
    }
}
