//! The acts of a hostile tenant.

use std::net::SocketAddr;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::networking::v1::Ingress;
use testkit::http::{Request, basic};
use testkit::kube::mk_slice;
use tokio::task::JoinSet;

use super::objects::{self, CONFIG_MAPS, SECRETS};
use super::step::{Endpoints, IngressPlan, Step};
use super::{World, values};

/// Changes of one flapping Ingress.
const FLAPS: usize = 20;
/// Requests of one visit, at the same time.
const VISITORS: usize = 8;

impl World {
    /// Does what a step says.
    ///
    /// # Errors
    /// The API server does not answer.
    pub(super) async fn act(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Ingress(plan) => self.ingress(plan).await,
            Step::Flap(one, other) => {
                let other = IngressPlan { number: one.number, ..other.clone() };
                for plan in [one, &other].into_iter().cycle().take(FLAPS) {
                    self.ingress(plan).await?;
                }
                Ok(())
            }
            Step::Crowd(count) => {
                for number in 0..*count {
                    self.evil.put(&objects::small(number)).await?;
                }
                Ok(())
            }
            Step::Service(number, shape) => match objects::service(*number, *shape) {
                Some(service) => self.evil.put(&service).await,
                None => self.evil.delete::<Service>(&format!("s{number}")).await,
            },
            Step::Endpoints(number, endpoints) => self.endpoints(*number, *endpoints).await,
            Step::Secret(number, content) => match objects::secret(SECRETS[*number], *content, &self.pair) {
                Some(secret) => self.evil.put(&secret).await,
                None => self.evil.delete::<Secret>(SECRETS[*number]).await,
            },
            Step::Hoard(count) => {
                for number in 0..*count {
                    self.evil.put(&objects::hoarded(number)).await?;
                    self.evil.put(&objects::hoarding(number)).await?;
                }
                Ok(())
            }
            Step::ConfigMap(number, content) => match objects::config_map(CONFIG_MAPS[*number], *content) {
                Some(map) => self.evil.put(&map).await,
                None => self.evil.delete::<ConfigMap>(CONFIG_MAPS[*number]).await,
            },
            Step::DeleteIngress(number) => self.evil.delete::<Ingress>(&format!("i{number}")).await,
            Step::Visit(number) => {
                self.visit(&objects::host(*number)).await;
                Ok(())
            }
        }
    }

    async fn ingress(&mut self, plan: &IngressPlan) -> anyhow::Result<()> {
        let ingress = objects::ingress(plan, self.next, self.evil.ns());
        self.tried.extend(values::names().cycle().skip(self.next % values::names().count()).take(plan.annotations));
        self.next += plan.annotations;
        self.evil.put(&ingress).await
    }

    async fn endpoints(&mut self, number: usize, endpoints: Endpoints) -> anyhow::Result<()> {
        let name = format!("s{number}");
        let slice = |addresses: &[SocketAddr]| mk_slice(&objects::slice_name(number, 0), &name, addresses);
        match endpoints {
            Endpoints::Nothing => self.evil.put(&slice(&[])).await,
            Endpoints::Own => self.evil.put(&slice(&[self.own])).await,
            Endpoints::Local => {
                let local = [[127, 0, 0, 1], [169, 254, 169, 254], [0, 0, 0, 0]].map(|ip| (ip, 8080).into());
                self.evil.put(&slice(&local)).await
            }
            Endpoints::Thousands(count) => {
                for at in 0..count {
                    self.evil.put(&objects::thousand(number, at)).await?;
                }
                Ok(())
            }
        }
    }

    /// Its clients bring passwords. What they are answered is its own affair.
    async fn visit(&self, host: &str) {
        let mut visitors = JoinSet::new();
        for user in ["foo", "slow"].into_iter().cycle().take(VISITORS) {
            let request = Request::get(self.controller.http(), "/aaaaaaaaaaaaaaaaaaaaaaaaaaaa").host(host);
            visitors.spawn(request.header("Authorization", basic(user, "bar")).timeout(Duration::from_secs(2)).send());
        }
        while visitors.join_next().await.is_some() {}
    }
}
