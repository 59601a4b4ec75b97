//! Tests of configurations that take too long.

use std::fmt::Write as _;
use std::time::Duration;

use testkit::{manifests, poll};

use crate::bed::Bed;

const TARGET: &str = "https://one.example.com";
const SNIPPETS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  worker-processes: '1'\n  allow-snippet-annotations: 'true'\n  annotations-risk-level: Critical\n";

/// NGINX sorts the locations of a server by insertion: in this order that takes half a minute on a quick machine.
fn quadratic() -> String {
    (0..60_000).rev().fold(String::new(), |mut text, number| {
        let _ = write!(text, "location =/{number:05}{{}}");
        text
    })
}

#[tokio::test]
async fn an_ingress_whose_text_makes_the_test_too_slow_is_quarantined_alone_and_a_new_host_beside_it_is_served() {
    let mut bed = Bed::new(&[]);
    std::fs::write(bed.path("manifests/settings.yaml"), SNIPPETS).unwrap();
    bed.host("h0", TARGET, None);
    bed.start();
    bed.settled().await;
    let snippet = format!("'{}'", quadratic());
    let slow = manifests::redirect_with("slow", TARGET, &[("server-snippet", &snippet)]);
    std::fs::write(bed.path("manifests/slow.yaml"), slow).unwrap();
    bed.host("beside", TARGET, Some(98));
    // Each test of the search is ended after some seconds.
    poll(Duration::from_secs(180), || async {
        anyhow::ensure!(bed.target("beside").await? == TARGET);
        Ok(())
    })
    .await
    .unwrap_or_else(|error| panic!("{error:#}\n{}", bed.log()));
    let log = bed.log();
    let blamed: Vec<&str> = log.lines().filter(|line| line.contains("it is quarantined")).collect();
    assert!(blamed.len() == 1 && blamed[0].contains("default/slow") && blamed[0].contains("takes longer than 5s"), "{log}");
    assert!(blamed[0].contains("KiB of the text"), "{log}");
    bed.says("1 Ingresses or settings are quarantined").await;

    // A change of it is tested alone, so a change of others does not wait for another search.
    let slow = manifests::redirect_with("slow", "https://two.example.com", &[("server-snippet", &snippet)]);
    std::fs::write(bed.path("manifests/slow.yaml"), slow).unwrap();
    bed.host("next", TARGET, Some(97));
    bed.until("the next host", || async {
        anyhow::ensure!(bed.target("next").await? == TARGET && bed.log().contains("and not for the first time"));
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_machine_on_which_every_test_takes_too_long_blames_no_ingress() {
    let mut bed = Bed::serving(2, &[]).await;
    bed.nginx.hold_start(true);
    bed.host("new", TARGET, Some(99));
    bed.says("and so it is with what it runs").await;
    assert!(!bed.log().contains("is quarantined"), "{}", bed.log());
    bed.nginx.hold_start(false);
    bed.settled().await;
    assert!(!bed.log().contains("is quarantined"), "{}", bed.log());
}
