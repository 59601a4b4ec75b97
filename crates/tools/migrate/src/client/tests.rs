//! The client against servers that misbehave.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{Client, Seeing, Settings};
use crate::address::Address;
use crate::answer::FailureKind;
use crate::request::{Request, Scheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Serves every connection with a function that gets its number, from 0. Returns the port and the count of connections.
async fn serve<F, S>(each: S) -> (u16, Arc<AtomicUsize>)
where
    F: Future<Output = ()> + Send + 'static,
    S: Fn(usize, TcpStream) -> F + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(each(number, stream));
        }
    });
    (port, count)
}

/// Reads the head of a request; empty at the end of the connection.
async fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => bytes.push(byte),
            Err(_) => return String::new(),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn client(port: u16, timeout: Duration) -> Client {
    let address = Address { host: "127.0.0.1".into(), http: Some(port), https: None };
    let seeing = Seeing { body: true, ..Seeing::default() };
    Client::new(address, Settings { timeout, retries: 1, seeing, headers: vec![("x-own".into(), "1".into())] }).unwrap()
}

fn get(target: &str) -> Request {
    Request::get(Scheme::Http, "shop.example.com", target, "the path")
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_target_is_sent_as_it_is_and_a_connection_carries_many() {
    let (port, count) = serve(|_, mut stream| async move {
        loop {
            let head = head(&mut stream).await;
            if head.is_empty() {
                return;
            }
            let good = head.starts_with("GET /a/../b//%2f?x=%20 HTTP/1.1\r\n")
                && head.contains("host: shop.example.com\r\n")
                && head.contains("x-own: 1\r\n");
            let status = if good { 200 } else { 400 };
            stream.write_all(format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\nx-a: b\r\n\r\nok").as_bytes()).await.unwrap();
        }
    })
    .await;
    let client = client(port, LONG);
    for _ in 0..3 {
        let answer = client.ask(&get("/a/../b//%2f?x=%20")).await.unwrap();
        assert_eq!((answer.status, answer.headers["x-a"][0].as_str(), answer.body.is_some()), (200, "b", true));
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_no_failure_but_nothing_is_sent_twice_that_could_matter() {
    // Each connection answers once and is closed without a word at the second request.
    let (port, count) = serve(|_, mut stream| async move {
        head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        head(&mut stream).await;
    })
    .await;
    let client = client(port, LONG);
    for _ in 0..2 {
        assert_eq!(client.ask(&get("/")).await.unwrap().status, 200);
    }
    assert_eq!(client.ask(&Request { method: "POST".into(), ..get("/") }).await.unwrap().status, 200);
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn failures_are_told_apart() {
    let (silent, _) = serve(|_, mut stream| async move {
        head(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let failed = client(silent, Duration::from_millis(50)).ask(&get("/")).await.unwrap_err();
    assert_eq!(failed.kind, FailureKind::Timeout);

    let (rude, count) = serve(|_, mut stream| async move { drop(head(&mut stream).await) }).await;
    assert_eq!(client(rude, LONG).ask(&get("/")).await.unwrap_err().kind, FailureKind::Broken);
    assert_eq!(count.load(Ordering::SeqCst), 1, "only connections that can't be made are tried again");

    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    assert_eq!(client(free, LONG).ask(&get("/")).await.unwrap_err().kind, FailureKind::Connect);
    assert_eq!(client(silent, LONG).ask(&get("/a b")).await.unwrap_err().kind, FailureKind::Unsendable);
}

#[tokio::test]
async fn an_endless_body_is_not_waited_for() {
    let (port, _) = serve(|_, mut stream| async move {
        head(&mut stream).await;
        let head = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n").await;
        let mut open = head.is_ok();
        while open {
            open = stream.write_all(&[b'x'; 4096]).await.is_ok();
        }
    })
    .await;
    let answer = client(port, LONG).ask(&get("/")).await.unwrap();
    assert_eq!((answer.status, answer.body), (200, None));
}
