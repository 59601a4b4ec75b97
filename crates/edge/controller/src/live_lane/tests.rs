//! The lane over an NGINX that counts.

use std::sync::Arc;
use std::time::Duration;

use model::ObjectKey;
use model::object::{Backend, Ingress, IngressPath, IngressRule, PortRef};

use crate::fake::{Bed, World};

#[tokio::test(start_paused = true)]
async fn a_record_without_room_keeps_no_other_from_being_sent_and_gets_its_room_later() {
    let bed = Bed::over(World { room: Some(1), ..World::default() }, 1000);
    bed.publish("true");
    let mut live = bed.handle.live.clone();
    let status = live.wait_for(|live| live.synced()).await.unwrap().clone();
    assert_eq!((bed.fake.world().records.len(), status.without_room() == 0), (1, false));
    assert!(bed.handle.ready(), "the start is complete without it");
    bed.fake.world().room = None;
    live.wait_for(|live| live.without_room() == 0).await.unwrap();
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
    live.wait_for(|live| live.synced()).await.unwrap();
    assert!(!bed.fake.world().records.contains_key("h\tgone.example.com"));
}

/// An Ingress of a namespace with so many hosts.
fn ingress(namespace: &str, hosts: usize) -> (ObjectKey, Arc<Ingress>) {
    let backend = Backend::Service { name: "web".into(), port: PortRef::Number(80) };
    let rule = |at: usize| IngressRule {
        host: format!("h{at}.{namespace}.example").into(),
        paths: [IngressPath { path: "/".into(), path_type: "Prefix".into(), backend: backend.clone() }].into(),
    };
    let annotations = [("kubernetes.io/ingress.class".to_owned(), "nginx".to_owned())].into();
    let ingress = Ingress { annotations, rules: (0..hosts).map(rule).collect(), ..Ingress::default() };
    (ObjectKey::new(namespace, "web"), Arc::new(ingress))
}

#[tokio::test(start_paused = true)]
async fn a_change_does_not_wait_for_the_many_that_another_namespace_made_before() {
    let bed = Bed::started(1000).await;
    let mut live = bed.handle.live.clone();
    live.wait_for(|live| live.synced()).await.unwrap();
    bed.fake.world().post_takes = Duration::from_millis(10);
    let many = [ingress("aaa", 3000)];
    bed.publish_ingresses(&many);
    tokio::time::sleep(Duration::from_millis(50)).await;
    bed.publish_ingresses(&[many[0].clone(), ingress("zzz", 1)]);
    tokio::time::sleep(Duration::from_millis(60)).await;
    let count = |bed: &Bed| bed.fake.world().records.keys().filter(|key| key.starts_with("h\th")).count();
    let small = |bed: &Bed| bed.fake.world().records.contains_key("h\th0.zzz.example");
    assert_eq!((small(&bed), count(&bed) < 3000), (true, true));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(count(&bed), 3001, "the rest follows");
}

/// An Ingress whose host's connections go on undecrypted.
fn undecrypted() -> (ObjectKey, Arc<Ingress>) {
    let (key, ingress) = ingress("tls", 1);
    let mut ingress = (*ingress).clone();
    ingress.annotations.insert("nginx.ingress.kubernetes.io/ssl-passthrough".to_owned(), "true".to_owned());
    (key, Arc::new(ingress))
}

const PASSTHROUGH: &str = "p\th0.tls.example";

#[tokio::test(start_paused = true)]
async fn the_passthrough_map_is_there_before_nginx_starts_and_stays_when_it_starts_again() {
    let mut bed = Bed::new(0);
    bed.publish_ingresses(&[undecrypted()]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(bed.files.world().records.contains_key(PASSTHROUGH) && bed.files.world().generation.is_some());
    assert!(bed.fake.world().records.is_empty() && !bed.handle.ready(), "the dictionaries are not there yet");
    let posts = bed.files.world().posts;
    bed.fake.permits.add_permits(100);
    bed.handle.loaded.wait_for(|loaded| loaded.starts == 1).await.unwrap();
    bed.fake.die();
    bed.handle.loaded.wait_for(|loaded| loaded.starts == 2).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(bed.files.world().posts, posts);
}

#[tokio::test(start_paused = true)]
async fn a_passthrough_file_that_can_not_be_written_is_tried_again_and_delays_nothing_else() {
    let bed = Bed::started(1000).await;
    bed.files.world().posts_fail = true;
    bed.publish_ingresses(&[undecrypted(), ingress("other", 1)]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(bed.fake.world().records.contains_key("h\th0.other.example"));
    let posts = bed.files.world().posts;
    assert!((5..25).contains(&posts), "{posts} posts in 60 s");
    bed.files.world().posts_fail = false;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(bed.files.world().records.contains_key(PASSTHROUGH));
}

#[tokio::test(start_paused = true)]
async fn a_passthrough_file_that_another_process_changed_or_removed_is_written_again() {
    let bed = Bed::started(1000).await;
    bed.publish_ingresses(&[undecrypted()]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let written = bed.files.world().records.clone();
    assert!(written.contains_key(PASSTHROUGH));
    for name in [PASSTHROUGH, "p\tother.example"] {
        bed.files.world().records.insert(name.into(), 7);
        tokio::time::sleep(Duration::from_secs(35)).await;
        assert_eq!(bed.files.world().records, written);
    }
    bed.files.world().records.clear();
    tokio::time::sleep(Duration::from_secs(35)).await;
    assert_eq!(bed.files.world().records, written);
}
