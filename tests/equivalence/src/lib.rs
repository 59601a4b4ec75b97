//! What the test of the router against NGINX itself is made of: random rules, random requests, and two real NGINX.
//!
//! - [`dice`]: where all randomness comes from, so that a seed gives the same rules and requests again.
//! - [`rules`]: a snapshot of Ingresses over many hosts, and the settings they are built with.
//! - [`requests`]: requests as bytes, most of them near what some rule says.
//! - [`echo`]: backends that answer with the bytes they got. [`client`]: sends bytes, reads answers.
//! - [`oracle`]: rules as NGINX's own text. [`sides`]: the two NGINX, one that runs what is rendered and one that runs that text.
//!
//! [`world`]: a small cluster as data, for tests of single cases.
//!
//! And of the test that answers of backends pass unchanged:
//!
//! - [`answers`]: random answers as bytes, and requests for them. [`script`]: a backend that gives them.
//! - [`plain`]: an NGINX that runs a text.

pub mod answers;
pub mod client;
pub mod dice;
pub mod echo;
pub mod oracle;
pub mod plain;
pub mod requests;
pub mod rules;
pub mod script;
pub mod sides;
pub mod world;

pub use dice::Dice;
