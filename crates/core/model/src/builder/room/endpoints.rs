//! Endpoints that are held back: of the Services with most endpoints, in the namespaces above their share, the last ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::builder::Builder;
use crate::builder::built::Subject;
use crate::builder::state::set_if_changed;
use crate::key::{BackendId, ObjectRef};
use crate::live::{BackendRecord, bytes_of};
use crate::problem::{Problem, ProblemKind};
use crate::shares::{self, Claim, Resource, Weight};

impl Builder {
    /// Builds a backend that Ingresses refer to, with as many endpoints as it may have.
    pub(in crate::builder) fn put_backend(&mut self, id: &BackendId) {
        let Some(first) = self.state.backends.values(id).next().cloned() else { return };
        let (record, mut problems) = self.used_backend(id, &first);
        let key: Arc<str> = id.wire().into();
        let needs = bytes_of(&key, &record);
        let largest = Resource::Endpoints.largest();
        let claim = Claim { own: Weight::only(Resource::Endpoints, needs.min(largest)), ..Claim::default() };
        let too_large = Claim { own: Weight::only(Resource::Endpoints, needs), ..Claim::default() }.too_large();
        self.state.backend_shares.set(id, Some((needs, claim.into())));

        let level = self.state.levels.get(&id.service.namespace);
        let most = level.map_or(largest, |level| level.most.min(largest));
        let reason = level.filter(|level| level.most < largest).map(|level| level.reason.to_string()).or(too_large);
        let all = record.endpoints.len();
        let record = if needs > most { cut(record, &key, most) } else { Some(record) };
        let left = record.as_ref().map_or(0, |record| record.endpoints.len());
        if needs > most {
            problems.extend(reason.map(|reason| beyond(id, all, left, &reason)));
            self.state.cut_backends.insert(id.clone());
        } else {
            self.state.cut_backends.remove(id);
        }
        self.state.set_external_name(id, self.external_name(&id.service));
        self.state.set_problems(Subject::Backend(id.clone()), problems);
        match record {
            Some(record) => set_if_changed(&mut self.state.built.model.live.backends, &key, record),
            None => {
                self.state.built.model.live.backends.remove(&key);
            }
        }
    }

    /// Builds again what has another share now. Cost: nothing while everything fits, else the backends of the namespaces above their share.
    pub(in crate::builder) fn settle_endpoints(&mut self) {
        let state = &mut self.state;
        let capacity = shares::left_for_endpoints(&state.config, &state.capacity, &state.shares.asked());
        let levels = state.backend_shares.levels(Resource::Endpoints, &capacity);
        let before = std::mem::replace(&mut state.levels, levels);
        let most = |level: Option<&shares::Level>| level.map_or(u64::MAX, |level| level.most);
        let mut again = BTreeSet::new();
        for namespace in before.keys().chain(state.levels.keys()) {
            let (old, new) = (before.get(namespace), state.levels.get(namespace));
            if old != new {
                again.extend(state.backend_shares.larger(namespace, Resource::Endpoints, most(old).min(most(new))).cloned());
            }
        }
        again.iter().for_each(|id| self.put_backend(id));
    }
}

/// The backend with as many of its endpoints as there is room for. `None`: there is not even room for it without any.
fn cut(record: BackendRecord, key: &str, most: u64) -> Option<BackendRecord> {
    let with = |endpoints: usize| BackendRecord { endpoints: record.endpoints[..endpoints].to_vec(), ..record.clone() };
    let fits = |endpoints: usize| bytes_of(key, &with(endpoints)) <= most;
    let (mut fitting, mut beyond) = (0, record.endpoints.len());
    if !fits(fitting) {
        return None;
    }
    while beyond - fitting > 1 {
        let middle = usize::midpoint(fitting, beyond);
        if fits(middle) { fitting = middle } else { beyond = middle }
    }
    Some(with(fitting))
}

fn beyond(id: &BackendId, all: usize, left: usize, reason: &str) -> Problem {
    let instead = match left {
        0 => format!("requests for port {} get 503", id.port),
        _ => format!("of the {all} endpoints of port {} the first {left} get requests", id.port),
    };
    let object = ObjectRef::namespaced("Service", &id.service);
    Problem { object, field: String::new(), kind: ProblemKind::NoRoom, detail: format!("{reason}; {instead} until there is room") }
}
