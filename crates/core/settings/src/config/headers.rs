//! Headers of all requests and answers.

use ngx_value::HeaderName;

use super::grammar::{BOOL, CONFIG_MAP, HEADER_NAMES};
use super::table::settings;
use crate::reference::Reference;

settings! {
    /// Headers of all requests and answers.
    HeaderDefaults in headers;

    /// ConfigMap with headers of every answer: they replace the backend's. Variables in the values are meant.
    add_headers: Option<Reference> = None, CONFIG_MAP, "ingress/answer-headers", [Text];
    /// ConfigMap with headers of every request to a backend. They follow those that are always sent, so one of the same name is sent twice, and an empty one is not sent. Variables in the values are meant.
    proxy_set_headers: Option<Reference> = None, CONFIG_MAP, "ingress/request-headers", [Text];
    /// Names of the headers that Ingresses may set with `custom-headers`, letter by letter. Empty: none.
    global_allowed_response_headers: Vec<HeaderName> = Vec::new(), HEADER_NAMES, "X-Frame-Options,X-Team", [Ingresses];
    /// Headers of the backends' answers that clients don't get.
    hide_headers: Vec<HeaderName> = Vec::new(), HEADER_NAMES, "X-Powered-By", [Text];
    /// Let clients see the backend's `Server`. Only with `server-tokens`, as the header is removed otherwise.
    allow_backend_server_header: bool = false, BOOL, "true", [Text];
    /// Take headers whose names have underscores.
    enable_underscores_in_headers: bool = false, BOOL, "true", [Text] => "underscores_in_headers";
    /// Drop headers whose names have other characters than letters, digits and `-`.
    ignore_invalid_headers: bool = true, BOOL, "false", [Text] => "ignore_invalid_headers";
}
