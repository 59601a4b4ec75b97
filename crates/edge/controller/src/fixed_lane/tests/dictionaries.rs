//! Shared dictionaries of another size.

use model::dictionaries::{Dictionaries, Place};

use super::*;
use crate::port::Old;

/// Name and size of the dictionary of limits in the text, and those of the former one.
fn limits(bed: &Bed) -> (String, String, Option<String>) {
    let globals = bed.fake.world().runs.globals.clone();
    let place = globals.places.iter().find(|(name, _)| name.as_str() == "limit_req").map(|(_, place)| *place).unwrap_or_default();
    let (_, size) = globals.config.lua_shared_dicts.iter().find(|(name, _)| name.as_str() == "limit_req").unwrap();
    let former = place.former_name("limit_req").zip(place.former).map(|(name, size)| format!("{name} {size}"));
    (place.name("limit_req"), size.to_string(), former)
}

async fn resized(bed: &mut Bed, size: &str) -> (String, String, Option<String>) {
    bed.snapshots.send_replace(snapshot(&[("lua-shared-dicts", &format!("limit_req: {size}"))], []));
    settled(bed).await;
    limits(bed)
}

fn is(name: &str, size: &str, former: Option<&str>) -> (String, String, Option<String>) {
    (name.into(), size.into(), former.map(str::to_owned))
}

#[tokio::test(start_paused = true)]
async fn a_dictionary_of_another_size_is_moved_and_the_records_are_looked_at_again() {
    let mut bed = Bed::over(World::default(), 1000);
    assert_eq!(resized(&mut bed, "1").await, is("limit_req", "1m", None));
    let starts = bed.handle.loaded.borrow().starts;
    assert_eq!(resized(&mut bed, "2").await, is("limit_req_resized", "2m", Some("limit_req 1m")));
    assert_eq!((bed.handle.loaded.borrow().starts, bed.calls().len()), (starts + 1, 2));
    // Its first name is free again only after a reload without the former one.
    assert_eq!(resized(&mut bed, "3").await, is("limit_req", "3m", Some("limit_req_resized 2m")));
    assert_eq!(bed.calls().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_former_dictionary_stays_as_long_as_a_worker_may_use_it() {
    let mut bed = Bed::over(World { old: Old { workers: BTreeSet::new(), most: 16 }, ..World::default() }, 1000);
    resized(&mut bed, "1").await;
    let moved = is("limit_req_resized", "2m", Some("limit_req 1m"));
    assert_eq!(resized(&mut bed, "2").await, moved);
    bed.snapshots.send_replace(snapshot(&[("lua-shared-dicts", "limit_req: 3"), ("keep-alive", "7")], []));
    settled(&mut bed).await;
    assert_eq!((limits(&bed), bed.fake.world().runs.globals.config.keep_alive.0), (moved.clone(), 7), "other settings do not wait for it");
    bed.fake.world().old = Old::default();
    settled(&mut bed).await;
    assert_eq!(limits(&bed), is("limit_req", "3m", Some("limit_req_resized 2m")));
}

#[tokio::test(start_paused = true)]
async fn an_adopted_nginx_has_its_dictionaries_moved_from_where_they_are() {
    let mut runs = Fixed::default();
    Arc::make_mut(&mut runs.globals).places.insert("limit_req".parse().unwrap(), Place { second: true, former: None });
    let dictionaries = Dictionaries::of(&runs);
    let format = Some(model::live::wire::format().to_owned());
    let adopted = Adopted { revision: "old".into(), format, locations: Locations::default(), dictionaries };
    let mut bed = Bed::over(World { adopted: Some(adopted), up: true, ..World::default() }, 1000);
    assert_eq!(resized(&mut bed, "2").await, is("limit_req", "2m", Some("limit_req_resized 20m")));
}
