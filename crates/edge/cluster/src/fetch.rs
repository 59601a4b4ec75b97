//! Fetching single objects: Secrets and ConfigMaps that something newly refers to.
//!
//! By a list with a field selector, not by GET: watching takes the rights `list` and `watch`, and the ClusterRole of ingress-nginx grants no other.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ListParams;
use kube::{Api, Client};
use model::ObjectKey;

use crate::backoff::{Backoff, Retry};
use crate::chain::chain;
use crate::decode::Fetched;
use crate::kinds::Watched;

/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The right to one object's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) key: ObjectKey,
    pub(crate) number: u64,
}

/// An object to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    Secret(Ticket),
    ConfigMap(Ticket),
}

/// The result.
#[derive(Debug)]
pub(crate) enum FetchAnswer {
    Secret(Ticket, FetchOutcome<Secret>),
    ConfigMap(Ticket, FetchOutcome<ConfigMap>),
}

/// The answer of the server.
#[derive(Debug)]
pub(crate) enum FetchOutcome<K> {
    /// Here it is.
    Present(Fetched<K>),
    /// There is no such object.
    Absent,
    /// We may not read it.
    Refused,
}

impl FetchAnswer {
    /// The request to repeat when the server refused.
    pub(crate) fn refused(&self) -> Option<Request> {
        match self {
            Self::Secret(ticket, FetchOutcome::Refused) => Some(Request::Secret(ticket.clone())),
            Self::ConfigMap(ticket, FetchOutcome::Refused) => Some(Request::ConfigMap(ticket.clone())),
            _ => None,
        }
    }
}

/// Fetches, again and again until the server gives an answer.
pub(crate) async fn fetch(client: Client, request: Request, retry: Retry) -> FetchAnswer {
    match request {
        Request::Secret(ticket) => {
            let outcome = find::<Secret>(client, &ticket.key, retry).await;
            FetchAnswer::Secret(ticket, outcome)
        }
        Request::ConfigMap(ticket) => {
            let outcome = find::<ConfigMap>(client, &ticket.key, retry).await;
            FetchAnswer::ConfigMap(ticket, outcome)
        }
    }
}

async fn find<K: Watched<Key = ObjectKey>>(client: Client, key: &ObjectKey, retry: Retry) -> FetchOutcome<K> {
    // A name that no object can have would make another selector.
    if !is_name(&key.name) || !is_name(&key.namespace) {
        return FetchOutcome::Absent;
    }
    let api: Api<Fetched<K>> = K::api(client, Some(&key.namespace));
    let params = ListParams::default().fields(&format!("metadata.name={}", key.name)).limit(1);
    let mut backoff = Backoff::new(retry);
    loop {
        match tokio::time::timeout(TIMEOUT, api.list(&params)).await {
            Ok(Ok(found)) => return found.items.into_iter().next().map_or(FetchOutcome::Absent, FetchOutcome::Present),
            Ok(Err(kube::Error::Api(status))) if status.is_forbidden() => {
                tracing::warn!(kind = %K::KIND, %key, error = %status.message, "may not be read; it is treated as absent");
                return FetchOutcome::Refused;
            }
            // A namespace that can't be.
            Ok(Err(kube::Error::BuildRequest(_))) => return FetchOutcome::Absent,
            Ok(Err(error)) => tracing::debug!(kind = %K::KIND, %key, error = chain(&error), "fetching failed"),
            Err(_) => tracing::debug!(kind = %K::KIND, %key, "fetching took too long"),
        }
        tokio::time::sleep(backoff.next()).await;
    }
}

/// Whether an object can have this name: a DNS subdomain.
fn is_name(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
    !text.is_empty() && text.len() <= 253 && text.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Fake, secret};

    async fn found(fake: &Fake, name: &str) -> FetchOutcome<Secret> {
        find::<Secret>(fake.client().await, &ObjectKey::new("shop", name), Retry::default()).await
    }

    #[tokio::test]
    async fn objects_are_found_with_the_right_to_list_alone() {
        let fake = Fake::start().await;
        for name in ["a", "b", "c", "d", "e", "wanted"] {
            fake.put("secrets", secret(name, "YQ=="));
        }
        fake.put("secrets", json!({"metadata": {"namespace": "other", "name": "foreign"}}));
        let FetchOutcome::Present(Fetched::Good(slim)) = found(&fake, "wanted").await else { panic!("it is not found") };
        assert_eq!(slim.meta.name.as_deref(), Some("wanted"));
        assert!(matches!(found(&fake, "foreign").await, FetchOutcome::Absent));
        assert_eq!(fake.requests("/secrets/"), 0, "no single object is asked for");
    }

    #[tokio::test]
    async fn a_name_that_no_object_can_have_is_not_asked_for() {
        let fake = Fake::start().await;
        fake.put("secrets", secret("a", "YQ=="));
        for name in ["", "a,metadata.namespace=shop", "A", "a/b", "a b"] {
            assert!(matches!(found(&fake, name).await, FetchOutcome::Absent), "{name:?}");
        }
        assert_eq!(fake.requests("secrets"), 0);
    }

    #[tokio::test]
    async fn a_missing_right_is_known_as_such() {
        let fake = Fake::start().await;
        fake.fault("secrets", 403);
        assert!(matches!(found(&fake, "a").await, FetchOutcome::Refused));
    }
}
