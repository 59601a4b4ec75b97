//! One request to an issuer: plain HTTP, as RFC 6960 and RFC 5280 have it.
//!
//! The URL is a tenant's. So the name is resolved here and the connection goes to the very address that was checked: never to one that no Pod has, nor
//! to what the controller itself listens on, as for `auth-url` (`--allow-local-endpoints` allows it). Private addresses are allowed, since the
//! authority of a company is in its network; what a tenant reaches that way its own authentication service reaches too. No redirect is followed, an
//! answer has a limit and so has the time, and tenants see of a failure that there was one, not which.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::http::request::Builder;
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use model::options::LocalEndpoints;
use tokio::net::TcpStream;
use tracing::warn;

/// Bytes of an answer. Responses have half a kilobyte, and two more with the certificate of who signed; certificates have one or two.
const LARGEST: usize = 8 << 10;
/// Time for everything.
const PATIENCE: Duration = Duration::from_secs(5);
/// Addresses of a name that are tried.
const ADDRESSES: usize = 2;

/// Why there is no answer. For the log; tenants don't see it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0:?} is not a URL of HTTP with a host")]
    Url(String),
    #[error("{0:?} leads to {1}, expected an address that a Pod can have (--allow-local-endpoints allows it)")]
    Local(String, &'static str),
    #[error("its name can't be resolved: {0}")]
    Name(String),
    #[error("no connection: {0}")]
    Connect(std::io::Error),
    #[error("no answer: {0}")]
    Exchange(#[from] hyper::Error),
    #[error("the answer is broken, or larger than {LARGEST} bytes: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    #[error("it answers {0}")]
    Status(StatusCode),
    #[error("no answer within {PATIENCE:?}")]
    Timeout,
}

impl Error {
    /// Whether nothing was sent, because of the URL.
    pub(crate) const fn is_refusal(&self) -> bool {
        matches!(self, Self::Url(_) | Self::Local(..))
    }
}

/// The body of a request.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) content: Bytes,
    pub(crate) content_type: &'static str,
}

/// Where requests do not go, and what resolves names.
#[derive(Debug)]
pub(crate) struct Client {
    local: LocalEndpoints,
    resolver: Option<TokioResolver>,
}

/// Where an issuer is.
struct Place {
    uri: Uri,
    host: String,
    port: u16,
}

impl Client {
    /// A client with the name servers of `/etc/resolv.conf`.
    pub(crate) fn new(local: LocalEndpoints) -> Self {
        let resolver = TokioResolver::builder_tokio().and_then(|builder| builder.build());
        let resolver = resolver.map_err(|error| warn!(%error, "can't set up the resolver from /etc/resolv.conf"));
        Self { local, resolver: resolver.ok() }
    }

    /// Whether there is anything that resolves names.
    pub(crate) const fn resolves(&self) -> bool {
        self.resolver.is_some()
    }

    /// Gets what is at a URL.
    pub(crate) async fn get(&self, url: &str, accept: &'static str) -> Result<Bytes, Error> {
        self.send(url, Request::get("/"), Bytes::new(), accept).await
    }

    /// Posts a body to a URL.
    pub(crate) async fn post(&self, url: &str, body: Body, accept: &'static str) -> Result<Bytes, Error> {
        self.send(url, Request::post("/").header(CONTENT_TYPE, body.content_type), body.content, accept).await
    }

    /// Sends a request and waits for the whole answer.
    async fn send(&self, url: &str, request: Builder, body: Bytes, accept: &'static str) -> Result<Bytes, Error> {
        let answer = async {
            let place = Place::parse(url)?;
            let addresses = place.addresses(url, &self.local, self.resolver.as_ref()).await?;
            let request = place.request(request.header(ACCEPT, accept), body)?;
            exchange(connect(&addresses).await?, request).await
        };
        tokio::time::timeout(PATIENCE, answer).await.unwrap_or(Err(Error::Timeout))
    }
}

