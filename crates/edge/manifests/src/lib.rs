//! A directory of manifests as a source: the same [`model::Snapshot`] as of a cluster, without one.
//!
//! - [`read`] is pure: files in, a [`Loaded`] out, with the objects, the Problems, and the file and line of each.
//! - [`Plain`] is a document that is no object.
//! - [`load`] reads a directory once; [`DirectorySource::spawn`] follows it.
//!
//! The meaning of a directory:
//!
//! - YAML and JSON, several documents to a file, lists, sub-directories. Scalars mean what they mean to kubectl (`yes` is a boolean), and objects are checked
//!   as the API server would check them. Kinds that don't matter here are passed over.
//! - One broken object, document or file is a Problem that names file, document and line. Everything else goes on, and what the broken text defined before stays.
//! - An object that is defined twice is taken from the first file by path.
//! - A directory that is gone takes nothing with it: what was read stays until it is back.

mod document;
mod engine;
mod file;
mod load;
mod loaded;
mod object;
mod parse;
mod plain;
mod source;

pub use file::{Content, MAX_FILE_BYTES};
pub use fs_watch::Pacing;
pub use load::{LoadError, load};
pub use loaded::{File, Loaded, Place, Position, read};
pub use plain::{Plain, misfits};
pub use source::{Addresses, DirectorySource, SourceHandle, SourceOptions};
