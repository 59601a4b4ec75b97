//! What a controller leaves behind in a cluster, removed after its end: the addresses in the status of Ingresses, and its Lease.
//!
//! A controller does that itself as long as it has the rights; where its installation is deleted as a whole, they go before its Pods have ended.

use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client};
use model::ObjectKey;

use crate::edit::{EditError, PAGE, refused};
use crate::status::{PARALLEL, Pen, manager};

/// The field of a status with the addresses, as `managedFields` have it.
const ADDRESSES: &str = "/f:status/f:loadBalancer/f:ingress";

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaned {
    /// Statuses that were emptied.
    pub emptied: usize,
    /// Statuses that could not be; the log says why.
    pub failed: usize,
}

/// Empties each status that a holder of `lease` was the last to write, in `watched` or in all namespaces, and deletes the Lease.
/// Done while such a controller runs, it is undone by it.
///
/// # Errors
/// Ingresses can't be listed, or the Lease can't be deleted.
pub async fn clean_up(client: Client, lease: &ObjectKey, watched: Option<&str>) -> Result<Cleaned, EditError> {
    let manager = manager(lease);
    let written = written_by(&client, &manager, watched).await?;
    let pen = Pen::new(client.clone(), manager);
    let outcomes = futures::stream::iter(&written).map(|key| {
        let pen = pen.clone();
        async move {
            let outcome = pen.write(key, &[]).await;
            if let Err(error) = &outcome {
                tracing::warn!(ingress = %key, error, "the status can't be emptied");
            }
            outcome.is_ok()
        }
    });
    let emptied = outcomes.buffer_unordered(PARALLEL).filter(|done| std::future::ready(*done)).count().await;
    // Last: if it is there, there is more to be done.
    if emptied == written.len() {
        delete(client, lease).await?;
    }
    Ok(Cleaned { emptied, failed: written.len() - emptied })
}

/// The Ingresses whose addresses `manager` wrote.
async fn written_by(client: &Client, manager: &str, watched: Option<&str>) -> Result<Vec<ObjectKey>, EditError> {
    let api: Api<Ingress> = match watched {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let mut found = Vec::new();
    let mut page = ListParams { limit: Some(PAGE), ..ListParams::default() };
    loop {
        let list = api.list_metadata(&page).await.map_err(|error| refused("list Ingresses", error))?;
        let ours = list.items.into_iter().map(|object| object.metadata).filter(|meta| is_last_writer(manager, meta));
        found.extend(ours.map(|meta| ObjectKey::new(meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default())));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page.continue_token = Some(token),
            None => return Ok(found),
        }
    }
}

/// Whether `manager` was the last to write the addresses of an Ingress.
fn is_last_writer(manager: &str, meta: &ObjectMeta) -> bool {
    meta.managed_fields.iter().flatten().any(|entry| {
        entry.manager.as_deref() == Some(manager) && entry.fields_v1.as_ref().is_some_and(|fields| fields.0.pointer(ADDRESSES).is_some())
    })
}

async fn delete(client: Client, lease: &ObjectKey) -> Result<(), EditError> {
    let api: Api<Lease> = Api::namespaced(client, &lease.namespace);
    match api.delete(&lease.name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        outcome => outcome.map(drop).map_err(|error| refused(&format!("delete Lease {lease}"), error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(manager: &str, fields: Value) -> ObjectMeta {
        let entry =
            json!({"manager": manager, "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": fields});
        serde_json::from_value(json!({"managedFields": [{"manager": "kubectl"}, entry]})).unwrap()
    }

    #[test]
    fn the_last_writer_of_addresses_is_the_manager_of_that_field() {
        let ours = manager(&ObjectKey::new("ingress", "leader"));
        let addresses = json!({"f:status": {"f:loadBalancer": {"f:ingress": {}}}});
        assert!(is_last_writer(&ours, &written(&ours, addresses.clone())));
        assert!(!is_last_writer(&ours, &written(&ours, json!({"f:status": {"f:loadBalancer": {}}}))), "emptied");
        assert!(!is_last_writer(&ours, &written(&manager(&ObjectKey::new("ingress", "other")), addresses)));
        assert!(!is_last_writer(&ours, &ObjectMeta::default()));
    }

    #[test]
    fn the_name_of_a_manager_is_not_too_long_for_the_api_server() {
        assert_eq!(manager(&ObjectKey::new("ingress", "leader")), "narthex:ingress/leader");
        assert_eq!(manager(&ObjectKey::new("ingress", "x".repeat(253))).len(), 128);
    }
}
