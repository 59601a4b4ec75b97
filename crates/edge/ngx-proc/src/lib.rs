//! NGINX from outside, for all that start, test or reload one: which processes there are and who is master, what a command line, a message and the end
//! of a test mean, when a reload has taken effect, and files that take the place of others. Starts and signals nothing.

pub mod command;
pub mod exit;
pub mod files;
pub mod find;
pub mod generation;
pub mod log;
pub mod ports;
pub mod procfs;
pub mod verdict;
