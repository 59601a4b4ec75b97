//! A DNS server that knows the names which tests give it, and no other.
//!
//! UDP, A and AAAA. A known name without an address of the family asked for gets an empty answer; an unknown one NXDOMAIN.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::net::UdpSocket;

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
const NXDOMAIN: u8 = 3;
const NOT_IMPLEMENTED: u8 = 4;

/// The records of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// IPv4 and IPv6 addresses, answered in this order.
    pub addresses: Vec<IpAddr>,
    /// Time for which a resolver may keep it, in seconds.
    pub ttl: u32,
}

/// The names, shared between the server and who sets them. Names are held in lower case without a trailing dot.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    answers: HashMap<String, Answer>,
    queries: HashMap<String, u64>,
}

impl Names {
    /// Sets or replaces what `name` resolves to.
    pub fn set(&self, name: &str, answer: Answer) {
        self.0.lock().answers.insert(canonical(name), answer);
    }

    /// Makes `name` unknown.
    pub fn remove(&self, name: &str) {
        self.0.lock().answers.remove(&canonical(name));
    }

    /// Number of queries for `name` so far, of any type, known or not.
    pub fn queries(&self, name: &str) -> u64 {
        self.0.lock().queries.get(&canonical(name)).copied().unwrap_or(0)
    }

    fn ask(&self, name: &str) -> Option<Answer> {
        let mut table = self.0.lock();
        *table.queries.entry(canonical(name)).or_default() += 1;
        table.answers.get(&canonical(name)).cloned()
    }
}

/// Answers queries on `address` until it is dropped.
///
/// # Errors
/// The address can't be bound, or the socket fails.
pub async fn serve(address: SocketAddr, names: Names) -> anyhow::Result<()> {
    let socket = UdpSocket::bind(address).await.with_context(|| format!("DNS server cannot listen on {address}"))?;
    answer_all(&socket, &names).await
}

async fn answer_all(socket: &UdpSocket, names: &Names) -> anyhow::Result<()> {
    let mut buffer = [0_u8; 1500];
    loop {
        let (length, client) = socket.recv_from(&mut buffer).await.context("DNS socket")?;
        if let Some(response) = respond(&buffer[..length], names) {
            // A client that is gone doesn't need it.
            let _ = socket.send_to(&response, client).await;
        }
    }
}

fn canonical(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The response to a query, `None` for what isn't one (RFC 1035, 4.1).
fn respond(query: &[u8], names: &Names) -> Option<Vec<u8>> {
    let header = query.get(..12)?;
    let is_response = header[2] & 0x80 != 0;
    if is_response || u16::from_be_bytes([header[4], header[5]]) != 1 {
        return None;
    }
    let (name, end) = question_name(query)?;
    let question = query.get(12..end + 4)?;
    let kind = u16::from_be_bytes([query[end], query[end + 1]]);
    let standard = header[2] & 0x78 == 0;

    let answer = names.ask(&name);
    let code = match &answer {
        _ if !standard => NOT_IMPLEMENTED,
        None => NXDOMAIN,
        Some(_) => 0,
    };
    let records: Vec<Vec<u8>> = answer.into_iter().flat_map(|answer| records(&answer, kind)).collect();
    let mut response = header[..2].to_vec();
    // Response, authoritative, recursion desired as asked; recursion available.
    response.extend([0x84 | (header[2] & 0x01), 0x80 | code]);
    response.extend(1_u16.to_be_bytes());
    response.extend(u16::try_from(records.len()).unwrap_or(u16::MAX).to_be_bytes());
    response.extend([0; 4]);
    response.extend(question);
    response.extend(records.concat());
    Some(response)
}

/// The name in the question and where its type begins.
fn question_name(query: &[u8]) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        match length {
            0 => break,
            1..=63 => labels.push(String::from_utf8_lossy(query.get(at..at + length)?).into_owned()),
            // A pointer: never in the first name of a message.
            _ => return None,
        }
        at += length;
    }
    query.get(at..at + 4)?;
    Some((labels.join("."), at))
}

fn records(answer: &Answer, kind: u16) -> Vec<Vec<u8>> {
    let data = answer.addresses.iter().filter_map(|address| match (address, kind) {
        (IpAddr::V4(v4), TYPE_A) => Some(v4.octets().to_vec()),
        (IpAddr::V6(v6), TYPE_AAAA) => Some(v6.octets().to_vec()),
        _ => None,
    });
    data.map(|data| {
        // The name is the one at offset 12, the class is IN.
        let mut record = vec![0xc0, 12];
        record.extend(kind.to_be_bytes());
        record.extend(1_u16.to_be_bytes());
        record.extend(answer.ttl.to_be_bytes());
        record.extend(u16::try_from(data.len()).expect("4 or 16 bytes").to_be_bytes());
        record.extend(data);
        record
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut query = vec![0xab, 0xcd, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            query.push(u8::try_from(label.len()).unwrap());
            query.extend(label.as_bytes());
        }
        query.push(0);
        query.extend(kind.to_be_bytes());
        query.extend([0, 1]);
        query
    }

    fn names() -> Names {
        let names = Names::default();
        let addresses = vec!["10.77.64.1".parse().unwrap(), "fd77::1".parse().unwrap(), "10.77.64.2".parse().unwrap()];
        names.set("Echo.Example.com.", Answer { addresses, ttl: 7 });
        names
    }

    #[test]
    fn a_known_name_has_its_addresses_of_the_family_asked_for() {
        let names = names();
        let response = respond(&query("echo.EXAMPLE.com", TYPE_A), &names).unwrap();
        assert_eq!(response[..8], [0xab, 0xcd, 0x85, 0x80, 0, 1, 0, 2]);
        assert!(response.ends_with(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 7, 0, 4, 10, 77, 64, 2]));
        assert_eq!(respond(&query("echo.example.com", TYPE_AAAA), &names).unwrap()[7], 1);
        assert_eq!(respond(&query("echo.example.com", 16), &names).unwrap()[3..8], [0x80, 0, 1, 0, 0]);
        assert_eq!(names.queries("echo.example.com"), 3);
    }

    #[test]
    fn an_unknown_name_does_not_exist() {
        let names = names();
        names.remove("echo.example.com");
        assert_eq!(respond(&query("echo.example.com", TYPE_A), &names).unwrap()[3] & 0x0f, NXDOMAIN);
    }

    #[test]
    fn nonsense_is_not_answered() {
        let whole = query("a.b", TYPE_A);
        for length in 0..whole.len() {
            assert_eq!(respond(&whole[..length], &names()), None, "{length} bytes");
        }
        let mut response = whole;
        response[2] |= 0x80;
        assert_eq!(respond(&response, &names()), None);
    }
}
