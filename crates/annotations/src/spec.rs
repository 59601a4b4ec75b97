//! The typed annotations of one Ingress.

use std::fmt;
use std::str::FromStr;

use ngx_value::{HostName, Invalid, RewriteTarget, Seconds, Size, Snippet, VhostTemplate};
use serde::Serialize;

/// How a backend chooses an endpoint (`load-balance`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadBalance {
    /// In turn, weighted.
    #[default]
    RoundRobin,
    /// The quicker of two random ones, by an exponentially weighted moving average of response times.
    Ewma,
}

impl FromStr for LoadBalance {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "round_robin" => Ok(Self::RoundRobin),
            "ewma" => Ok(Self::Ewma),
            _ => Err(Invalid::new("round_robin or ewma")),
        }
    }
}

impl fmt::Display for LoadBalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RoundRobin => "round_robin",
            Self::Ewma => "ewma",
        })
    }
}

/// What the annotations of one Ingress ask for. `None`: not set, so the setting of the same name in [`crate::Config`] holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec {
    /// `rewrite-target`: what the URI becomes. Every location of the host is then matched as a regular expression.
    pub rewrite_target: Option<RewriteTarget>,
    /// `use-regex`: every location of the host is matched as a regular expression.
    pub use_regex: bool,
    /// `ssl-redirect`: plain HTTP is redirected to HTTPS if the host has a certificate.
    pub ssl_redirect: Option<bool>,
    /// `force-ssl-redirect`: the same without a certificate.
    pub force_ssl_redirect: Option<bool>,
    /// `preserve-trailing-slash`: that redirect keeps the slash at the end of the URI.
    pub preserve_trailing_slash: Option<bool>,
    /// `proxy-body-size`: largest request body, 0 = unlimited.
    pub proxy_body_size: Option<Size>,
    /// `proxy-connect-timeout`.
    pub proxy_connect_timeout: Option<Seconds>,
    /// `proxy-send-timeout`: between two writes to the backend.
    pub proxy_send_timeout: Option<Seconds>,
    /// `proxy-read-timeout`: between two reads from the backend.
    pub proxy_read_timeout: Option<Seconds>,
    /// `proxy-buffering`: answers are buffered.
    pub proxy_buffering: Option<bool>,
    /// `proxy-buffer-size`: the first part of an answer, and each of the buffers; 1 byte to 1 GiB.
    pub proxy_buffer_size: Option<Size>,
    /// `proxy-buffers-number`: at least 3.
    pub proxy_buffers_number: Option<u32>,
    /// `proxy-request-buffering`: request bodies are buffered.
    pub proxy_request_buffering: Option<bool>,
    /// `load-balance`.
    pub load_balance: Option<LoadBalance>,
    /// `service-upstream`: the Service's own address is the only endpoint.
    pub service_upstream: Option<bool>,
    /// `server-alias`: further names of the host, sorted, without duplicates.
    pub server_alias: Vec<HostName>,
    /// `upstream-vhost`: the Host header to the backend.
    pub upstream_vhost: Option<VhostTemplate>,
    /// `enable-access-log`.
    pub enable_access_log: Option<bool>,
    /// `configuration-snippet`: text at location level. Only where snippets are allowed; never empty.
    pub configuration_snippet: Option<Snippet>,
    /// `server-snippet`: text at server level. Only where snippets are allowed; never empty.
    pub server_snippet: Option<Snippet>,
    /// `canary`: the Ingress adds alternatives to the backends of others.
    pub canary: bool,
}
