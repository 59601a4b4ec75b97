//! From one controller to another without a dropped request: what both answer, compared; then objects moved step by step.
//!
//! - Asking: [`site`] has the rules of Ingresses, [`probe`] and [`traffic`] make requests of them and of access logs, [`client`] sends one.
//! - Judging: [`difference`] finds what differs, [`judge`] throws out what varies by itself, [`known`] says what is meant to differ.
//! - [`compare`] does all of it and fills a [`report::CompareReport`].
//!
//! - [`switch`] moves Ingresses or a Service.
//!
//! - [`values`] is about the values file of ingress-nginx's chart.
//!
//! Only `client`, `compare` and parts of `switch` have effects; the rest are functions of values.

pub mod address;
pub mod answer;
pub mod client;
pub mod compare;
pub mod difference;
pub mod echo;
pub mod ignore;
pub mod judge;
pub mod known;
pub mod probe;
pub mod report;
pub mod request;
mod sample;
pub mod site;
pub mod switch;
pub mod traffic;
pub mod values;
