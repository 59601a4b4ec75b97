//! A running `narthex rollout`, and the workloads that it is to roll out.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;
use serde_json::{Value, json};
use testkit::http::Request;
use testkit::poll;
use testkit::ports::Ports;

use crate::{Case, PATIENCE};

/// The annotation in which `narthex rollout` records what it has rolled out.
const APPLIED: &str = "rollout.narthex.dev/applied";

/// A running `narthex rollout`. Dropping it ends it.
pub struct Rollout {
    child: Child,
    scratch: tempfile::TempDir,
    port: u16,
}

impl Rollout {
    /// Starts one for the case's namespace and waits until it is alive.
    ///
    /// # Errors
    /// When it ends or does not answer: the error holds its log.
    pub async fn start(case: &Case, flags: &[&str], env: &[(&str, &str)]) -> anyhow::Result<Self> {
        let mut all = vec![("KUBERNETES_NAMESPACE", case.ns())];
        all.extend(env);
        Self::start_anywhere(case, flags, &all).await
    }

    /// The same for all namespaces.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_anywhere(case: &Case, flags: &[&str], env: &[(&str, &str)]) -> anyhow::Result<Self> {
        Self::start_as(case, case.bed.kubeconfig(), flags, env).await
    }

    /// The same as the user of a kubeconfig file instead of as an administrator.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_as(case: &Case, kubeconfig: &Path, flags: &[&str], env: &[(&str, &str)]) -> anyhow::Result<Self> {
        let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN names no binary: run the cases with `make e2e`")?;
        let scratch = tempfile::Builder::new().prefix("narthex-rollout-").tempdir()?;
        let port = Ports::take(1)?[0];
        let log = File::create(scratch.path().join("log"))?;
        let mut command = Command::new(binary);
        command.arg("rollout").arg(format!("--kubeconfig={}", kubeconfig.display()));
        command.arg(format!("--metrics-addr=127.0.0.1:{port}")).args(flags.iter().map(|flag| flag.replace("{NS}", case.ns())));
        command.env_remove("KUBERNETES_NAMESPACE").envs(env.iter().copied());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut rollout = Self { child: command.spawn()?, scratch, port };
        rollout.alive().await.with_context(|| format!("it did not start:\n{}", rollout.log()))?;
        Ok(rollout)
    }

    async fn alive(&mut self) -> anyhow::Result<()> {
        let address = self.address();
        let child = Mutex::new(&mut self.child);
        let ended = poll(PATIENCE, || async {
            if let Some(status) = child.lock().try_wait()? {
                return Ok(Some(status));
            }
            let response = Request::get(address, "/live").send().await?;
            ensure!(response.status == 200, "/live: {}", response.status);
            Ok(None)
        });
        match ended.await? {
            Some(status) => bail!("it ended with {status}"),
            None => Ok(()),
        }
    }

    fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    fn log_path(&self) -> PathBuf {
        self.scratch.path().join("log")
    }

    /// Its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// The value of one series, labels included; 0 if there is none.
    ///
    /// # Errors
    /// No answer.
    pub async fn metric(&self, series: &str) -> anyhow::Result<f64> {
        let text = Request::get(self.address(), "/metrics").send().await?.text();
        let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok());
        Ok(value.unwrap_or(0.0))
    }

    /// Waits until a series has a value.
    ///
    /// # Errors
    /// When it has not within [`PATIENCE`].
    pub async fn until_metric(&self, series: &str, value: f64) -> anyhow::Result<()> {
        poll(PATIENCE, || async {
            let found = self.metric(series).await?;
            ensure!((found - value).abs() < 0.5, "{series} is {found}, not {value}");
            Ok(())
        })
        .await
    }

    /// SIGTERM; does not wait for the end.
    ///
    /// # Errors
    /// When it is not running.
    pub fn terminate(&self) -> anyhow::Result<()> {
        Ok(kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM)?)
    }

    /// Waits until it has ended by itself, with success.
    ///
    /// # Errors
    /// When it has not within [`PATIENCE`], or not with success.
    pub async fn ended(&mut self) -> anyhow::Result<()> {
        let child = Mutex::new(&mut self.child);
        let status = poll(PATIENCE, || async {
            let status = child.lock().try_wait()?;
            status.context("it is still running")
        });
        let status = status.await?;
        ensure!(status.success(), "it ended with {status}:\n{}", self.log());
        Ok(())
    }

    /// Whether it is running.
    ///
    /// # Errors
    /// The process can't be waited for.
    pub fn is_running(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// SIGKILL: no Lease is released.
    ///
    /// # Errors
    /// When it is not running.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Rollout {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // The second one, because a receiver of notifications while it ends may run on the thread that waits here.
            for signal in [Signal::SIGTERM, Signal::SIGINT] {
                let _ = kill(Pid::from_raw(self.child.id().cast_signed()), signal);
            }
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            crate::print_log(&self.log());
        }
    }
}

