//! ModSecurity: what of it stands in `nginx.conf`, and the files that it reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{FirewallText, Fixed};
use ngx_value::FirewallRules;
use serde::Serialize;
use settings::Config;
use sha2::{Digest, Sha256};

use crate::files::File;
use crate::print::Printed;
use crate::{Capabilities, Paths, RenderError};

/// What NGINX must have for it.
pub(crate) const MODULE: &str = "ngx_http_modsecurity_module";

/// Paths below the work directory.
const RECOMMENDED: &str = "modsecurity/modsecurity.conf";
const CORE_RULES: &str = "modsecurity/core-rules.conf";

const RECOMMENDED_TEXT: &str = include_str!("../../../../templates/modsecurity.conf");

/// The `http` block's part.
#[derive(Serialize)]
pub(crate) struct GlobalFirewall {
    files: Vec<Printed>,
}

/// What `firewall.conf` prints in a location.
#[derive(Serialize)]
pub(crate) struct FirewallView {
    switch: Option<Printed>,
    files: Vec<Printed>,
    transaction_id: Option<Printed>,
}

/// Whether anything needs the module.
pub(crate) fn is_used(fixed: &Fixed) -> bool {
    fixed.globals.config.firewall.enable_modsecurity || fixed.profiles.values().any(|profile| profile.firewall.is_some())
}

/// The file of some rules. Its name says what is in it.
fn file_of(rules: &FirewallRules) -> PathBuf {
    let digest = Sha256::digest(rules.as_str().as_bytes());
    format!("modsecurity/rules-{}.conf", const_hex::encode(&digest[..8])).into()
}

fn path(paths: &Paths, file: &Path) -> Result<Printed, RenderError> {
    Printed::argument(&paths.work_dir.join(file).to_string_lossy())
}

impl GlobalFirewall {
    pub(crate) fn new(config: &Config, paths: &Paths) -> Result<Option<Self>, RenderError> {
        let firewall = &config.firewall;
        if !firewall.enable_modsecurity {
            return Ok(None);
        }
        let base = firewall.modsecurity_snippet.as_ref().map_or_else(|| RECOMMENDED.into(), file_of);
        let core = firewall.enable_owasp_modsecurity_crs.then(|| PathBuf::from(CORE_RULES));
        Ok(Some(Self { files: [base].into_iter().chain(core).map(|file| path(paths, &file)).collect::<Result<_, _>>()? }))
    }
}

impl FirewallView {
    /// Rules lie in files of their own, as NGINX takes arguments of at most 4 KiB.
    pub(crate) fn new(text: &FirewallText, paths: &Paths) -> Result<Self, RenderError> {
        // Destructured so that a new field can't be forgotten.
        let FirewallText { switch, recommended, core_rules, transaction_id, rules } = text;
        let shared = [(*recommended, RECOMMENDED), (*core_rules, CORE_RULES)].into_iter().filter(|(used, _)| *used);
        let files = rules.iter().map(file_of).chain(shared.map(|(_, file)| file.into()));
        Ok(Self {
            switch: switch.map(Printed::switch),
            files: files.map(|file| path(paths, &file)).collect::<Result<_, _>>()?,
            // Its variables are meant.
            transaction_id: transaction_id.as_ref().map(|id| Printed::quoted(id.as_str())).transpose()?,
        })
    }
}

/// The files that the rest of the configuration names.
pub(crate) fn files(fixed: &Fixed, caps: &Capabilities) -> Vec<File> {
    let global = Some(&fixed.globals.config.firewall).filter(|firewall| firewall.enable_modsecurity);
    let texts: Vec<&FirewallText> = fixed.profiles.values().filter_map(|profile| profile.firewall.as_ref()).collect();
    let mut files: BTreeMap<PathBuf, String> = BTreeMap::new();
    let global_rules = global.and_then(|firewall| firewall.modsecurity_snippet.as_ref());
    for rules in texts.iter().filter_map(|text| text.rules.as_ref()).chain(global_rules) {
        files.insert(file_of(rules), rules.as_str().to_owned());
    }
    if global.is_some_and(|firewall| firewall.modsecurity_snippet.is_none()) || texts.iter().any(|text| text.recommended) {
        files.insert(RECOMMENDED.into(), RECOMMENDED_TEXT.to_owned());
    }
    if global.is_some_and(|firewall| firewall.enable_owasp_modsecurity_crs) || texts.iter().any(|text| text.core_rules) {
        files.insert(CORE_RULES.into(), caps.core_rules.iter().map(|file| format!("Include {file}\n")).collect());
    }
    files.into_iter().map(|(path, text)| File { path, mode: 0o644, bytes: text.into() }).collect()
}
