//! An API server for tests: lists in pages, watches, 410, injected errors, single objects, status patches. On loopback, over real HTTP.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::Response;
use futures::stream::unfold;
use kube::Client;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::connect::{ConnectOptions, connect};

/// A running server; it stops when this is dropped.
pub(crate) struct Fake {
    shared: Arc<Shared>,
    url: String,
    server: tokio::task::JoinHandle<()>,
}

struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<u64>,
    /// Whether patches wait for their answers.
    holding: watch::Sender<bool>,
}

#[derive(Default)]
struct World {
    version: u64,
    /// By resource (`ingresses`), namespace, name.
    objects: BTreeMap<(String, String, String), Value>,
    log: Vec<Logged>,
    /// Watches from before this version get 410.
    oldest: u64,
    /// Answers to every request about a resource.
    faults: BTreeMap<String, u16>,
    /// Statuses of requests by method and resource: `PATCH ingresses`.
    refusals: BTreeMap<String, u16>,
    /// Raised to end every watch that is open.
    hangups: u64,
    /// Patches that wait.
    held: usize,
    requests: Vec<String>,
}

struct Logged {
    version: u64,
    resource: String,
    kind: &'static str,
    object: Value,
}

impl Logged {
    /// The form of the real server: the type comes first.
    fn line(&self) -> String {
        format!("{{\"type\":\"{}\",\"object\":{}}}\n", self.kind, self.object)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Fake {
    pub(crate) async fn start() -> Self {
        let shared = Arc::new(Shared {
            world: Mutex::new(World { version: 100, ..World::default() }),
            changed: watch::Sender::new(0),
            holding: watch::Sender::new(false),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(serve).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { shared, url, server }
    }

    pub(crate) async fn client(&self) -> Client {
        connect(&ConnectOptions { apiserver_host: Some(self.url.clone()), ..Default::default() }).await.unwrap()
    }

    /// Creates or replaces an object, and notifies the watches.
    pub(crate) fn put(&self, resource: &str, object: Value) {
        self.world().put(resource, object);
        self.notify();
    }

    /// Changes an object with a JSON merge patch.
    pub(crate) fn merge(&self, resource: &str, namespace: &str, name: &str, patch: &Value) {
        let mut world = self.world();
        let mut object = world.objects[&key(resource, namespace, name)].clone();
        merge(&mut object, patch);
        world.put(resource, object);
        drop(world);
        self.notify();
    }

    pub(crate) fn delete(&self, resource: &str, namespace: &str, name: &str) {
        let mut world = self.world();
        world.version += 1;
        let version = world.version;
        let mut object = world.objects.remove(&key(resource, namespace, name)).unwrap();
        object["metadata"]["resourceVersion"] = version.to_string().into();
        world.log.push(Logged { version, resource: resource.into(), kind: "DELETED", object });
        drop(world);
        self.notify();
    }

    pub(crate) fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        self.world().objects.get(&key(resource, namespace, name)).cloned()
    }

    pub(crate) fn all(&self, resource: &str) -> Vec<Value> {
        self.world().objects.iter().filter(|((of, _, _), _)| of == resource).map(|(_, object)| object.clone()).collect()
    }

    /// Answers every request about a resource with this status; 0 ends that.
    pub(crate) fn fault(&self, resource: &str, status: u16) {
        self.world().faults.insert(resource.into(), status);
    }

    /// Answers this method (`PATCH`, `WATCH`) about a resource with this status.
    pub(crate) fn refuse(&self, method: &str, resource: &str, status: u16) {
        self.world().refusals.insert(format!("{method} {resource}"), status);
    }

    /// Lets patches wait for their answers, or answers those that wait.
    pub(crate) fn hold(&self, hold: bool) {
        self.shared.holding.send_replace(hold);
    }

    /// Number of patches that wait.
    pub(crate) fn held(&self) -> usize {
        self.world().held
    }

    /// Ends every watch.
    pub(crate) fn hang_up(&self) {
        self.world().hangups += 1;
        self.notify();
    }

    /// Forgets every change so far: watches from before now get 410.
    pub(crate) fn compact(&self) {
        let mut world = self.world();
        world.version += 1;
        world.oldest = world.version;
        world.log.clear();
    }

    /// Number of requests that contained this text.
    pub(crate) fn requests(&self, text: &str) -> usize {
        self.world().requests.iter().filter(|request| request.contains(text)).count()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world.lock()
    }

    fn notify(&self) {
        self.shared.changed.send_modify(|count| *count += 1);
    }
}

impl World {
    fn put(&mut self, resource: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = format!("{resource}/{namespace}/{name}").into();
        }
        let old = self.objects.insert(key(resource, &namespace, &name), object.clone());
        let kind = if old.is_some() { "MODIFIED" } else { "ADDED" };
        self.log.push(Logged { version: self.version, resource: resource.into(), kind, object: object.clone() });
        object
    }
}

fn key(resource: &str, namespace: &str, name: &str) -> (String, String, String) {
    (resource.into(), namespace.into(), name.into())
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], value);
        }
    }
}