impl Place {
    fn parse(url: &str) -> Result<Self, Error> {
        let uri: Option<Uri> = url.parse().ok().filter(|uri: &Uri| uri.scheme_str() == Some("http"));
        let uri = uri.ok_or_else(|| Error::Url(url.to_owned()))?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| Error::Url(url.to_owned()))?;
        Ok(Self { host: host.trim_matches(['[', ']']).to_owned(), port: uri.port_u16().unwrap_or(80), uri })
    }

    /// The addresses that may be connected to; never none.
    async fn addresses(&self, url: &str, local: &LocalEndpoints, resolver: Option<&TokioResolver>) -> Result<Vec<SocketAddr>, Error> {
        let found: Vec<IpAddr> = match self.host.parse() {
            Ok(address) => vec![address],
            Err(_) if ngx_value::is_local_name(&self.host) && !local.allowed => return Err(Error::Local(url.to_owned(), "this machine")),
            Err(_) => {
                let resolver = resolver.ok_or_else(|| Error::Name("there is no resolver".to_owned()))?;
                let found = resolver.lookup_ip(&*self.host).await.map_err(|error| Error::Name(error.to_string()))?;
                found.iter().collect()
            }
        };
        let mut refusal = None;
        let allowed = found.into_iter().filter(|address| {
            let refused = local.refusal(*address, Some(self.port));
            refusal = refusal.or(refused);
            refused.is_none()
        });
        let allowed: Vec<SocketAddr> = allowed.map(|address| SocketAddr::new(address, self.port)).take(ADDRESSES).collect();
        match refusal {
            Some(what) if allowed.is_empty() => Err(Error::Local(url.to_owned(), what)),
            None if allowed.is_empty() => Err(Error::Name("it has no address".to_owned())),
            _ => Ok(allowed),
        }
    }

    /// The request that goes there.
    fn request(&self, request: Builder, body: Bytes) -> Result<Request<Full<Bytes>>, Error> {
        let authority = self.uri.authority().map(|authority| authority.as_str().rsplit('@').next().unwrap_or_default().to_owned());
        let target = self.uri.path_and_query().map_or("/", |target| target.as_str());
        let request = request.uri(target).header(HOST, authority.unwrap_or_default());
        request.body(Full::from(body)).map_err(|_| Error::Url(self.uri.to_string()))
    }
}

async fn exchange(stream: TcpStream, request: Request<Full<Bytes>>) -> Result<Bytes, Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let answer = async {
        let answer = sender.send_request(request).await?;
        if answer.status() != StatusCode::OK {
            return Err(Error::Status(answer.status()));
        }
        Ok(Limited::new(answer.into_body(), LARGEST).collect().await.map_err(Error::Body)?.to_bytes())
    };
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        // What it has read of the answer is still there.
        _ = connection => answer.await,
    }
}

async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, Error> {
    let mut last = Error::Timeout;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Error::Connect(error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refusal(url: &str, local: &LocalEndpoints) -> Error {
        Client { local: local.clone(), resolver: None }.get(url, "*/*").await.unwrap_err()
    }

    #[tokio::test]
    async fn what_no_pod_has_is_not_asked() {
        let own: IpAddr = "10.0.0.7".parse().unwrap();
        let local = LocalEndpoints { allowed: false, own: [own].into(), control_ports: [10254].into() };
        for url in [
            "http://127.0.0.1:10254/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://169.254.169.254/latest",
            "http://0.0.0.0:80/",
            "http://user@localhost/",
            "http://10.0.0.7:10254/metrics",
        ] {
            assert!(matches!(refusal(url, &local).await, Error::Local(..)), "{url}");
        }
        for url in ["https://10.0.0.1/", "http:///path", "file:///etc/passwd", "10.0.0.1", "http://a b/", ""] {
            assert!(matches!(refusal(url, &local).await, Error::Url(_)), "{url}");
        }
    }
}
