//! Common parts of the benchmarks: worlds of many Ingresses, a controller to measure, the table of figures, and its plots.

pub mod api;
pub mod certificates;
pub mod controller;
pub mod deaths;
pub mod exact;
pub mod follow;
pub mod hostile;
pub mod leave;
pub mod measure;
pub mod plain;
pub mod plot;
pub mod profiles;
pub mod report;
pub mod scrape;
pub mod site;
pub mod streams;
pub mod throughput;
pub mod traffic;
pub mod webhook;
pub mod world;
