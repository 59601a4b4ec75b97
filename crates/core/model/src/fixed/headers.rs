//! Headers that the ConfigMap names for all requests and answers.

use ngx_value::{HeaderName, HeaderTemplate};

/// Headers with variables, each list in order of the names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GlobalHeaders {
    /// `add-headers`: of every answer; they replace the backend's.
    pub answer: Vec<(HeaderName, HeaderTemplate)>,
    /// `proxy-set-headers`: of every request to a backend, behind those that are always sent. An empty one is not sent.
    pub request: Vec<(HeaderName, HeaderTemplate)>,
}

/// Bytes of the longest name of a header that NGINX can set for gRPC: no directive makes the table of these larger.
pub(crate) const LONGEST_FOR_GRPC: usize = 46;

impl GlobalHeaders {
    /// Those of [`Self::request`] that requests to gRPC endpoints can have.
    pub fn for_grpc(&self) -> impl Iterator<Item = &(HeaderName, HeaderTemplate)> {
        self.request.iter().filter(|(name, _)| name.as_str().len() <= LONGEST_FOR_GRPC)
    }
}
