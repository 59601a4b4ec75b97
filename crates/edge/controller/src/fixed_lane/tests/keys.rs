//! Keys of the ConfigMap that NGINX refuses.

use super::*;

fn refused() -> ApplyError {
    ApplyError::Refused { message: "no".into(), culprit: None }
}

/// Settings of which none is a default.
const SOUND: [(&str, &str); 6] = [
    ("gzip-level", "5"),
    ("keep-alive", "30"),
    ("server-tokens", "true"),
    ("ssl-buffer-size", "8k"),
    ("use-gzip", "true"),
    ("worker-processes", "4"),
];

fn with<'a>(settings: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    SOUND.iter().chain(settings).copied().collect()
}

/// An NGINX that refuses an `http-snippet`, and takes two seconds for each test.
fn slow_to_test() -> World {
    let judge = |fixed: &Fixed| if fixed.globals.config.snippets.http_snippet.is_some() { Err(refused()) } else { Ok(()) };
    World { test_takes: Duration::from_secs(2), ..world(judge) }
}

#[tokio::test(start_paused = true)]
async fn a_new_nginx_does_not_wait_for_the_search_for_a_refused_key() {
    let mut bed = Bed::over(slow_to_test(), 1000);
    bed.snapshots
        .send_replace(snapshot(&with(&[("http-snippet", "no_such on;")]), (1..30).map(|number| ingress(&format!("i{number}"), number))));
    tokio::time::timeout(Duration::from_secs(5), bed.handle.loaded.wait_for(|loaded| loaded.starts == 1)).await.unwrap().unwrap();
    let found = problems(&bed, "Configuration");
    assert!(found.len() == 7 && found[0].contains("data[\"gzip-level\"]: \"5\": NGINX refuses this or another key that changed: no; its default is used until it is known which"), "{found:?}");
    let special = bed.fake.world().runs.profiles.values().filter(|profile| profile.describe().contains("proxy-buffer-size")).count();
    assert_eq!(special, 28, "all but the one with the default size");
    settled(&mut bed).await;
    settled(&mut bed).await;
    let found = problems(&bed, "Configuration");
    assert!(
        found.len() == 1
            && found[0].contains("data[\"http-snippet\"]: \"no_such on;\": NGINX refuses it: no; its default is used until it changes"),
        "{found:?}"
    );
    assert_eq!(problems(&bed, "Quarantined"), [""; 0]);
    let config = bed.fake.world().runs.globals.config.clone();
    assert!(config.use_gzip && config.server_tokens && config.gzip_level == 5);
    // One for what was left, one for what was found to be sound.
    assert_eq!(bed.calls(), ["apply", "apply", "apply"]);
}

#[tokio::test(start_paused = true)]
async fn changes_of_ingresses_do_not_wait_for_the_search() {
    let mut bed = Bed::over(slow_to_test(), 1000);
    bed.snapshots.send_replace(snapshot(&[("server-tokens", "false")], [ingress("old", 1)]));
    settled(&mut bed).await;
    let settings = with(&[("http-snippet", "no_such on;")]);
    bed.snapshots.send_replace(snapshot(&settings, [ingress("old", 1)]));
    tokio::time::sleep(Duration::from_secs(8)).await;
    bed.snapshots.send_replace(snapshot(&settings, [ingress("old", 1), ingress("new", 2)]));
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(bed.fake.world().runs.profiles.values().any(|profile| profile.describe().contains("2k")));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_changes_during_the_search_is_judged_by_its_new_value() {
    let mut bed = Bed::over(slow_to_test(), 1000);
    bed.snapshots.send_replace(snapshot(&with(&[("http-snippet", "no_such on;")]), []));
    bed.handle.loaded.wait_for(|loaded| loaded.starts == 1).await.unwrap();
    bed.snapshots.send_replace(snapshot(&with(&[]), []));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(problems(&bed, "Configuration"), [""; 0]);
    assert!(bed.fake.world().runs.globals.config.use_gzip);
}

#[tokio::test(start_paused = true)]
async fn several_refused_keys_are_found_and_the_tests_are_few() {
    let judge = |fixed: &Fixed| {
        let config = &fixed.globals.config;
        let bad = config.gzip_level == 5 || config.keep_alive.0 == 30 || config.snippets.http_snippet.is_some();
        if bad { Err(refused()) } else { Ok(()) }
    };
    let mut bed = Bed::over(world(judge), 1000);
    bed.snapshots.send_replace(snapshot(&with(&[("http-snippet", "no_such on;")]), []));
    settled(&mut bed).await;
    let found = problems(&bed, "Configuration");
    let names = ["gzip-level", "http-snippet", "keep-alive"];
    assert!(found.len() == 3 && names.iter().zip(&found).all(|(name, problem)| problem.contains(name)), "{found:?}");
    let config = bed.fake.world().runs.globals.config.clone();
    assert!(config.use_gzip && config.worker_processes.to_string() == "4");
    let tests = bed.fake.world().tests;
    assert!(tests < 25, "{tests} tests");
}

/// Settings that name a ConfigMap of headers, with one header of this value.
fn headers(value: &str) -> Option<Arc<Snapshot>> {
    let mut snapshot = (*snapshot(&with(&[("add-headers", "n/headers")]), [ingress("i", 1)]).unwrap()).clone();
    let map = ConfigMap { data: Some([("X-Team".to_owned(), value.to_owned())].into()), ..ConfigMap::default() };
    snapshot.config_maps.insert(ObjectKey::new("n", "headers"), Arc::new(map));
    Some(Arc::new(snapshot))
}

/// The value of the header that NGINX sets.
fn header(bed: &Bed) -> Option<String> {
    bed.fake.world().runs.globals.headers.answer.first().map(|(_, value)| value.to_string())
}

/// An NGINX that refuses a header.
fn refuses_a_header() -> World {
    world(|fixed| {
        let bad = fixed.globals.headers.answer.iter().any(|(_, value)| value.as_str() == "bad");
        if bad { Err(refused()) } else { Ok(()) }
    })
}

#[tokio::test(start_paused = true)]
async fn what_a_key_names_can_be_refused_and_mended_while_the_key_stays_the_same() {
    let mut bed = Bed::over(refuses_a_header(), 1000);
    bed.snapshots.send_replace(headers("good"));
    settled(&mut bed).await;
    bed.snapshots.send_replace(headers("bad"));
    tokio::time::sleep(Duration::from_secs(20)).await;
    let found = problems(&bed, "Configuration");
    let expected = "data[\"add-headers\"]: \"n/headers\": NGINX refuses it: no; its last accepted value stays active until it changes";
    assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
    assert_eq!((header(&bed).as_deref(), problems(&bed, "Quarantined").len()), (Some("good"), 0));
    // Another bad content keeps it, a good one is used.
    bed.snapshots.send_replace(headers("better"));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!((header(&bed).as_deref(), problems(&bed, "Configuration")), (Some("better"), Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_bad_content_among_other_changes_is_found() {
    let mut bed = Bed::over(refuses_a_header(), 1000);
    bed.snapshots.send_replace(headers("bad"));
    settled(&mut bed).await;
    let found = problems(&bed, "Configuration");
    assert!(found.len() == 1 && found[0].contains("data[\"add-headers\"]") && found[0].contains("its default is used"), "{found:?}");
    assert!(header(&bed).is_none() && bed.fake.world().runs.globals.config.use_gzip);
}
