//! Objects and records in a cluster. A record is a ConfigMap, and maybe a file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cluster::{EditError, Editor};
use k8s_openapi::api::core::v1::ConfigMap;
use migrate::switch::decide::Found;
use migrate::switch::plan::value_of;
use migrate::switch::port::{ObjectClient, Trouble};
use migrate::switch::record::{Entry, Goal, Kind, Record};
use model::ObjectKey;
use ngx_proc::files;
use serde_json::{Value, json};

use crate::output;

/// The prefix of the names of records.
const PREFIX: &str = "narthex-switch-";
/// Label of records, and its value.
const LABEL: &str = "narthex.io/record";
const SWITCH: &str = "switch";
/// Key of the record in its ConfigMap.
const KEY: &str = "record.json";

/// The cluster as a switch sees it.
pub(super) struct KubeObjectClient {
    editor: Editor,
    namespace: String,
    file: Option<PathBuf>,
    /// `resourceVersion` of the record as it was last read or written: no other client's write is overwritten.
    version: Option<String>,
    /// ConfigMaps may not be written; the file is all there is.
    file_only: bool,
}

impl KubeObjectClient {
    /// Records are in this namespace, and in this file.
    pub(super) fn new(editor: Editor, namespace: &str, file: Option<PathBuf>) -> Self {
        Self { editor, namespace: namespace.to_owned(), file, version: None, file_only: false }
    }

    /// The place of the record of this id, for people.
    pub(super) fn place(&self, id: &str) -> String {
        let map = format!("ConfigMap {}/{PREFIX}{id}", self.namespace);
        match &self.file {
            Some(file) => format!("{map} and {}", file.display()),
            None => map,
        }
    }

    /// The newest record with this goal that is not finished.
    pub(super) async fn open(&mut self, goal: &Goal) -> anyhow::Result<Option<Record>> {
        let found = self.all().await?;
        let newest = found.into_iter().filter(|(record, _)| record.is_open() && record.goal == *goal).max_by(|a, b| a.0.id.cmp(&b.0.id));
        Ok(newest.map(|(record, version)| {
            self.version = version;
            record
        }))
    }

    /// `true` if a switch with this goal is recorded, finished or not.
    pub(super) async fn knows(&mut self, goal: &Goal) -> anyhow::Result<bool> {
        Ok(self.all().await?.iter().any(|(record, _)| record.goal == *goal))
    }

    /// The record of this id, or the newest for an empty one: from the cluster, else from the file.
    pub(super) async fn load(&mut self, id: &str) -> anyhow::Result<Option<Record>> {
        let found = self.all().await?;
        let wanted = found.into_iter().filter(|(record, _)| id.is_empty() || record.id == id).max_by(|a, b| a.0.id.cmp(&b.0.id));
        if let Some((record, version)) = wanted {
            self.version = version;
            return Ok(Some(record));
        }
        let Some(file) = self.file.as_deref().filter(|file| file.exists()) else { return Ok(None) };
        let text = std::fs::read_to_string(file).with_context(|| format!("--record {}", file.display()))?;
        let record: Record =
            serde_json::from_str(&text).with_context(|| format!("--record {} is no record of a switch", file.display()))?;
        Ok(Some(record).filter(|record| id.is_empty() || record.id == id))
    }

    async fn all(&mut self) -> anyhow::Result<Vec<(Record, Option<String>)>> {
        let maps = match self.editor.config_maps(&self.namespace, &format!("{LABEL}={SWITCH}")).await {
            Err(error) if error.code() == Some(403) && self.file.is_some() => {
                self.file_only = true;
                return Ok(self.in_file());
            }
            maps => maps.context("records of switches")?,
        };
        Ok(maps
            .into_iter()
            .filter_map(|map| Some((serde_json::from_str(map.data?.get(KEY)?).ok()?, map.metadata.resource_version)))
            .collect())
    }

    fn in_file(&self) -> Vec<(Record, Option<String>)> {
        let text = self.file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        text.and_then(|text| serde_json::from_str(&text).ok()).map(|record| (record, None)).into_iter().collect()
    }

    async fn save_map(&mut self, id: &str, text: &str) -> Result<(), Trouble> {
        let key = ObjectKey::new(self.namespace.as_str(), format!("{PREFIX}{id}"));
        let labels = [(LABEL, SWITCH), ("app.kubernetes.io/managed-by", "narthex")];
        let mut map = ConfigMap { data: Some(BTreeMap::from([(KEY.to_owned(), text.to_owned())])), ..ConfigMap::default() };
        map.metadata.name = Some(key.name.to_string());
        map.metadata.labels = Some(labels.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        map.metadata.resource_version = self.version.clone();
        match self.editor.write_config_map(&key, &map).await {
            Ok(written) => {
                self.version = written.metadata.resource_version;
                Ok(())
            }
            Err(error) if error.code() == Some(403) && self.file.is_some() && self.version.is_none() => {
                output::remark(format_args!("narthex: note: {error}; the record is only in the file"));
                self.file_only = true;
                Ok(())
            }
            Err(error) if error.code() == Some(409) => {
                let message = format!("{error}: another run of `narthex switch` has it; nothing more is moved by this one");
                Err(Trouble { message, stale: false })
            }
            Err(error) => Err(trouble(&error)),
        }
    }
}

fn trouble(error: &EditError) -> Trouble {
    // Not found, another client's change, or a failed test of the patch.
    let stale = matches!(error.code(), Some(404 | 409 | 422));
    Trouble { message: error.to_string(), stale }
}

impl ObjectClient for KubeObjectClient {
    async fn find(&mut self, entry: &Entry) -> Result<Option<Found>, Trouble> {
        let key = entry.key();
        let object = match entry.kind {
            Kind::Ingress => self.editor.ingress(&key).await.map(|found| found.map(|object| json!(object))),
            Kind::Service => self.editor.service(&key).await.map(|found| found.map(|object| json!(object))),
        };
        let object = object.map_err(|error| trouble(&error))?;
        Ok(object.map(|object| {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            Found {
                uid: text("/metadata/uid"),
                version: text("/metadata/resourceVersion"),
                value: value_of(entry.field, &object),
                annotated: object.pointer("/metadata/annotations").is_some(),
            }
        }))
    }

    async fn patch(&mut self, entry: &Entry, patch: &Value) -> Result<(), Trouble> {
        let key = entry.key();
        let patched = match entry.kind {
            Kind::Ingress => self.editor.patch_ingress(&key, patch).await.map(drop),
            Kind::Service => self.editor.patch_service(&key, patch).await.map(drop),
        };
        patched.map_err(|error| trouble(&error))
    }

    async fn save(&mut self, record: &Record) -> Result<(), Trouble> {
        let text = record.json().map_err(|error| Trouble { message: error.to_string(), stale: false })?;
        if let Some(file) = &self.file {
            let written = write(file, &text);
            written.map_err(|error| Trouble { message: format!("--record {}: {error}", file.display()), stale: false })?;
        }
        if self.file_only { Ok(()) } else { self.save_map(&record.id, &text).await }
    }
}

/// Whole or not at all: what was there before stays until the new text is on the disk.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    files::replace(file, files::hidden_name(""), |directory, name| {
        let mut new = files::create(directory, name, 0o666)?;
        new.write_all(text.as_bytes())?;
        new.sync_all()
    })
}
