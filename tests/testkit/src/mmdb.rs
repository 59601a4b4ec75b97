//! A writer of databases in MaxMind's format (2.0), small: IPv4 networks, texts, numbers and maps.

use std::net::Ipv4Addr;

/// Records of this many bits.
const RECORD_BYTES: usize = 3;
const SEPARATOR: usize = 16;

/// A value, encoded.
pub type Value = Vec<u8>;

fn control(kind: u8, size: usize) -> Vec<u8> {
    let (size, rest) = match size {
        0..29 => (size as u8, Vec::new()),
        29..285 => (29, vec![(size - 29) as u8]),
        _ => (30, ((size - 285) as u16).to_be_bytes().to_vec()),
    };
    let first = if kind < 8 { vec![kind << 5 | size] } else { vec![size, kind - 7] };
    [first, rest].concat()
}

/// A text.
pub fn text(text: &str) -> Value {
    [control(2, text.len()), text.into()].concat()
}

/// A number of 32 bits.
pub fn number(number: u32) -> Value {
    [control(6, 4), number.to_be_bytes().into()].concat()
}

/// A number of this type: 5 of 16 bits, 9 of 64.
fn sized(kind: u8, bytes: &[u8]) -> Value {
    [control(kind, bytes.len()), bytes.into()].concat()
}

/// A map.
pub fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let pairs = entries.into_iter().flat_map(|(name, value)| [text(name), value]);
    [control(7, N)].into_iter().chain(pairs).collect::<Vec<_>>().concat()
}

/// A record of a node of the search tree.
#[derive(Clone, Copy)]
enum Record {
    Empty,
    Node(usize),
    /// Offset in the data.
    Data(usize),
}

/// A database of this type: networks (address and length of the prefix), none within another, with what is known of each.
pub fn database(kind: &str, networks: &[(Ipv4Addr, u8, Value)]) -> Vec<u8> {
    let mut nodes = vec![[Record::Empty; 2]];
    let mut data = Vec::new();
    for (address, length, value) in networks {
        let bit = |at: u8| (u32::from(*address) >> (31 - at) & 1) as usize;
        let mut node = 0;
        for at in 0..length - 1 {
            node = match nodes[node][bit(at)] {
                Record::Node(next) => next,
                _ => {
                    nodes.push([Record::Empty; 2]);
                    let next = nodes.len() - 1;
                    nodes[node][bit(at)] = Record::Node(next);
                    next
                }
            };
        }
        nodes[node][bit(length - 1)] = Record::Data(data.len());
        data.extend_from_slice(value);
    }
    let count = nodes.len();
    let tree = nodes.iter().flatten().flat_map(|record| {
        let number = match record {
            Record::Empty => count,
            Record::Node(node) => *node,
            Record::Data(offset) => count + SEPARATOR + offset,
        };
        number.to_be_bytes()[8 - RECORD_BYTES..].to_vec()
    });
    let metadata = map([
        ("binary_format_major_version", sized(5, &[0, 2])),
        ("binary_format_minor_version", sized(5, &[0, 0])),
        ("build_epoch", sized(9, &1_750_000_000_u64.to_be_bytes())),
        ("database_type", text(kind)),
        ("description", map([("en", text("made by a test"))])),
        ("ip_version", sized(5, &[0, 4])),
        ("languages", [control(11, 1), text("en")].concat()),
        ("node_count", number(count as u32)),
        ("record_size", sized(5, &[0, RECORD_BYTES as u8 * 8])),
    ]);
    tree.chain([0; SEPARATOR]).chain(data).chain(*b"\xab\xcd\xefMaxMind.com").chain(metadata).collect()
}
