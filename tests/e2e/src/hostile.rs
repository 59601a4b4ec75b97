//! A hostile tenant: its rights end at its own namespace, and everything it may write is as large, odd, numerous and fast as the API server
//! takes it. The hosts of three other namespaces must not notice.
//!
//! The cases and the benchmark share it. A sequence of steps has a seed; it begins and ends with an empty namespace, so that one that fails is
//! repeated alone.

mod acts;
mod changes;
mod check;
mod memory;
mod objects;
mod reasons;
mod step;
mod tenant;
mod values;
mod victims;
mod watcher;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, ensure};
use k8s_openapi::api::networking::v1::Ingress;
use kube::ResourceExt;
use testkit::bed::Bed;
use testkit::kube::{Certificate, mk_certificate};
use testkit::{poll, ports};

pub use changes::{Changes, Patience, Times};
pub use check::Ports;
pub use memory::Memory;
pub use step::Reach;
pub use tenant::Tenant;
pub use values::names;
pub use victims::Victims;
pub use watcher::Watcher;

use crate::{Case, Controller, PATIENCE};
use objects::SECRETS;
use step::{Content, Endpoints, Shape, Step};

/// Steps between two changes of the other tenants.
const EVERY: usize = 10;

/// A control plane of its own, a controller, the tenants.
pub struct World {
    /// The one that all share.
    pub controller: Controller,
    /// The tenants that must not notice.
    pub victims: Arc<Victims>,
    /// The hostile one.
    pub evil: Tenant,
    _settings: Case,
    _own: testkit::echo::Handle,
    own: SocketAddr,
    pair: Certificate,
    /// Next number of [`values`].
    next: usize,
    /// Annotations that were tried so far.
    pub tried: BTreeSet<&'static str>,
    /// Memory when all hosts answered first, and the largest so far.
    pub memory: (Memory, Memory),
}

impl World {
    /// Everything but the hostile tenant's objects; all hosts answer. The flags are the controller's further ones.
    ///
    /// # Errors
    /// Something does not start.
    pub async fn serving(flags: &[&str]) -> anyhow::Result<Self> {
        let bed = Bed::start_private().await?;
        let settings = Case::with_bed(bed.clone(), "settings").await?;
        settings.settings(&[("worker-processes", "2")]).await?;
        let victims = Arc::new(Victims::new(&bed).await?);
        let evil = Tenant::new(bed).await?;
        let launch = settings.bare_controller().flag("--configmap={NS}/settings").flag("--log-format=json");
        let launch = flags.iter().fold(launch, |launch, flag| launch.flag(flag));
        let controller = launch.start().await?;
        let address = (ports::addresses(1)?[0], 8080).into();
        let identity = testkit::echo::Identity { namespace: evil.ns().to_owned(), ..testkit::echo::Identity::named("evil") };
        let own = testkit::echo::start(address, identity).await?;
        let pair = mk_certificate(&[objects::DOMAIN])?;
        let mut world = Self {
            controller,
            victims,
            evil,
            _settings: settings,
            _own: own,
            own: address,
            pair,
            next: 0,
            tried: BTreeSet::new(),
            memory: (Memory::default(), Memory::default()),
        };
        for check in &world.victims.checks {
            poll(PATIENCE, || check.ask(world.ports())).await.with_context(|| world.controller.log())?;
        }
        let now = Memory::of(&world.controller)?;
        world.memory = (now, now);
        Ok(world)
    }

    /// The last messages of the controller.
    pub fn log(&self) -> String {
        reasons::end(&self.controller.log())
    }

    /// The addresses of the controller.
    pub fn ports(&self) -> Ports {
        Ports { http: self.controller.http(), https: self.controller.https() }
    }

    /// Clients of all the other tenants' hosts, from now on.
    pub fn watched(&self) -> Watcher {
        Watcher::start(self.victims.checks.clone(), self.ports())
    }

