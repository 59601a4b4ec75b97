//! Pods of the image, and what can be known of them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use e2e::Case;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ListParams;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::bed::Bed;
use testkit::kubelet::IMAGE_ENV;
use testkit::poll_every;

/// Longest time of a rollout: probes wait, old Pods finish what is open.
const ROLLOUT: Duration = Duration::from_secs(300);
const INTERVAL: Duration = Duration::from_millis(250);

/// A case in a control plane of its own; none without the image.
#[expect(clippy::print_stderr, reason = "the message of a test that is skipped")]
pub(crate) async fn case(id: &str) -> anyhow::Result<Option<Case>> {
    if std::env::var_os(IMAGE_ENV).is_none() {
        eprintln!("skipped: {IMAGE_ENV} names no unpacked image; `make image` makes one and `make image-test` runs this");
        return Ok(None);
    }
    Case::with_bed(Bed::start_private().await?, id).await.map(Some)
}

/// The Pods of a Deployment's label.
pub(crate) async fn pods(case: &Case, selector: &str) -> anyhow::Result<Vec<Pod>> {
    Ok(case.namespace.api::<Pod>().list(&ListParams::default().labels(selector)).await?.items)
}

/// Waits until a Deployment runs its newest template and nothing else: all Pods ready, those of before gone.
pub(crate) async fn rolled_out(case: &Case, name: &str, selector: &str) -> anyhow::Result<()> {
    let done = poll_every(INTERVAL, ROLLOUT, || async {
        let object = case.namespace.api::<Deployment>().get(name).await?;
        let wanted = object.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let status = object.status.clone().context("no status")?;
        ensure!(status.observed_generation == object.metadata.generation, "the newest template is not seen yet");
        let counts = [status.replicas, status.updated_replicas, status.available_replicas];
        ensure!(counts == [Some(wanted); 3], "Pods, new ones, available ones: {counts:?} of {wanted}");
        let all = pods(case, selector).await?;
        ensure!(all.len() == usize::try_from(wanted)?, "{} Pods", all.len());
        Ok(())
    });
    done.await.with_context(|| logs(case))
}

/// The directory of a Pod's container.
pub(crate) fn directory(case: &Case, pod: &Pod) -> PathBuf {
    let name = format!("{}_{}_{}", case.ns(), pod.name_any(), pod.uid().unwrap_or_default());
    case.bed.info().pods.join(name).join("controller")
}

/// Kills the first process of a container, and so all of it.
pub(crate) fn kill_container(case: &Case, pod: &Pod) -> anyhow::Result<()> {
    let file = directory(case, pod).join("pid");
    let pid = fs::read_to_string(&file).with_context(|| format!("{}", file.display()))?;
    Ok(kill(Pid::from_raw(pid.trim().parse()?), Signal::SIGKILL)?)
}

/// The logs of all containers that ran in the case's namespace, also beside a controller, with their paths, without the access log.
pub(crate) fn logs(case: &Case) -> String {
    let mut text = String::new();
    let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    // Those of other releases go on after their rights are gone.
    let own = format!("{}_", case.ns());
    let is_own = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&own));
    for pod in entries(case.bed.info().pods.clone()).filter(is_own) {
        for file in entries(pod).flat_map(entries).filter(|path| path.extension().is_some_and(|ending| ending == "log")) {
            let log = fs::read_to_string(&file).unwrap_or_default();
            let lines = log.lines().filter(|line| !line.contains(" HTTP/1.1\" ") && !line.contains(" HTTP/2.0\" "));
            text.push_str(&format!("--- {}\n{}\n", file.display(), lines.collect::<Vec<_>>().join("\n")));
        }
    }
    text
}

/// Lines of the logs that tell of a missing right.
pub(crate) fn forbidden(case: &Case) -> Vec<String> {
    logs(case).lines().filter(|line| line.to_ascii_lowercase().contains("forbidden")).map(str::to_owned).collect()
}
