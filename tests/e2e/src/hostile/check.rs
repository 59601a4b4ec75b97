//! One question to a host, and the only good answer.

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, ensure};
use testkit::echo::Seen;
use testkit::http::{Request, Response};
use testkit::kube::Certificate;

use super::victims;
use crate::Case;

/// The addresses of a controller for HTTP and HTTPS.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    /// Plain.
    pub http: SocketAddr,
    /// With TLS.
    pub https: SocketAddr,
}

/// The expected answer.
#[derive(Debug, Clone)]
pub(super) enum Expected {
    /// 200 of this namespace's Service, which saw this path.
    Served { namespace: String, service: String, path: String },
    /// This status, and no backend was asked.
    Refused(u16),
    /// This status, and a location that begins so.
    Redirected(u16, String),
    /// This status, for at least one of three requests.
    Limited(u16),
}

impl Expected {
    pub(super) fn served(case: &Case, service: &str) -> Self {
        Self::Served { namespace: case.ns().to_owned(), service: service.to_owned(), path: "/".to_owned() }
    }

    pub(super) fn with_path(mut self, to: &str) -> Self {
        if let Self::Served { path, .. } = &mut self {
            to.clone_into(path);
        }
        self
    }
}

/// A request to a host, and what must come back.
#[derive(Debug, Clone)]
pub struct Check {
    host: String,
    path: String,
    tls: bool,
    headers: Vec<(String, String)>,
    source: Option<IpAddr>,
    identity: Option<Certificate>,
    certificate: Option<Certificate>,
    expected: Expected,
}

impl Check {
    pub(super) fn of(name: &str, expected: Expected) -> Self {
        Self {
            host: victims::host(name),
            path: "/".into(),
            tls: false,
            headers: Vec::new(),
            source: None,
            identity: None,
            certificate: None,
            expected,
        }
    }

    pub(super) fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(super) const fn from(mut self, source: IpAddr) -> Self {
        self.source = Some(source);
        self
    }

    pub(super) const fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// The client's certificate.
    pub(super) fn identity(mut self, certificate: &Certificate) -> Self {
        self.identity = Some(certificate.clone());
        self
    }

    /// The server's certificate.
    pub(super) fn certificate(mut self, certificate: &Certificate) -> Self {
        self.certificate = Some(certificate.clone());
        self
    }

    fn request(&self, ports: Ports) -> Request {
        let mut request = Request::get(if self.tls { ports.https } else { ports.http }, self.path.as_str()).host(self.host.as_str());
        if self.tls {
            request = request.tls(self.host.as_str());
        }
        if let Some(source) = self.source {
            request = request.source(source);
        }
        if let Some(Certificate { certificate_pem, key_pem, .. }) = &self.identity {
            request = request.identity(certificate_pem, key_pem);
        }
        self.headers.iter().fold(request, |request, (name, value)| request.header(name.as_str(), value.as_str()))
    }

    /// Asks, over connections of its own.
    ///
    /// # Errors
    /// Another answer, or none: the error says which.
    pub async fn ask(&self, ports: Ports) -> anyhow::Result<()> {
        let asked = async {
            let response = self.request(ports).send().await?;
            if let Expected::Limited(status) = self.expected {
                let others = [self.request(ports).send().await?, self.request(ports).send().await?];
                let limited = others.iter().chain([&response]).any(|response| response.status == status);
                ensure!(limited, "three requests in a row, and none was refused");
            }
            self.is_good(&response)
        };
        asked.await.with_context(|| format!("{}{} (TLS: {}, headers: {:?})", self.host, self.path, self.tls, self.headers))
    }

    fn is_good(&self, response: &Response) -> anyhow::Result<()> {
        let answer = || format!("it answers {} {:?}", response.status, response.text().chars().take(200).collect::<String>());
        match &self.expected {
            Expected::Served { namespace, service, path } => {
                ensure!(response.status == 200, answer());
                let seen = Seen::read(&response.body)?;
                ensure!((&seen.namespace, &seen.service, &seen.path) == (namespace, service, path), "another backend's answer: {seen}");
            }
            Expected::Refused(status) => {
                ensure!(response.status == *status, "not refused with {status}: {}", answer());
                ensure!(Seen::read(&response.body).is_err(), "a backend was reached: {}", answer());
            }
            Expected::Redirected(status, to) => {
                ensure!(response.status == *status, answer());
                let location = response.header("location").unwrap_or_default();
                ensure!(location.starts_with(to.as_str()), "it redirects to {location:?}, not {to:?}");
            }
            Expected::Limited(_) => {}
        }
        if let Some(certificate) = &self.certificate {
            ensure!(response.certificates == [certificate.der.clone()], "it shows another certificate");
        }
        Ok(())
    }
}
