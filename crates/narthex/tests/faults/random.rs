//! Random sequences of faults, each with its repair, beside changes and requests.

use std::time::Duration;

use nix::sys::signal::Signal;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use testkit::excuses::Excuses;
use testkit::processes::signal;

use crate::bed::Bed;

/// Longest time from the last repair to the wanted state.
const REPAIR: Duration = Duration::from_secs(10);

/// The faults; what stays broken is repaired at the end of the sequence at the latest.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    KillMaster,
    KillWorkers,
    RestartController,
    StopController(bool),
    StopWorkers(bool),
    KillTests(bool),
    NoMemory(bool),
    FillDisk(bool),
    NoDescriptors(bool),
    BreakSettings(bool),
    /// Seconds that the clock is off.
    Clock(i32),
    /// An Ingress that needs no reload, or one.
    Change(u8, Option<u8>),
}

const REPAIRS: [Step; 8] = [
    Step::StopController(false),
    Step::StopWorkers(false),
    Step::KillTests(false),
    Step::NoMemory(false),
    Step::FillDisk(false),
    Step::NoDescriptors(false),
    Step::BreakSettings(false),
    Step::Clock(0),
];

fn step() -> impl Strategy<Value = Step> {
    let on = any::<bool>();
    prop_oneof![
        Just(Step::KillMaster),
        Just(Step::KillWorkers),
        Just(Step::RestartController),
        on.prop_map(Step::StopController),
        on.prop_map(Step::StopWorkers),
        on.prop_map(Step::KillTests),
        on.prop_map(Step::NoMemory),
        on.prop_map(Step::FillDisk),
        on.prop_map(Step::NoDescriptors),
        on.prop_map(Step::BreakSettings),
        proptest::sample::select(vec![-86_400, -60, -1, 1, 60, 86_400]).prop_map(Step::Clock),
        (0..6_u8, proptest::option::of(0..20_u8)).prop_map(|(host, size)| Step::Change(host, size)),
        (0..6_u8, proptest::option::of(0..20_u8)).prop_map(|(host, size)| Step::Change(host, size)),
    ]
}

fn stop(on: bool) -> Signal {
    if on { Signal::SIGSTOP } else { Signal::SIGCONT }
}

async fn act(bed: &mut Bed, step: Step, turn: usize) {
    match step {
        Step::KillMaster => bed.masters().into_iter().for_each(|pid| signal(pid, Signal::SIGKILL)),
        Step::KillWorkers => bed.workers().into_iter().for_each(|pid| signal(pid, Signal::SIGKILL)),
        Step::RestartController => {
            bed.kill_controller();
            bed.start();
        }
        Step::StopController(on) => signal(bed.controller(), stop(on)),
        Step::StopWorkers(on) => bed.workers().into_iter().for_each(|pid| signal(pid, stop(on))),
        Step::Clock(off) => bed.clock(off),
        Step::KillTests(on) => bed.nginx.kill_tests(on),
        Step::NoMemory(on) => bed.no_memory(on),
        Step::FillDisk(on) => bed.fill_disk(on),
        Step::NoDescriptors(on) => bed.descriptors(if on { "3" } else { "4096" }),
        Step::BreakSettings(on) => bed.settings(if on { "no_such_directive on;" } else { "# sound" }),
        Step::Change(host, size) => {
            bed.host(&format!("h{host}"), &format!("https://{turn}.example.com"), size.map(|size| u32::from(size) + 4));
        }
    }
}

/// Sequences of one test, of which there are four: with those of the API server's faults together 40, and 2,000 with `NARTHEX_SOAK`.
fn sequences() -> u32 {
    if std::env::var_os("NARTHEX_SOAK").is_some() { 350 } else { 7 }
}

/// Requests a second of either kind of clients.
const RATE: u32 = 150;

/// One sequence, its repair, and what came of it.
async fn survive(bed: &mut Bed, steps: &[(Step, u64)]) -> anyhow::Result<()> {
    // Clients with fresh connections, and clients that keep theirs and send again what met a closed one.
    let loads = [bed.load("h5", RATE), bed.fresh_load("h5", RATE)];
    let mut excuses = Excuses::default();
    for (turn, (step, pause)) in steps.iter().enumerate() {
        match step {
            Step::KillMaster | Step::KillWorkers => excuses.kill(),
            Step::StopController(true) | Step::StopWorkers(true) | Step::NoDescriptors(true) | Step::NoMemory(true) => excuses.hinder(),
            _ => {}
        }
        act(bed, *step, turn).await;
        // Not to wait for anything: faults come at any time. Requests stand still where workers do.
        let _ = tokio::time::timeout(Duration::from_millis(500), loads[0].begin(pause / 10)).await;
    }
    for step in REPAIRS {
        act(bed, step, 0).await;
    }
    excuses.repaired();
    let mut settled = bed.settled_within(REPAIR).await;
    if settled.is_err() && bed.restart_ended() {
        settled = bed.settled_within(REPAIR).await;
    }
    settled?;
    for load in loads {
        let report = load.stop().await;
        let unexcused: Vec<_> = excuses.unexcused(&report).collect();
        anyhow::ensure!(unexcused.is_empty(), "{report}, {} without an excuse, first {:?}; {excuses:?}", unexcused.len(), unexcused[0]);
    }
    Ok(())
}

fn run(seed: u64) {
    let config =
        Config { cases: sequences(), rng_seed: RngSeed::Fixed(seed), failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut bed = Bed::new(&[]);
    bed.own_clock = true;
    bed.clock(0);
    runtime.block_on(bed.serve(6));
    let bed = tokio::sync::Mutex::new(bed);
    let sequence = proptest::collection::vec((step(), 0..400_u64), 2..8);
    let result = TestRunner::new(config).run(&sequence, |steps| {
        let done = runtime.block_on(async { survive(&mut *bed.lock().await, &steps).await });
        done.map_err(|error| TestCaseError::fail(format!("{error:#}")))
    });
    if let Err(error) = result {
        panic!("{error}\n{}", bed.blocking_lock().log());
    }
}

#[test]
fn after_random_faults_every_host_answers_the_truth_1() {
    run(1);
}

#[test]
fn after_random_faults_every_host_answers_the_truth_2() {
    run(2);
}

#[test]
fn after_random_faults_every_host_answers_the_truth_3() {
    run(3);
}

#[test]
fn after_random_faults_every_host_answers_the_truth_4() {
    run(4);
}
