//! What can be listed: for each resource where its answer is, and its columns.

use super::form::Form::{
    self, Age, Burden, Bytes, Count, Days, Digest, Duration, Faults, FaultsIn, FaultsOf, Flag, List, ListOf, Rate, Share, State, Text,
};
use crate::args::ResourceName;
use crate::table::Tone::{Bad, Good, Plain, Quiet, Warning};

/// A resource.
pub(super) struct Resource {
    pub(super) of: ResourceName,
    /// Its path in the API.
    pub(super) path: &'static str,
    /// Places of the texts that, with slashes between them, name an item. Empty: the answer is no list.
    pub(super) name: &'static [&'static str],
    /// What is printed of the answer.
    pub(super) tables: &'static [Table],
    /// What is printed of the answer about one item, where there is such an answer at the path, a slash and the name.
    pub(super) detail: &'static [Table],
}

/// A part of an answer as a table.
pub(super) struct Table {
    /// What stands above it; nothing does where it is empty.
    pub(super) title: &'static str,
    /// Place of the rows, where `*` stands for each item of a list or object.
    pub(super) rows: &'static str,
    pub(super) columns: &'static [Column],
    /// Only where everything is asked for.
    pub(super) wide: bool,
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Place of the value in a row; after `../` in what holds the list of rows.
    pub(super) at: &'static str,
    pub(super) form: Form,
    /// Only where everything is asked for.
    pub(super) wide: bool,
}

const fn col(title: &'static str, at: &'static str, form: Form) -> Column {
    Column { title, at, form, wide: false }
}

const fn wide(title: &'static str, at: &'static str, form: Form) -> Column {
    Column { title, at, form, wide: true }
}

const fn table(title: &'static str, rows: &'static str, columns: &'static [Column]) -> Table {
    Table { title, rows, columns, wide: false }
}

const SEVERITY: Form = State(&[("error", Bad), ("warning", Warning)]);
const TRUTH: Form = State(&[("true", Good), ("false", Bad)]);

const PROBLEMS: &[Column] = &[
    col("SEVERITY", "/severity", SEVERITY),
    col("KIND", "/kind", Text),
    col("OBJECT", "/object", Text),
    col("AGE", "/since", Age),
    wide("FIELD", "/field", Text),
    col("DETAIL", "/detail", Text),
    wide("FIX", "/fix", Text),
];
const CHOICES: &[Column] =
    &[col("BACKEND", "/backend", Text), col("WEIGHT", "/weight", Share), col("HEADER", "/header", Text), col("COOKIE", "/cookie", Text)];
const SHARES: Table = Table {
    title: "Namespaces",
    rows: "/items/*/namespaces/*",
    columns: &[
        col("RESOURCE", "../resource", Text),
        col("NAMESPACE", "/namespace", Text),
        col("USED", "/used", Count),
        col("SHARE", "/share", Share),
        col("HELD BACK", "/refused", Faults),
    ],
    wide: true,
};

