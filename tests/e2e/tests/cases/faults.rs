//! Random faults of the way to the API server, of processes, memory and settings, beside changes and requests: nothing of them is left when they are over.

mod world;

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use testkit::api_proxy::Fault;
use testkit::excuses::Excuses;
use world::{HOSTS, SERVERS, SERVICES, World};

/// An event of a sequence. A fault of the API server stays until the next one, at most to the end of the sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Api(Fault),
    CutConnections,
    KillMaster,
    KillWorkers,
    RestartController,
    StopController(bool),
    StopWorkers(bool),
    KillTests(bool),
    NoMemory(bool),
    /// The ConfigMap asks for what NGINX refuses.
    BreakSettings(bool),
    /// The host leads to the service; with a size it needs a profile of its own.
    Route(usize, usize, Option<u8>),
    Unroute(usize),
    /// The service has these servers, by the bits of the number.
    Endpoints(usize, u8),
}

const REPAIRS: [Step; 6] = [
    Step::StopController(false),
    Step::StopWorkers(false),
    Step::KillTests(false),
    Step::NoMemory(false),
    Step::BreakSettings(false),
    Step::Api(Fault::None),
];

fn step() -> impl Strategy<Value = Step> {
    let fault = prop_oneof![
        Just(Fault::None),
        Just(Fault::Slow),
        Just(Fault::Hang),
        Just(Fault::Gone),
        Just(Fault::Unauthorized),
        Just(Fault::Expired),
    ];
    let route = (0..HOSTS, 0..SERVICES, proptest::option::of(0..20_u8)).prop_map(|(host, service, size)| Step::Route(host, service, size));
    let endpoints = (0..SERVICES, 1..1_u8 << SERVERS).prop_map(|(service, servers)| Step::Endpoints(service, servers));
    prop_oneof![
        5 => fault.prop_map(Step::Api),
        1 => Just(Step::CutConnections),
        1 => Just(Step::KillMaster),
        1 => Just(Step::KillWorkers),
        1 => Just(Step::RestartController),
        1 => any::<bool>().prop_map(Step::StopController),
        1 => any::<bool>().prop_map(Step::StopWorkers),
        1 => any::<bool>().prop_map(Step::KillTests),
        1 => any::<bool>().prop_map(Step::NoMemory),
        2 => any::<bool>().prop_map(Step::BreakSettings),
        3 => route,
        1 => (0..HOSTS).prop_map(Step::Unroute),
        3 => endpoints,
    ]
}

async fn act(world: &mut World, step: Step) -> anyhow::Result<()> {
    match step {
        Step::Api(fault) => world.proxy.set(fault),
        Step::CutConnections => world.proxy.cut(),
        Step::KillMaster => world.kill_masters(),
        Step::KillWorkers => world.kill_workers(),
        Step::RestartController => world.restart()?,
        Step::StopController(on) => world.stop_controller(on),
        Step::StopWorkers(on) => world.stop_workers(on),
        Step::KillTests(on) => world.nginx.kill_tests(on),
        Step::NoMemory(on) => world.no_memory(on),
        Step::BreakSettings(on) => world.settings(on).await?,
        Step::Route(host, service, size) => world.route(host, service, size).await?,
        Step::Unroute(host) => world.unroute(host).await?,
        Step::Endpoints(service, servers) => world.endpoints(service, servers).await?,
    }
    Ok(())
}

/// One sequence, beside clients that keep their connections and clients that don't.
async fn survive(world: &mut World, steps: &[(Step, u64)]) -> anyhow::Result<()> {
    let loads = world.loads();
    let mut excuses = Excuses::default();
    for (step, pause) in steps {
        match step {
            Step::KillMaster | Step::KillWorkers => excuses.kill(),
            Step::StopController(true) | Step::StopWorkers(true) | Step::NoMemory(true) => excuses.hinder(),
            _ => {}
        }
        act(world, *step).await?;
        // Not to wait for anything: faults come at any time. Requests stand still where workers do.
        let _ = tokio::time::timeout(Duration::from_millis(500), loads[0].begin(*pause)).await;
    }
    for step in REPAIRS {
        act(world, step).await?;
    }
    excuses.repaired();
    world.settled().await?;
    for load in loads {
        let report = load.stop().await;
        let unexcused: Vec<_> = excuses.unexcused(&report).collect();
        anyhow::ensure!(unexcused.is_empty(), "{report}, {} without an excuse, first {:?}; {excuses:?}", unexcused.len(), unexcused[0]);
    }
    Ok(())
}

/// With those in a directory (`crates/narthex/tests/faults`) 40, and 2,000 with `NARTHEX_SOAK`.
fn sequences() -> u32 {
    if std::env::var_os("NARTHEX_SOAK").is_some() { 600 } else { 12 }
}

#[test]
fn after_random_faults_of_the_api_server_every_host_answers_what_it_says() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let world = tokio::sync::Mutex::new(runtime.block_on(World::serving())?);
    let config =
        Config { cases: sequences(), rng_seed: RngSeed::Fixed(1), failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let sequence = proptest::collection::vec((step(), 0..60_u64), 3..10);
    let result = TestRunner::new(config).run(&sequence, |steps| {
        let done = runtime.block_on(async { survive(&mut *world.lock().await, &steps).await });
        done.map_err(|error| TestCaseError::fail(format!("{error:#}")))
    });
    result.unwrap_or_else(|error| panic!("{error}\n{}", world.blocking_lock().log()));
    // What its loads and its proxy run on.
    runtime.block_on(async { drop(world) });
    Ok(())
}
