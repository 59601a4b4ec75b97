//! Changes of the directory, and what is served.

use std::fs;

use nix::sys::signal::Signal;
use testkit::manifests::redirect;
use testkit::mounted::Mounted;
use testkit::remote::Remote;

use crate::bed::Bed;

const ONE: &str = "https://one.example.com";
const TWO: &str = "https://two.example.com";

#[tokio::test]
async fn directories_below_are_read_however_deep_and_whenever_they_come() {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", ONE));
    bed.write("shops/eu/b.yml", &redirect("b", ONE));
    bed.start(&[]).await;
    bed.leads("a.example.com", ONE).await;
    bed.leads("b.example.com", ONE).await;
    bed.write("shops/eu/b.yml", &redirect("b", TWO));
    bed.leads("b.example.com", TWO).await;
    // A tree that is made while it runs, and changed after that.
    bed.write("shops/us/west/c.yaml", &redirect("c", ONE));
    bed.leads("c.example.com", ONE).await;
    bed.write("shops/us/west/c.yaml", &redirect("c", TWO));
    bed.leads("c.example.com", TWO).await;
    fs::remove_dir_all(bed.path("manifests/shops/us")).unwrap();
    bed.leads("c.example.com", "status 404").await;
    bed.leads("b.example.com", TWO).await;
}

#[tokio::test]
async fn without_events_polling_sees_every_change() {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", ONE));
    bed.start(&["--manifests-poll", "--manifests-poll-interval=1"]).await;
    for target in [TWO, ONE] {
        // Of the same size.
        bed.write("a.yaml", &redirect("a", target));
        bed.leads("a.example.com", target).await;
    }
    bed.write("sub/b.yaml", &redirect("b", ONE));
    bed.leads("b.example.com", ONE).await;
}

#[tokio::test]
async fn a_file_system_without_events_is_polled_by_itself() {
    let mut bed = Bed::new();
    let remote = match Remote::mount(&bed.path("manifests")) {
        Ok(remote) => remote,
        // No right to mount, or no FUSE.
        Err(error) => return eprintln!("not tested: {error}"),
    };
    remote.put("a.yaml", &redirect("a", ONE));
    bed.start(&["--manifests-poll-interval=1"]).await;
    bed.leads("a.example.com", ONE).await;
    bed.says("lies on a file system that sends no events for changes made elsewhere: it is polled").await;
    for target in [TWO, ONE] {
        remote.put("a.yaml", &redirect("a", target));
        bed.leads("a.example.com", target).await;
    }
    remote.put("b.yaml", &redirect("b", ONE));
    bed.leads("b.example.com", ONE).await;
}

#[tokio::test]
async fn a_broken_file_keeps_its_last_good_content_and_stops_nobody_else() {
    let mut bed = Bed::new();
    for name in ["a", "b", "c"] {
        bed.write(&format!("{name}.yaml"), &redirect(name, ONE));
    }
    bed.start(&[]).await;
    bed.leads("b.example.com", ONE).await;
    bed.write("a.yaml", &redirect("a", TWO));
    bed.write("b.yaml", &format!("{}  tls: [\n", redirect("b", TWO)));
    bed.write("c.yaml", &redirect("c", TWO));
    bed.leads("a.example.com", TWO).await;
    bed.leads("c.example.com", TWO).await;
    bed.says("b.yaml").await;
    let log = bed.log();
    let warning = log.lines().find(|line| line.contains("b.yaml") && line.contains("WARN")).unwrap();
    assert!(warning.contains("document 1, line 1") && warning.contains("the last good version of 1 object stays"), "{warning}");
    assert_eq!(bed.target("b.example.com").await.unwrap(), ONE);
    assert_eq!(bed.metric("narthex_problems", "Unreadable").await, 1.0, "{log}");
    // Its neighbours go on changing.
    bed.write("a.yaml", &redirect("a", ONE));
    bed.leads("a.example.com", ONE).await;
    bed.write("b.yaml", &redirect("b", TWO));
    bed.leads("b.example.com", TWO).await;
    bed.says("no longer a problem").await;
}

#[tokio::test]
async fn a_mounted_config_map_is_followed_through_its_swaps() {
    let mut bed = Bed::new();
    let mut volume = Mounted::new(bed.path("manifests"));
    volume.write(&[("a.yaml", redirect("a", ONE))]).unwrap();
    bed.start(&[]).await;
    bed.leads("a.example.com", ONE).await;
    for target in [TWO, ONE, TWO] {
        volume.write(&[("a.yaml", redirect("a", target)), ("b.yaml", redirect("b", target))]).unwrap();
        bed.leads("a.example.com", target).await;
        bed.leads("b.example.com", target).await;
    }
    volume.write(&[("b.yaml", redirect("b", TWO))]).unwrap();
    bed.leads("a.example.com", "status 404").await;
    assert_eq!(bed.target("b.example.com").await.unwrap(), TWO);
}

#[tokio::test]
async fn a_directory_that_is_deleted_and_made_again_loses_nothing_meanwhile() {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", ONE));
    bed.start(&[]).await;
    bed.leads("a.example.com", ONE).await;
    for target in [TWO, ONE] {
        fs::remove_dir_all(bed.path("manifests")).unwrap();
        bed.until("the directory is missed", || async {
            anyhow::ensure!(bed.metric("narthex_problems", "Unreadable").await == 1.0, "not yet");
            Ok(())
        })
        .await;
        assert!(bed.target("a.example.com").await.unwrap().starts_with("https://"));
        bed.write("a.yaml", &redirect("a", target));
        bed.leads("a.example.com", target).await;
    }
    // And it is followed from then on.
    bed.write("b.yaml", &redirect("b", ONE));
    bed.leads("b.example.com", ONE).await;
}

#[tokio::test]
async fn a_hangup_reads_every_file_again() {
    let mut bed = Bed::new();
    bed.write("a.yaml", &redirect("a", ONE));
    bed.start(&["--manifests-poll", "--manifests-poll-interval=3600"]).await;
    bed.leads("a.example.com", ONE).await;
    let workers = bed.workers();
    bed.write("a.yaml", &redirect("a", TWO));
    bed.signal(Signal::SIGHUP);
    bed.leads("a.example.com", TWO).await;
    bed.says("every manifest was read again").await;
    // A route is live: nothing was reloaded for it.
    assert_eq!(bed.workers(), workers);
}
