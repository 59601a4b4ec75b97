//! The other replicas: notified of a reload that was asked for here, each at every address of a name but our own.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http_client::{Address, Call, Client, Method};
use serde::Serialize;
use tokio::task::JoinSet;

/// The header that marks a call of a replica: it is not passed on again.
pub(crate) const RELAYED: &str = "narthex-relayed";

/// The replicas to notify.
#[derive(Debug, Clone)]
pub struct Peers {
    /// A DNS name that has the address of every replica: that of a headless Service.
    pub name: String,
    /// The port on which they listen.
    pub port: u16,
    /// The time that each may take.
    pub timeout: Duration,
}

/// The answer of one of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Answer {
    pub(crate) address: SocketAddr,
    /// `true` if it reloaded.
    pub(crate) ok: bool,
    /// Its result, or why there is none.
    pub(crate) result: String,
    /// The message of its tester.
    pub(crate) message: Option<String>,
}

impl Peers {
    /// Tells all of them at once.
    ///
    /// # Errors
    /// The name can't be resolved.
    pub(crate) async fn notify(&self, token: Option<&str>) -> io::Result<Vec<Answer>> {
        let found = tokio::net::lookup_host((self.name.as_str(), self.port)).await;
        let found = found.map_err(|error| io::Error::new(error.kind(), format!("the name {:?} of --peers: {error}", self.name)))?;
        let mut calls = JoinSet::new();
        for address in others(found, &own_addresses()) {
            let (token, timeout) = (token.map(str::to_owned), self.timeout);
            calls.spawn(async move { call(address, token.as_deref(), timeout).await });
        }
        let mut answers = calls.join_all().await;
        answers.sort();
        Ok(answers)
    }
}

/// All but our own, each once.
fn others(found: impl Iterator<Item = SocketAddr>, own: &BTreeSet<IpAddr>) -> BTreeSet<SocketAddr> {
    found.filter(|address| !own.contains(&address.ip().to_canonical())).collect()
}

/// The addresses of this machine.
pub fn own_addresses() -> BTreeSet<IpAddr> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let addresses = interfaces.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::from(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::from(address.ip())))
    });
    addresses.collect()
}

async fn call(address: SocketAddr, token: Option<&str>, timeout: Duration) -> Answer {
    let failed = |why: String| Answer { address, ok: false, result: "unreachable".to_owned(), message: Some(why) };
    let token = token.map(|token| ("authorization", format!("Bearer {token}")));
    let headers = [(RELAYED, "1".to_owned())].into_iter().chain(token).collect();
    let call = Call { method: Method::POST, target: "/reload", headers, ..Call::default() };
    let http_client::Answer { status, body } = match Client::new(Address::Tcp(address)).call(&call, timeout).await {
        Ok(answer) => answer,
        Err(error) => return failed(crate::cycle::chain(&error)),
    };
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |field: &str| json[field].as_str().map(str::to_owned);
    Answer {
        address,
        ok: status.is_success(),
        result: text("result").unwrap_or_else(|| format!("status {status}")),
        message: text("message"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_replica_but_this_one_is_notified_once() {
        let found = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.2:80", "[::ffff:10.0.0.1]:80"].map(|text| text.parse().unwrap());
        let notified = others(found.into_iter(), &["10.0.0.1".parse().unwrap()].into());
        assert_eq!(notified, ["10.0.0.2:80".parse().unwrap()].into());
        assert!(own_addresses().contains(&IpAddr::from([127, 0, 0, 1])));
    }
}
