//! From [`model::Fixed`] to the files that NGINX reads. Pure: no I/O, no clock, no environment.
//!
//! [`render()`] gives what runs: one server for all hosts, whose routes are data. [`Served`] is what of it serves one host, for people.
//!
//! Templates (`templates/*.conf`) print view structs and nothing else, and every value goes through one formatter (module
//! `print`) which quotes and escapes it by its type; raw text can only come from a [`ngx_value::Snippet`].
//! So nothing that an Ingress, a Service or a ConfigMap says can alter the structure of the configuration.

mod auth;
mod capabilities;
mod clients;
mod directive;
mod error;
mod files;
mod firewall;
mod globals;
mod lua;
mod mirror;
mod page;
mod pass;
mod passthrough;
mod paths;
mod print;
mod profile;
mod proxy;
mod render;
mod served;
mod server;
mod stream;
mod stream_map;
mod stream_services;
mod templates;
mod used_variables;

pub use capabilities::Capabilities;
pub use error::RenderError;
pub use files::{File, FileSet, Origin};
pub use paths::Paths;
pub use render::render;
pub use served::{Row, Served};
