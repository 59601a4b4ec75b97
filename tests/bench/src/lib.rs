//! Common parts of the benchmarks: worlds of many Ingresses, a controller to measure, and the table of figures.

pub mod certificates;
pub mod controller;
pub mod deaths;
pub mod exact;
pub mod follow;
pub mod hostile;
pub mod leave;
pub mod measure;
pub mod plain;
pub mod profiles;
pub mod report;
pub mod scrape;
pub mod site;
pub mod streams;
pub mod throughput;
pub mod traffic;
pub mod webhook;
pub mod world;
