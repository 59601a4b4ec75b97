//! The followed files have to be those that NGINX reads; and a directory of it that vanishes is no change.

use std::fs;
use std::process::Output;

use crate::bed::{Bed, is_root};

fn once(bed: &Bed, flags: &[&str]) -> Output {
    let pid = bed.path("nginx.pid").display().to_string();
    bed.command(&[&["watch", "--once", "--pid-file", &pid], flags].concat()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn a_directory_that_nginx_does_not_include_is_refused_with_what_it_includes() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    let workers = bed.workers();
    fs::create_dir(bed.path("other")).unwrap();
    fs::write(bed.path("other/site.conf"), bed.site("other")).unwrap();
    let other = bed.path("other").display().to_string();
    let output = once(&bed, &["--config-dir", &other]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}\n{}", bed.logs());
    assert!(text.starts_with("not-read") && text.contains(&format!("does not read {other}")), "{text}");
    assert!(text.contains(&format!("includes {}/conf.d/*.conf", bed.path("").display())), "{text}");
    assert!(bed.workers().is_superset(&workers));
    // `--indirect` overrides it; and of several directories, one that is read is enough.
    let conf = bed.path("conf.d").display().to_string();
    assert_eq!(once(&bed, &["--config-dir", &other, "--indirect"]).status.code(), Some(0), "{}", bed.logs());
    assert_eq!(once(&bed, &["--config-dir", &conf, "--config-dir", &other]).status.code(), Some(0), "{}", bed.logs());
    assert!(bed.logs().contains(&format!("does not read {other}")), "{}", bed.logs());
}

#[tokio::test]
async fn a_wrong_to_is_refused_and_not_made() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    fs::create_dir(bed.path("from")).unwrap();
    fs::write(bed.path("from/site.conf"), bed.site("v1")).unwrap();
    let (from, conf) = (bed.path("from").display().to_string(), bed.path("conf.d").display().to_string());
    for wrong in ["wrong", "wrong/deep/er"] {
        let to = bed.path(wrong).display().to_string();
        let output = once(&bed, &["--from", &from, "--to", &to]);
        assert!(output.status.code() == Some(1) && said(&output).starts_with("not-read"), "{}", said(&output));
        assert!(!bed.path("wrong").exists());
    }
    // Where NGINX's configuration names it, it is made.
    fs::remove_dir_all(&conf).unwrap();
    assert_eq!(once(&bed, &["--from", &from, "--to", &conf]).status.code(), Some(0), "{}", bed.logs());
    assert_eq!(bed.body("/").await.unwrap(), "v1");
}

#[tokio::test]
async fn a_sidecar_without_its_mount_says_so() {
    if !is_root() {
        return;
    }
    let mut bed = Bed::new();
    bed.start_nginx().await;
    // A tmpfs of its own where NGINX has the volume, as an image may bring its own directory.
    let (conf, pid) = (bed.path("conf.d").display().to_string(), bed.path("nginx.pid").display().to_string());
    let script = format!("mount -t tmpfs own {conf} && echo '# ours' > {conf}/site.conf && exec \"$@\"");
    bed.spawn_watch_by(&["unshare", "--mount", "sh", "-c", &script, "sh"], &["watch", "--config-dir", &conf, "--pid-file", &pid]).await;
    let status = bed.result("not-read").await;
    let why = format!("does not have {conf} among its files");
    assert!(status["message"].as_str().unwrap().contains(&why), "{status:#}");
    let ready = bed.ask("GET", "/readyz").await;
    assert!(ready.status == 503 && ready.text().contains(&why), "{}", ready.text());
    assert!(bed.logs().contains("nothing is applied: NGINX does not read what is followed"), "{}", bed.logs());
    assert_eq!(bed.body("/").await.unwrap(), "v0");
}

/// As in /etc/nginx: the main configuration, and directories that it includes.
async fn whole(bed: &mut Bed) {
    fs::create_dir(bed.path("etc")).unwrap();
    fs::rename(bed.path("conf.d"), bed.path("etc/conf.d")).unwrap();
    fs::create_dir_all(bed.path("etc/sites/one")).unwrap();
    fs::write(bed.path("etc/sites/one/a.conf"), "# a site\n").unwrap();
    let main = fs::read_to_string(bed.path("nginx.conf")).unwrap();
    let include = format!("include {}/", bed.path("").display());
    let main = main.replace(&format!("{include}conf.d/*.conf;"), &format!("{include}etc/conf.d/*.conf; {include}etc/sites/*/*.conf;"));
    fs::write(bed.path("nginx.conf"), main).unwrap();
    bed.start_nginx().await;
    let (etc, pid) = (bed.path("etc").display().to_string(), bed.path("nginx.pid").display().to_string());
    bed.spawn_watch(&["watch", "--config-dir", &etc, "--pid-file", &pid]).await;
}

#[tokio::test]
async fn an_included_directory_that_is_moved_away_leaves_its_sites_served() {
    let mut bed = Bed::new();
    whole(&mut bed).await;
    let workers = bed.workers();
    fs::rename(bed.path("etc/conf.d"), bed.path("etc/conf.old")).unwrap();
    let status = bed.result("unreadable").await;
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("etc/conf.d is gone, and NGINX includes") && message.contains("etc/conf.d/*.conf"), "{message}");
    // A request for a reload is refused as well.
    assert_eq!(bed.ask("POST", "/reload").await.status, 503);
    assert!(bed.body("/").await.unwrap() == "v0" && bed.workers().is_superset(&workers));
    // Another one in its place is a change like any other.
    fs::create_dir(bed.path("etc/conf.new")).unwrap();
    fs::write(bed.path("etc/conf.new/site.conf"), bed.site("v1")).unwrap();
    fs::rename(bed.path("etc/conf.new"), bed.path("etc/conf.d")).unwrap();
    bed.serves("v1").await;
    bed.status("all is well", |status| status["result"] == "applied").await;
}

#[tokio::test]
async fn a_directory_of_one_site_that_is_deleted_is_a_change() {
    let mut bed = Bed::new();
    whole(&mut bed).await;
    let run = bed.status("any", |_| true).await["run"].as_u64();
    fs::remove_dir_all(bed.path("etc/sites/one")).unwrap();
    bed.status("it is applied", |status| status["run"].as_u64() > run && status["result"] == "applied").await;
}

#[tokio::test]
async fn a_refused_configuration_that_is_well_again_is_in_the_log_once() {
    let mut bed = Bed::new();
    bed.start_nginx().await;
    bed.watch(&[]).await;
    let well = |bed: &Bed| bed.logs().matches("NGINX runs what stands there again").count();
    for round in 1..=2 {
        fs::write(bed.path("conf.d/broken.conf"), "nonsense on;\n").unwrap();
        bed.result("rejected").await;
        assert_eq!(well(&bed), round - 1);
        // Back to what runs: nothing is applied.
        fs::remove_file(bed.path("conf.d/broken.conf")).unwrap();
        let run = bed.result("unchanged").await["run"].as_u64();
        bed.write("v0");
        bed.status("another run", |status| status["run"].as_u64() > run).await;
        assert_eq!(well(&bed), round, "{}", bed.logs());
    }
}
