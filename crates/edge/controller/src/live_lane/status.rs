//! The progress of the live lane.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::ProfileId;

/// The progress of the live lane, over all channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveStatus(BTreeMap<&'static str, ChannelStatus>);

/// The progress of one channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChannelStatus {
    /// Everything that could be sent was, and was confirmed, at least once since NGINX started.
    pub(crate) synced: bool,
    /// Hosts that wait for a reload, by number.
    pub(crate) held: usize,
    /// Profiles that NGINX's present records of these hosts use: they must stay until the new records are in.
    pub(crate) held_profiles: BTreeMap<Arc<str>, BTreeSet<ProfileId>>,
    /// Names of records (`letter\tkey`) for which there is no room.
    pub(crate) without_room: Vec<String>,
}

impl LiveStatus {
    /// The status of channels that have not begun.
    pub(crate) fn of(channels: impl IntoIterator<Item = &'static str>) -> Self {
        Self(channels.into_iter().map(|name| (name, ChannelStatus::default())).collect())
    }

    pub(crate) fn channel(&self, name: &str) -> Option<&ChannelStatus> {
        self.0.get(name)
    }

    /// Replaces that of a channel. Whether it differs.
    pub(crate) fn set(&mut self, name: &'static str, status: ChannelStatus) -> bool {
        self.0.insert(name, status.clone()) != Some(status)
    }

    /// Whether everything that could be sent was, and was confirmed, at least once since NGINX started.
    pub fn synced(&self) -> bool {
        self.0.values().all(|channel| channel.synced)
    }

    /// Hosts that wait for a reload, by number.
    pub fn held(&self) -> usize {
        self.0.values().map(|channel| channel.held).sum()
    }

    /// Profiles that NGINX's present records of these hosts use: they must stay until the new records are in.
    pub fn held_profiles(&self) -> impl Iterator<Item = (&Arc<str>, &BTreeSet<ProfileId>)> {
        self.0.values().flat_map(|channel| &channel.held_profiles)
    }

    /// Number of records for which NGINX has no room.
    pub fn without_room(&self) -> usize {
        self.0.values().map(|channel| channel.without_room.len()).sum()
    }
}
