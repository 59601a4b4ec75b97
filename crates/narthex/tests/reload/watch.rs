//! Files change; NGINX follows, or the last known good configuration stays active.

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::time::Instant;

use nix::sys::signal::Signal;
use testkit::mounted::Mounted;

use crate::bed::{Bed, Running, holds, is_root, until};

#[tokio::test]
async fn a_mounted_config_map_is_followed_through_its_swaps() {
    let mut bed = Bed::new();
    fs::remove_file(bed.path("conf.d/site.conf")).unwrap();
    let mut writer = Mounted::new(bed.path("conf.d"));
    writer.write(&[("site.conf", bed.site("v0"))]).unwrap();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    for round in 1..=5 {
        let text = format!("v{round}");
        writer.write(&[("site.conf", bed.site(&text)), ("note.txt", text.clone())]).unwrap();
        bed.serves(&text).await;
        let status =
            bed.status("the new revision serves", |status| status["result"] == "applied" && status["serving"] == status["revision"]).await;
        if is_root() {
            // Every byte that is applied was tested as a private copy.
            assert_eq!(status["tested"], "exact", "{}", bed.logs());
        }
    }
    // A file that goes away is a change, too.
    writer.write(&[("site.conf", bed.site("v6"))]).unwrap();
    bed.serves("v6").await;
}

#[tokio::test]
async fn what_is_unchanged_or_irrelevant_reloads_nothing() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    let run = bed.change("v1").await["run"].as_u64();
    let applied = bed.runs("applied").await;
    // The same content, attributes, and an editor's swap file.
    bed.write("v1");
    fs::write(bed.path("conf.d/.site.conf.swp"), "x").unwrap();
    bed.status("a look that finds nothing", |status| status["result"] == "unchanged" && status["run"].as_u64() > run).await;
    assert_eq!(bed.runs("applied").await, applied);
}

#[tokio::test]
async fn a_broken_file_never_reaches_nginx_and_says_why() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    let error = bed.path("error.txt");
    bed.watch(&["--error-file", error.to_str().unwrap()]).await;
    let good = bed.change("v1").await["serving"].clone();
    let workers = bed.workers();

    fs::write(bed.path("conf.d/broken.conf"), "nonsense on;\n").unwrap();
    let status = bed.result("rejected").await;
    assert_eq!((&status["serving"], bed.workers()), (&good, workers));
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("unknown directive \"nonsense\"") && message.contains("conf.d/broken.conf:1"), "{message}");
    until("the error file", || holds(&error, "unknown directive \"nonsense\"")).await;
    assert_eq!(bed.body("/").await.unwrap(), "v1");
    // The master was never signalled: it would have complained.
    assert!(!holds(&bed.path("error.log"), "nonsense"), "{}", bed.logs());

    // Good files beside a broken one wait for it; all are applied when it is repaired.
    bed.write("v2");
    fs::write(bed.path("conf.d/broken.conf"), "# repaired\n").unwrap();
    bed.serves("v2").await;
    until("the error file is gone", || !error.exists()).await;
}

#[tokio::test]
async fn what_only_the_reload_refuses_is_told_in_its_words() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    // `nginx -t` is content with a port that another process has.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    fs::write(bed.path("conf.d/more.conf"), format!("server {{ listen 127.0.0.1:{port}; }}\n")).unwrap();
    let status = bed.result("failed").await;
    assert!(status["message"].as_str().unwrap().contains(&format!("bind() to 127.0.0.1:{port} failed")), "{status:#}");
    assert_eq!(bed.body("/").await.unwrap(), "v0");
    // It is tried again by itself.
    drop(taken);
    bed.result("applied").await;
}

