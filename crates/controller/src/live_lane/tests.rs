//! The lane over an NGINX that counts.

use std::time::Duration;

use crate::fake::{Bed, World};

#[tokio::test(start_paused = true)]
async fn a_record_without_room_keeps_no_other_from_being_sent_and_gets_its_room_later() {
    let bed = Bed::over(World { room: Some(1), ..World::default() }, 1000);
    bed.publish("true");
    let mut live = bed.handle.live.clone();
    let status = live.wait_for(|live| live.synced).await.unwrap().clone();
    assert_eq!((bed.fake.world().records.len(), status.without_room.is_empty()), (1, false));
    assert!(bed.handle.ready(), "the start is complete without it");
    bed.fake.world().room = None;
    live.wait_for(|live| live.without_room.is_empty()).await.unwrap();
    assert!(bed.fake.world().records.len() > 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_record_is_tried_again_ever_more_rarely() {
    let bed = Bed::over(World { room: Some(1), ..World::default() }, 1000);
    bed.publish("true");
    tokio::time::sleep(Duration::from_secs(600)).await;
    let posts = bed.fake.world().posts;
    assert!((5..25).contains(&posts), "{posts} posts in 600 s");
}

#[tokio::test(start_paused = true)]
async fn what_nginx_holds_of_nothing_that_is_wanted_is_removed() {
    let mut world = World::default();
    world.records.insert("h\tgone.example.com".into(), 7);
    let bed = Bed::over(world, 1000);
    bed.publish("true");
    let mut live = bed.handle.live.clone();
    live.wait_for(|live| live.synced).await.unwrap();
    assert!(!bed.fake.world().records.contains_key("h\tgone.example.com"));
}
