//! The port as a client sees it: who may read, what browsers may do, what the API refuses.

use std::io::Write;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::*;

const TOKEN: &str = "0123456789abcdefghij";

/// Says what it was asked.
struct Echo(watch::Sender<u64>);

impl Source for Echo {
    fn answer(&self, question: &Question) -> Result<Vec<u8>, Refusal> {
        match question {
            Question::Host(host) => Err(Refusal::Unknown(format!("no rule has the host {host:?}"))),
            question => json(&format!("{question:?}")),
        }
    }

    fn workers(&self) -> Pin<Box<dyn Future<Output = Result<Workers, Refusal>> + Send + '_>> {
        Box::pin(async { Ok(Workers::default()) })
    }

    fn events(&self, since: Option<u64>) -> Events {
        let event = |id| inspect::Event {
            id,
            at: 0.0,
            kind: inspect::EventKind::Live,
            lane: None,
            text: String::new(),
            objects: Vec::new(),
            objects_total: 0,
            records: Default::default(),
            reasons: Vec::new(),
            revision: None,
            seconds: None,
        };
        Events { items: (since.unwrap_or(0) + 1..=*self.0.borrow()).map(event).collect() }
    }

    fn newest(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

struct Served {
    port: u16,
    newest: watch::Sender<u64>,
    _server: JoinHandle<Infallible>,
    _file: Option<tempfile::NamedTempFile>,
}

async fn served(token: Option<&str>) -> Served {
    let file = token.map(|token| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{token}").unwrap();
        file
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, newest) = (listener.local_addr().unwrap().port(), watch::Sender::new(0));
    let console = Console { source: Arc::new(Echo(newest.clone())), token_file: file.as_ref().map(|file| file.path().to_owned()) };
    Served { port, newest, _server: tokio::spawn(serve(listener, console)), _file: file }
}

impl Served {
    /// The head and body of an answer, whose connection is closed.
    async fn ask(&self, request: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let host = if headers.contains("Host:") { "" } else { "Host: localhost\r\n" };
        stream.write_all(format!("{request} HTTP/1.1\r\n{host}Connection: close\r\n{headers}\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn status(&self, request: &str, headers: &str) -> u16 {
        self.ask(request, headers).await.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

#[tokio::test]
async fn questions_are_read_and_refusals_have_a_reason() {
    let served = served(None).await;
    for (path, status, part) in [
        ("now", 200, "\"Now\""),
        (
            "hosts?q=Shop&namespace=a&offset=5&limit=7",
            200,
            r#"part: \"shop\", namespace: Some(\"a\"), state: None, severity: None, offset: 5, limit: Some(7)"#,
        ),
        ("hosts?limit=x", 400, r#"{"error":"limit \"x\": expected a number"}"#),
        ("hosts/%2A.example.com", 404, r#"no rule has the host \"*.example.com\""#),
        ("backends/shop/web:80", 200, r#"Backend(\"shop/web:80\")"#),
        ("backends/shop%2Fweb:80", 200, r#"Backend(\"shop/web:80\")"#),
        ("problems?kind=NoRoom", 200, r#"Some(\"NoRoom\")"#),
        ("settings?changed=true", 200, ", true)"),
        ("revisions/diff?to=ab", 200, r#"Diff(None, Some(\"ab\"))"#),
        ("traffic?by=ingress", 200, "Traffic(Ingress"),
        ("traffic?by=path", 400, "expected host, ingress or backend"),
        ("request?url=http://a/&header=X:%201&header=Y:%202", 200, r#"headers: [\"X: 1\", \"Y: 2\"]"#),
        ("request", 400, "url: expected one"),
        ("workers", 200, r#""masters":[]"#),
        ("events?since=x", 400, "expected the number of an event"),
        ("nothing", 404, "no such path"),
    ] {
        let answer = served.ask(&format!("GET /api/v1/{path}"), "").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(part), "{path}: {answer}");
        assert!(answer.contains("cache-control: no-store"), "{path}: {answer}");
    }
    assert_eq!(served.status("POST /api/v1/now", "Content-Length: 0\r\n").await, 405);
}

#[tokio::test]
async fn browsers_run_nothing_from_elsewhere_and_names_of_other_sites_are_refused() {
    let served = served(None).await;
    for path in ["/api/v1/now", "/css/login.css", "/nothing.js"] {
        let answer = served.ask(&format!("GET {path}"), "").await;
        for expected in
            ["content-security-policy: default-src 'none'; script-src 'self'", "frame-ancestors 'none'", "nosniff", "no-referrer"]
        {
            assert!(answer.contains(expected), "{path}: {answer}");
        }
    }
    assert_eq!(served.status("GET /api/v1/now", "Host: rebound.example.com\r\n").await, 403);
    assert_eq!(served.status("GET /css/login.css", "Host: rebound.example.com\r\n").await, 403);
    assert_eq!(served.status("GET /api/v1/now", "Host: [::1]:80\r\n").await, 200);
}

#[tokio::test]
async fn a_file_is_sent_again_only_when_it_has_changed() {
    let served = served(None).await;
    let answer = served.ask("GET /css/login.css", "").await;
    assert!(answer.contains("content-type: text/css"), "{answer}");
    let tag = answer.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    assert_eq!(served.status("GET /css/login.css", &format!("If-None-Match: {tag}\r\n")).await, 304);
    assert_eq!(served.status("GET /css/login.css", "If-None-Match: \"other\"\r\n").await, 200);
    assert_eq!(served.status("GET /../Cargo.toml", "").await, 404);
}

#[tokio::test]
async fn a_token_opens_the_api_by_itself_or_by_a_session() {
    let served = served(Some(TOKEN)).await;
    let now = "GET /api/v1/now";
    assert_eq!(served.status(now, "").await, 401);
    assert_eq!(served.status(now, "Authorization: Bearer wrong\r\n").await, 401);
    assert_eq!(served.status(now, &format!("Authorization: Bearer {TOKEN}\r\n")).await, 200);
    // A name of a proxy before it is no danger: another site has no cookie.
    assert_eq!(served.status(now, &format!("Host: console.example.com\r\nAuthorization: Bearer {TOKEN}\r\n")).await, 200);

    assert!(served.ask("GET /", "").await.contains("location: /login"));
    assert!(served.ask("GET /login", "").await.contains("name=\"token\""));
    let login = async |token: &str| {
        let body = format!("token={token}");
        let head = format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        served.ask("POST /login", &head).await
    };
    let wrong = login("another-token-of-mine").await;
    assert!(wrong.starts_with("HTTP/1.1 401") && wrong.contains("This is not the token.") && !wrong.contains("set-cookie"), "{wrong}");
    let right = login(TOKEN).await;
    assert!(right.starts_with("HTTP/1.1 303") && right.contains("location: /\r\n"), "{right}");
    let cookie = right.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("HttpOnly; SameSite=Strict") && !cookie.contains(TOKEN), "{cookie}");
    let session = cookie.split(';').next().unwrap();
    assert_eq!(served.status(now, &format!("Cookie: a=b; {session}\r\n")).await, 200);
    assert_eq!(served.status(now, "Cookie: narthex-console=0\r\n").await, 401);
    assert!(served.ask("POST /logout", "Content-Length: 0\r\n").await.contains("Max-Age=0"));
}

#[tokio::test]
async fn a_token_that_is_too_short_opens_nothing() {
    let served = served(Some("short")).await;
    assert_eq!(served.status("GET /api/v1/now", "Authorization: Bearer short\r\n").await, 503);
    assert!(matches!(Token::new("/nowhere").check().await, Err(TokenError::Unreadable(..))));
}

#[tokio::test]
async fn a_stream_goes_on_where_it_broke_off() {
    let served = served(None).await;
    served.newest.send_replace(3);
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();
    stream.write_all(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\n\r\n").await.unwrap();
    let mut seen = String::new();
    let mut until = async |part: &str| {
        let mut buffer = [0; 4096];
        while !seen.contains(part) {
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
        seen.clone()
    };
    until("id: 3\n").await;
    served.newest.send_replace(4);
    let seen = until("id: 4\n").await;
    assert!(seen.contains("text/event-stream") && seen.contains("event: change\n") && seen.contains("id: 2\n"), "{seen}");
    assert!(!seen.contains("id: 1\n"), "{seen}");
}

/// More than there may be connections.
const MANY: usize = 70;

#[tokio::test]
async fn streams_beyond_the_bound_end_the_oldest_and_keep_no_reader_out() {
    let served = served(None).await;
    let mut streams = Vec::new();
    for _ in 0..MANY {
        let mut stream = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();
        stream.write_all(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        until(&mut stream, "event: now\n").await;
        streams.push(stream);
    }
    assert_eq!(served.status("GET /api/v1/now", "").await, 200);
    // Whether its end is a reset is the kernel's business.
    let _ = streams[0].read_to_end(&mut Vec::new()).await;
    served.newest.send_replace(1);
    until(streams.last_mut().unwrap(), "id: 1\n").await;
}

/// Reads until this has come.
async fn until(stream: &mut TcpStream, part: &str) -> String {
    let (mut seen, mut buffer) = (String::new(), [0; 4096]);
    while !seen.contains(part) {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    seen
}
