//! Lists of addresses, and how they combine with authentication.

use std::sync::Arc;

use ngx_value::CidrSet;
use settings::{Effective, Satisfy};

use super::Location;
use crate::live::{AddressLists, Policy};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    let (config, access) = (location.config, &location.given.spec.access);
    let deny = Effective::new(&access.denylist_source_range, &config.access.denylist_source_range);
    let allow = Effective::new(&access.allowlist_source_range, &config.access.whitelist_source_range);
    if deny.differing().is_some() || allow.differing().is_some() {
        let (deny, allow) = (texts(deny.value()), texts(allow.value()));
        policy.addresses = Some(Arc::new(AddressLists { denylist_source_range: deny, allowlist_source_range: allow }));
    }
    policy.satisfy_any = access.satisfy == Satisfy::Any;
}

fn texts(set: &CidrSet) -> Vec<Arc<str>> {
    set.iter().map(|cidr| cidr.to_string().into()).collect()
}