/// A kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// apps/v1.
    Deployment,
    /// apps/v1.
    StatefulSet,
    /// apps/v1.
    DaemonSet,
    /// batch/v1.
    CronJob,
    /// batch/v1.
    Job,
    /// argoproj.io/v1alpha1.
    Rollout,
}

impl Kind {
    fn resource(self) -> ApiResource {
        let (group, version, kind) = match self {
            Self::Deployment => ("apps", "v1", "Deployment"),
            Self::StatefulSet => ("apps", "v1", "StatefulSet"),
            Self::DaemonSet => ("apps", "v1", "DaemonSet"),
            Self::CronJob => ("batch", "v1", "CronJob"),
            Self::Job => ("batch", "v1", "Job"),
            Self::Rollout => ("argoproj.io", "v1alpha1", "Rollout"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }

    /// The path of the Pod template.
    pub fn template(self) -> &'static str {
        if self == Self::CronJob { "/spec/jobTemplate/spec/template" } else { "/spec/template" }
    }
}

/// A workload to be made: one replica of an echo server.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: &'a str,
    /// Annotations of the workload itself.
    pub annotations: &'a [(&'a str, &'a str)],
    /// Merged into the Pod template.
    pub template: Value,
}

/// A Deployment with these annotations that reads the ConfigMap `config` and the Secret `secret`.
pub fn deployment<'a>(name: &'a str, annotations: &'a [(&'a str, &'a str)]) -> Wanted<'a> {
    Wanted { kind: Kind::Deployment, name, annotations, template: json!({}) }
}

