//! The volumes of a Pod with containers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, DownwardAPIVolumeFile, KeyToPath, Secret, ServiceAccount, Volume, VolumeProjection};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::environment::Facts;
use crate::mounted::Mounted;

/// The directory in containers that has the token of the ServiceAccount.
pub(super) const TOKEN_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The name of the volume with the token.
pub(super) const TOKEN_VOLUME: &str = "kube-api-access";
/// Validity of a token; no Pod of a test lives longer.
const VALID_SECONDS: i64 = 3607;
/// The ConfigMap of each namespace with the API server's authority.
const ROOT_CA: &str = "kube-root-ca.crt";

type Files = Vec<(String, Vec<u8>)>;

/// The makings of a Pod's volumes.
pub(super) struct Volumes<'a> {
    pub(super) client: &'a Client,
    pub(super) facts: &'a Facts,
    /// Directory of them all.
    pub(super) directory: PathBuf,
    /// The user that reads the token; others can't.
    pub(super) user: u32,
}

impl Volumes<'_> {
    /// Makes all of them; the directories by the volumes' names. What is there already is written again.
    ///
    /// # Errors
    /// One refers to what is not there (yet), or is of a kind that is not supported.
    pub(super) async fn make(&self) -> anyhow::Result<BTreeMap<String, PathBuf>> {
        let spec = self.facts.pod.spec.as_ref().context("a Pod has a spec")?;
        let mut made = BTreeMap::new();
        for volume in spec.volumes.iter().flatten() {
            let directory = self.directory.join(&volume.name);
            fs::create_dir_all(&directory)?;
            self.fill(volume, &directory).await.with_context(|| format!("volume {}", volume.name))?;
            made.insert(volume.name.clone(), directory);
        }
        if self.mounts_token().await? {
            let directory = self.directory.join(TOKEN_VOLUME);
            fs::create_dir_all(&directory)?;
            let mut files = vec![("token".to_owned(), self.token(None).await?)];
            files.push(("namespace".to_owned(), self.namespace().into_bytes()));
            files.extend(self.config_map(ROOT_CA, None).await?);
            self.write(&directory, &files, true)?;
            made.insert(TOKEN_VOLUME.to_owned(), directory);
        }
        Ok(made)
    }

    fn namespace(&self) -> String {
        self.facts.pod.namespace().unwrap_or_default()
    }

    fn account(&self) -> String {
        let account = self.facts.pod.spec.as_ref().and_then(|spec| spec.service_account_name.clone());
        account.unwrap_or_else(|| "default".to_owned())
    }

    /// Whether the token is mounted without being asked for: the part of the admission plugin that the bed goes without.
    async fn mounts_token(&self) -> anyhow::Result<bool> {
        let own = self.facts.pod.spec.as_ref().and_then(|spec| spec.automount_service_account_token);
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace());
        let name = self.account();
        let account = api.get(&name).await.with_context(|| format!("ServiceAccount {name}"))?;
        Ok(own.or(account.automount_service_account_token).unwrap_or(true))
    }

    async fn fill(&self, volume: &Volume, directory: &Path) -> anyhow::Result<()> {
        if volume.empty_dir.is_some() {
            return fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).context("permissions");
        }
        let optional = |files: anyhow::Result<Files>, optional: Option<bool>| {
            if optional == Some(true) { Ok(files.unwrap_or_default()) } else { files }
        };
        let (files, token) = if let Some(map) = &volume.config_map {
            (optional(self.config_map(&map.name, map.items.as_deref()).await, map.optional)?, false)
        } else if let Some(secret) = &volume.secret {
            let name = secret.secret_name.as_deref().unwrap_or_default();
            (optional(self.secret(name, secret.items.as_deref()).await, secret.optional)?, false)
        } else if let Some(api) = &volume.downward_api {
            (self.downward(api.items.as_deref().unwrap_or_default())?, false)
        } else if let Some(projected) = &volume.projected {
            let mut files = Files::new();
            for source in projected.sources.iter().flatten() {
                files.extend(self.projection(source).await?);
            }
            (files, true)
        } else {
            bail!("its kind is not supported");
        };
        self.write(directory, &files, token)
    }

    async fn projection(&self, source: &VolumeProjection) -> anyhow::Result<Files> {
        if let Some(token) = &source.service_account_token {
            return Ok(vec![(token.path.clone(), self.token(token.audience.as_deref()).await?)]);
        }
        if let Some(map) = &source.config_map {
            return self.config_map(&map.name, map.items.as_deref()).await;
        }
        if let Some(secret) = &source.secret {
            return self.secret(&secret.name, secret.items.as_deref()).await;
        }
        let api = source.downward_api.as_ref().context("a source is not supported")?;
        self.downward(api.items.as_deref().unwrap_or_default())
    }

    async fn config_map(&self, name: &str, items: Option<&[KeyToPath]>) -> anyhow::Result<Files> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace());
        let map = api.get(name).await.with_context(|| format!("ConfigMap {name}"))?;
        let text = map.data.into_iter().flatten().map(|(key, value)| (key, value.into_bytes()));
        choose(text.chain(map.binary_data.into_iter().flatten().map(|(key, value)| (key, value.0))).collect(), items)
    }

    async fn secret(&self, name: &str, items: Option<&[KeyToPath]>) -> anyhow::Result<Files> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace());
        let secret = api.get(name).await.with_context(|| format!("Secret {name}"))?;
        choose(secret.data.into_iter().flatten().map(|(key, value)| (key, value.0)).collect(), items)
    }

    fn downward(&self, items: &[DownwardAPIVolumeFile]) -> anyhow::Result<Files> {
        let mut files = Files::new();
        for item in items {
            let field = item.field_ref.as_ref().with_context(|| format!("{}: only fields are supported", item.path))?;
            files.push((item.path.clone(), self.facts.field(&field.field_path)?.into_bytes()));
        }
        Ok(files)
    }

    async fn token(&self, audience: Option<&str>) -> anyhow::Result<Vec<u8>> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "name": self.facts.pod.name_any(), "uid": self.facts.pod.uid()});
        let audiences: Vec<&str> = audience.into_iter().collect();
        let spec = json!({"audiences": audiences, "expirationSeconds": VALID_SECONDS, "boundObjectRef": pod});
        let request: TokenRequest = serde_json::from_value(json!({"spec": spec}))?;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace());
        let granted = accounts.create_token_request(&self.account(), &Default::default(), &request).await;
        let status = granted.with_context(|| format!("token of {}", self.account()))?.status.context("a granted token has a status")?;
        Ok(status.token.into_bytes())
    }

    /// Writes the files of a volume; those of one with a token are for the container's user alone.
    fn write(&self, directory: &Path, files: &Files, token: bool) -> anyhow::Result<()> {
        let named: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (name.as_str(), text.as_slice())).collect();
        Mounted::new(directory).write(&named)?;
        if token {
            for (name, _) in files {
                let path = directory.join("..data").join(name);
                chown(&path, Some(self.user), None).with_context(|| format!("owner of {}", path.display()))?;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            }
        }
        Ok(())
    }
}

/// All files by their keys, or those of `items` by their paths.
fn choose(mut all: BTreeMap<String, Vec<u8>>, items: Option<&[KeyToPath]>) -> anyhow::Result<Files> {
    let Some(items) = items else { return Ok(all.into_iter().collect()) };
    let chosen = items.iter().map(|item| Ok((item.path.clone(), all.remove(&item.key).with_context(|| format!("no key {}", item.key))?)));
    chosen.collect()
}
