//! Steps of a move from ingress-nginx that only read files.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    #[command(subcommand)]
    pub(crate) subject: MigrateSubject,
}

/// The files that can be read.
#[derive(Debug, Subcommand)]
pub(crate) enum MigrateSubject {
    /// Hold a values file of ingress-nginx's chart against this version's chart
    Values(MigrateValuesArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "It prints what Helm would refuse, what would have no effect, values without a meaning here, defaults that are others,
and the shorter file that renders the same objects. The chart is that of this version.

Exit codes: 0 the chart takes the file, 1 a value is refused or unknown, 2 wrong usage or an unreadable file.

Examples:
  narthex migrate values values.yaml
  helm get values ingress-nginx -n ingress-nginx -o yaml | narthex migrate values -
  narthex migrate values values.yaml -o yaml >shorter.yaml"
)]
pub(crate) struct MigrateValuesArgs {
    /// The file; `-` for the standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: ValuesFormat,
    /// Prefix of keys of findings: the name below which a chart of yours has the values of this one
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) below: String,
}

/// Forms of a review of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValuesFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// Only the shorter file.
    Yaml,
}
