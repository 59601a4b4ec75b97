//! The state of a worker: the answer to `GET /state`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

/// The state of one worker, and of the dictionaries that all workers share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NginxState {
    /// The revision of the file set that this worker runs.
    pub revision: String,
    /// The marker that was set after everything was sent; `None` in an NGINX that was started and not filled.
    #[serde(default)]
    pub generation: Option<String>,
    /// Format of the records that its Lua reads; `None` in one of an older version.
    #[serde(default)]
    pub format: Option<String>,
    /// Number of applied batches since the start of the master.
    #[serde(default)]
    pub rev: u64,
    /// Sum of the records' CRC-32.
    #[serde(default, deserialize_with = "decimal")]
    pub digest: u64,
    /// Number of records.
    #[serde(default)]
    pub entries: u64,
    /// Process id of the worker.
    #[serde(default)]
    pub pid: u32,
    /// Its number, from 0.
    #[serde(default)]
    pub worker: u32,
    /// Profiles that the worker knows; empty but in the answer to `GET /state`.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// Profiles of server blocks of single hosts, by the host; empty but there as well.
    #[serde(default)]
    pub host_servers: BTreeMap<String, HostServerState>,
    /// The shared dictionaries by name.
    #[serde(default)]
    pub dicts: BTreeMap<String, Dictionary>,
}

/// A server block of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostServerState {
    /// All its names, as records are called.
    pub names: Vec<String>,
    /// Profiles of which it has locations.
    pub profiles: Vec<String>,
}

/// Room in a shared dictionary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dictionary {
    /// Its size in bytes.
    pub capacity: u64,
    /// Bytes in free pages; a lower bound, for partly used pages count as used.
    pub free: u64,
    /// Its name in `nginx.conf`, where that is another one: its size has changed since NGINX was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Size of the one that it was filled from and that is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<u64>,
}

/// A 64-bit number as decimal text: a JSON number would lose digits in Lua.
fn decimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
        Number(u64),
    }
    match Either::deserialize(deserializer)? {
        Either::Number(number) => Ok(number),
        Either::Text(text) => {
            text.parse().map_err(|_| serde::de::Error::custom(format!("digest {text:?} is not a decimal number below 2^64")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_answer_is_read() {
        let text = r#"{"revision":"00ff","generation":null,"rev":3,"digest":"18446744073709551615","entries":2,"pid":77,"worker":1,
            "dicts":{"configuration_data":{"capacity":1048576,"free":1000000}}}"#;
        let state: NginxState = serde_json::from_str(text).unwrap();
        assert_eq!((state.revision.as_str(), state.generation, state.rev, state.digest), ("00ff", None, 3, u64::MAX));
        assert_eq!((state.entries, state.pid, state.worker), (2, 77, 1));
        assert_eq!(state.dicts["configuration_data"], Dictionary { capacity: 1_048_576, free: 1_000_000, name: None, former: None });
    }

    #[test]
    fn a_digest_that_is_no_number_is_an_error() {
        let error = serde_json::from_str::<NginxState>(r#"{"revision":"a","digest":"-1"}"#).unwrap_err();
        assert!(error.to_string().contains("digest \"-1\""), "{error}");
    }
}
