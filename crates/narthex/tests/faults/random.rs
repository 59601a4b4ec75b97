//! Random sequences of faults, each with its repair, beside changes and requests.

use nix::sys::signal::Signal;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use testkit::processes::signal;

use crate::bed::Bed;

/// What happens; what stays broken is repaired at the end of the sequence at the latest.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    KillMaster,
    KillWorkers,
    RestartController,
    StopController(bool),
    KillTests(bool),
    FillDisk(bool),
    NoDescriptors(bool),
    BreakSettings(bool),
    /// An Ingress that needs no reload, or one.
    Change(u8, Option<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    let on = any::<bool>();
    prop_oneof![
        Just(Step::KillMaster),
        Just(Step::KillWorkers),
        Just(Step::RestartController),
        on.prop_map(Step::StopController),
        on.prop_map(Step::KillTests),
        on.prop_map(Step::FillDisk),
        on.prop_map(Step::NoDescriptors),
        on.prop_map(Step::BreakSettings),
        (0..6_u8, proptest::option::of(0..20_u8)).prop_map(|(host, size)| Step::Change(host, size)),
        (0..6_u8, proptest::option::of(0..20_u8)).prop_map(|(host, size)| Step::Change(host, size)),
    ]
}

async fn act(bed: &mut Bed, step: Step, turn: usize) {
    match step {
        Step::KillMaster => bed.masters().into_iter().for_each(|pid| signal(pid, Signal::SIGKILL)),
        Step::KillWorkers => bed.workers().into_iter().for_each(|pid| signal(pid, Signal::SIGKILL)),
        Step::RestartController => {
            bed.kill_controller();
            bed.start();
        }
        Step::StopController(on) => signal(bed.controller(), if on { Signal::SIGSTOP } else { Signal::SIGCONT }),
        Step::KillTests(on) => bed.kill_tests(on),
        Step::FillDisk(on) => bed.fill_disk(on),
        Step::NoDescriptors(on) => bed.descriptors(if on { "3" } else { "4096" }),
        Step::BreakSettings(on) => bed.settings(if on { "no_such_directive on;" } else { "# sound" }),
        Step::Change(host, size) => {
            bed.host(&format!("h{host}"), &format!("https://{turn}.example.com"), size.map(|size| u32::from(size) + 4));
        }
    }
}

/// Sequences of one test: together 40, and 2,000 with `NARTHEX_SOAK`.
fn sequences() -> u32 {
    if std::env::var_os("NARTHEX_SOAK").is_some() { 500 } else { 10 }
}

fn run(seed: u64) {
    let config =
        Config { cases: sequences(), rng_seed: RngSeed::Fixed(seed), failure_persistence: None, max_shrink_iters: 0, ..Config::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let bed = tokio::sync::Mutex::new(runtime.block_on(Bed::serving(6, &[])));
    let sequence = proptest::collection::vec((step(), 0..400_u64), 2..8);
    let result = TestRunner::new(config).run(&sequence, |steps| {
        runtime.block_on(async {
            let bed = &mut *bed.lock().await;
            let load = bed.load("h5", 100);
            for (turn, (step, pause)) in steps.iter().enumerate() {
                act(bed, *step, turn).await;
                // Not to wait for anything: faults come at any time.
                load.begin(pause / 10).await;
            }
            for step in [
                Step::StopController(false),
                Step::KillTests(false),
                Step::FillDisk(false),
                Step::NoDescriptors(false),
                Step::BreakSettings(false),
            ] {
                act(bed, step, 0).await;
            }
            bed.settled().await;
            let report = load.stop().await;
            let killed = steps.iter().filter(|(step, _)| matches!(step, Step::KillMaster | Step::KillWorkers)).count();
            // In the moments of a killed process: its requests, and until another accepts.
            prop_assert!(
                report.failures.len() <= 200 * killed,
                "{} failed, first {:?}\n{}",
                report.failures.len(),
                report.failures.first(),
                bed.log()
            );
            Ok(())
        })
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
