//! The server, with bounds on everything that a client can ask for.
//!
//! | what | bound |
//! |---|---|
//! | connections | 512, of one address 256: one more ends the oldest of the address that has most |
//! | handshake, head of a request | 10 s |
//! | body | below 9 MiB, as a whole within 10 s; beyond 64 KiB each, all together 64 MiB |
//! | reviews at one time | 2, and 1 of those with a body above 1 MiB |
//! | lines of the log about requests | 20 a second about denials, 5 about what is no review |
//! | one request from its body to its answer | 10 s, as long as API servers wait by default |

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request as HttpRequest, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tracing::{info, warn};

use crate::log_budget::LogBudget;
use crate::metrics::Times;
use crate::protocol::{Answer, Request};
use crate::review::{REASON_BYTES, ReviewOutcome, review, shortened};
use crate::{Certificates, Metrics, Reviewer};

/// A body of this size is too large. An API server stores 3 MiB at most, and sends the object twice when it changes.
const BODY: usize = 9 << 20;
/// Bytes of each body without a share of [`BODIES_KIB`].
const SMALL_BODY: usize = 64 << 10;
const LARGE_BODY: usize = 1 << 20;
const BODIES_KIB: usize = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
const REVIEWS: usize = 2;
const CONNECTIONS: usize = 512;
const CONNECTIONS_OF_ONE: usize = 256;
/// After an error of the listener, which a lack of descriptors is.
const PAUSE: Duration = Duration::from_millis(100);

/// Lines of the log in a second.
const DENIALS_LOGGED: u32 = 20;
const OTHERS_LOGGED: u32 = 5;
const NO_REVIEW: &str = "expected an AdmissionReview of admission.k8s.io/v1: admissionReviewVersions of the registration has to be [v1]";
const OTHER_KIND: &str =
    "expected an Ingress of networking.k8s.io/v1 or a ConfigMap of v1: the rules of the registration name another kind";

/// State that requests share.
struct Shared {
    reviewer: Reviewer,
    metrics: Metrics,
    bodies: Arc<Semaphore>,
    reviews: Arc<Semaphore>,
    large: Arc<Semaphore>,
    denials: LogBudget,
    others: LogBudget,
}

/// Serves for ever.
pub async fn serve(listener: TcpListener, certificates: Arc<Certificates>, reviewer: Reviewer, metrics: Metrics) -> &'static str {
    let acceptor = TlsAcceptor::from(Arc::new(tls(certificates)));
    let shared = Arc::new(Shared {
        reviewer,
        metrics,
        bodies: Arc::new(Semaphore::new(BODIES_KIB)),
        reviews: Arc::new(Semaphore::new(REVIEWS)),
        large: Arc::new(Semaphore::new(1)),
        denials: LogBudget::new(DENIALS_LOGGED),
        others: LogBudget::new(OTHERS_LOGGED),
    });
    let mut connections = Connections::default();
    let mut is_short = false;
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok((stream, peer)) => (stream, peer.ip().to_canonical()),
            Err(error) => {
                if !std::mem::replace(&mut is_short, true) {
                    warn!(%error, "a connection to the webhook could not be accepted");
                }
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        is_short = false;
        connections.add(peer, connection(stream, acceptor.clone(), shared.clone()));
    }
}

fn tls(certificates: Arc<Certificates>) -> rustls::ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = config.expect("ring has the default versions").with_no_client_auth().with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

/// Open connections by the client's address, oldest first.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    peers: BTreeMap<IpAddr, VecDeque<AbortHandle>>,
}

impl Connections {
    fn add(&mut self, peer: IpAddr, connection: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        if self.tasks.len() >= CONNECTIONS || self.peers.get(&peer).is_some_and(|own| own.len() >= CONNECTIONS_OF_ONE) {
            self.peers.retain(|_, own| {
                own.retain(|connection| !connection.is_finished());
                !own.is_empty()
            });
            let is_crowded = self.peers.get(&peer).is_some_and(|own| own.len() >= CONNECTIONS_OF_ONE);
            let most = if is_crowded { Some(peer) } else { self.peers.iter().max_by_key(|(_, own)| own.len()).map(|(peer, _)| *peer) };
            if is_crowded || self.tasks.len() >= CONNECTIONS {
                let oldest = most.and_then(|peer| self.peers.get_mut(&peer)?.pop_front());
                oldest.iter().for_each(AbortHandle::abort);
            }
        }
        let handle = self.tasks.spawn(connection);
        self.peers.entry(peer).or_default().push_back(handle);
    }
}

