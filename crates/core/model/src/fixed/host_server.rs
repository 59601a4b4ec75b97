//! A server block of one host.

use std::collections::BTreeSet;
use std::sync::Arc;

use ngx_value::{CipherList, Snippet};

use super::ClientVerification;
use crate::profile::ProfileId;

/// Text at server level that one host asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostServer {
    /// Other names of the same server: literal ones, `*.` and a suffix of any number of labels, `~` and a regular expression.
    pub aliases: Vec<Arc<str>>,
    /// `server-snippet`.
    pub snippet: Option<Snippet>,
    /// Client certificates.
    pub clients: Option<ClientVerification>,
    /// `ssl-ciphers`.
    pub ciphers: Option<CipherList>,
    /// `ssl-prefer-server-ciphers`.
    pub prefer_server_ciphers: Option<bool>,
    /// Profiles of the host's routes. The block has the locations of these and of the default profile only, so that the text of all blocks grows
    /// with the routes, not with host servers times profiles.
    pub profiles: BTreeSet<ProfileId>,
}

impl HostServer {
    /// Bytes of what its Ingresses wrote in it.
    pub fn text_bytes(&self) -> u64 {
        let snippet = self.snippet.as_ref().map_or(0, |snippet| snippet.as_str().len());
        (snippet + self.aliases.iter().map(|alias| alias.len()).sum::<usize>()) as u64
    }

    /// Whether a server block with this text does for a host that asks for `wanted`: a location that is no longer used is no harm.
    pub(crate) fn does_for(&self, wanted: &Self) -> bool {
        // Destructured so that a new field can't be forgotten.
        let Self { aliases, snippet, clients, ciphers, prefer_server_ciphers, profiles } = self;
        let same = (aliases, snippet, clients, ciphers, prefer_server_ciphers)
            == (&wanted.aliases, &wanted.snippet, &wanted.clients, &wanted.ciphers, &wanted.prefer_server_ciphers);
        same && wanted.profiles.is_subset(profiles)
    }
}
