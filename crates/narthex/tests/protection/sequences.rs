//! Random sequences of changes, with requests in flight that began before them.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use testkit::half::Half;

use crate::bed::{Bed, name};
use crate::guard::Guard;

/// The last one is open at times.
const HOSTS: usize = 5;

/// A step of a sequence.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The global settings change: a reload, and workers that drain.
    Reload,
    /// A host gets a profile of its own, or not.
    Profile(usize, Option<u8>),
    /// A host gets a server block of its own, or loses it.
    HostServer(usize, bool),
    /// A host is protected in another way.
    Guard(usize, Guard),
    /// The last host is protected like this, or open, with a profile of its own or not.
    Late(Guard, Option<u8>),
    KillWorker(usize),
    RestartController,
    /// A request begins: over HTTP/2 or not.
    Begin(usize, bool),
    /// All of those get their end.
    Finish,
}

fn step() -> impl Strategy<Value = Step> {
    let guard = || proptest::sample::select(Guard::PROTECTING.to_vec());
    let size = || proptest::option::of(0..8_u8);
    prop_oneof![
        2 => Just(Step::Reload),
        2 => (0..HOSTS, size()).prop_map(|(host, size)| Step::Profile(host, size)),
        2 => (0..HOSTS, any::<bool>()).prop_map(|(host, on)| Step::HostServer(host, on)),
        3 => (0..HOSTS - 1, guard()).prop_map(|(host, guard)| Step::Guard(host, guard)),
        3 => (prop_oneof![Just(Guard::Open), guard()], size()).prop_map(|(guard, size)| Step::Late(guard, size)),
        1 => any::<usize>().prop_map(Step::KillWorker),
        1 => Just(Step::RestartController),
        3 => (0..HOSTS, any::<bool>()).prop_map(|(host, http2)| Step::Begin(host, http2)),
        3 => any::<bool>().prop_map(|http2| Step::Begin(HOSTS - 1, http2)),
        3 => Just(Step::Finish),
    ]
}

/// One sequence, and what it has so far.
struct Run<'a> {
    bed: &'a mut Bed,
    begun: Vec<Half>,
    /// Number of requests that had reached the last host's backend when it was last seen to be protected.
    closed: Option<u64>,
}

impl Run<'_> {
    async fn act(&mut self, step: Step) {
        match step {
            Step::Reload => self.bed.settings(),
            Step::Profile(host, size) => self.change(host, |state| state.size = size),
            Step::HostServer(host, on) => self.change(host, |state| state.host_server = on),
            Step::Guard(host, guard) => self.change(host, |state| state.guard = guard),
            Step::Late(guard, size) => {
                let host = HOSTS - 1;
                self.closed = None;
                self.change(host, |state| (state.guard, state.size) = (guard, size));
                self.bed.until_refused(host, guard != Guard::Open).await;
                self.closed = (guard != Guard::Open).then(|| self.bed.late.uninvited());
            }
            Step::KillWorker(which) => self.bed.kill_worker(which),
            Step::RestartController => {
                self.bed.kill_controller();
                self.bed.start();
            }
            Step::Begin(host, http2) => {
                let half = match http2 {
                    true => Half::http2(self.bed.https(), &name(host)).await,
                    false => Half::http1(self.bed.http(), &name(host)).await,
                };
                // While a worker is killed there is perhaps none to begin one with.
                self.begun.extend(half.ok());
            }
            Step::Finish => self.finish().await,
        }
    }

    fn change(&mut self, host: usize, change: impl FnOnce(&mut crate::bed::Host)) {
        change(&mut self.bed.hosts[host]);
        self.bed.put(host);
    }

    async fn finish(&mut self) {
        for half in self.begun.drain(..) {
            half.finish().await;
        }
    }

    /// No request without credentials has reached what is protected.
    fn check(&self, step: Step) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.bed.guarded.uninvited(), 0, "a protected backend was reached, {:?}\n{}", step, self.bed.log());
        if let Some(closed) = self.closed {
            prop_assert_eq!(
                self.bed.late.uninvited(),
                closed,
                "a backend that is protected by now was reached, {:?}\n{}",
                step,
                self.bed.log()
            );
        }
        Ok(())
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
    let bed = tokio::sync::Mutex::new(runtime.block_on(Bed::serving(HOSTS)));
    let sequence = proptest::collection::vec((step(), 0..HOSTS, any::<bool>()), 4..16);
    let result = TestRunner::new(config).run(&sequence, |steps| {
        runtime.block_on(async {
            let bed = &mut *bed.lock().await;
            let closed = (bed.hosts[HOSTS - 1].guard != Guard::Open).then(|| bed.late.uninvited());
            let mut run = Run { bed, begun: Vec::new(), closed };
            for (step, host, tls) in steps {
                run.act(step).await;
                // A killed worker's connections fail; what counts is the backend.
                drop(run.bed.ask(host, tls).await);
                run.check(step)?;
            }
            run.bed.settled().await;
            run.finish().await;
            run.check(Step::Finish)
        })
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn under_changes_no_request_reaches_a_backend_without_its_protection_1() {
    run(1);
}

#[test]
fn under_changes_no_request_reaches_a_backend_without_its_protection_2() {
    run(2);
}

#[test]
fn under_changes_no_request_reaches_a_backend_without_its_protection_3() {
    run(3);
}

#[test]
fn under_changes_no_request_reaches_a_backend_without_its_protection_4() {
    run(4);
}

/// The assumption of the other tests.
#[tokio::test(flavor = "multi_thread")]
async fn requests_whose_end_comes_later_reach_a_backend_that_is_open() {
    let bed = Bed::serving(HOSTS).await;
    let open = name(HOSTS - 1);
    for (half, reached) in [(Half::http1(bed.http(), &open).await, 1), (Half::http2(bed.https(), &open).await, 2)] {
        let half = half.unwrap();
        assert_eq!(bed.late.uninvited(), reached - 1);
        half.finish().await;
        assert_eq!(bed.late.uninvited(), reached);
    }
}
