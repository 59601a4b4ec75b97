//! Configurations that take too long to test.

use std::sync::atomic::AtomicUsize;

use super::*;

fn slow_world(pace: impl Fn(&Fixed) -> Duration + Send + 'static) -> World {
    World { pace: Some(Box::new(pace)), ..World::default() }
}

/// Profiles with buffers of 13k, 113k, ... take a minute, others no time.
fn slow_thirteen(fixed: &Fixed) -> Duration {
    let odd = fixed.profiles.values().any(|profile| profile.describe().contains("13k"));
    Duration::from_secs(if odd { 60 } else { 0 })
}

fn of(namespace: &str, (key, ingress): (ObjectKey, Arc<model::Ingress>)) -> (ObjectKey, Arc<model::Ingress>) {
    (ObjectKey::new(namespace, key.name), ingress)
}

#[tokio::test(start_paused = true)]
async fn an_ingress_that_makes_the_test_too_slow_is_quarantined_and_named_and_all_others_are_served() {
    let mut bed = Bed::over(slow_world(slow_thirteen), 1000);
    let ingresses = || (1..40).map(|number| ingress(&format!("i{number}"), number));
    bed.snapshots.send_replace(snapshot(&[], ingresses()));
    settled(&mut bed).await;
    let found = problems(&bed, "Quarantined");
    assert!(found.len() == 1 && found[0].contains("n/i13"), "{found:?}");
    for words in ["takes longer than 5s, and 0.0 s without; it may take 10s", "1 KiB of the text"] {
        assert!(found[0].contains(words), "{}", found[0]);
    }
    let loaded = |words: &str| bed.fake.world().runs.profiles.values().any(|profile| profile.describe().contains(words));
    assert!(loaded("-size 12k") && loaded("-size 39k") && !loaded("13k"));

    // What its namespace asks for next is tested alone, and costs others no search.
    let before = (bed.calls().len(), bed.fake.world().tests);
    bed.snapshots.send_replace(snapshot(&[], ingresses().chain([ingress("next", 113)])));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let found = problems(&bed, "Quarantined");
    assert!(found.len() == 2 && found.iter().any(|problem| problem.contains("n/next")), "{found:?}");
    assert_eq!((bed.calls().len(), bed.fake.world().tests), (before.0, before.1 + 1));
    bed.snapshots.send_replace(snapshot(&[], ingresses().chain([ingress("next", 114)])));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(problems(&bed, "Quarantined").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn where_only_the_sum_is_too_slow_it_is_the_namespace_with_the_most_that_waits() {
    // Two tenths of a second for each profile.
    let pace = |fixed: &Fixed| {
        let own = fixed.profiles.values().filter(|profile| profile.describe().contains("proxy-buffer-size")).count();
        Duration::from_millis(200) * own as u32
    };
    let mut bed = Bed::over(slow_world(pace), 1000);
    let evil = (100..180).map(|number| of("evil", ingress(&format!("evil{number}"), number)));
    let shop = (200..204).map(|number| of("shop", ingress(&format!("shop{number}"), number)));
    bed.snapshots.send_replace(snapshot(&[], evil.chain(shop)));
    settled(&mut bed).await;
    let found = problems(&bed, "Quarantined");
    assert!(found.iter().all(|problem| problem.contains("evil/")) && (30..70).contains(&found.len()), "{} {found:?}", found.len());
    let tests = bed.fake.world().tests;
    assert!(tests < 40, "{tests} tests");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_slow_with_what_runs_blames_nothing() {
    let starved = Arc::new(AtomicBool::new(false));
    let is_starved = starved.clone();
    let pace = move |_: &Fixed| Duration::from_secs(if is_starved.load(Ordering::Relaxed) { 60 } else { 0 });
    let mut bed = Bed::over(slow_world(pace), 1000);
    bed.snapshots.send_replace(snapshot(&[], [ingress("old", 1)]));
    settled(&mut bed).await;
    starved.store(true, Ordering::Relaxed);
    bed.snapshots.send_replace(snapshot(&[], [ingress("old", 1), ingress("new", 2)]));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(problems(&bed, "Quarantined"), [""; 0]);
    assert!(bed.handle.fault.borrow().as_deref().is_some_and(|fault| fault.contains("and so it is with what it runs")));
    starved.store(false, Ordering::Relaxed);
    settled(&mut bed).await;
    assert_eq!(bed.handle.fault.borrow().clone(), None);
    assert!(bed.fake.world().runs.profiles.values().any(|profile| profile.describe().contains("2k")));
}

#[tokio::test(start_paused = true)]
async fn a_test_that_was_stopped_once_blames_nothing() {
    let calls = Arc::new(AtomicUsize::new(usize::MAX / 2));
    let counted = calls.clone();
    let pace = move |_: &Fixed| Duration::from_secs(if counted.fetch_add(1, Ordering::Relaxed) == 0 { 60 } else { 0 });
    let mut bed = Bed::over(slow_world(pace), 1000);
    bed.snapshots.send_replace(snapshot(&[], [ingress("old", 1)]));
    settled(&mut bed).await;
    calls.store(0, Ordering::Relaxed);
    bed.snapshots.send_replace(snapshot(&[], [ingress("old", 1), ingress("new", 2)]));
    settled(&mut bed).await;
    assert_eq!(problems(&bed, "Quarantined"), [""; 0]);
    assert!(bed.fake.world().runs.profiles.values().any(|profile| profile.describe().contains("2k")));
}
