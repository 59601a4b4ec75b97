//! NGINX seen from outside: which processes there are, who is master, what a command line and a message of the log mean. Reads `/proc`; starts and signals nothing.

pub mod command;
pub mod exit;
pub mod find;
pub mod log;
pub mod ports;
pub mod procfs;
