//! The life of one Pod.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Status;
use kube::{Api, ResourceExt};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Ctx, RETRY, binding, containers, options, report, status};
use crate::echo;

/// Open requests get this long to end after the grace period.
const DRAIN: Duration = Duration::from_secs(5);

/// Whether it is for us to run: for the default scheduler to bind, or bound to one of our Nodes already.
pub(super) fn is_ours(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let over = matches!(phase, Some("Succeeded" | "Failed"));
    let for_us = match &spec.node_name {
        Some(node) => node.starts_with("node-"),
        None => spec.scheduler_name.as_deref().unwrap_or("default-scheduler") == "default-scheduler",
    };
    for_us && !over
}

/// Runs a Pod until it is gone.
pub(super) async fn run(ctx: Arc<Ctx>, pod: watch::Receiver<Pod>) {
    let (name, namespace) = (pod.borrow().name_any(), pod.borrow().namespace().unwrap_or_default());
    let Some(address) = ctx.config.addresses.take() else {
        tracing::error!(%namespace, %name, "no address is left for this Pod");
        return;
    };
    let life = Life { api: Api::namespaced(ctx.client.clone(), &namespace), ctx: &ctx, name: &name, address, pod };
    if let Err(error) = life.run().await {
        tracing::error!(%namespace, %name, error = format!("{error:#}"), "a Pod failed");
    }
    ctx.config.addresses.give_back(address);
}

/// A Pod that runs.
pub(super) struct Life<'a> {
    ctx: &'a Ctx,
    api: Api<Pod>,
    name: &'a str,
    address: Ipv4Addr,
    /// Its newest state; closed when it is deleted.
    pod: watch::Receiver<Pod>,
}

impl Life<'_> {
    async fn run(mut self) -> anyhow::Result<()> {
        let pod = self.newest();
        if pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none()) {
            let node = status::node_name(binding::node_number(&pod, self.ctx.config.nodes));
            let binding = binding::binding(&pod, &node);
            self.ask(Request::Bind(binding)).await?;
        }
        match &self.ctx.config.image {
            Some(image) if image.runs(&pod) => containers::run(&mut self, image).await?,
            _ if !report::restarts(&pod) => {
                self.ask(Request::Status(status::succeeded())).await?;
                self.deleted().await;
            }
            _ => self.echo(&pod).await?,
        }
        if !self.is_closed() {
            self.ask(Request::Delete { uid: pod.uid() }).await?;
            // Events still come until it is gone: its entry must stay so long.
            self.closed().await;
        }
        Ok(())
    }

    /// Serves as an echo server until it is to be gone.
    async fn echo(&mut self, pod: &Pod) -> anyhow::Result<()> {
        let mut servers = Vec::new();
        for port in options::ports(pod) {
            servers.push(echo::start((self.address, port).into(), options::identity(pod)).await?);
        }
        self.serve().await?;
        // Deleted for good already (closed), or terminating: then it serves on for a while.
        let pod = self.newest();
        if pod.metadata.deletion_timestamp.is_some() && !self.is_closed() {
            let _ = tokio::time::timeout(options::grace(&pod), self.closed()).await;
        }
        futures::future::join_all(servers.into_iter().map(|server| server.stop(DRAIN))).await;
        Ok(())
    }

    /// Reports the Pod's state whenever it changes, until it is to end.
    async fn serve(&mut self) -> anyhow::Result<()> {
        let (started, begun) = (Timestamp::now(), Instant::now());
        let mut reported = None;
        loop {
            let pod = self.newest();
            let ready_at = begun + options::ready_after(&pod);
            let ready = options::may_be_ready(&pod) && Instant::now() >= ready_at;
            if reported != Some(ready) && !self.is_closed() {
                let host = status::node_address(self.ctx.config.cluster, binding::node_number(&pod, self.ctx.config.nodes));
                self.ask(Request::Status(status::running(&pod, self.address, host, started, ready))).await?;
                reported = Some(ready);
            }
            if pod.metadata.deletion_timestamp.is_some() {
                return Ok(());
            }
            tokio::select! {
                changed = self.pod.changed() => if changed.is_err() { return Ok(()) },
                () = tokio::time::sleep_until(ready_at), if Instant::now() < ready_at => {}
            }
        }
    }

    pub(super) fn ctx(&self) -> &Ctx {
        self.ctx
    }

    pub(super) fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Waits for another state of its object; false: it is gone.
    pub(super) async fn changed(&mut self) -> bool {
        self.pod.changed().await.is_ok()
    }

    /// Waits until its deletion was asked for.
    pub(super) async fn deleted(&mut self) {
        while self.pod.borrow_and_update().metadata.deletion_timestamp.is_none() && self.pod.changed().await.is_ok() {}
    }

    pub(super) fn newest(&mut self) -> Pod {
        self.pod.borrow_and_update().clone()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.pod.has_changed().is_err()
    }

    async fn closed(&mut self) {
        while self.pod.changed().await.is_ok() {}
    }

    /// Sends a request until it is answered; that the Pod is gone, or another of its name is there, is an answer too.
    pub(super) async fn ask(&self, request: Request) -> anyhow::Result<()> {
        loop {
            let outcome = {
                let _permit = self.ctx.requests.acquire().await.context("the semaphore is never closed")?;
                self.send(&request).await
            };
            match outcome {
                Ok(()) => return Ok(()),
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => return Ok(()),
                Err(kube::Error::Api(status)) if (400..500).contains(&status.code) && status.code != 429 => {
                    return Err(kube::Error::Api(status)).with_context(|| format!("refused: {request:?}"));
                }
                Err(error) => {
                    tracing::debug!(name = self.name, %error, "asked again");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    async fn send(&self, request: &Request) -> kube::Result<()> {
        match request {
            Request::Bind(binding) => {
                self.api.create_subresource::<_, Status>("binding", self.name, &PostParams::default(), binding).await.map(drop)
            }
            Request::Status(patch) => self.api.patch_status(self.name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop),
            Request::Delete { uid } => {
                let preconditions = Some(Preconditions { uid: uid.clone(), resource_version: None });
                let params = DeleteParams { grace_period_seconds: Some(0), preconditions, ..DeleteParams::default() };
                self.api.delete(self.name, &params).await.map(drop)
            }
        }
    }
}

/// A request of a Pod's life to the API server.
#[derive(Debug)]
pub(super) enum Request {
    Bind(Value),
    Status(Value),
    Delete { uid: Option<String> },
}
