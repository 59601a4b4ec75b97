//! Lists of addresses, and how they combine with authentication.

use std::sync::Arc;

use annotations::Satisfy;
use ngx_value::CidrSet;

use super::Location;
use crate::live::{AddressLists, Policy};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    let (config, access) = (location.config, &location.entry.spec.access);
    let (global_deny, global_allow) = (&config.denylist_source_range, &config.whitelist_source_range);
    let (deny, allow) = (access.deny.as_ref().unwrap_or(global_deny), access.allow.as_ref().unwrap_or(global_allow));
    if deny != global_deny || allow != global_allow {
        policy.addresses = Some(Arc::new(AddressLists { denylist_source_range: texts(deny), allowlist_source_range: texts(allow) }));
    }
    policy.satisfy_any = access.satisfy == Satisfy::Any;
}

fn texts(set: &CidrSet) -> Vec<Arc<str>> {
    set.iter().map(|cidr| cidr.to_string().into()).collect()
}