#[tokio::test]
async fn a_directory_that_is_deleted_and_made_again_is_followed() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    for round in 0..3 {
        fs::remove_dir_all(bed.path("conf.d")).unwrap();
        let status = bed.result("unreadable").await;
        assert!(status["message"].as_str().unwrap().contains("conf.d can't be read"), "{status:#}");
        assert!(bed.body("/").await.unwrap().starts_with('v') || bed.body("/").await.unwrap().starts_with('w'));
        fs::create_dir(bed.path("conf.d")).unwrap();
        bed.write(&format!("v{round}x"));
        bed.serves(&format!("v{round}x")).await;
        // And is followed from then on.
        bed.write(&format!("w{round}"));
        bed.serves(&format!("w{round}")).await;
    }
}

#[tokio::test]
async fn a_directory_that_is_not_there_yet_is_waited_for_and_everybody_can_see_it() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    fs::remove_dir_all(bed.path("conf.d")).unwrap();
    bed.watch(&["--poll-interval", "50ms"]).await;
    let status = bed.result("unreadable").await;
    assert!(status["message"].as_str().unwrap().contains("conf.d can't be read") && status["serving"].is_null(), "{status:#}");
    // Said again at each look, not only once.
    let run = status["run"].as_u64();
    bed.status("another look", |status| status["run"].as_u64() > run && status["result"] == "unreadable").await;
    let probe = |path: &'static str| bed.ask("GET", path);
    assert_eq!((probe("/healthz").await.status, probe("/readyz").await.status), (200, 503));
    assert!(probe("/readyz").await.text().contains("conf.d can't be read"));
    let metrics = probe("/metrics").await.text();
    assert!(metrics.contains("narthex_watch_config_good 0") && metrics.contains("runs_total{result=\"unreadable\"} 1\n"), "{metrics}");
    assert!(bed.logs().contains("can't be read: the last known good configuration stays active"), "{}", bed.logs());
    // The volume is mounted late.
    fs::create_dir(bed.path("conf.d")).unwrap();
    bed.write("v1");
    bed.serves("v1").await;
    bed.result("applied").await;
    assert_eq!(probe("/readyz").await.status, 200);
    // Once it was there, NGINX goes on: that is no reason to take it out of service.
    fs::remove_dir_all(bed.path("conf.d")).unwrap();
    bed.result("unreadable").await;
    assert_eq!((probe("/readyz").await.status, bed.body("/").await.unwrap().as_str()), (200, "v1"));
}

#[tokio::test]
async fn a_storm_of_events_is_few_reloads_and_ends_in_the_last_content() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    let before = bed.runs("applied").await;
    let begun = Instant::now();
    for round in 0..1000 {
        bed.write(&format!("storm{round}"));
    }
    // A quiet of 250 ms (a stalled machine makes some) begins another run, and so does the bound of 2 s, which is longer.
    let most = begun.elapsed().as_millis() as u64 / 250 + 2;
    bed.serves("storm999").await;
    let reloads = bed.runs("applied").await - before;
    assert!(reloads <= most, "{reloads} reloads, {most} were allowed\n{}", bed.logs());
}

#[tokio::test]
async fn without_events_polling_sees_every_change() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&["--no-events", "--poll-interval", "50ms"]).await;
    // Same size, same second: only the content tells.
    for text in ["a", "b", "c"] {
        bed.write(text);
        bed.serves(text).await;
    }
}

#[tokio::test]
async fn a_restarted_nginx_is_found_again() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    bed.stop_nginx();
    bed.write("v1");
    bed.result("no-target").await;
    bed.start_nginx().await;
    let master = bed.master();
    bed.status("the new master is known", |status| status["pid"] == master).await;
    assert_eq!(bed.change("v2").await["pid"], master);
}