/// The target of a URL.
struct Target {
    resource: String,
    namespace: String,
    name: String,
    query: BTreeMap<String, String>,
}

impl Target {
    fn of(uri: &Uri) -> Self {
        let mut parts: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
        parts.drain(..if parts[0] == "api" { 2 } else { 3 });
        let namespace = if parts.len() > 2 && parts[0] == "namespaces" { parts.drain(..2).nth(1) } else { None };
        let query = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        Self {
            resource: parts[0].into(),
            namespace: namespace.unwrap_or_default().into(),
            name: parts.get(1).copied().unwrap_or_default().into(),
            query: query
                .map(|(name, value)| (name.to_owned(), value.replace("%3D", "=").replace("%21", "!").replace("%2F", "/")))
                .collect(),
        }
    }

    fn selects(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let named = self.query.get("fieldSelector").and_then(|selector| selector.strip_prefix("metadata.name="));
        (self.namespace.is_empty() || metadata["namespace"] == *self.namespace) && named.is_none_or(|name| metadata["name"] == *name)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.query.get(name)?.parse().ok()
    }
}

async fn serve(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let target = Target::of(&uri);
    if method == Method::PATCH {
        shared.world.lock().held += 1;
        let _ = shared.holding.subscribe().wait_for(|holding| !holding).await;
        shared.world.lock().held -= 1;
    }
    let mut world = shared.world.lock();
    world.requests.push(format!("{method} {uri}"));
    let is_watch = target.query.contains_key("watch");
    let verb = if is_watch { "WATCH" } else { method.as_str() };
    let refusal = world.refusals.get(&format!("{verb} {}", target.resource)).or(world.faults.get(&target.resource));
    if let Some(status) = refusal.copied().filter(|status| *status != 0) {
        return failure(status, "injected");
    }
    let at = key(&target.resource, &target.namespace, &target.name);
    match method {
        Method::GET if is_watch => {
            let from = target.number("resourceVersion").unwrap_or(0);
            if from < world.oldest {
                return failure(410, "too old resource version");
            }
            let hangups = world.hangups;
            drop(world);
            follow(shared, target, from, hangups)
        }
        Method::GET if target.name.is_empty() => list(&world, &target),
        Method::GET => match world.objects.get(&at) {
            Some(object) => answer(200, object),
            None => failure(404, "not found"),
        },
        Method::POST => {
            let mut object: Value = serde_json::from_slice(&body).unwrap();
            object["metadata"]["namespace"] = target.namespace.clone().into();
            let at = key(&target.resource, &target.namespace, object["metadata"]["name"].as_str().unwrap());
            if world.objects.contains_key(&at) {
                return failure(409, "exists");
            }
            let object = world.put(&target.resource, object);
            notify(&shared);
            answer(201, &object)
        }
        Method::PATCH | Method::PUT => {
            let Some(mut object) = world.objects.get(&at).cloned() else { return failure(404, "not found") };
            let new: Value = serde_json::from_slice(&body).unwrap();
            if method == Method::PATCH {
                merge(&mut object, &new);
            } else if new["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
                return failure(409, "conflict");
            } else {
                object = new;
            }
            let object = world.put(&target.resource, object);
            notify(&shared);
            answer(200, &object)
        }
        _ => failure(405, "no such method"),
    }
}

