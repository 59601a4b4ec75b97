//! Fetching single objects: Secrets and ConfigMaps that something newly refers to.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
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
            let outcome = get::<Secret>(client, &ticket.key, retry).await;
            FetchAnswer::Secret(ticket, outcome)
        }
        Request::ConfigMap(ticket) => {
            let outcome = get::<ConfigMap>(client, &ticket.key, retry).await;
            FetchAnswer::ConfigMap(ticket, outcome)
        }
    }
}

async fn get<K: Watched<Key = ObjectKey>>(client: Client, key: &ObjectKey, retry: Retry) -> FetchOutcome<K> {
    let api: Api<Fetched<K>> = K::api(client, Some(&key.namespace));
    let mut backoff = Backoff::new(retry);
    loop {
        match tokio::time::timeout(TIMEOUT, api.get_opt(&key.name)).await {
            Ok(Ok(Some(object))) => return FetchOutcome::Present(object),
            Ok(Ok(None)) => return FetchOutcome::Absent,
            Ok(Err(kube::Error::Api(status))) if status.is_forbidden() => {
                tracing::warn!(kind = %K::KIND, %key, error = %status.message, "may not be read; it is treated as absent");
                return FetchOutcome::Refused;
            }
            // A name that no object can have.
            Ok(Err(kube::Error::BuildRequest(_))) => return FetchOutcome::Absent,
            Ok(Err(error)) => tracing::debug!(kind = %K::KIND, %key, error = chain(&error), "fetching failed"),
            Err(_) => tracing::debug!(kind = %K::KIND, %key, "fetching took too long"),
        }
        tokio::time::sleep(backoff.next()).await;
    }
}