    /// The steps of a seed, beside changes of the other tenants.
    ///
    /// # Errors
    /// Another tenant noticed: the error names the seed and the steps so far.
    pub async fn suffer(
        &mut self,
        seed: u64,
        length: usize,
        reach: Reach,
        watcher: &Watcher,
        changes: &mut Changes<'_>,
    ) -> anyhow::Result<()> {
        // Every sequence has other values.
        self.next = usize::try_from(seed)? * 997;
        self.furnish().await?;
        let steps = step::sequence(seed, length, reach);
        for (number, step) in steps.iter().enumerate() {
            let context = || format!("seed {seed}, after step {number}: {:?}", &steps[number.saturating_sub(3)..=number]);
            self.act(step).await.with_context(context)?;
            watcher.is_content().with_context(context)?;
            if number % EVERY == EVERY / 2 {
                changes.endpoint().await.with_context(context)?;
                changes.new_ingress().await.with_context(context)?;
                self.weigh()?;
            }
        }
        let context = || format!("seed {seed}, at its end");
        changes.new_profile().await.with_context(context)?;
        self.explained().await.with_context(context)?;
        self.weigh()?;
        self.evil.clear().await?;
        watcher.is_content().with_context(context)
    }

    fn weigh(&mut self) -> anyhow::Result<()> {
        self.memory.1 = self.memory.1.max(Memory::of(&self.controller)?);
        Ok(())
    }

    /// Good objects, for Ingresses that name them.
    async fn furnish(&mut self) -> anyhow::Result<()> {
        for number in 0..SECRETS.len() {
            self.act(&Step::Secret(number, Content::Good)).await?;
        }
        for number in 0..step::SERVICES {
            self.act(&Step::Service(number, Shape::Plain)).await?;
            self.act(&Step::Endpoints(number, Endpoints::Own)).await?;
        }
        Ok(())
    }

    /// Objects as large as the API server takes them, of each kind, beside changes of the other tenants.
    ///
    /// # Errors
    /// Another tenant noticed.
    pub async fn outgrow(&mut self, watcher: &Watcher, changes: &mut Changes<'_>) -> anyhow::Result<()> {
        self.furnish().await?;
        self.evil.put(&objects::naming(self.evil.ns())).await?;
        for step in step::largest() {
            self.act(&step).await?;
            let context = || format!("after {step:?}");
            watcher.is_content().with_context(context)?;
            changes.endpoint().await.with_context(context)?;
            changes.new_ingress().await.with_context(context)?;
            self.weigh()?;
        }
        changes.new_profile().await?;
        self.explained().await?;
        watcher.is_content()
    }

    /// Waits until each of its Ingresses is served, or has a Problem that says why not, or its Service or Secret has. One for a host of another tenant
    /// always has one.
    async fn explained(&self) -> anyhow::Result<()> {
        for ingress in self.evil.ingresses().await? {
            poll(PATIENCE, || self.is_explained(&ingress)).await?;
        }
        Ok(())
    }

    async fn is_explained(&self, ingress: &Ingress) -> anyhow::Result<()> {
        let rules = ingress.spec.as_ref().and_then(|spec| spec.rules.as_ref()).into_iter().flatten();
        let mut objects = vec![format!("Ingress {}/{}", self.evil.ns(), ingress.name_any())];
        let secret = ingress.annotations().get("nginx.ingress.kubernetes.io/auth-secret");
        objects.extend(secret.map(|secret| format!("Secret {}/{secret}", self.evil.ns())));
        let mut unserved = Vec::new();
        for rule in rules {
            let paths = rule.http.iter().flat_map(|http| &http.paths);
            let services: BTreeSet<&str> = paths.filter_map(|path| Some(path.backend.service.as_ref()?.name.as_str())).collect();
            objects.extend(services.into_iter().map(|service| format!("Service {}/{service}", self.evil.ns())));
            let Some(host) = rule.host.as_deref().filter(|host| !host.starts_with('*')) else { continue };
            let response = self.controller.get(host, "/").await?;
            let is_own = !host.ends_with(victims::DOMAIN);
            let served = is_own && (response.header("server") == Some("echo") || !matches!(response.status, 404 | 503));
            unserved.extend((!served).then(|| format!("{host}: {}", response.status)));
        }
        if unserved.is_empty() {
            return Ok(());
        }
        let log = self.controller.log();
        let said = objects.iter().any(|object| !reasons::present(&log, object).is_empty());
        ensure!(said, "{} is not served ({unserved:?}), and no Problem says why", objects[0]);
        Ok(())
    }
}
