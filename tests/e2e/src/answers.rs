//! Answers of the controller's NGINX, in the forms that cases compare.

use anyhow::ensure;
use testkit::echo::Seen;
use testkit::http::{Request, Response};
use testkit::kube::Certificate;
use testkit::poll;

use crate::{Controller, PATIENCE};

/// Common name of the certificate that is made when there is no other.
const FAKE_CERTIFICATE: &[u8] = b"Kubernetes Ingress Controller Fake Certificate";

impl Controller {
    /// The statuses with which `GET` is answered, path by path.
    ///
    /// # Errors
    /// No answer.
    pub async fn statuses<const N: usize>(&self, host: &str, paths: [&str; N]) -> anyhow::Result<[u16; N]> {
        let mut statuses = [0; N];
        for (status, path) in statuses.iter_mut().zip(paths) {
            *status = self.get(host, path).await?.status;
        }
        Ok(statuses)
    }

    /// The request as the echo server that answers `GET` with 200 saw it.
    ///
    /// # Errors
    /// Another status, or another server's answer.
    pub async fn seen(&self, host: &str, path: &str) -> anyhow::Result<Seen> {
        let response = self.get(host, path).await?;
        ensure!(response.status == 200, "{host}{path}: {} {}", response.status, response.text());
        Seen::read(&response.body)
    }

    /// Waits until `GET /` over TLS is answered 200 with exactly this certificate.
    ///
    /// # Errors
    /// When it is not within [`PATIENCE`].
    pub async fn until_certificate(&self, host: &str, certificate: &Certificate) -> anyhow::Result<Response> {
        poll(PATIENCE, || async {
            let response = self.get_tls(host, "/").await?;
            ensure!(response.certificates == [certificate.der.clone()], "{host} shows another certificate");
            ensure!(response.status == 200, "{host}: {}", response.status);
            Ok(response)
        })
        .await
    }

    /// Waits until `GET /` over TLS is answered 200 with the generated certificate.
    ///
    /// # Errors
    /// When it is not within [`PATIENCE`].
    pub async fn until_fake_certificate(&self, host: &str) -> anyhow::Result<Response> {
        poll(PATIENCE, || async {
            let response = self.get_tls(host, "/").await?;
            ensure!(has_fake_certificate(&response), "{host} shows another certificate than the generated one");
            ensure!(response.status == 200, "{host}: {}", response.status);
            Ok(response)
        })
        .await
    }

    /// `GET path` over HTTP with more headers.
    ///
    /// # Errors
    /// No answer.
    pub async fn get_with(&self, host: &str, path: &str, headers: &[(&str, &str)]) -> anyhow::Result<Response> {
        let request = Request::get(self.http(), path).host(host);
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await
    }
}

/// Whether a server showed one certificate, the generated one.
pub fn has_fake_certificate(response: &Response) -> bool {
    let contains = |text: &[u8]| response.certificates.iter().all(|der| der.windows(text.len()).any(|window| window == text));
    response.certificates.len() == 1 && contains(FAKE_CERTIFICATE) && contains(b"ingress.local")
}
