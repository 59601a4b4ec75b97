//! The processes of NGINX in another container than the controller: `narthex data-plane` answers for them.
//!
//! Both containers share the work directory and nothing else. The controller writes the files and asks by a unix socket there; the other side
//! starts, signals and looks at processes of this one NGINX. It has no client of an API server, and what can be asked for is in
//! [`protocol::Request`]: no path and no command is ever part of it.

mod client;
mod protocol;
mod server;

pub use client::{DataPlane, DataPlaneError};
pub use server::DataPlaneServer;
