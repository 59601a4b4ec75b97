//! Destinations and parameters of logs.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::template::{Part, parts};
use crate::{HostName, Invalid, Size, Time, Word};

/// Parameters of an access log: `buffer=SIZE`, `flush=TIME`, `gzip` or `gzip=LEVEL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogParameter {
    /// Lines are collected up to this size, 1 byte to 1 GiB.
    Buffer(Size),
    /// Collected lines are written after this time, which is not 0.
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
            ("flush", Some(value)) => value.parse().ok().filter(|time: &Time| time.millis > 0).map(Self::Flush),
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

/// Where an access log goes: a path, in which variables are meant, `syslog:server=...`, or `off`. One word; no captures.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogTarget(Word);

/// Where an error log goes: a path, `stderr`, or `syslog:server=...`. One word, in which `$` means itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ErrorLogTarget(Word);

impl LogTarget {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// `true` if nothing is logged.
    pub fn is_off(&self) -> bool {
        self.as_str() == "off"
    }

    /// `true` if lines can be collected: they can't for syslog, nor where the file is another one for each request.
    pub fn takes_buffers(&self) -> bool {
        !self.as_str().starts_with(SYSLOG) && !self.as_str().contains('$')
    }

    /// The variables in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let parts = parts(self.as_str()).unwrap_or_default();
        parts.into_iter().filter_map(|part| if let Part::Variable(name) = part { Some(name) } else { None })
    }
}

impl ErrorLogTarget {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

const SYSLOG: &str = "syslog:";
const FACILITIES: &[&str] = &[
    "kern", "user", "mail", "daemon", "auth", "intern", "lpr", "news", "uucp", "clock", "authpriv", "ftp", "ntp", "audit", "alert", "cron",
    "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
];
const SEVERITIES: &[&str] = &["emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"];

/// Whether NGINX can read the parameters of a log to syslog: each at most once, the server among them.
fn is_syslog(parameters: &str) -> bool {
    let (mut seen, mut has_server) = (Vec::new(), false);
    parameters.split(',').all(|parameter| {
        let (name, value) = parameter.split_once('=').map_or((parameter, None), |(name, value)| (name, Some(value)));
        has_server |= name == "server";
        let is_new = !seen.contains(&name);
        seen.push(name);
        is_new
            && match (name, value) {
                ("server", Some(value)) => !value.is_empty(),
                ("facility", Some(value)) => FACILITIES.contains(&value),
                ("severity", Some(value)) => SEVERITIES.contains(&value),
                ("tag", Some(value)) => {
                    (1..=32).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                }
                ("nohostname", None) => true,
                _ => false,
            }
    }) && has_server
}

impl FromStr for LogTarget {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let has_variables_only = parts(text).is_some_and(|parts| !parts.iter().any(|part| matches!(part, Part::Capture(_))));
        match (text.parse(), text.strip_prefix(SYSLOG)) {
            (Ok(word), None) if has_variables_only => Ok(Self(word)),
            (Ok(word), Some(parameters)) if is_syslog(parameters) => Ok(Self(word)),
            _ => Err(Invalid::new(
                "a path, perhaps with variables, syslog:server=ADDRESS with facility=, severity=, tag= or nohostname, or off",
            )),
        }
    }
}

impl FromStr for ErrorLogTarget {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_memory = text.starts_with("memory:");
        match (text.parse(), text.strip_prefix(SYSLOG)) {
            (Ok(word), None) if !is_memory => Ok(Self(word)),
            (Ok(word), Some(parameters)) if is_syslog(parameters) => Ok(Self(word)),
            _ => Err(Invalid::new("a path, stderr, or syslog:server=ADDRESS with facility=, severity=, tag= or nohostname")),
        }
    }
}

impl fmt::Display for LogTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ErrorLogTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
        for text in ["", "buffer", "flush=0", "flush=0ms", "buffer=0", "buffer=2g", "gzip=0", "gzip=", "flush=", "if=$x", "syslog:server=x"]
        {
            assert!(text.parse::<LogParameter>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_log_goes_to_a_path_or_to_syslog() {
        for text in
            ["/var/log/a.log", "/logs/$host.log", "off", "syslog:server=10.0.0.1:514,facility=local7,severity=info,tag=a_1,nohostname"]
        {
            assert_eq!(text.parse::<LogTarget>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "a b",
            "/logs/$1",
            "/logs/$",
            "syslog:",
            "syslog:facility=user",
            "syslog:server=",
            "syslog:server=a,tag=a-b",
            "syslog:server=a,server=b",
        ] {
            assert!(text.parse::<LogTarget>().is_err(), "{text}");
        }
        for text in ["stderr", "/logs/$1", "syslog:server=unix:/dev/log"] {
            assert_eq!(text.parse::<ErrorLogTarget>().unwrap().to_string(), text);
        }
        for text in ["", "memory:1m", "syslog:server=a,facility=none"] {
            assert!(text.parse::<ErrorLogTarget>().is_err(), "{text}");
        }
        let buffered = |text: &str| text.parse::<LogTarget>().unwrap().takes_buffers();
        assert!(buffered("/a") && !buffered("/$host") && !buffered("syslog:server=a"));
        assert_eq!("/$host/${uri}".parse::<LogTarget>().unwrap().variables().collect::<Vec<_>>(), ["host", "uri"]);
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
