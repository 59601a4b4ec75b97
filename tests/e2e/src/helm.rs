//! Helm, and the chart.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::SelfSubjectRulesReview;
use k8s_openapi::api::core::v1::{Container, Secret};
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};
use testkit::bed::Bed;

use crate::Case;

/// Helms that run at a time.
const WORKERS: usize = 4;

/// The chart's directory.
pub fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/narthex")
}

/// The bed's helm with caches of its own.
pub struct Helm {
    binary: PathBuf,
    scratch: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Helm {
    /// The Helm of a bed, as its administrator.
    ///
    /// # Errors
    /// There is no room for its caches.
    pub fn of(bed: &Bed) -> anyhow::Result<Self> {
        let binary = bed.info().binaries.join("helm");
        Ok(Self { binary, scratch: tempfile::tempdir()?, kubeconfig: bed.kubeconfig().to_owned() })
    }

    /// Its path.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// `helm ARGS --values VALUES`; the answer is what it printed.
    ///
    /// # Errors
    /// When it fails: the error is what it says.
    pub fn run(&self, args: &[&str], values: &Value) -> anyhow::Result<String> {
        // One for each call: they may run side by side.
        let mut file = tempfile::Builder::new().suffix(".json").tempfile_in(self.scratch.path())?;
        file.write_all(values.to_string().as_bytes())?;
        let mut command = Command::new(&self.binary);
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.scratch.path());
        }
        command.env("KUBECONFIG", &self.kubeconfig).args(args);
        if !["uninstall", "rollback", "version"].contains(&args[0]) {
            command.arg("--values").arg(file.path());
        }
        let output = command.output().with_context(|| format!("{} (`make bed` builds it)", self.binary.display()))?;
        if !output.status.success() {
            bail!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The objects that the chart renders for a release in a namespace of the same name, without those of hooks.
    ///
    /// # Errors
    /// The chart refuses the values.
    pub fn render(&self, release: &str, values: &Value) -> anyhow::Result<Vec<DynamicObject>> {
        Ok(self.all(release, values)?.0)
    }

    /// The objects of hooks.
    ///
    /// # Errors
    /// As [`Self::render`].
    pub fn hooks(&self, release: &str, values: &Value) -> anyhow::Result<Vec<DynamicObject>> {
        Ok(self.all(release, values)?.1)
    }

    fn all(&self, release: &str, values: &Value) -> anyhow::Result<(Vec<DynamicObject>, Vec<DynamicObject>)> {
        let objects = testkit::kube::read(&self.manifest(release, values)?)?;
        Ok(objects.into_iter().partition(|object| !object.annotations().contains_key("helm.sh/hook")))
    }

    /// The text of the objects of [`Self::render`] and [`Self::hooks`].
    ///
    /// # Errors
    /// The chart refuses the values.
    pub fn manifest(&self, release: &str, values: &Value) -> anyhow::Result<String> {
        self.run(&["template", release, &chart().to_string_lossy(), "--namespace", release], values)
    }

    /// What an installation into `default` prints below `NOTES:`. Helm asks the API server, and nothing is installed.
    ///
    /// # Errors
    /// Helm refuses it: the values, kinds and fields that the API server does not have, names that others own.
    pub fn notes(&self, release: &str, values: &Value) -> anyhow::Result<String> {
        let chart = chart();
        let printed = self.run(&["install", release, &chart.to_string_lossy(), "--namespace", "default", "--dry-run=server"], values)?;
        Ok(printed.split_once("\nNOTES:\n").map(|(_, notes)| notes.to_owned()).unwrap_or_default())
    }

    /// The names of the objects in the namespace `default`, a line each, that the API server would store; it stores none.
    ///
    /// # Errors
    /// The API server refuses one of them.
    pub fn stored(&self, release: &str, values: &Value) -> anyhow::Result<String> {
        let text = self.run(&["template", release, &chart().to_string_lossy(), "--namespace", "default"], values)?;
        let mut command = Command::new(self.binary.with_file_name("kubectl"));
        command.args(["create", "--dry-run=server", "--validate=strict", "--output=name", "--filename=-"]);
        let mut child =
            command.env("KUBECONFIG", &self.kubeconfig).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        child.stdin.take().context("a pipe")?.write_all(text.as_bytes())?;
        let output = child.wait_with_output()?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Does something for all items, some at a time. The first error counts.
///
/// # Errors
/// Those of `work`.
pub fn side_by_side<T: Sync>(items: &[T], work: impl Fn(&T) -> anyhow::Result<()> + Sync) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item)?;
        }
        anyhow::Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker that panics is a failed test"))
    })
}

/// These values without the controller.
pub fn alone(values: Value) -> Value {
    let mut all = json!({"controller": {"enabled": false}});
    crate::rollout::merge(&mut all, values);
    all
}

/// An installed release of the chart, named like the case's namespace, in which it is. Dropping it uninstalls it.
pub struct Release<'a> {
    case: &'a Case,
    helm: Helm,
}

impl<'a> Release<'a> {
    /// Installs the chart.
    ///
    /// # Errors
    /// Helm or the API server refuses it.
    pub fn install(case: &'a Case, values: &Value) -> anyhow::Result<Self> {
        let release = Self { case, helm: Helm::of(&case.bed)? };
        release.change("install", values)?;
        Ok(release)
    }

