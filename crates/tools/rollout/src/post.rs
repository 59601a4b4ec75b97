//! POST over HTTP and HTTPS, directly or through a proxy. Redirects are not followed: what is sent is for one address.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::http::uri::InvalidUri;
use hyper::{Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use cluster::chain;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends.
pub(crate) enum Post {
    Direct(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
    Proxied(Client<HttpsConnector<Tunnel<HttpConnector>>, Full<Bytes>>),
}

impl Post {
    /// # Errors
    /// The proxy is not a URL.
    pub(crate) fn new(proxy: Option<&str>) -> Result<Self, InvalidUri> {
        let mut plain = HttpConnector::new();
        plain.enforce_http(false);
        let executor = || Client::builder(TokioExecutor::new());
        let tls = || HttpsConnectorBuilder::new().with_tls_config(trust()).https_or_http().enable_http1();
        Ok(match proxy {
            None => Self::Direct(executor().build(tls().wrap_connector(plain))),
            Some(proxy) => Self::Proxied(executor().build(tls().wrap_connector(Tunnel::new(proxy.parse::<Uri>()?, plain)))),
        })
    }

    /// Sends a body.
    ///
    /// # Errors
    /// No answer, or one that is not a success; without the URL, which may hold a secret.
    pub(crate) async fn send(&self, url: &str, content_type: &str, body: String) -> Result<(), String> {
        let request = Request::post(self.target(url)).header("content-type", content_type).header("user-agent", "narthex-rollout");
        let request = request.body(Full::new(Bytes::from(body))).map_err(|_| "the URL can't be used".to_owned())?;
        let answer = async {
            match self {
                Self::Direct(client) => client.request(request).await,
                Self::Proxied(client) => client.request(request).await,
            }
        };
        match tokio::time::timeout(TIMEOUT, answer).await {
            Ok(Ok(response)) if response.status().is_success() => Ok(()),
            Ok(Ok(response)) => Err(format!("answered {}", response.status())),
            Ok(Err(error)) => Err(chain(&error)),
            Err(_) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
        }
    }
}

impl Post {
    /// The URL with its port where a tunnel would take the one of HTTPS.
    fn target(&self, url: &str) -> String {
        match url.parse::<Uri>() {
            Ok(uri) if matches!(self, Self::Proxied(_)) && uri.scheme_str() == Some("http") && uri.port().is_none() => {
                format!("http://{}:80{}", uri.host().unwrap_or_default(), uri.path_and_query().map_or("/", |rest| rest.as_str()))
            }
            _ => url.to_owned(),
        }
    }
}

/// The certificate authorities of this machine. Where there are none, HTTPS fails and HTTP does not.
fn trust() -> ClientConfig {
    use hyper_rustls::ConfigBuilderExt;
    let versions = || {
        let builder = ClientConfig::builder_with_provider(ring::default_provider().into());
        builder.with_safe_default_protocol_versions().expect("the provider has the cipher suites of TLS 1.2 and 1.3")
    };
    match versions().with_native_roots() {
        Ok(builder) => builder.with_no_client_auth(),
        Err(error) => {
            tracing::debug!(%error, "no certificate authorities: no receiver can be notified over HTTPS");
            versions().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request with this status line, and gives what it read.
    async fn server(answer: &'static str) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut read = Vec::new();
            while !String::from_utf8_lossy(&read).contains("\r\n\r\n") {
                connection.read_buf(&mut read).await.unwrap();
            }
            connection.write_all(format!("{answer}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await.unwrap();
            String::from_utf8_lossy(&read).into_owned()
        });
        (address, task)
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed_and_no_error_tells_the_url() {
        let (address, _task) = server("HTTP/1.1 302 Found\r\nlocation: http://192.0.2.1/").await;
        let why = Post::new(None).unwrap().send(&format!("http://{address}/token"), "text/plain", "x".into()).await.unwrap_err();
        assert_eq!(why, "answered 302 Found");
        let why = Post::new(None).unwrap().send("http://127.0.0.1:1/token", "text/plain", "x".into()).await.unwrap_err();
        assert!(!why.contains("token"), "{why}");
    }

    #[tokio::test]
    async fn a_proxy_is_asked_for_a_tunnel() {
        let (address, task) = server("HTTP/1.1 403 Forbidden").await;
        let post = Post::new(Some(&format!("http://{address}"))).unwrap();
        assert!(post.send("http://hooks.example.com/x", "text/plain", "x".into()).await.is_err());
        let asked = task.await.unwrap();
        assert!(asked.starts_with("CONNECT hooks.example.com:80 HTTP/1.1"), "{asked}");
        assert!(Post::new(Some("not a url")).is_err());
    }
}