/// One connection. What a client does to its own is not for our logs.
async fn connection(stream: TcpStream, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    let Ok(Ok(stream)) = timeout(PATIENCE, acceptor.accept(stream)).await else { return };
    let service = service_fn(move |request: HttpRequest<Incoming>| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(shared.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    drop(builder.serve_connection(TokioIo::new(stream), service).await);
}

type Answered = Response<Full<Bytes>>;

impl Shared {
    async fn answer<B>(&self, request: HttpRequest<B>) -> Answered
    where
        B: Body<Data = Bytes> + Unpin,
    {
        if request.method() != Method::POST {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "expected POST");
        }
        if self.reviewer.borrow().is_none() {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "the objects of the cluster are not known yet");
        }
        let reviewed = async {
            let (body, _room) = self.read(request.into_body()).await?;
            self.review(body).await
        };
        match timeout(PATIENCE, reviewed).await {
            Ok(Ok(body)) => response(StatusCode::OK, "application/json", body.into()),
            Ok(Err((status, why))) => plain(status, why),
            Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, "there are too many reviews, or the request took too long"),
        }
    }

    /// The whole body, with its share of what all bodies may have.
    async fn read<B>(&self, mut body: B) -> Result<(Vec<u8>, Vec<OwnedSemaphorePermit>), (StatusCode, &'static str)>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        const TOO_LARGE: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "the body is 9 MiB or larger");
        if body.size_hint().lower() >= BODY as u64 {
            return Err(TOO_LARGE);
        }
        let (mut read, mut room, mut reserved) = (Vec::new(), Vec::new(), SMALL_BODY);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body is not complete"))?;
            let Ok(data) = frame.into_data() else { continue };
            let size = read.len() + data.len();
            if size >= BODY {
                return Err(TOO_LARGE);
            }
            if size > reserved {
                let kib = (size - reserved).div_ceil(SMALL_BODY) * (SMALL_BODY >> 10);
                let permits = self.bodies.clone().try_acquire_many_owned(kib.try_into().unwrap_or(u32::MAX));
                room.push(permits.map_err(|_| (StatusCode::SERVICE_UNAVAILABLE, "there are too many large bodies"))?);
                reserved += kib << 10;
            }
            read.extend_from_slice(&data);
        }
        Ok((read, room))
    }

    /// Reviews when it is this request's turn.
    async fn review(&self, body: Vec<u8>) -> Result<Vec<u8>, (StatusCode, &'static str)> {
        let begun = Instant::now();
        let closed = "the semaphores are never closed";
        let large = match body.len() > LARGE_BODY {
            true => Some(self.large.clone().acquire_owned().await.expect(closed)),
            false => None,
        };
        let turn = self.reviews.clone().acquire_owned().await.expect(closed);
        let builder = self.reviewer.borrow().clone().ok_or((StatusCode::SERVICE_UNAVAILABLE, "the controller ends"))?;
        let work = move || {
            // They belong to the work, which goes on when its client has gone.
            let _permits = (turn, large);
            let decoding = Instant::now();
            let (request, reviewed) = match Request::read(&body) {
                Ok(read) => read,
                Err(unreadable) => return Err(unreadable),
            };
            let decode = decoding.elapsed();
            let building = Instant::now();
            let outcome = review(&request, reviewed, &builder);
            let times = Times { decode, build: building.elapsed(), all: begun.elapsed() };
            Ok((outcome.answer.body(&request.uid), outcome, builder.served() + 1, times))
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok((answer, outcome, known, times))) => {
                self.note(&outcome, known, times);
                Ok(answer)
            }
            Ok(Err((status, why))) => {
                // It quotes what the client sent.
                if let Some(left_out) = self.others.take(Instant::now()) {
                    info!(why = shortened(&why, REASON_BYTES), left_out, "a request to the webhook is no review");
                }
                Err((status, if status == StatusCode::BAD_REQUEST { NO_REVIEW } else { OTHER_KIND }))
            }
            Err(error) => {
                warn!(%error, "a review failed");
                Err((StatusCode::INTERNAL_SERVER_ERROR, "the review failed"))
            }
        }
    }

    fn note(&self, ReviewOutcome { answer: Answer { denied, .. }, ingress, bytes }: &ReviewOutcome, known: usize, times: Times) {
        if let Some(ingress) = ingress {
            self.metrics.reviewed(ingress, denied.is_some(), *bytes, known, times);
        }
        if let Some(why) = denied
            && let Some(left_out) = self.denials.take(Instant::now())
        {
            info!(why, left_out, "denied");
        }
    }
}