fn notify(shared: &Shared) {
    shared.changed.send_modify(|count| *count += 1);
}

/// Pages are made by offset, and no longer than four objects, so that every test of a list is a test of paging.
fn list(world: &World, target: &Target) -> Response {
    let offset = usize::try_from(target.number("continue").unwrap_or(0)).unwrap();
    let of_resource = world.objects.iter().filter(|((resource, _, _), _)| *resource == target.resource).map(|(_, object)| object);
    let all: Vec<&Value> = of_resource.filter(|object| target.selects(object)).collect();
    let page: Vec<&Value> = all.iter().skip(offset).take(4).copied().collect();
    let next = (offset + page.len() < all.len()).then(|| (offset + page.len()).to_string());
    let metadata = json!({"resourceVersion": world.version.to_string(), "continue": next.unwrap_or_default()});
    answer(200, &json!({"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": page}))
}

fn follow(shared: Arc<Shared>, target: Target, from: u64, hangups: u64) -> Response {
    let receiver = shared.changed.subscribe();
    let body = unfold((shared, target, from, receiver), move |(shared, target, from, mut receiver)| async move {
        loop {
            {
                let world = shared.world.lock();
                if world.hangups != hangups {
                    return None;
                }
                let newer = world.log.iter().filter(|logged| logged.version > from && logged.resource == target.resource);
                let lines: Vec<String> = newer.filter(|logged| target.selects(&logged.object)).map(Logged::line).collect();
                if !lines.is_empty() {
                    let version = world.version;
                    drop(world);
                    return Some((Ok::<_, Infallible>(lines.concat()), (shared, target, version, receiver)));
                }
            }
            receiver.changed().await.ok()?;
        }
    });
    Response::new(Body::from_stream(body))
}

fn answer(status: u16, body: &Value) -> Response {
    let response = Response::builder().status(StatusCode::from_u16(status).unwrap()).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).unwrap()
}

fn failure(status: u16, message: &str) -> Response {
    let reason = match status {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "AlreadyExists",
        410 => "Expired",
        _ => "InternalError",
    };
    answer(status, &json!({"kind": "Status", "status": "Failure", "code": status, "message": message, "reason": reason}))
}

/// Waits until a watched value is as described. Panics with the text when that takes longer than ten seconds.
pub(crate) async fn until<T>(receiver: &mut watch::Receiver<T>, what: &'static str, test: impl FnMut(&T) -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(10), receiver.wait_for(test)).await;
    assert!(matches!(waited, Ok(Ok(_))), "did not happen: {what}");
}

/// Waits until the server's state is as described.
pub(crate) async fn eventually(fake: &Fake, what: &'static str, mut test: impl FnMut() -> bool) {
    let mut changed = fake.shared.changed.subscribe();
    let waited = tokio::time::timeout(Duration::from_secs(10), async {
        while !test() {
            // Requests that change nothing (refused ones) are looked for on a short clock.
            let _ = tokio::time::timeout(Duration::from_millis(20), changed.changed()).await;
        }
    });
    assert!(waited.await.is_ok(), "did not happen: {what}");
}

/// A small Ingress of one host with a certificate.
pub(crate) fn ingress(name: &str, secret: Option<&str>) -> Value {
    let tls: Vec<Value> = secret.iter().map(|secret| json!({"hosts": [format!("{name}.example")], "secretName": secret})).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"namespace": "shop", "name": name, "managedFields": [{"manager": "kubectl"}]},
        "spec": {"rules": [{"host": format!("{name}.example")}], "tls": tls}
    })
}

/// A Secret with one value.
pub(crate) fn secret(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": name}, "data": {"v": value}})
}
