//! A collector of traces that keeps what it gets: OTLP over gRPC, as the crates of OpenTelemetry serve it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, ensure};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use crate::poll;

/// A running collector. Dropping it ends it.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    requests: Kept,
    task: JoinHandle<()>,
}

/// Export requests in the JSON form of OTLP.
type Kept = Arc<Mutex<Vec<Value>>>;

struct Keeper(Kept);

#[tonic::async_trait]
impl TraceService for Keeper {
    async fn export(&self, request: Request<ExportTraceServiceRequest>) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let request = serde_json::to_value(request.into_inner()).map_err(|error| Status::internal(error.to_string()))?;
        self.0.lock().push(request);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Starts one at a free port of 127.0.0.1.
    ///
    /// # Errors
    /// No port can be bound.
    pub async fn start() -> anyhow::Result<Self> {
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse()?).map_err(|error| anyhow!(error))?;
        let address = incoming.local_addr()?;
        let requests = Kept::default();
        let service = TraceServiceServer::new(Keeper(requests.clone()));
        let task = tokio::spawn(async move {
            // It ends with its listener only.
            let _ = Server::builder().add_service(service).serve_with_incoming(incoming).await;
        });
        Ok(Self { address, requests, task })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests that came so far, in the JSON form of OTLP.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().clone()
    }

    /// The spans that came so far, in the JSON form of OTLP.
    pub fn spans(&self) -> Vec<Value> {
        let of_request = |request: &Value| request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().unwrap_or_default();
        self.requests().iter().flat_map(of_request).collect()
    }

    /// Waits for a span with this attribute.
    ///
    /// # Errors
    /// None comes in time.
    pub async fn until_span(&self, patience: Duration, key: &str, value: &str) -> anyhow::Result<Value> {
        poll(patience, || async {
            let spans = self.spans();
            let has = |span: &&Value| attribute(span, key).is_some_and(|found| found == value);
            ensure!(spans.iter().any(|span| has(&span)), "no span with {key} = {value} among {spans:?}");
            Ok(spans.iter().find(has).cloned().unwrap_or_default())
        })
        .await
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An attribute of a span or a resource, as text.
pub fn attribute(of: &Value, key: &str) -> Option<String> {
    let attribute = of["attributes"].as_array()?.iter().find(|attribute| attribute["key"] == key)?;
    attribute["value"].as_object()?.values().next()?.as_str().map(str::to_owned)
}