fn plain(status: StatusCode, text: &'static str) -> Answered {
    response(status, "text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Answered {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use model::{BuildOptions, Builder, Snapshot};
    use prometheus::Registry;
    use serde_json::{Value, json};
    use tokio::sync::watch;

    use super::*;

    fn shared(ready: bool) -> Shared {
        let mut builder = Builder::new(BuildOptions { watch_ingress_without_class: true, ..BuildOptions::default() });
        builder.build(&Snapshot::default());
        let (_, reviewer) = watch::channel(ready.then(|| Arc::new(builder)));
        Shared {
            reviewer,
            metrics: Metrics::new(&Registry::new(), &[]),
            bodies: Arc::new(Semaphore::new(BODIES_KIB)),
            reviews: Arc::new(Semaphore::new(REVIEWS)),
            large: Arc::new(Semaphore::new(1)),
            denials: LogBudget::new(DENIALS_LOGGED),
            others: LogBudget::new(OTHERS_LOGGED),
        }
    }

    async fn post(shared: &Shared, body: Vec<u8>) -> (StatusCode, Value) {
        let request = HttpRequest::builder().method(Method::POST).body(Full::new(Bytes::from(body))).unwrap();
        let response = shared.answer(request).await;
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    fn create(object: &Value) -> Vec<u8> {
        let kind = json!({"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"});
        let request = json!({"uid": "u", "kind": kind, "operation": "CREATE", "namespace": "n", "name": "a", "object": object});
        serde_json::to_vec(&json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})).unwrap()
    }

    #[tokio::test]
    async fn a_review_is_answered_with_its_uid() {
        let (status, answer) = post(&shared(true), create(&json!({"metadata": {"name": "a"}, "spec": {}}))).await;
        assert_eq!((status, &answer["response"]), (StatusCode::OK, &json!({"uid": "u", "allowed": true})));
        let path = json!({"path": "/etc/passwd", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}});
        let spec = json!({"rules": [{"host": "a.example.com", "http": {"paths": [path]}}]});
        let (status, answer) = post(&shared(true), create(&json!({"metadata": {"name": "a"}, "spec": spec}))).await;
        assert_eq!(
            (status, &answer["response"]["allowed"], &answer["response"]["status"]["code"]),
            (StatusCode::OK, &json!(false), &json!(400))
        );
    }

    #[tokio::test]
    async fn before_the_first_snapshot_the_failure_policy_decides() {
        assert_eq!(post(&shared(false), create(&json!({"metadata": {}}))).await.0, StatusCode::SERVICE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn garbage_and_large_bodies_are_refused() {
        let shared = shared(true);
        assert_eq!(post(&shared, b"{".to_vec()).await.0, StatusCode::BAD_REQUEST);
        assert_eq!(post(&shared, vec![b' '; BODY]).await.0, StatusCode::PAYLOAD_TOO_LARGE);
        let padded = |size: usize| {
            let mut body = create(&json!({"metadata": {"name": "a"}, "spec": {}}));
            body.resize(size, b' ');
            body
        };
        assert_eq!(post(&shared, padded(BODY - 1)).await.0, StatusCode::OK);
        assert_eq!(shared.bodies.available_permits(), BODIES_KIB);
        // Where there is no room for large ones, small ones are reviewed.
        let _all = shared.bodies.clone().try_acquire_many_owned(BODIES_KIB as u32).unwrap();
        assert_eq!(post(&shared, padded(BODY - 1)).await.0, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(post(&shared, padded(SMALL_BODY)).await.0, StatusCode::OK);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_hangs_is_left_after_a_while() {
        struct Hanging;
        impl Body for Hanging {
            type Data = Bytes;
            type Error = Infallible;
            fn poll_frame(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
                std::task::Poll::Pending
            }
        }
        let request = HttpRequest::builder().method(Method::POST).body(Hanging).unwrap();
        let begun = tokio::time::Instant::now();
        assert_eq!(shared(true).answer(request).await.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(begun.elapsed(), PATIENCE);
    }

    #[tokio::test]
    async fn one_address_does_not_take_all_connections() {
        let mut connections = Connections::default();
        let (greedy, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        connections.add(other, std::future::pending());
        for _ in 0..CONNECTIONS {
            connections.add(greedy, std::future::pending());
            tokio::task::yield_now().await;
        }
        let alive = |peer: &IpAddr| connections.peers[peer].iter().filter(|connection| !connection.is_finished()).count();
        assert_eq!((alive(&greedy), alive(&other)), (CONNECTIONS_OF_ONE, 1));
    }
}