#[tokio::test]
async fn a_hangup_reloads_whatever_changed_and_a_dry_run_never() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    let run = bed.change("v1").await["run"].as_u64();
    let workers = bed.workers();
    let pid = bed.narthex().id();
    bed.signal(pid, Signal::SIGHUP);
    let status = bed.status("a run for the signal", |status| status["run"].as_u64() > run && status["result"] == "applied").await;
    assert!(status["triggers"].as_array().unwrap().contains(&"signal".into()), "{status:#}");
    assert!(bed.workers().is_disjoint(&workers));

    let workers = bed.workers();
    let (conf, pid) = (bed.path("conf.d").display().to_string(), bed.path("nginx.pid").display().to_string());
    let dry = |more: &[&str]| {
        let mut arguments = vec!["watch", "--once", "--output", "json", "--config-dir", &conf, "--pid-file", &pid];
        arguments.extend(more);
        let output = bed.command(&arguments).output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), json["result"].as_str().unwrap().to_owned())
    };
    assert_eq!(dry(&["--dry-run"]), (Some(0), "tested".to_owned()));
    assert_eq!(dry(&["--dry-run", "--test-command", "grep -q v2 \"$NARTHEX_SNAPSHOT/site.conf\""]), (Some(1), "rejected".to_owned()));
    assert_eq!(bed.workers(), workers);
}

#[tokio::test]
async fn once_applies_and_says_so() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.write("v1");
    let (conf, pid) = (bed.path("conf.d").display().to_string(), bed.path("nginx.pid").display().to_string());
    let once = || bed.command(&["watch", "--once", "--config-dir", &conf, "--pid-file", &pid]).output().unwrap();
    let output = once();
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).starts_with("applied revision "),
        "{output:?}\n{}",
        bed.logs()
    );
    // Confirmed means: served.
    assert_eq!(bed.body("/").await.unwrap(), "v1");
    fs::write(bed.path("conf.d/site.conf"), "nonsense;\n").unwrap();
    let output = once();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("unknown directive \"nonsense\""), "{output:?}");
}

/// HUP ends a process that has no handler for it: an NGINX that the kernel has just started, in the other container of the Pod.
#[tokio::test]
async fn an_nginx_that_is_just_starting_is_not_ended_by_the_signal() {
    let bed = Bed::new();
    // It is called so, and will never have a handler.
    let program = bed.path("nginx");
    fs::copy("/bin/sleep", &program).unwrap();
    let mut starting = Running(Command::new(&program).arg("600").spawn().unwrap());
    fs::write(bed.path("nginx.pid"), starting.0.id().to_string()).unwrap();
    let (conf, pid) = (bed.path("conf.d").display().to_string(), bed.path("nginx.pid").display().to_string());
    let words = ["watch", "--once", "--config-dir", &conf, "--pid-file", &pid, "--test-command", "true", "--confirm-timeout", "100ms"];
    let output = bed.command(&words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("failed") && text.contains("has no handler for SIGHUP, which would end it"), "{text}\n{}", bed.logs());
    assert!(starting.0.try_wait().unwrap().is_none());
}

/// As in a Pod: other mounts, another root, and the volume at another path.
#[tokio::test]
async fn an_nginx_with_mounts_of_its_own_is_tested_where_it_is() {
    if !is_root() {
        return;
    }
    let mut bed = Bed::new();
    for directory in ["root", "mounted"] {
        fs::create_dir(bed.path(directory)).unwrap();
    }
    let (dir, root) = (bed.path("").display().to_string(), bed.path("root").display().to_string());
    let main = fs::read_to_string(bed.path("nginx.conf")).unwrap().replace("/conf.d/*", "/mounted/*");
    fs::write(bed.path("nginx.conf"), main).unwrap();
    let script = format!("mount --bind {dir}/conf.d {dir}/mounted && mount --rbind / {root} && exec chroot {root} \"$@\"");
    let words = bed.nginx_command();
    bed.start_nginx_by(Command::new("unshare").args(["--mount", "sh", "-c", &script, "sh"]).args(&words)).await;
    bed.watch(&[]).await;
    assert_eq!(bed.change("v1").await["tested"], "exact", "{}", bed.logs());
    fs::write(bed.path("conf.d/broken.conf"), "nonsense on;\n").unwrap();
    let message = bed.result("rejected").await["message"].as_str().unwrap().to_owned();
    // In the words of NGINX, with its own path.
    assert!(message.contains("/mounted/broken.conf:1"), "{message}");
    assert!(!holds(&bed.path("error.log"), "nonsense"), "{}", bed.logs());
}
