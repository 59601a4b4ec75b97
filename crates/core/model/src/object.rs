//! What is read of the objects that there are many of, in a form that ten thousand of them fit into.
//!
//! A Service, an EndpointSlice or an Ingress of the API is one to two kilobytes, most of it fields that are not set or not read.
//! Sources turn them into these with `From`, as soon as they are decoded and checked.
//! The names of objects are not in them: they are the keys of the [`crate::Snapshot`].

mod ingress;
mod protocol;
mod service;
mod slice;

pub use ingress::{Backend, Ingress, IngressPath, IngressRule, IngressTls, PortRef};
pub use protocol::Protocol;
pub use service::{Service, ServicePort, TCP_TLS_SECRET, Target};
pub use slice::{EndpointSlice, SliceEndpoint, SlicePort};

/// An empty text is as good as none.
fn text(text: Option<String>) -> Option<Box<str>> {
    text.filter(|text| !text.is_empty()).map(String::into_boxed_str)
}