impl Case {
    /// The API of a kind of workload.
    pub fn workloads(&self, kind: Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.namespace.client().clone(), self.ns(), &kind.resource())
    }

    /// Makes a workload. Where the template says nothing else, its container reads the ConfigMap `config` and the Secret `secret`, should they exist.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn make(&self, wanted: Wanted<'_>) -> anyhow::Result<()> {
        let resource = wanted.kind.resource();
        let labels = json!({"app": wanted.name});
        let mut template = json!({
            "metadata": {"labels": labels},
            "spec": {"containers": [{
                "name": "echo", "image": "echo", "ports": [{"containerPort": 8080}],
                "envFrom": [{"configMapRef": {"name": "config", "optional": true}}, {"secretRef": {"name": "secret", "optional": true}}],
            }]},
        });
        merge(&mut template, wanted.template);
        let spec = match wanted.kind {
            Kind::Job | Kind::CronJob => {
                template["spec"]["restartPolicy"] = json!("Never");
                match wanted.kind {
                    Kind::Job => json!({"template": template}),
                    _ => json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": template}}}),
                }
            }
            Kind::StatefulSet => json!({"serviceName": wanted.name, "selector": {"matchLabels": labels}, "template": template}),
            _ => json!({"selector": {"matchLabels": labels}, "template": template}),
        };
        let annotations: serde_json::Map<String, Value> =
            wanted.annotations.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": resource.api_version, "kind": resource.kind,
            "metadata": {"name": wanted.name, "annotations": annotations}, "spec": spec,
        }))?;
        self.workloads(wanted.kind).create(&Default::default(), &object).await?;
        Ok(())
    }

    /// The workload as JSON.
    ///
    /// # Errors
    /// There is none.
    pub async fn workload(&self, kind: Kind, name: &str) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.workloads(kind).get(name).await?)?)
    }

    /// Number of its rollouts; `None` while `narthex rollout` does not look after it.
    ///
    /// # Errors
    /// There is no such workload.
    pub async fn rollouts(&self, kind: Kind, name: &str) -> anyhow::Result<Option<u64>> {
        let object = self.workload(kind, name).await?;
        let Some(text) = object["metadata"]["annotations"][APPLIED].as_str() else { return Ok(None) };
        Ok(serde_json::from_str::<Value>(text)?["rollouts"].as_u64())
    }

    /// Waits until it was rolled out so often; 0: until it is looked after.
    ///
    /// # Errors
    /// When it is not within [`PATIENCE`], or was more often.
    pub async fn rolled_out(&self, kind: Kind, name: &str, times: u64) -> anyhow::Result<()> {
        poll(PATIENCE, || async {
            let found = self.rollouts(kind, name).await?;
            ensure!(found == Some(times), "{name} was rolled out {found:?} times, not {times}");
            Ok(())
        })
        .await
    }

    /// Waits until a Deployment has had so many different templates, as its controller counts them; one before anything is rolled out.
    ///
    /// # Errors
    /// When it has not within [`PATIENCE`].
    pub async fn revisions(&self, name: &str, count: u32) -> anyhow::Result<()> {
        poll(PATIENCE, || async {
            let object = self.workload(Kind::Deployment, name).await?;
            let seen = object["status"]["observedGeneration"] == object["metadata"]["generation"];
            let revision =
                object["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str().and_then(|text| text.parse().ok());
            ensure!(seen && revision == Some(count), "{name} is at revision {revision:?}, not {count}");
            Ok(())
        })
        .await
    }

    /// Sets what the ConfigMap of this name holds under `key`.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn config(&self, name: &str, value: &str) -> anyhow::Result<()> {
        self.apply_map(name, json!({"data": {"key": value}})).await
    }

    /// Applies more of a ConfigMap.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn apply_map(&self, name: &str, mut map: Value) -> anyhow::Result<()> {
        merge(&mut map, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}));
        self.namespace.api::<ConfigMap>().patch(name, &PatchParams::apply("e2e").force(), &Patch::Apply(map)).await?;
        Ok(())
    }

    /// Sets what the Secret of this name holds under `key`.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn secret(&self, name: &str, value: &str) -> anyhow::Result<()> {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"key": value}});
        self.namespace.api::<Secret>().patch(name, &PatchParams::apply("e2e").force(), &Patch::Apply(secret)).await?;
        Ok(())
    }

    /// Makes a workload and a ConfigMap, both named `fence`, for [`Self::settled`].
    ///
    /// # Errors
    /// The API server refuses them.
    pub async fn fence(&self) -> anyhow::Result<()> {
        self.config("fence", "0").await?;
        let annotations = [("configmap.reloader.stakater.com/reload", "fence")];
        // It reads nothing, so that nothing else moves it.
        let template = json!({"spec": {"containers": [{"name": "echo", "image": "echo"}]}});
        self.make(Wanted { kind: Kind::DaemonSet, name: "fence", annotations: &annotations, template }).await?;
        self.rolled_out(Kind::DaemonSet, "fence", 0).await
    }

    /// Waits until whatever was changed before has had its effect: two later changes have had theirs, one after the other.
    ///
    /// # Errors
    /// They have not within twice [`PATIENCE`].
    pub async fn settled(&self) -> anyhow::Result<()> {
        for _ in 0..2 {
            let before = self.rollouts(Kind::DaemonSet, "fence").await?.context("there is no fence")?;
            self.config("fence", &(before + 1).to_string()).await?;
            self.rolled_out(Kind::DaemonSet, "fence", before + 1).await?;
        }
        Ok(())
    }
}

/// Merges JSON; arrays are replaced.
pub fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}
