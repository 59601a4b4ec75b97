//! A tenant who does everything that its rights allow, beside others who must not notice.

use std::time::Duration;

use anyhow::Context;
use e2e::hostile::{Changes, Memory, Patience, Reach, Tenant, Watcher, World};
use e2e::{Case, rule};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kube::api::{Api, ListParams, ObjectMeta};
use testkit::bed::Bed;
use testkit::kube::mk_ingress_class;
use testkit::ports::Ports;

/// The machine may be busy, and the binary is not optimised. A reload waits for those that the tenant causes: reloads have no shares.
const LONGEST: Patience =
    Patience { endpoint: Duration::from_secs(10), ingress: Duration::from_secs(10), profile: Duration::from_secs(30) };
/// The same where a build takes seconds, because the objects are the largest that there can be.
const LONGEST_BESIDE_THE_LARGEST: Patience =
    Patience { endpoint: Duration::from_secs(20), ingress: Duration::from_secs(20), profile: Duration::from_secs(30) };
/// Memory that the tenant may cost each process. The objects themselves are in the controller, several versions of them while it builds.
const GROWTH: Memory = Memory { controller: 384 << 20, master: 128 << 20, worker: 192 << 20 };
/// Steps of one sequence.
const STEPS: usize = 30;

/// A sequence alone, to see again what failed.
const SEED: &str = "NARTHEX_SEED";

/// Sequences of a test: of both together 180 steps, and 20,000 with `NARTHEX_SOAK`.
fn seeds(part: std::ops::Range<u64>) -> anyhow::Result<std::ops::Range<u64>> {
    if let Ok(seed) = std::env::var(SEED) {
        let seed = seed.parse()?;
        return Ok(seed..seed + 1);
    }
    let times = if std::env::var_os("NARTHEX_SOAK").is_some() { 111 } else { 1 };
    Ok(part.start * times..part.end * times)
}

fn is_forbidden<T: std::fmt::Debug>(result: Result<T, kube::Error>) -> bool {
    matches!(result, Err(kube::Error::Api(status)) if status.code == 403)
}

#[tokio::test]
async fn a_tenant_writes_its_own_namespace_and_nothing_else() -> anyhow::Result<()> {
    let (mut evil, victim) = (Tenant::new(Bed::from_env()?).await?, Case::new("tenant-victim").await?);
    evil.put(&rule("own", "own.example.com").build()).await?;
    assert_eq!((evil.accepted, evil.refused, evil.ingresses().await?.len()), (1, 0, 1));

    let client = || evil.client().clone();
    let ingress = rule("theirs", "theirs.example.com").build();
    assert!(is_forbidden(Api::<Ingress>::namespaced(client(), victim.ns()).create(&Default::default(), &ingress).await));
    assert!(is_forbidden(Api::<Secret>::namespaced(client(), victim.ns()).list(&ListParams::default()).await));
    assert!(is_forbidden(Api::<ConfigMap>::namespaced(client(), victim.ns()).list(&ListParams::default()).await));
    assert!(is_forbidden(Api::<Ingress>::all(client()).list(&ListParams::default()).await));
    let class = mk_ingress_class("theirs", "k8s.io/ingress-nginx");
    assert!(is_forbidden(Api::<IngressClass>::all(client()).create(&Default::default(), &class).await));
    let namespace = Namespace { metadata: ObjectMeta { name: Some("theirs".into()), ..ObjectMeta::default() }, ..Namespace::default() };
    assert!(is_forbidden(Api::<Namespace>::all(client()).create(&Default::default(), &namespace).await));
    Ok(())
}

#[expect(clippy::print_stderr, reason = "figures of the run")]
fn report(world: &World, watcher: &Watcher, changes: &Changes<'_>) {
    let (rounds, evil, (before, largest)) = (watcher.rounds(), &world.evil, world.memory);
    eprintln!("{rounds} rounds, {} writes taken, {} refused; {}", evil.accepted, evil.refused, changes.times);
    eprintln!("{before:?}, later {largest:?}");
}

#[expect(clippy::print_stderr, reason = "progress of a run that takes an hour")]
fn progress(seed: u64) {
    if seed.is_multiple_of(10) {
        eprintln!("sequence {seed}");
    }
}

/// Sequences of what a tenant may do, beside clients and changes of the others.
async fn suffer(world: &mut World, seeds: std::ops::Range<u64>, reach: Reach) -> anyhow::Result<()> {
    let victims = std::sync::Arc::clone(&world.victims);
    let watcher = world.watched();
    let mut changes = Changes::new(&victims.cases[0], world.controller.http(), LONGEST).await?;
    let is_enough = seeds.end - seeds.start > 1;
    for seed in seeds {
        progress(seed);
        world.suffer(seed, STEPS, reach, &watcher, &mut changes).await.with_context(|| world.log())?;
    }
    report(world, &watcher, &changes);
    watcher.stop().await?;
    assert!(!is_enough || world.evil.accepted > 10 * world.evil.refused, "the API server refuses much of it: that is not tried");
    let (before, largest) = world.memory;
    largest.grown_within(before, GROWTH)
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_tenant_may_write_hosts_of_others_answer_as_before() -> anyhow::Result<()> {
    let port = format!("--ssl-passthrough-proxy-port={}", Ports::one()?);
    let mut world = World::serving(&["--host-ownership=namespace", "--enable-ssl-passthrough", &port]).await?;
    let seeds = seeds(0..4)?;
    let enough = seeds.end - seeds.start > 1;
    suffer(&mut world, seeds, Reach::Everywhere).await?;
    let left: Vec<_> = e2e::hostile::names().filter(|name| !world.tried.contains(name)).collect();
    assert!(left.is_empty() || !enough, "annotations that were not tried: {left:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cve_2026_24514_objects_as_large_as_the_api_server_takes_leave_other_tenants_unaffected() -> anyhow::Result<()> {
    let mut world = World::serving(&[]).await?;
    let victims = std::sync::Arc::clone(&world.victims);
    let watcher = world.watched();
    let mut changes = Changes::new(&victims.cases[0], world.controller.http(), LONGEST_BESIDE_THE_LARGEST).await?;
    world.outgrow(&watcher, &mut changes).await.with_context(|| world.log())?;
    report(&world, &watcher, &changes);
    watcher.stop().await?;
    let (before, largest) = world.memory;
    largest.grown_within(before, GROWTH)
}

#[tokio::test(flavor = "multi_thread")]
async fn where_hosts_are_shared_a_tenant_with_hosts_of_its_own_harms_no_other() -> anyhow::Result<()> {
    let mut world = World::serving(&[]).await?;
    suffer(&mut world, seeds(4..6)?, Reach::OwnHosts).await
}
