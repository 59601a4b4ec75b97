//! The image of `make image`: its files, and what its configuration says.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Environment variable that names the directory of the unpacked image.
pub const IMAGE_ENV: &str = "NARTHEX_IMAGE_ROOT";
/// Beside that directory: the image as an archive, which has its configuration.
const ARCHIVE: &str = "narthex.tar";
/// Repositories whose images this is: by the first in our chart, by the other in the manifests of ingress-nginx.
const REPOSITORIES: [&str; 2] = ["narthex", "ingress-nginx/controller"];

/// An unpacked image.
#[derive(Debug)]
pub struct Image {
    pub(super) root: PathBuf,
    pub(super) config: ImageConfig,
}

/// The part of an image's configuration that decides how a container is started.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ImageConfig {
    pub(super) entrypoint: Option<Vec<String>>,
    pub(super) cmd: Option<Vec<String>>,
    pub(super) env: Option<Vec<String>>,
    /// `uid:gid`, as numbers.
    pub(super) user: String,
    pub(super) working_dir: String,
}

impl Image {
    /// The image that [`IMAGE_ENV`] names, if it names one.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_env() -> anyhow::Result<Option<Self>> {
        std::env::var_os(IMAGE_ENV).map(|root| Self::open(Path::new(&root))).transpose()
    }

    /// The image in a directory, with its archive beside it.
    ///
    /// # Errors
    /// One of both is not there, or is no image.
    pub fn open(root: &Path) -> anyhow::Result<Self> {
        let root = root.canonicalize().with_context(|| format!("{IMAGE_ENV}: directory {}", root.display()))?;
        let archive = root.with_file_name(ARCHIVE);
        let manifest: Vec<Manifest> = entry(&archive, "manifest.json")?;
        let name = &manifest.first().with_context(|| format!("{} has no image", archive.display()))?.config;
        let document: Document = entry(&archive, name)?;
        Ok(Self { root, config: document.config })
    }

    /// Whether a Pod is to be run from it: its first container's image is of one of our repositories.
    pub(super) fn runs(&self, pod: &Pod) -> bool {
        let first = pod.spec.as_ref().and_then(|spec| spec.containers.first());
        first.and_then(|container| container.image.as_deref()).is_some_and(is_ours)
    }

    /// Its user and group.
    pub(super) fn user(&self) -> Option<(u32, u32)> {
        let (user, group) = self.config.user.split_once(':')?;
        Some((user.parse().ok()?, group.parse().ok()?))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Manifest {
    config: String,
}

#[derive(Deserialize)]
struct Document {
    config: ImageConfig,
}

/// Whether a reference such as `registry.example.com/narthex:1@sha256:...` is of one of our repositories.
pub(super) fn is_ours(reference: &str) -> bool {
    let name = reference.split('@').next().unwrap_or_default();
    let (path, last) = name.rsplit_once('/').map_or(("", name), |(path, last)| (path, last));
    let last = last.split(':').next().unwrap_or_default();
    let repository = if path.is_empty() { last.to_owned() } else { format!("{path}/{last}") };
    REPOSITORIES.iter().any(|ours| repository == *ours || repository.ends_with(&format!("/{ours}")))
}

/// A JSON file of an archive.
fn entry<T: DeserializeOwned>(archive: &Path, name: &str) -> anyhow::Result<T> {
    let what = || format!("{name} of the image {}", archive.display());
    let output = Command::new("tar").arg("-xOf").arg(archive).arg(name).output().with_context(what)?;
    anyhow::ensure!(output.status.success(), "{}: {}", what(), String::from_utf8_lossy(&output.stderr).trim());
    serde_json::from_slice(&output.stdout).with_context(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_both_repositories_are_ours() {
        for ours in
            ["narthex:0.1.0", "registry.example.com:5000/tools/narthex", "registry.k8s.io/ingress-nginx/controller:v1.15.1@sha256:0123"]
        {
            assert!(is_ours(ours), "{ours}");
        }
        for other in ["echo", "registry.k8s.io/defaultbackend-amd64:1.5", "nginx/controller:1", "not-narthex:1"] {
            assert!(!is_ours(other), "{other}");
        }
    }

    #[test]
    fn the_archive_has_the_configuration() {
        let scratch = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(scratch.path().join(name), text).unwrap();
        write("manifest.json", r#"[{"Config": "a.json", "Layers": []}]"#);
        write("a.json", r#"{"config": {"User": "101:82", "Entrypoint": ["/usr/bin/a"], "Cmd": null, "WorkingDir": "/etc"}}"#);
        let archive = scratch.path().join(ARCHIVE);
        let tar = Command::new("tar").arg("-cf").arg(archive).arg("-C").arg(scratch.path()).args(["manifest.json", "a.json"]).status();
        assert!(tar.unwrap().success());
        std::fs::create_dir(scratch.path().join("root")).unwrap();
        let image = Image::open(&scratch.path().join("root")).unwrap();
        assert_eq!((image.user(), image.config.working_dir.as_str(), image.config.cmd.as_deref()), (Some((101, 82)), "/etc", None));
        assert_eq!(image.config.entrypoint, Some(vec!["/usr/bin/a".to_owned()]));
    }
}
