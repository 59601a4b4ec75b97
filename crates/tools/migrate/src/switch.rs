//! Moves objects from one controller to another, step by step, so that each step is checked and can be undone.
//!
//! [`plan`] says what moves, [`record`] remembers it, [`decide`] says what to do with one object; these are functions of values.
//! [`run`] and [`undo`] follow them through the traits of [`port`]; [`check`] asks both controllers before and after a step.
//!
//! An object is moved by a patch that tests what it is about to replace, so that no other client's change is overwritten.
//! The record is written before a step and after it: a later run, on another machine, goes on or back from there.

pub mod check;
pub mod command;
pub mod decide;
pub mod plan;
pub mod port;
pub mod record;
pub mod run;
pub mod undo;
