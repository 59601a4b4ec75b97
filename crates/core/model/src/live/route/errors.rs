//! Errors that another backend answers.

use std::sync::Arc;

use super::super::wire::record;

record! {
    /// Errors of a route that another backend answers, and which one. At least one of the fields is set.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Errors {
        /// Statuses in order, instead of the global list; never empty.
        pub custom_http_errors: Option<Vec<u16>>,
        /// Key of the backend that answers them, and requests while the route's own has no endpoint. Absent: the default backend, and only errors
        /// (`$narthex_error_backend`).
        pub default_backend: Option<Arc<str>>,
    }
}
