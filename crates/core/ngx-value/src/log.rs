//! Destinations and parameters of logs.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::{HostName, Invalid, Size, Time};

/// Parameters of an access log: `buffer=SIZE`, `flush=TIME`, `gzip` or `gzip=LEVEL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogParameter {
    /// Lines are collected up to this size, 1 byte to 1 GiB.
    Buffer(Size),
    /// Collected lines are written after this time.
    Flush(Time),
    /// They are compressed; the level is 1 to 9, NGINX's own without one.
    Gzip(Option<u8>),
}

const PARAMETER: Invalid = Invalid::new("buffer=SIZE, flush=TIME, gzip or gzip=LEVEL");

impl FromStr for LogParameter {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let parameter = match (name, value) {
            ("buffer", Some(value)) => value.parse().ok().filter(|size: &Size| (1..=1 << 30).contains(&size.bytes)).map(Self::Buffer),
            ("flush", Some(value)) => value.parse().ok().map(Self::Flush),
            ("gzip", None) => Some(Self::Gzip(None)),
            ("gzip", Some(value)) => value.parse().ok().filter(|level| (1..=9).contains(level)).map(|level| Self::Gzip(Some(level))),
            _ => None,
        };
        parameter.ok_or(PARAMETER)
    }
}

impl fmt::Display for LogParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer(size) => write!(f, "buffer={size}"),
            Self::Flush(time) => write!(f, "flush={time}"),
            Self::Gzip(None) => f.write_str("gzip"),
            Self::Gzip(Some(level)) => write!(f, "gzip={level}"),
        }
    }
}

/// The address on which syslog listens: a host name without a wildcard, or an IP address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SyslogHost(String);

impl SyslogHost {
    /// The form before a colon and a port in NGINX: IPv6 addresses in brackets.
    pub fn authority(&self) -> String {
        if self.0.contains(':') { format!("[{}]", self.0) } else { self.0.clone() }
    }
}

impl FromStr for SyslogHost {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_host = text.parse::<HostName>().is_ok() && !text.contains('*') && text != "_";
        let usable = is_host || text.parse::<IpAddr>().is_ok();
        usable.then(|| Self(text.to_owned())).ok_or(Invalid::new("a host name or an IP address"))
    }
}

impl fmt::Display for SyslogHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_print_as_they_are_read() {
        for text in ["buffer=16k", "flush=1m", "gzip", "gzip=9"] {
            assert_eq!(text.parse::<LogParameter>().unwrap().to_string(), text);
        }
        for text in ["", "buffer", "buffer=0", "buffer=2g", "gzip=0", "gzip=", "flush=", "if=$x", "syslog:server=x"] {
            assert!(text.parse::<LogParameter>().is_err(), "{text}");
        }
    }

    #[test]
    fn addresses_of_ipv6_stand_in_brackets() {
        for (text, authority) in [("10.0.0.1", "10.0.0.1"), ("fd00::1", "[fd00::1]"), ("logs.example.com", "logs.example.com")] {
            assert_eq!(text.parse::<SyslogHost>().unwrap().authority(), authority);
        }
        for text in ["", "*.example.com", "_", "a b", "a;", "unix:/dev/log", "a:514"] {
            assert!(text.parse::<SyslogHost>().is_err(), "{text}");
        }
    }
}
