//! The tables of the live state, each declared once: from its row come its map in [`Live`], its [`Table`], what Lua knows of it
//! (`lua/narthex/state/wire.lua`) and its line in `docs/live-protocol.md`.

use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use super::wire::Declaration;
use super::{BackendRecord, CertificateRecord, Delta, Encode, HostRecord, Op, UsersRecord, record_crc};

/// What is said about a table.
#[derive(Debug)]
pub struct Row {
    /// The letter on the wire.
    pub letter: char,
    /// The value of the metric label `kind`.
    pub label: &'static str,
    /// One record of it, for people.
    pub noun: &'static str,
    /// The value of the metric label `change`, of changes that needed no reload.
    pub change: &'static str,
    /// Where NGINX has it.
    pub medium: Medium,
    /// Values are never shown.
    pub is_secret: bool,
    /// The keys, Markdown.
    pub keys: &'static str,
    /// Values that are plain text, Markdown. Empty where there is a declaration.
    pub text: &'static str,
    /// Values that are JSON.
    pub declaration: Option<&'static Declaration>,
}

/// Where NGINX has the records of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// In a shared dictionary, for Lua in the `http` block.
    Dictionary(&'static str),
    /// In a file each, for njs in the `stream` block.
    Files,
}

/// Declares the tables, in the order in which additions must be applied: what is referred to goes first.
macro_rules! tables {
    ($($(#[doc = $doc:literal])* $table:ident => $map:ident: $record:ty { $($field:ident: $value:expr,)* })*) => {
        /// Everything that NGINX holds as data.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Live {
            $($(#[doc = $doc])* pub $map: OrdMap<Arc<str>, $record>,)*
        }

        /// The tables on the wire, in the order in which additions must be applied: what is referred to goes first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Table {
            $($(#[doc = $doc])* $table,)*
        }

        impl Table {
            /// All of them, in this order.
            pub const ALL: &[Self] = &[$(Self::$table),*];

            /// What is said about it.
            pub const fn row(self) -> &'static Row {
                match self {
                    $(Self::$table => const { &Row { declaration: <$record as Encode>::JSON, $($field: $value,)* } },)*
                }
            }
        }

        impl Live {
            /// The changes of each table by itself.
            fn changes(&self, new: &Self) -> Vec<Op> {
                let mut ops = Vec::new();
                $(diff(Table::$table, &self.$map, &new.$map, &mut ops);)*
                ops
            }

            /// The same with these tables alone.
            #[must_use]
            pub fn only(&self, wanted: impl Fn(Table) -> bool) -> Self {
                Self { $($map: if wanted(Table::$table) { self.$map.clone() } else { OrdMap::new() },)* }
            }

            /// Number of records in all tables.
            pub fn len(&self) -> usize {
                [$(self.$map.len()),*].iter().sum()
            }

            /// Whether there is a record for a key as NGINX lists it, `<letter>\t<key>`.
            pub fn holds(&self, listed: &str) -> bool {
                let Some((letter, key)) = listed.split_once('\t') else { return false };
                match Table::ALL.iter().find(|table| letter.chars().eq([table.letter()])) {
                    $(Some(Table::$table) => self.$map.contains_key(key),)*
                    None => false,
                }
            }

            /// Puts the outcome of one applied change into this view, taking the record from `new`.
            pub fn accept(&mut self, op: &Op, new: &Self) {
                match op.table {
                    $(Table::$table => set(&mut self.$map, &new.$map, op),)*
                }
            }
        }
    };
}

tables! {
    /// Key pairs, by their content address.
    Certificate => certificates: Arc<CertificateRecord> {
        letter: 'c',
        label: "certificate",
        noun: "key pair",
        change: "certificate",
        medium: Medium::Dictionary("certificate_data"),
        is_secret: true,
        keys: "content address",
        text: "",
    }
    /// Users and their hashed passwords, by their content address.
    Users => users: Arc<UsersRecord> {
        letter: 'u',
        label: "users",
        noun: "list of users",
        change: "users",
        medium: Medium::Dictionary("certificate_data"),
        is_secret: true,
        keys: "content address",
        text: "",
    }
    /// OCSP responses that are stapled to certificates, by the content address of the key pair.
    Staple => staples: Arc<str> {
        letter: 'o',
        label: "staple",
        noun: "OCSP response",
        change: "certificate",
        medium: Medium::Dictionary("ocsp_response_cache"),
        is_secret: false,
        keys: "a key of table `c`",
        text: "when the response ends to be valid, in seconds since 1970, a space, and the response (DER) in base64; plain text",
    }
    /// SNI names (`_`, a literal name, `*.example.com`), each with the content address of its certificate.
    /// A name with an entry counts as TLS-enabled, plain HTTP to it is redirected, unless it is [`NO_CERTIFICATE`](super::NO_CERTIFICATE).
    Server => servers: Arc<str> {
        letter: 's',
        label: "server",
        noun: "TLS name",
        change: "certificate",
        medium: Medium::Dictionary("certificate_servers"),
        is_secret: false,
        keys: "SNI name: `_`, `www.example.com`, `*.example.com`",
        text: "a key of table `c`, plain text; `-`: none, and that of the wildcard above does not count; it is set before the wildcard's entry, \
               and removed after it",
    }
    /// Backends, by their key on the wire.
    Backend => backends: Arc<BackendRecord> {
        letter: 'b',
        label: "backend",
        noun: "backend",
        change: "endpoints",
        medium: Medium::Dictionary("configuration_data"),
        is_secret: false,
        keys: "`namespace/service:port` or `-` for the default backend",
        text: "",
    }
    /// Hosts, by name: `_`, a literal name, `*.example.com`, or an alias.
    Host => hosts: Arc<HostRecord> {
        letter: 'h',
        label: "host",
        noun: "host",
        change: "route",
        medium: Medium::Dictionary("configuration_data"),
        is_secret: false,
        keys: "`_`, a literal name, `*.example.com`",
        text: "",
    }
    /// Where connections to a TCP or UDP service go, by [`StreamPort`](crate::StreamPort): its endpoints ([`stream`](super::stream)).
    StreamService => stream_services: Arc<str> {
        letter: 'l',
        label: "stream_service",
        noun: "TCP or UDP service",
        change: "endpoints",
        medium: Medium::Files,
        is_secret: false,
        keys: "`tcp-8080`, `udp-53`: protocol and port; `tls-8080` where TLS is decrypted",
        text: "[endpoints](#stream-map)",
    }
    /// Where TLS connections to a literal host name go on that are not decrypted (`ssl-passthrough`): its endpoints ([`stream`](super::stream)).
    /// Without one connections are closed.
    Passthrough => passthrough_map: Arc<str> {
        letter: 'p',
        label: "passthrough",
        noun: "TLS passthrough",
        change: "endpoints",
        medium: Medium::Files,
        is_secret: false,
        keys: "a literal name",
        text: "[endpoints](#stream-map)",
    }
}

impl Table {
    /// The letter on the wire.
    pub const fn letter(self) -> char {
        self.row().letter
    }

    /// The value of the metric label `kind`.
    pub const fn label(self) -> &'static str {
        self.row().label
    }
}

/// The declarations of what is JSON: what has records of another table's keys in it comes first.
pub fn declarations() -> impl Iterator<Item = &'static Declaration> {
    Table::ALL.iter().rev().filter_map(|table| table.row().declaration)
}

impl Live {
    /// The changes that turn `self` into `new`. Cost grows with the number of changed records.
    pub fn delta(&self, new: &Self) -> Delta {
        let mut ops = self.changes(new);
        // A name that is not to have the wildcard's certificate says so before that has one, and until it has none.
        ops.sort_by_key(|op| (op.table, op.table == Table::Server && op.key.starts_with("*.")));
        let (set, mut removed): (Vec<Op>, Vec<Op>) = ops.into_iter().partition(|op| op.value.is_some());
        removed.reverse();
        set.into_iter().chain(removed).collect()
    }

    /// Digest over all records. Costs a full encoding: for comparing after a restart, not for every change.
    pub fn digest(&self) -> u64 {
        Self::default().delta(self).iter().map(|op| u64::from(op.new_crc())).sum()
    }

    /// Whether there is no record at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn diff<V: Encode + Clone + PartialEq>(table: Table, old: &OrdMap<Arc<str>, V>, new: &OrdMap<Arc<str>, V>, ops: &mut Vec<Op>) {
    let crc = |key: &str, value: &V| record_crc(table, key, &value.encode());
    for item in old.diff(new) {
        ops.push(match item {
            DiffItem::Add(key, value) => Op { table, key: key.clone(), value: Some(value.encode()), old_crc: 0, needs: value.needs() },
            DiffItem::Update { old: (key, old), new: (_, value) } => {
                Op { table, key: key.clone(), value: Some(value.encode()), old_crc: crc(key, old), needs: value.needs() }
            }
            DiffItem::Remove(key, old) => Op { table, key: key.clone(), value: None, old_crc: crc(key, old), needs: Vec::new() },
        });
    }
}

fn set<V: Clone>(map: &mut OrdMap<Arc<str>, V>, new: &OrdMap<Arc<str>, V>, op: &Op) {
    match (&op.value, new.get(&op.key)) {
        (Some(_), Some(value)) => {
            map.insert(op.key.clone(), value.clone());
        }
        _ => {
            map.remove(&op.key);
        }
    }
}
