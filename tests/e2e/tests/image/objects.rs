//! Every object of a control plane.

use std::collections::BTreeSet;

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, verbs};
use kube::{Api, Client, ResourceExt};

/// Kinds that are left out: records of what happened, which go by themselves after an hour.
const RECORDS: [&str; 1] = ["Event"];

/// Every object of every kind that can be listed: `Kind namespace/name`.
pub(crate) async fn all(client: &Client) -> anyhow::Result<BTreeSet<String>> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let mut found = BTreeSet::new();
    for group in discovery.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            if capabilities.supports_operation(verbs::LIST) && !RECORDS.contains(&resource.kind.as_str()) {
                found.extend(of(client, &resource).await?);
            }
        }
    }
    Ok(found)
}

async fn of(client: &Client, resource: &ApiResource) -> anyhow::Result<Vec<String>> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let list = api.list_metadata(&ListParams::default()).await?;
    let name = |object: &kube::core::PartialObjectMeta<DynamicObject>| {
        format!("{} {}/{}", resource.kind, object.namespace().unwrap_or_default(), object.name_any())
    };
    Ok(list.items.iter().map(name).collect())
}
