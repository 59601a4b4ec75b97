//! The environment of a container, and the fields of its Pod.

use std::net::Ipv4Addr;

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Container, EnvVar, Pod, Secret};
use kube::{Api, Client, ResourceExt};

/// The description of a Pod that its containers can ask for.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) pod: Pod,
    pub(super) address: Ipv4Addr,
    pub(super) node: Ipv4Addr,
    pub(super) node_name: String,
}

impl Facts {
    /// The value of a field path, as `fieldRef` has it.
    ///
    /// # Errors
    /// The field is none that a container can ask for.
    pub(super) fn field(&self, path: &str) -> anyhow::Result<String> {
        if let Some((map, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
            let map = match map {
                "metadata.labels" => self.pod.labels(),
                "metadata.annotations" => self.pod.annotations(),
                _ => bail!("field {path:?} is not supported"),
            };
            return Ok(map.get(key).cloned().unwrap_or_default());
        }
        let account = self.pod.spec.as_ref().and_then(|spec| spec.service_account_name.clone());
        Ok(match path {
            "metadata.name" => self.pod.name_any(),
            "metadata.namespace" => self.pod.namespace().unwrap_or_default(),
            "metadata.uid" => self.pod.uid().unwrap_or_default(),
            "spec.nodeName" => self.node_name.clone(),
            "spec.serviceAccountName" => account.unwrap_or_else(|| "default".to_owned()),
            "status.podIP" | "status.podIPs" => self.address.to_string(),
            "status.hostIP" | "status.hostIPs" => self.node.to_string(),
            _ => bail!("field {path:?} is not supported"),
        })
    }
}

/// The variables of a container behind those of its image; a later one replaces an earlier one.
///
/// # Errors
/// It refers to an object that is not there, or in a way that is not supported.
pub(super) async fn environment(
    client: &Client,
    facts: &Facts,
    container: &Container,
    mut env: Vec<(String, String)>,
) -> anyhow::Result<Vec<(String, String)>> {
    let namespace = facts.pod.namespace().unwrap_or_default();
    for source in container.env_from.iter().flatten() {
        let prefix = source.prefix.as_deref().unwrap_or_default();
        let pairs = if let Some(map) = &source.config_map_ref {
            config_map(client, &namespace, &map.name).await?.data.unwrap_or_default()
        } else if let Some(secret) = &source.secret_ref {
            let data = secret_data(client, &namespace, &secret.name).await?;
            data.into_iter().map(|(key, value)| (key, String::from_utf8_lossy(&value).into_owned())).collect()
        } else {
            bail!("a source of variables has neither configMapRef nor secretRef");
        };
        env.extend(pairs.into_iter().map(|(key, value)| (format!("{prefix}{key}"), value)));
    }
    for variable in container.env.iter().flatten() {
        if let Some(value) =
            value(client, facts, &namespace, variable, &env).await.with_context(|| format!("variable {}", variable.name))?
        {
            env.retain(|(name, _)| *name != variable.name);
            env.push((variable.name.clone(), value));
        }
    }
    Ok(env)
}

/// The value of a variable; `None`: what it refers to is optional and not there.
async fn value(
    client: &Client,
    facts: &Facts,
    namespace: &str,
    variable: &EnvVar,
    env: &[(String, String)],
) -> anyhow::Result<Option<String>> {
    let Some(from) = &variable.value_from else {
        return Ok(Some(expand(variable.value.as_deref().unwrap_or_default(), env)));
    };
    if let Some(field) = &from.field_ref {
        return facts.field(&field.field_path).map(Some);
    }
    if let Some(key) = &from.secret_key_ref {
        let data = secret_data(client, namespace, &key.name).await;
        let value = data.and_then(|mut data| data.remove(&key.key).with_context(|| format!("Secret {} has no key {}", key.name, key.key)));
        return optional(value.map(|value| String::from_utf8_lossy(&value).into_owned()), key.optional);
    }
    if let Some(key) = &from.config_map_key_ref {
        let map = config_map(client, namespace, &key.name).await.map(|map| map.data.unwrap_or_default());
        let value =
            map.and_then(|mut data| data.remove(&key.key).with_context(|| format!("ConfigMap {} has no key {}", key.name, key.key)));
        return optional(value, key.optional);
    }
    bail!("its source is not supported")
}

fn optional(value: anyhow::Result<String>, optional: Option<bool>) -> anyhow::Result<Option<String>> {
    if optional == Some(true) { Ok(value.ok()) } else { value.map(Some) }
}

async fn config_map(client: &Client, namespace: &str, name: &str) -> anyhow::Result<ConfigMap> {
    Api::namespaced(client.clone(), namespace).get(name).await.with_context(|| format!("ConfigMap {namespace}/{name}"))
}

async fn secret_data(client: &Client, namespace: &str, name: &str) -> anyhow::Result<std::collections::BTreeMap<String, Vec<u8>>> {
    let secret: Secret =
        Api::namespaced(client.clone(), namespace).get(name).await.with_context(|| format!("Secret {namespace}/{name}"))?;
    Ok(secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect())
}

/// Replaces each `$(NAME)` of a variable that exists; `$$` is a dollar sign.
pub(super) fn expand(text: &str, env: &[(String, String)]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            (out, rest) = (out + "$", after);
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match env.iter().rev().find(|(known, _)| known == name) {
                Some((_, value)) => out.push_str(value),
                None => out.push_str(&format!("$({name})")),
            }
            rest = after;
        } else {
            out.push('$');
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_as_kubernetes_does() {
        let env = [("A".to_owned(), "1".to_owned())];
        for (text, expected) in
            [("$(A)/$(B)", "1/$(B)"), ("$$(A) $A $", "$(A) $A $"), ("--x=$(A)$(A)", "--x=11"), ("none", "none"), ("$(A", "$(A")]
        {
            assert_eq!(expand(text, &env), expected);
        }
    }

    #[test]
    fn fields_are_those_of_the_pod() {
        let pod = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "a", "namespace": "b", "labels": {"app": "shop"}}, "spec": {"containers": []},
        }));
        let facts =
            Facts { pod: pod.unwrap(), address: [10, 77, 16, 1].into(), node: [10, 77, 1, 11].into(), node_name: "node-1".to_owned() };
        for (path, expected) in [
            ("metadata.name", "a"),
            ("metadata.labels['app']", "shop"),
            ("metadata.annotations['x']", ""),
            ("status.podIP", "10.77.16.1"),
            ("spec.serviceAccountName", "default"),
        ] {
            assert_eq!(facts.field(path).unwrap(), expected, "{path}");
        }
        assert!(facts.field("spec.priority").unwrap_err().to_string().contains("spec.priority"));
    }
}
