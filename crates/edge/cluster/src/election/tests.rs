//! Two candidates and a server.

use super::*;
use crate::fake::{Fake, eventually, until};

async fn candidate(fake: &Fake, identity: &str, tasks: &mut Tasks) -> ElectionHandle {
    let lease = ObjectKey::new("ingress", "leader");
    let options = ElectionOptions { lease, identity: identity.into(), ttl: Duration::from_secs(1) };
    Election::spawn(fake.client().await, options, tasks)
}

fn holder(fake: &Fake) -> String {
    let lease = fake.get("leases", "ingress", "leader").unwrap_or_default();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn one_leads_and_the_other_takes_over_when_it_leaves() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let mut first = candidate(&fake, "first", &mut tasks).await;
    until(&mut first.leader, "the first leads", |leads| *leads).await;
    let mut second = candidate(&fake, "second", &mut tasks).await;
    eventually(&fake, "the second has looked", || fake.requests("GET") >= 2).await;
    assert!(!*second.leader.borrow());
    first.stop().await;
    assert_eq!(holder(&fake), "");
    until(&mut second.leader, "the second leads", |leads| *leads).await;
    assert_eq!(holder(&fake), "second");
    let lease = fake.get("leases", "ingress", "leader").unwrap();
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
}

#[tokio::test]
async fn a_leader_that_can_not_renew_steps_down_and_comes_back() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let mut only = candidate(&fake, "only", &mut tasks).await;
    until(&mut only.leader, "it leads", |leads| *leads).await;
    fake.fault("leases", 500);
    until(&mut only.leader, "it steps down", |leads| !*leads).await;
    fake.fault("leases", 0);
    until(&mut only.leader, "it leads again", |leads| *leads).await;
}

#[tokio::test]
async fn a_holder_that_died_is_replaced_when_its_lease_ran_out() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let mut dying = Tasks::new();
    let mut first = candidate(&fake, "first", &mut dying).await;
    until(&mut first.leader, "the first leads", |leads| *leads).await;
    dying.abort_all();
    let mut second = candidate(&fake, "second", &mut tasks).await;
    until(&mut second.leader, "the second leads", |leads| *leads).await;
    assert_eq!(holder(&fake), "second");
}

#[tokio::test]
async fn a_lease_whose_answer_is_still_on_its_way_is_released_too() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let first = candidate(&fake, "first", &mut tasks).await;
    // As soon as the server has it, which is before the candidate knows.
    while holder(&fake) != "first" {
        tokio::task::yield_now().await;
    }
    first.stop().await;
    assert_eq!(holder(&fake), "");
}