    /// Changes its values.
    ///
    /// # Errors
    /// As [`Self::install`].
    pub fn upgrade(&self, values: &Value) -> anyhow::Result<()> {
        self.change("upgrade", values)
    }

    /// Goes back to an earlier revision.
    ///
    /// # Errors
    /// As [`Self::install`].
    pub fn rollback(&self, revision: u32) -> anyhow::Result<()> {
        let ns = self.case.ns();
        self.helm.run(&["rollback", ns, &revision.to_string(), "--namespace", ns], &json!({})).map(drop)
    }

    fn change(&self, verb: &str, values: &Value) -> anyhow::Result<()> {
        let ns = self.case.ns();
        self.helm.run(&[verb, ns, &chart().to_string_lossy(), "--namespace", ns], values).map(drop)
    }

    /// Uninstalls it.
    ///
    /// # Errors
    /// As [`Self::install`].
    pub fn uninstall(&self) -> anyhow::Result<()> {
        let ns = self.case.ns();
        self.helm.run(&["uninstall", ns, "--namespace", ns], &json!({})).map(drop)
    }

    /// The command by which the first container of one of its Deployments is to be run.
    ///
    /// # Errors
    /// There is no such Deployment, or its environment refers to what is not there.
    pub async fn container(&self, deployment: &str) -> anyhow::Result<Run> {
        let object = self.case.namespace.api::<Deployment>().get(deployment).await?;
        let pod = object.spec.and_then(|spec| spec.template.spec).context("a Pod template")?;
        let container = pod.containers.into_iter().next().context("a container")?;
        let env = self.environment(&container).await?;
        let expand = |text: String| env.iter().fold(text, |text, (name, value)| text.replace(&format!("$({name})"), value));
        let args = container.args.unwrap_or_default().into_iter().map(expand).collect();
        Ok(Run { args, account: pod.service_account_name.context("a ServiceAccount")?, env })
    }

    async fn environment(&self, container: &Container) -> anyhow::Result<Vec<(String, String)>> {
        let mut env = Vec::new();
        for variable in container.env.iter().flatten() {
            let from = variable.value_from.as_ref();
            let value = if let Some(value) = &variable.value {
                value.clone()
            } else if let Some(key) = from.and_then(|from| from.secret_key_ref.as_ref()) {
                let secret = self.case.namespace.api::<Secret>().get(&key.name).await?;
                String::from_utf8(secret.data.and_then(|mut data| data.remove(&key.key)).context("a key of a Secret")?.0)?
            } else {
                match from.and_then(|from| from.field_ref.as_ref()).map(|field| field.field_path.as_str()) {
                    Some("metadata.name") => "pod".to_owned(),
                    Some("metadata.namespace") => self.case.ns().to_owned(),
                    other => bail!("variable {}: {other:?}", variable.name),
                }
            };
            env.push((variable.name.clone(), value));
        }
        Ok(env)
    }
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        // The namespace goes away by itself; this is for what belongs to the cluster.
        let ns = self.case.ns();
        let _ = self.helm.run(&["uninstall", ns, "--namespace", ns, "--ignore-not-found", "--no-hooks"], &json!({}));
    }
}

/// A container as the kubelet would start it.
#[derive(Debug)]
pub struct Run {
    /// Its arguments, with references to variables replaced.
    pub args: Vec<String>,
    /// The ServiceAccount of its Pod.
    pub account: String,
    /// Its environment.
    pub env: Vec<(String, String)>,
}

/// Everything that the user of a kubeconfig file may do in a namespace but what every user may: `group/resource[/name] verb`, sorted.
///
/// # Errors
/// The API server does not answer.
pub async fn rights(kubeconfig: &Path, namespace: &str) -> anyhow::Result<Vec<String>> {
    let api: Api<SelfSubjectRulesReview> = Api::all(testkit::kube::client(kubeconfig).await?);
    let review: SelfSubjectRulesReview = serde_json::from_value(json!({"spec": {"namespace": namespace}}))?;
    let status = api.create(&PostParams::default(), &review).await?.status.context("an answered review has a status")?;
    let mut rights = Vec::new();
    for rule in status.resource_rules {
        for (group, resource, verb) in product(&rule.api_groups.unwrap_or_default(), &rule.resources.unwrap_or_default(), &rule.verbs) {
            if ["authorization.k8s.io", "authentication.k8s.io"].contains(&group) {
                continue;
            }
            match rule.resource_names.as_deref().unwrap_or_default() {
                [] => rights.push(format!("{group}/{resource} {verb}")),
                names => rights.extend(names.iter().map(|name| format!("{group}/{resource}/{name} {verb}"))),
            }
        }
    }
    rights.sort();
    Ok(rights)
}

fn product<'a>(groups: &'a [String], resources: &'a [String], verbs: &'a [String]) -> Vec<(&'a str, &'a str, &'a str)> {
    let mut all = Vec::new();
    for group in groups {
        for resource in resources {
            all.extend(verbs.iter().map(|verb| (group.as_str(), resource.as_str(), verb.as_str())));
        }
    }
    all
}
