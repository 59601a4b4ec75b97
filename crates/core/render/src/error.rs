//! Why there is no file set.

use std::path::PathBuf;

/// Rendering failed. Retrying with the same input fails again.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A module without which nothing works.
    #[error("NGINX has no module {module} in {directory}: install the Debian package {package}")]
    ModuleMissing {
        /// File stem of the module.
        module: &'static str,
        /// Where it was looked for.
        directory: PathBuf,
        /// What brings it.
        package: &'static str,
    },
    /// The work directory can't be named in a configuration.
    #[error("work directory {path:?}: {reason}")]
    WorkDir {
        /// The work directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Something that must be a bare word (a number, a module, a user) is not one.
    #[error("{value:?} is not a bare word of NGINX's configuration: expected letters, digits and any of {allowed}")]
    Word {
        /// What was to be printed.
        value: String,
        /// Which other characters may stand in it.
        allowed: &'static str,
    },
    /// A text that NGINX can't hold as one argument.
    #[error("{value:?} can't be an argument in NGINX's configuration")]
    Text {
        /// What was to be printed, or its beginning.
        value: String,
        /// What was expected.
        source: ngx_value::Invalid,
    },
    /// A setting can't be used.
    #[error("setting {key}: {reason}")]
    Setting {
        /// Key of the ConfigMap, or flag.
        key: &'static str,
        /// What is wrong with its value.
        reason: String,
    },
    /// There is no record of the host.
    #[error("no host {0:?} is served; the catch-all is \"_\"")]
    UnknownHost(String),
    /// It is no path.
    #[error("{path:?} is no path, which begins with \"/\"; the paths of the rules of {host:?} are {}", known.join(", "))]
    UnknownPath {
        /// The host.
        host: String,
        /// What was asked for.
        path: String,
        /// The paths of its rules.
        known: Vec<String>,
    },
    /// A template failed: a fault of this program.
    #[error("a template failed")]
    Template(#[from] minijinja::Error),
}
