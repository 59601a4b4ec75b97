//! The OCI specification of a container.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use k8s_openapi::api::core::v1::{Capabilities, Container, PodSpec};
use serde_json::{Value, json};

use crate::kubelet::image::Image;

/// Capabilities of a container that says nothing about them.
const CAPABILITIES: [&str; 14] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// A mount: source on the Node, path in the container, read-only or not.
#[derive(Debug, Clone)]
pub(in crate::kubelet) struct Mount {
    pub(in crate::kubelet) source: PathBuf,
    pub(in crate::kubelet) path: String,
    pub(in crate::kubelet) read_only: bool,
}

/// The parts of a specification that do not come from the container's own object.
pub(in crate::kubelet) struct Surroundings<'a> {
    pub(in crate::kubelet) image: &'a Image,
    pub(in crate::kubelet) pod: &'a PodSpec,
    pub(in crate::kubelet) hostname: &'a str,
    pub(in crate::kubelet) network: &'a Path,
    /// Command and arguments, expanded.
    pub(in crate::kubelet) arguments: Vec<String>,
    pub(in crate::kubelet) env: &'a [(String, String)],
    pub(in crate::kubelet) mounts: &'a [Mount],
}

/// The user and group of a container.
///
/// # Errors
/// It must not run as root and would.
pub(in crate::kubelet) fn user(image: &Image, pod: &PodSpec, container: &Container) -> anyhow::Result<(u32, u32)> {
    let (own, general) = (container.security_context.as_ref(), pod.security_context.as_ref());
    let number = |own: Option<i64>, general: Option<i64>| own.or(general).and_then(|id| u32::try_from(id).ok());
    let of_image = image.user().unwrap_or_default();
    let user = number(own.and_then(|own| own.run_as_user), general.and_then(|all| all.run_as_user)).unwrap_or(of_image.0);
    let group = number(own.and_then(|own| own.run_as_group), general.and_then(|all| all.run_as_group));
    let non_root = own.and_then(|own| own.run_as_non_root).or(general.and_then(|all| all.run_as_non_root));
    ensure!(user != 0 || non_root != Some(true), "container {} has runAsNonRoot and would run as root", container.name);
    Ok((user, group.unwrap_or(if user == of_image.0 { of_image.1 } else { 0 })))
}

/// Whether its root can't be written to.
pub(in crate::kubelet) fn read_only_root(container: &Container) -> bool {
    container.security_context.as_ref().and_then(|context| context.read_only_root_filesystem).unwrap_or(false)
}

/// The specification; its root is `rootfs` beside it. Control groups and seccomp profiles are not applied.
///
/// # Errors
/// As [`user`].
pub(in crate::kubelet) fn specification(around: &Surroundings<'_>, container: &Container) -> anyhow::Result<Value> {
    let (uid, gid) = user(around.image, around.pod, container)?;
    let context = container.security_context.as_ref();
    let capabilities = capabilities(context.and_then(|context| context.capabilities.as_ref()));
    let no_new_privileges = context.and_then(|context| context.allow_privilege_escalation) == Some(false);
    let directory = container.working_dir.clone().unwrap_or_else(|| around.image.config.working_dir.clone());
    let env: Vec<String> = around.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let root = if read_only_root(container) { around.image.root.display().to_string() } else { "rootfs".to_owned() };
    Ok(json!({
        "ociVersion": "1.0.2",
        "hostname": around.hostname,
        "root": {"path": root, "readonly": read_only_root(container)},
        "process": {
            "user": {"uid": uid, "gid": gid},
            "args": around.arguments,
            "env": env,
            "cwd": if directory.is_empty() { "/".to_owned() } else { directory },
            "noNewPrivileges": no_new_privileges,
            "capabilities": {"bounding": capabilities, "permitted": capabilities, "effective": capabilities},
        },
        "mounts": mounts(around.mounts),
        "linux": {"namespaces": [
            {"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}, {"type": "network", "path": around.network},
        ]},
    }))
}

fn mounts(own: &[Mount]) -> Vec<Value> {
    let mut mounts = vec![
        json!({"type": "proc", "source": "proc", "destination": "/proc"}),
        json!({"type": "tmpfs", "source": "tmpfs", "destination": "/dev", "options": ["nosuid", "mode=755"]}),
        json!({"type": "tmpfs", "source": "shm", "destination": "/dev/shm", "options": ["nosuid", "nodev", "noexec", "mode=1777"]}),
    ];
    mounts.extend(own.iter().map(|mount| {
        let mode = if mount.read_only { "ro" } else { "rw" };
        json!({"type": "bind", "source": mount.source, "destination": mount.path, "options": ["rbind", mode]})
    }));
    mounts
}

/// The usual ones without what is dropped, and what is added.
fn capabilities(asked: Option<&Capabilities>) -> Vec<String> {
    let list = |names: Option<&Vec<String>>| names.cloned().unwrap_or_default();
    let (add, drop) = asked.map(|asked| (list(asked.add.as_ref()), list(asked.drop.as_ref()))).unwrap_or_default();
    let has = |names: &[String], name: &str| names.iter().any(|listed| listed == "ALL" || listed == name);
    let mut names: Vec<String> = CAPABILITIES.iter().filter(|name| !has(&drop, name)).map(|name| (*name).to_owned()).collect();
    names.extend(add);
    names.sort();
    names.dedup();
    names.iter().map(|name| format!("CAP_{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet::image::ImageConfig;

    fn container(security: Value) -> Container {
        serde_json::from_value(json!({"name": "controller", "securityContext": security})).unwrap()
    }

    fn image() -> Image {
        Image {
            root: "/image".into(),
            config: ImageConfig { user: "101:82".to_owned(), working_dir: "/etc/nginx".into(), ..Default::default() },
        }
    }

    #[test]
    fn rights_are_those_of_the_security_context() {
        let strict = container(json!({
            "runAsNonRoot": true, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        }));
        let (image, pod) = (image(), PodSpec::default());
        let around = Surroundings {
            image: &image,
            pod: &pod,
            hostname: "a",
            network: Path::new("/proc/1/fd/3"),
            arguments: vec!["/a".to_owned()],
            env: &[("A".to_owned(), "1".to_owned())],
            mounts: &[],
        };
        let spec = specification(&around, &strict).unwrap();
        assert_eq!(spec["root"], json!({"path": "/image", "readonly": true}));
        let process = &spec["process"];
        assert_eq!((&process["user"], &process["cwd"]), (&json!({"uid": 101, "gid": 82}), &json!("/etc/nginx")));
        assert_eq!((&process["noNewPrivileges"], &process["capabilities"]["bounding"]), (&json!(true), &json!(["CAP_NET_BIND_SERVICE"])));
        let spec = specification(&around, &container(json!({}))).unwrap();
        assert_eq!(spec["root"]["path"], "rootfs");
        assert_eq!(spec["process"]["capabilities"]["bounding"].as_array().unwrap().len(), CAPABILITIES.len());
    }

    #[test]
    fn root_is_refused_where_it_must_not_be() {
        let root = container(json!({"runAsNonRoot": true, "runAsUser": 0}));
        assert!(user(&image(), &PodSpec::default(), &root).unwrap_err().to_string().contains("runAsNonRoot"));
        let other = container(json!({"runAsUser": 1000}));
        assert_eq!(user(&image(), &PodSpec::default(), &other).unwrap(), (1000, 0));
    }
}
