//! The protocol of the data plane against a real one: what it refuses, how long it waits, and what its end is.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use crate::bed::{Bed, SplitBed, eventually, signal};
use nginx::{ApplyError, DataPlane, DataPlaneError, DataPlaneServer, OpenError, Place};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Sends these bytes and reads what is answered until the end.
fn exchange(bed: &SplitBed, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(DataPlane::socket(&bed.paths)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // It may have had enough before all is sent.
    let _ = stream.write_all(bytes);
    let mut text = String::new();
    // What was not read makes the kernel reset the connection after the answer.
    let _ = BufReader::new(&mut stream).read_line(&mut text);
    text
}

fn ask(bed: &SplitBed, request: &Value) -> Value {
    let line = format!("{}\n", json!({"version": 1, "request": request}));
    serde_json::from_str(&exchange(bed, line.as_bytes())).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_is_refused_by_name_and_the_next_one_is_answered() {
    let bed = SplitBed::new().await;
    let long = vec![b' '; 300 << 10];
    let cases: [(&[u8], &str); 8] = [
        (b"\n", "unreadable"),
        (b"GET / HTTP/1.1\r\n", "unreadable"),
        (b"\xff\xfe\n", "unreadable"),
        (b"{\"version\":2,\"request\":{\"verb\":\"of another time\"}}\n", "\"expected\":1,\"found\":2"),
        (b"{\"version\":1,\"request\":{\"verb\":\"exec\",\"command\":\"sh\"}}\n", "unknown variant `exec`"),
        (b"{\"version\":1,\"request\":{\"verb\":\"test\",\"limit_ms\":1,\"conf\":\"/etc/passwd\"}}\n", "unknown field `conf`"),
        (
            b"{\"version\":1,\"request\":{\"verb\":\"signal\",\"process\":{\"pid\":-1,\"start\":0},\"order\":\"stop\"}}\n",
            "unknown variant `stop`",
        ),
        (&long, "longer than"),
    ];
    for (bytes, expected) in cases {
        let answer = exchange(&bed, bytes);
        assert!(answer.starts_with("{\"version\":1,\"fault\":{") && answer.contains(expected), "{expected}: {answer}");
    }
    assert_eq!(ask(&bed, &json!({"verb": "masters"})), json!({"version": 1, "ok": []}));
    assert_eq!(ask(&bed, &json!({"verb": "exit-status"})), json!({"version": 1, "ok": null}));
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_hang_keep_no_controller_waiting() {
    let bed = SplitBed::new().await;
    let _hanging: Vec<UnixStream> = (0..20)
        .map(|_| {
            let mut stream = UnixStream::connect(DataPlane::socket(&bed.paths)).unwrap();
            stream.write_all(b"{\"version\":1,").unwrap();
            stream
        })
        .collect();
    let capabilities = DataPlane::new(&DataPlane::socket(&bed.paths)).capabilities().await.unwrap();
    assert_eq!(capabilities, bed.caps);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_processes_of_its_nginx_are_signalled() {
    let bed = SplitBed::new().await;
    let mut stranger = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let pid = i32::try_from(stranger.id()).unwrap();
    let kill = |pid: i32| ask(&bed, &json!({"verb": "signal", "process": {"pid": pid, "start": 0}, "order": "kill"}));
    assert_eq!(kill(pid)["fault"], json!({"kind": "stranger", "pid": pid}));
    assert_eq!(kill(std::process::id().cast_signed())["fault"]["kind"], "stranger");
    assert!(stranger.try_wait().unwrap().is_none());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_another_version_or_none_is_said_as_it_is() {
    let bed = Bed::new().await;
    let socket = DataPlane::socket(&bed.paths);
    let client = DataPlane::new(&socket);
    assert!(matches!(client.capabilities().await, Err(DataPlaneError::Unreachable { .. })));
    std::fs::create_dir_all(bed.paths.run_dir()).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let answers = ["{\"version\":7,\"fruit\":\"pear\"}\n", "<html>\n", "{\"version\":1,\"ok\":true}\n", "{\"version\":1,\"ok\""];
    let serving = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut line = String::new();
            BufReader::new(&mut stream).read_line(&mut line).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    assert!(matches!(client.capabilities().await, Err(DataPlaneError::Version { expected: 1, found: 7 })));
    assert!(matches!(client.capabilities().await, Err(DataPlaneError::Unexpected(_))));
    assert!(matches!(client.capabilities().await, Err(DataPlaneError::Unexpected(_))));
    assert!(matches!(client.capabilities().await, Err(DataPlaneError::Unreachable { .. })), "cut short");
    serving.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_for_people_are_the_same_from_the_other_container() {
    let bed = SplitBed::new().await;
    let _supervisor = bed.serving().await;
    let there = Place::DataPlane(DataPlane::socket(&bed.paths)).processes(&bed.paths).await.unwrap();
    let here = Place::Here(nginx::find_binary(None).unwrap()).processes(&bed.paths).await.unwrap();
    // Starts are measured from the present clock, and differ by its last digits.
    let ids = |of: &nginx::Processes| {
        let masters: Vec<i32> = of.masters.iter().map(|(pid, _)| *pid).collect();
        (masters, of.workers.iter().map(|worker| (worker.pid, worker.ticks, worker.leaving)).collect::<Vec<_>>())
    };
    assert_eq!(ids(&there), ids(&here));
    assert_eq!(ids(&there).0, [bed.master()]);
    assert!(
        !there.workers.is_empty() && there.workers.iter().all(|worker| worker.resident_bytes > 0 && worker.start.is_some()),
        "{there:?}"
    );
    // One that is away says nothing, instead of that there are none.
    assert_eq!(Place::DataPlane("/nowhere".into()).processes(&bed.paths).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_serves_on_while_its_data_plane_is_replaced_and_is_found_again() {
    let mut bed = SplitBed::new().await;
    let mut supervisor = bed.serving().await;
    let master = bed.master();
    bed.restart_data_plane();
    assert_eq!(bed.get().unwrap(), "one");
    assert!(supervisor.apply(&bed.set("two", "")).await.unwrap().reloaded);
    assert_eq!((bed.get().unwrap().as_str(), bed.master()), ("two", master));
    // The container is gone, and NGINX with it.
    let ended = supervisor.exited();
    signal(master, Signal::SIGKILL);
    bed.workers().iter().chain(&bed.group(master)).for_each(|pid| signal(*pid, Signal::SIGKILL));
    bed.restart_data_plane();
    ended.await;
    assert!(supervisor.restart().await.unwrap().started);
    assert_eq!(bed.get().unwrap(), "two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_plane_that_drains_ends_its_nginx_and_starts_no_other() {
    let bed = Bed::new().await;
    let server = DataPlaneServer::new(nginx::find_binary(None).unwrap(), bed.caps.clone(), bed.paths.clone());
    let listener = DataPlaneServer::listen(&bed.paths).await.unwrap();
    let second = DataPlaneServer::listen(&bed.paths).await.unwrap_err();
    assert!(matches!(&second, OpenError::Served(_)), "{second}");
    let serving = tokio::spawn(server.clone().serve(listener));
    let options = nginx::Options::at(nginx::Place::DataPlane(DataPlane::socket(&bed.paths)), bed.paths.clone());
    let mut supervisor = nginx::Supervisor::open(nginx::Options { worker_user: bed.caps.worker_user.clone(), ..options }).await.unwrap();
    supervisor.apply(&bed.set("one", "")).await.unwrap();
    let client = DataPlane::new(&DataPlane::socket(&bed.paths));
    assert!(!client.ending().await.unwrap());
    // A request that is under way is finished.
    let mut open = std::net::TcpStream::connect(("127.0.0.1", bed.port)).unwrap();
    open.write_all(b"GET / HTTP/1.0\r\n").unwrap();
    server.announce_end().await;
    assert!(client.ending().await.unwrap());
    assert_eq!(bed.get().unwrap(), "one");
    let draining = tokio::spawn(async move { server.drain(Duration::from_secs(20)).await });
    eventually("the end of new connections", || bed.get().is_err());
    open.write_all(b"\r\n").unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("one"), "{answer}");
    draining.await.unwrap();
    assert!(supervisor.pid().await.is_none());
    assert!(matches!(supervisor.restart().await, Err(ApplyError::DataPlane(DataPlaneError::Ending))));
    serving.abort();
}
