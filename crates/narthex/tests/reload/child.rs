//! NGINX as a child of `narthex watch`.

use std::fs;
use std::process::Command;

use nix::sys::signal::Signal;
use testkit::echo::{self, Identity};
use testkit::http::Request;
use testkit::poll;

use crate::bed::{Bed, LIMIT, Running, is_root, until};

/// `narthex watch -- COMMAND`, with NGINX as the command unless another is given.
async fn around(bed: &mut Bed, command: &[&str]) {
    let conf = bed.path("conf.d").display().to_string();
    let words = bed.nginx_command();
    let mut arguments = vec!["watch", "--config-dir", &conf, "--"];
    if command.is_empty() {
        arguments.extend(words.iter().map(String::as_str));
    } else {
        arguments.extend(command);
    }
    bed.spawn_watch(&arguments).await;
    poll(LIMIT, || bed.body("/")).await.unwrap();
}

#[tokio::test]
async fn a_child_follows_and_ends_in_order() {
    let upstream = echo::start(([127, 0, 0, 1], 0).into(), Identity::named("slow")).await.unwrap();
    let mut bed = Bed::new();
    let slow = format!("location /slow {{ proxy_pass http://{}; }} location = / {{", upstream.address());
    fs::write(bed.path("conf.d/site.conf"), bed.site("v0").replace("location / {", &slow)).unwrap();
    around(&mut bed, &[]).await;
    let with_slow = |text: &str| bed.site(text).replace("location / {", &slow);
    fs::write(bed.path("conf.d/site.conf"), with_slow("v1")).unwrap();
    bed.serves("v1").await;

    // Logs are opened again.
    fs::rename(bed.path("error.log"), bed.path("error.log.1")).unwrap();
    let pid = bed.narthex().id();
    bed.signal(pid, Signal::SIGUSR1);
    until("a new log", || bed.path("error.log").exists()).await;

    // A request that has begun is finished, and the code is that of NGINX.
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], bed.port));
    let request = Request::get(address, "/slow?delay_ms=1500").host("x").header("Connection", "close");
    let answer = tokio::spawn(request.send());
    poll(LIMIT, || async {
        anyhow::ensure!(upstream.requests() > 0, "not begun");
        Ok(())
    })
    .await
    .unwrap();
    bed.signal(pid, Signal::SIGTERM);
    assert_eq!(answer.await.unwrap().unwrap().status, 200);
    let status = bed.narthex().wait().unwrap();
    assert_eq!(status.code(), Some(0), "{}", bed.logs());
    assert!(bed.body("/").await.is_err());
}

#[tokio::test]
async fn the_code_of_the_child_is_that_of_narthex_and_it_is_never_restarted() {
    let bed = Bed::new();
    let conf = bed.path("conf.d").display().to_string();
    let run = |script: &str| bed.command(&["watch", "--config-dir", &conf, "--", "sh", "-c", script]).status().unwrap().code();
    assert_eq!(run("exit 7"), Some(7));
    assert_eq!(run("kill -9 $$"), Some(137));
    // Only an end without an error may be one that went into the background.
    assert!(bed.logs().contains("ended with an error") && bed.logs().contains("ended by SIGKILL"), "{}", bed.logs());
    assert!(!bed.logs().contains("daemon off"), "{}", bed.logs());
    assert_eq!(run("exit 0"), Some(0));
    assert!(bed.logs().contains("daemon off"), "{}", bed.logs());
    let missing = bed.command(&["watch", "--config-dir", &conf, "--", "/nonexistent"]).status().unwrap();
    assert_eq!(missing.code(), Some(1));
}

#[tokio::test]
async fn a_script_around_nginx_is_looked_through() {
    let mut bed = Bed::new();
    let script = bed.nginx_command().iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    // It stays, as one without `exec` does.
    let script = format!("{script}; exit $?");
    around(&mut bed, &["sh", "-c", &script]).await;
    bed.write("v1");
    bed.serves("v1").await;
    let pid = bed.narthex().id();
    bed.signal(pid, Signal::SIGTERM);
    assert_eq!(bed.narthex().wait().unwrap().code(), Some(0), "{}", bed.logs());
}

#[tokio::test]
async fn the_first_process_of_a_container_waits_for_orphans() {
    if !is_root() {
        return;
    }
    let bed = Bed::new();
    let conf = bed.path("conf.d").display().to_string();
    let narthex = env!("CARGO_BIN_EXE_narthex");
    let (ready, zombies) = (bed.path("ready"), bed.path("zombies"));
    // Its orphans end at once; a look at all processes follows once they are gone, or not.
    let script = format!(
        "for i in 1 2 3 4 5; do (sleep 0.05 &) ; done; touch {ready}; while :; do grep -ls '^State:.Z' /proc/[0-9]*/status > {zombies}.new; mv {zombies}.new {zombies}; pgrep -x sleep > /dev/null || sleep 0.01; done",
        ready = ready.display(),
        zombies = zombies.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child", narthex, "watch", "--config-dir", &conf, "--", "sh", "-c", &script]);
    let log = fs::File::create(bed.path("narthex.log")).unwrap();
    let _running = Running(command.stdin(std::process::Stdio::null()).stderr(log).spawn().unwrap());
    until("the script runs", || ready.exists() && zombies.exists()).await;
    until("no zombie is left", || fs::read_to_string(&zombies).is_ok_and(|text| text.is_empty())).await;
}