/// All of them.
pub(super) const RESOURCES: &[Resource] = &[
    Resource {
        of: ResourceName::Ingresses,
        path: "ingresses",
        name: &["/namespace", "/name"],
        tables: &[table(
            "",
            "/items/*",
            &[
                col("NAMESPACE", "/namespace", Text),
                col("NAME", "/name", Text),
                col("CLASS", "/class", Text),
                col("HOSTS", "/hosts", List(2)),
                col("PATHS", "/paths", Count),
                col(
                    "STATE",
                    "/state",
                    State(&[
                        ("served", Good),
                        ("last-accepted", Warning),
                        ("quarantined", Bad),
                        ("refused", Bad),
                        ("without-room", Bad),
                        ("not-ours", Quiet),
                    ]),
                ),
                col("PROBLEMS", "/problems", Faults),
                col("AGE", "/created", Age),
                wide("TLS", "/tls", List(3)),
                wide("REASON", "/reason", Text),
            ],
        )],
        detail: &[],
    },
    Resource {
        of: ResourceName::Hosts,
        path: "hosts",
        name: &["/host"],
        tables: &[table(
            "",
            "/items/*",
            &[
                col("HOST", "/host", Text),
                col("NAMESPACES", "/namespaces", List(2)),
                col("PATHS", "/paths", Count),
                col("CERTIFICATE", "/certificate", Digest),
                col("PROBLEMS", "/problems", Faults),
                col("RATE", "/traffic/rate", Rate),
                col("ERRORS", "/traffic/errors", Burden(0.01)),
                col("P99", "/traffic/p99", Duration),
                wide("P50", "/traffic/p50", Duration),
                wide("REQUESTS", "/traffic/requests", Count),
                wide("TLS", "/passthrough", Flag("passthrough")),
                col("WAITS", "/held", Flag("for a reload")),
            ],
        )],
        detail: &[
            table(
                "",
                "",
                &[
                    col("HOST", "/host", Text),
                    col("ALIASES", "/aliases", List(3)),
                    col("CERTIFICATE", "/certificate/secret", Text),
                    col("DAYS LEFT", "/certificate/days_left", Days),
                    col("SERVED BY", "/server", Text),
                    col("RATE", "/traffic/rate", Rate),
                    col("ERRORS", "/traffic/errors", Burden(0.01)),
                    col("P99", "/traffic/p99", Duration),
                    col("REDIRECTS TO", "/redirect_to", Text),
                    col("WAITS", "/held", Flag("for a reload")),
                ],
            ),
            table(
                "Paths",
                "/paths/*",
                &[
                    col("PATH", "/path", Text),
                    col("TYPE", "/type", Text),
                    col("INGRESS", "/ingress", Text),
                    col("BACKEND", "/backend", Text),
                    col("CANARY", "/canary", ListOf("backend", 2)),
                    col("PROFILE", "/profile", Digest),
                    col("PROBLEMS", "/problems", Faults),
                    col("AGE", "/created", Age),
                ],
            ),
            table(
                "Settings in effect",
                "/settings/*/*",
                &[col("SETTING", "/name", Text), col("VALUE", "/value", Text), col("FROM", "/from", Text), col("OBJECT", "/object", Text)],
            ),
            table("Problems", "/problems/*", PROBLEMS),
        ],
    },
    Resource {
        of: ResourceName::Backends,
        path: "backends",
        name: &["/name"],
        tables: &[table(
            "",
            "/items/*",
            &[
                col("NAME", "/name", Text),
                col("BALANCING", "/balancing", Text),
                col("ENDPOINTS", "/endpoints", Count),
                col("PATHS", "/used_by_paths", Count),
                col("RATE", "/traffic/rate", Rate),
                col("ERRORS", "/traffic/errors", Burden(0.01)),
                col("P99", "/traffic/p99", Duration),
                wide("P50", "/traffic/p50", Duration),
                wide("REQUESTS", "/traffic/requests", Count),
                wide("INGRESSES", "/ingresses", List(3)),
            ],
        )],
        detail: &[
            table(
                "",
                "/backend",
                &[
                    col("NAME", "/name", Text),
                    col("BALANCING", "/balancing", Text),
                    col("PATHS", "/used_by_paths", Count),
                    col("INGRESSES", "/ingresses", List(3)),
                    col("RATE", "/traffic/rate", Rate),
                    col("ERRORS", "/traffic/errors", Burden(0.01)),
                    col("P99", "/traffic/p99", Duration),
                ],
            ),
            table(
                "Endpoints",
                "/endpoints/*",
                &[
                    col("ADDRESS", "/address", Text),
                    col("PORT", "/port", Count),
                    col("WEIGHT", "/weight", Rate),
                    col("SHARE", "/share", Share),
                ],
            ),
            table("Canaries", "/choices/*", CHOICES),
            table("Problems", "/problems/*", PROBLEMS),
        ],
    },
    Resource {
        of: ResourceName::Certs,
        path: "certificates",
        name: &["/secret"],
        tables: &[table(
            "",
            "/items/*",
            &[
                col("SECRET", "/secret", Text),
                col("NAMES", "/names", List(2)),
                col("ISSUER", "/issuer", Text),
                col("DAYS LEFT", "/days_left", Days),
                col("HOSTS", "/hosts_total", Count),
                col("KEY", "/key", Text),
                col("PROBLEMS", "/problems", FaultsIn),
                wide("OCSP", "/stapled", State(&[("true", Good), ("false", Quiet)])),
                wide("DIGEST", "/digest", Digest),
                wide("SERIAL", "/serial", Text),
                wide("USED BY", "/hosts", List(3)),
            ],
        )],
        detail: &[],
    },
    Resource {
        of: ResourceName::Problems,
        path: "problems",
        name: &["/namespace", "/name"],
        tables: &[table("", "/items/*", PROBLEMS)],
        detail: &[],
    },
    Resource {
        of: ResourceName::Settings,
        path: "settings",
        name: &["/name"],
        tables: &[table(
            "",
            "/items/*",
            &[
                col("NAME", "/name", Text),
                col("VALUE", "/value", Text),
                col("DEFAULT", "/default", Text),
                col("FROM", "/from", State(&[("default", Quiet), ("flag", Plain), ("configmap", Plain)])),
                col("A CHANGE IS", "/scope", Text),
                wide("INGRESSES", "/annotations", Count),
                col("PROBLEM", "/problem/detail", Text),
            ],
        )],
        detail: &[],
    },
    Resource {
        of: ResourceName::Workers,
        path: "workers",
        name: &[],
        tables: &[
            table("Masters", "/masters/*", &[col("PID", "/pid", Count), col("AGE", "/start", Age)]),
            table(
                "Workers",
                "/workers/*",
                &[
                    col("PID", "/pid", Count),
                    col("GENERATION", "/generation", State(&[("current", Good), ("old", Warning)])),
                    col("REVISION", "/revision", Digest),
                    col("CONNECTIONS", "/connections", Count),
                    col("MEMORY", "/resident_bytes", Bytes),
                    col("AGE", "/start", Age),
                    col("ENDS", "/closing", Flag("with its connections")),
                ],
            ),
            table(
                "Shared memory",
                "/dictionaries/*",
                &[
                    col("NAME", "/name", Text),
                    col("SIZE", "/bytes", Bytes),
                    col("FREE", "/free_bytes", Bytes),
                    col("USED", "/used", Burden(0.9)),
                ],
            ),
        ],
        detail: &[],
    },
    Resource {
        of: ResourceName::Revisions,
        path: "revisions",
        name: &["/revision"],
        tables: &[table(
            "",
            "/items/*",
            &[
                col("REVISION", "/revision", Text),
                col("AGE", "/at", Age),
                col("BY", "/kind", Text),
                col("OK", "/ok", TRUTH),
                col("TOOK", "/seconds", Duration),
                col("NGINX", "/running", Flag("runs it")),
                wide("NAMESPACES", "/namespaces", List(3)),
                wide("SIZE", "/bytes", Bytes),
                col("REASONS", "/reasons", List(2)),
                col("MESSAGE", "/message", Text),
            ],
        )],
        detail: &[],
    },
    Resource {
        of: ResourceName::Budgets,
        path: "budgets",
        name: &["/resource"],
        tables: &[
            table(
                "",
                "/items/*",
                &[
                    col("RESOURCE", "/resource", Text),
                    col("USED", "/used", Count),
                    col("CAPACITY", "/capacity", Count),
                    col("MOST BY", "/namespaces", ListOf("namespace", 3)),
                    col("HELD BACK", "/namespaces", FaultsOf("refused")),
                ],
            ),
            SHARES,
        ],
        detail: &[],
    },
];

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_resource_that_can_be_named_has_its_tables() {
        for name in ResourceName::value_variants() {
            let found: Vec<_> = RESOURCES.iter().filter(|resource| resource.of == *name).collect();
            assert!(found.len() == 1 && !found[0].tables.is_empty(), "{name:?}");
        }
    }

    #[test]
    fn a_wide_table_has_every_column_of_the_usual_one() {
        for table in RESOURCES.iter().flat_map(|resource| resource.tables.iter().chain(resource.detail)) {
            assert!(table.columns.iter().any(|column| !column.wide), "{}", table.rows);
            let mut titles: Vec<&str> = table.columns.iter().map(|column| column.title).collect();
            titles.sort_unstable();
            let count = titles.len();
            titles.dedup();
            assert_eq!(titles.len(), count, "{}", table.rows);
        }
    }
}
