//! Profiles that stay in the text although nothing wanted uses them.

use std::sync::Arc;

use model::{Fixed, HostServer};

use super::Lane;
use crate::port::Nginx;

impl<N: Nginx> Lane<N> {
    /// Keeps profiles that NGINX's present records still use, for hosts whose new records wait for this reload.
    pub(super) fn with_held_profiles(&self, mut fixed: Fixed, running: Option<&Fixed>) -> Fixed {
        let Some(running) = running else { return fixed };
        for (host, ids) in self.ends.live.borrow().held_profiles() {
            for id in ids {
                if let (None, Some(profile)) = (fixed.profiles.get(id), running.profiles.get(id)) {
                    fixed.profiles.insert(id.clone(), profile.clone());
                }
            }
            let named = |name: &Arc<str>, host_server: &HostServer| name == host || host_server.aliases.contains(host);
            let host_server = fixed
                .host_servers
                .iter()
                .find(|(name, host_server)| named(name, host_server))
                .map(|(name, host_server)| (name.clone(), (**host_server).clone()));
            if let Some((name, mut host_server)) = host_server {
                host_server.profiles.extend(ids.iter().cloned());
                fixed.host_servers.insert(name, Arc::new(host_server));
            }
        }
        fixed
    }
}
