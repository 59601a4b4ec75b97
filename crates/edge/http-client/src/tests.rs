//! The client over a server that writes down what it reads.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const LIMIT: Duration = Duration::from_secs(5);

/// A server that gives each connection so many answers, each for what it reads at once, and ends it. What it read, connection by connection.
struct Server {
    address: Address,
    read: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Server {
    async fn new(answers: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let read: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
        let seen = read.clone();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let at = seen.lock().len();
                seen.lock().push(Vec::new());
                let seen = seen.clone();
                tokio::spawn(async move {
                    for answer in answers {
                        let mut buffer = vec![0; 4096];
                        let length = stream.read(&mut buffer).await.unwrap();
                        if length == 0 {
                            break;
                        }
                        seen.lock()[at].push(String::from_utf8_lossy(&buffer[..length]).into_owned());
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        Self { address, read }
    }

    fn connections(&self) -> Vec<usize> {
        self.read.lock().iter().map(Vec::len).collect()
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const TO_THE_END: &str = "HTTP/1.0 404 Not Found\r\n\r\ngone";

async fn text(client: &Client, target: &str) -> (u16, String) {
    let answer = client.call(&Call { target, ..Call::default() }, LIMIT).await.unwrap();
    (answer.status.as_u16(), String::from_utf8(answer.body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_request_has_its_headers_and_body() {
    let server = Server::new(&[OK]).await;
    let headers = vec![("x-a", "1".to_owned())];
    let call = Call { method: Method::POST, target: "/a?b=%20", headers, body: "text".to_owned() };
    let answer = Client::new(server.address.clone()).call(&call, LIMIT).await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (StatusCode::OK, &b"ok"[..]));
    let Address::Tcp(address) = server.address else { unreachable!() };
    let expected = format!("POST /a?b=%20 HTTP/1.1\r\nhost: {address}\r\nx-a: 1\r\ncontent-length: 4\r\n\r\ntext");
    assert_eq!(*server.read.lock(), [[expected]]);
}

#[tokio::test]
async fn connections_are_kept_up_to_the_number_that_is_given() {
    let server = Server::new(&[OK, OK, OK]).await;
    let keeping = Client::keeping(server.address.clone(), 1);
    for _ in 0..3 {
        assert_eq!(text(&keeping.clone(), "/").await, (200, "ok".to_owned()));
    }
    assert_eq!(server.connections(), [3]);
    let new = Client::new(server.address.clone());
    for _ in 0..2 {
        text(&new, "/").await;
    }
    assert_eq!(server.connections(), [3, 1, 1]);
}

#[tokio::test]
async fn the_end_of_a_kept_connection_is_seen_before_it_is_used() {
    let server = Server::new(&[OK]).await;
    let client = Client::keeping(server.address.clone(), 1);
    text(&client, "/").await;
    // It is not kept where the end came with the answer.
    let kept = client.kept.lock().pop();
    if let Some(mut link) = kept {
        while link.is_open().await {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(text(&client, "/").await, (200, "ok".to_owned()));
}

#[tokio::test]
async fn an_answer_may_last_until_the_connection_ends() {
    let server = Server::new(&[TO_THE_END]).await;
    let client = Client::keeping(server.address.clone(), 1);
    for _ in 0..2 {
        assert_eq!(text(&client, "/").await, (404, "gone".to_owned()));
    }
    assert_eq!(server.connections(), [1, 1]);
}

#[tokio::test]
async fn what_does_not_come_has_its_reason() {
    let silent = Server::new(&[]).await;
    let broken = Server::new(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"]).await;
    let call = |address: Address, target: &'static str, limit: Duration| async move {
        Client::new(address).call(&Call { target, ..Call::default() }, limit).await.unwrap_err()
    };
    let nowhere = Address::Unix("/nowhere/at.sock".into());
    assert!(matches!(call(nowhere.clone(), "/", LIMIT).await, Error::Connect(error) if error.kind() == io::ErrorKind::NotFound));
    assert!(matches!(call(nowhere, "/a b", LIMIT).await, Error::Invalid(_)));
    for address in [silent.address.clone(), broken.address.clone()] {
        assert!(matches!(call(address, "/", LIMIT).await, Error::Broken(_)));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let deaf = Address::Tcp(listener.local_addr().unwrap());
    assert!(matches!(call(deaf, "/", Duration::from_millis(20)).await, Error::Timeout(_)));
}

#[tokio::test]
async fn an_answer_that_goes_on_is_read_part_by_part() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(Address::Tcp(listener.local_addr().unwrap()));
    let (parts, mut given) = tokio::sync::mpsc::channel::<&str>(1);
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
        while let Some(part) = given.recv().await {
            stream.write_all(part.as_bytes()).await.unwrap();
        }
    });
    let mut stream = client.stream(&Call { target: "/", ..Call::default() }, LIMIT).await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);
    for (part, text) in [("3\r\none\r\n", "one"), ("3\r\ntwo\r\n", "two")] {
        parts.send(part).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap(), text);
    }
    parts.send("0\r\n\r\n").await.unwrap();
    assert!(stream.next().await.unwrap().is_none());
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error() {
    let server = Server::new(&["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"]).await;
    let mut stream = Client::new(server.address).stream(&Call { target: "/", ..Call::default() }, LIMIT).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), "ok");
    assert!(matches!(stream.next().await, Err(Error::Broken(_))));
}

#[test]
fn text_goes_into_a_query_unharmed() {
    assert_eq!(escape("*.example.com/ü&k"), "%2A.example.com%2F%C3%BC%26k");
}
