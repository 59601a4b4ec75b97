//! The foundation of tests: a real control plane, echo backends, a raw HTTP client, a load generator. Development only.
//!
//! - [`bed`]: a Kubernetes API server with etcd and controllers in namespaces of its own; the binary `bed` runs a command inside one.
//! - [`kubelet`]: binds Pods there and really starts an echo server for each, or its containers.
//! - [`kube`]: builders, manifests and namespaces for tests. [`dns`]: the names that the bed's resolver knows.
//! - [`echo`]: the server that answers with what it saw; also the binary `echo`.
//! - [`grpc`], [`fastcgi`]: servers of other protocols that do the same. [`otlp`]: a collector of traces. [`files`]: answers by path.
//! - [`half`]: requests of which a part is sent later. [`handshakes`]: one TLS connection after the other.
//! - [`service`]: the endpoints of a Service, as its clients have them. [`streams`]: connections that stay open.
//! - [`http`]: sends exactly the bytes asked for. [`load`]: a constant rate over time, every failure kept.
//! - [`manifests`]: Ingresses that need no backend. [`mounted`]: volumes as the kubelet writes them. [`remote`]: a file system that sends no events.
//! - [`api_proxy`]: the way to the API server, with faults. [`failing`]: an NGINX with faults. [`excuses`]: which requests may fail beside them. [`clock`]: a clock of its own. [`processes`]: the masters and workers of NGINX.
//! - [`poll`]: waits for a state. [`ports`]: ports and addresses that no test beside this one uses.

pub mod api_proxy;
pub mod bed;
pub mod clock;
pub mod dns;
pub mod echo;
pub mod excuses;
pub mod failing;
pub mod fastcgi;
pub mod files;
pub mod gate;
pub mod grpc;
pub mod half;
pub mod handshakes;
pub mod http;
mod ip;
pub mod kube;
pub mod kubelet;
pub mod load;
pub mod manifests;
pub mod mmdb;
pub mod mounted;
pub mod ocsp;
pub mod otlp;
mod polling;
pub mod ports;
pub mod processes;
pub mod remote;
pub mod service;
pub mod streams;
mod trust;

pub use polling::{poll, poll_every};
