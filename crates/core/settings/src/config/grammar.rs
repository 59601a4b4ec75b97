//! How the values of the ConfigMap are written.

use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;

use ngx_value::{
    Cidr, CidrSet, HeaderName, HeaderPattern, Invalid, LogParameter, Seconds, Size, Snippet, Time, TlsProtocol, Word, parse_bool,
    parse_integer_literal, parse_on_off,
};

use crate::groups::LoadBalance;
use crate::reference::Reference;
use crate::table::Risk;

/// One way to write values of a type.
pub(crate) struct Grammar<T> {
    /// What is accepted: a noun phrase.
    pub(crate) value: &'static str,
    /// Reads a value. What is wrong with parts of it that are left out goes into the list.
    pub(crate) read: fn(&str, &mut Vec<String>) -> Result<T, Invalid>,
    /// Writes a value so that it can be read.
    pub(crate) print: fn(&T) -> String,
}

/// What `FromStr` and `Display` say.
pub(crate) const fn own<T: FromStr<Err = Invalid> + Display>(value: &'static str) -> Grammar<T> {
    Grammar { value, read: |text, _| text.parse(), print: T::to_string }
}

/// Likewise, where empty means none.
pub(crate) const fn optional<T: FromStr<Err = Invalid> + Display>(value: &'static str) -> Grammar<Option<T>> {
    Grammar {
        value,
        read: |text, _| if text.is_empty() { Ok(None) } else { text.parse().map(Some) },
        print: |value| value.as_ref().map(T::to_string).unwrap_or_default(),
    }
}

/// A boolean; empty means false.
pub(crate) const BOOL: Grammar<bool> =
    Grammar { value: "true or false", read: |text, _| if text.is_empty() { Ok(false) } else { parse_bool(text) }, print: bool::to_string };

/// A boolean, or empty for what the machine can do.
pub(crate) const BY_MACHINE: Grammar<Option<bool>> = Grammar {
    value: "true or false, or empty",
    read: |text, _| if text.is_empty() { Ok(None) } else { parse_bool(text).map(Some) },
    print: |value| value.map(|value| value.to_string()).unwrap_or_default(),
};

/// A boolean in NGINX's spelling.
pub(crate) const ON_OFF: Grammar<bool> =
    Grammar { value: "on or off", read: |text, _| parse_on_off(text), print: |on| if *on { "on" } else { "off" }.to_owned() };

/// A whole number in a range; empty means 0.
fn number(text: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32, Invalid> {
    let value = if text.is_empty() { Some(0) } else { parse_integer_literal(text).ok().and_then(|value| u32::try_from(value).ok()) };
    value
        .filter(|value| range.contains(value))
        .ok_or_else(|| Invalid::because(format!("a whole number from {} to {}", range.start(), range.end())))
}

/// Any whole number.
pub(crate) const COUNT: Grammar<u32> =
    Grammar { value: "a whole number", read: |text, _| number(text, 0..=u32::MAX), print: u32::to_string };

/// Streams of a connection that are open at once: with none a client can ask nothing.
pub(crate) const STREAMS: Grammar<u32> =
    Grammar { value: "a whole number from 1", read: |text, _| number(text, 1..=u32::MAX), print: u32::to_string };

/// Idle connections: NGINX has memory for each from the start.
pub(crate) const IDLE_CONNECTIONS: Grammar<u32> =
    Grammar { value: "a whole number up to 65535", read: |text, _| number(text, 0..=65_535), print: u32::to_string };

/// Connections of a worker, or 0: one needs some for its listening sockets, and has memory for all from the start.
pub(crate) const CONNECTIONS: Grammar<u32> =
    Grammar { value: "a whole number from 64 to 1048576, or 0", read: |text, _| number_or_zero(text, 64..=1 << 20), print: u32::to_string };

/// Open files of a worker, or 0. The largest is the largest that Linux knows.
pub(crate) const FILES: Grammar<u32> = Grammar {
    value: "a whole number from 1024 to 1073741816, or 0",
    read: |text, _| number_or_zero(text, 1024..=1_073_741_816),
    print: u32::to_string,
};

/// The number of buckets of a hash table. NGINX tries one number after the other.
pub(crate) const HASH_SIZE: Grammar<u32> =
    Grammar { value: "a whole number from 1 to 1048576", read: |text, _| number(text, 1..=1 << 20), print: u32::to_string };

/// The size of a bucket of a hash table: NGINX takes less than 64 KiB.
pub(crate) const HASH_BUCKET: Grammar<u32> =
    Grammar { value: "bytes, a whole number from 1 to 32768", read: |text, _| number(text, 1..=1 << 15), print: u32::to_string };

/// Likewise, or 0.
pub(crate) const OPTIONAL_HASH_BUCKET: Grammar<u32> =
    Grammar { value: "bytes, a whole number up to 32768", read: |text, _| number(text, 0..=1 << 15), print: u32::to_string };

/// A whole number in a range, or 0.
fn number_or_zero(text: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32, Invalid> {
    let (least, most) = (*range.start(), *range.end());
    let value = number(text, 0..=most).ok().filter(|value| *value == 0 || range.contains(value));
    value.ok_or_else(|| Invalid::because(format!("a whole number from {least} to {most}, or 0")))
}

/// A port, or 0 for none.
pub(crate) const PORT: Grammar<u16> = Grammar {
    value: "a port from 1 to 65535, or 0",
    read: |text, _| number(text, 0..=u16::MAX.into()).map(|port| port as u16),
    print: u16::to_string,
};

/// The number of buffers for an answer: NGINX wants room for a busy pair and one more.
pub(crate) const BUFFERS: Grammar<u32> =
    Grammar { value: "a whole number from 3", read: |text, _| number(text, 3..=u32::MAX), print: u32::to_string };

/// A level of compression.
pub(crate) const LEVEL: Grammar<u32> =
    Grammar { value: "a whole number from 1 to 9", read: |text, _| number(text, 1..=9), print: u32::to_string };

/// A level of compression with brotli.
pub(crate) const BROTLI_LEVEL: Grammar<u32> =
    Grammar { value: "a whole number from 0 to 11", read: |text, _| number(text, 0..=11), print: u32::to_string };

/// A level of compression with zstd: higher ones need very much memory for each answer.
pub(crate) const ZSTD_LEVEL: Grammar<u32> =
    Grammar { value: "a whole number from 1 to 19", read: |text, _| number(text, 1..=19), print: u32::to_string };

/// Minutes, as many as NGINX takes.
pub(crate) const MINUTES: Grammar<u32> =
    Grammar { value: "minutes, a whole number up to 525600", read: |text, _| number(text, 0..=525_600), print: u32::to_string };

/// Seconds.
pub(crate) const SECONDS: Grammar<Seconds> =
    Grammar { value: "seconds, a whole number", read: |text, _| number(text, 0..=u32::MAX).map(Seconds), print: Seconds::to_string };

/// The status of a redirect.
pub(crate) const REDIRECT: Grammar<u16> = Grammar {
    value: "301, 302, 307 or 308",
    read: |text, _| match text {
        "301" => Ok(301),
        "302" => Ok(302),
        "307" => Ok(307),
        "308" => Ok(308),
        _ => Err(Invalid::new("301, 302, 307 or 308")),
    },
    print: u16::to_string,
};

/// A size, 0 where that means unlimited.
pub(crate) const SIZE: Grammar<Size> = own("a size such as 8m");

/// The size of the cache of TLS sessions: NGINX wants eight pages of memory, and all of it is reserved.
pub(crate) const SESSION_CACHE: Grammar<Size> = Grammar {
    value: "a size such as 8m, from 32k to 1g",
    read: |text, _| match text.parse::<Size>() {
        Ok(size) if (32 << 10..=1 << 30).contains(&size.bytes) => Ok(size),
        _ => Err(Invalid::new("a size from 32k to 1g, such as 8m")),
    },
    print: Size::to_string,
};

/// A time for a directive that knows no parts of a second.
pub(crate) const WHOLE_SECONDS: Grammar<Time> = Grammar {
    value: "a time such as 10m, in whole seconds",
    read: |text, _| match text.parse::<Time>() {
        Ok(time) if time.millis % 1000 == 0 => Ok(time),
        _ => Err(Invalid::new("a time of whole seconds such as 30s, 10m or 1h30m (units s, m, h, d, w, M, y)")),
    },
    print: Time::to_string,
};

/// The size of a buffer. The limit is the default `proxy_max_temp_file_size`, which NGINX wants not smaller than a buffer.
pub(crate) const BUFFER: Grammar<Size> = Grammar {
    value: "a size such as 8k, from 1 byte to 1g",
    read: |text, _| match text.parse::<Size>() {
        Ok(size) if (1..=1 << 30).contains(&size.bytes) => Ok(size),
        _ => Err(Invalid::new("a size from 1 byte to 1g, such as 8k")),
    },
    print: Size::to_string,
};

/// The size of a buffer, or nothing.
pub(crate) const OPTIONAL_BUFFER: Grammar<Option<Size>> = Grammar {
    value: "a size such as 8k, from 1 byte to 1g, or empty",
    read: |text, notes| if text.is_empty() { Ok(None) } else { (BUFFER.read)(text, notes).map(Some) },
    print: |size| size.as_ref().map(Size::to_string).unwrap_or_default(),
};

/// A number of KiB that NGINX takes as a buffer.
pub(crate) const KIB: Grammar<u32> =
    Grammar { value: "a whole number up to 1048576", read: |text, notes| read_kib(text, notes), print: u32::to_string };

fn read_kib(text: &str, notes: &mut Vec<String>) -> Result<u32, Invalid> {
    (COUNT.read)(text, notes).ok().filter(|kib| *kib <= 1 << 20).ok_or(Invalid::new("a whole number from 0 to 1048576"))
}

/// A level of risk. A text that is none counts as the lowest, which accepts least.
pub(crate) const RISK: Grammar<Risk> = Grammar {
    value: "Low, Medium, High or Critical",
    read: |text, notes| {
        Ok(text.parse().unwrap_or_else(|invalid: Invalid| {
            notes.push(format!("{invalid}; Low is used"));
            Risk::Low
        }))
    },
    print: Risk::to_string,
};

/// An algorithm. Empty and unknown texts mean round robin.
pub(crate) const LOAD_BALANCE: Grammar<LoadBalance> = Grammar {
    value: "round_robin or ewma",
    read: |text, notes| {
        if text.is_empty() {
            return Ok(LoadBalance::RoundRobin);
        }
        Ok(text.parse().unwrap_or_else(|invalid: Invalid| {
            notes.push(format!("{invalid}; round_robin is used"));
            LoadBalance::RoundRobin
        }))
    },
    print: LoadBalance::to_string,
};

/// Texts between commas, without the spaces around them; empty ones are dropped.
pub(crate) const LIST: Grammar<Vec<String>> =
    Grammar { value: "a comma-separated list", read: |text, _| Ok(items(text).map(str::to_owned).collect()), print: |list| list.join(",") };

/// Addresses to listen on, between commas: each once, and none beside the wildcard of its family, which is all of them.
pub(crate) const ADDRESSES: Grammar<Vec<IpAddr>> = Grammar {
    value: "a comma-separated list of IP addresses",
    read: |text, notes| {
        let read = |item: &str| item.parse::<IpAddr>().map_err(|_| Invalid::new("an IP address"));
        let given: Vec<IpAddr> = usable(text, notes, read).iter().map(IpAddr::to_canonical).collect();
        let mut list = Vec::new();
        for address in &given {
            let is_covered = |other: &IpAddr| other.is_unspecified() && other.is_ipv4() == address.is_ipv4() && other != address;
            if !list.contains(address) && !given.iter().any(is_covered) {
                list.push(*address);
            }
        }
        Ok(list)
    },
    print: |list| list.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(","),
};

/// A ConfigMap of any namespace, or none.
pub(crate) const CONFIG_MAP: Grammar<Option<Reference>> = Grammar { value: "`namespace/name` of a ConfigMap, or empty", ..OBJECT };

/// A Secret of any namespace, or none.
pub(crate) const SECRET: Grammar<Option<Reference>> = Grammar { value: "`namespace/name` of a Secret, or empty", ..OBJECT };

const OBJECT: Grammar<Option<Reference>> = Grammar {
    value: "",
    read: |text, _| {
        if text.is_empty() {
            return Ok(None);
        }
        let reference = text.parse::<Reference>().ok().filter(Reference::is_qualified);
        reference.map(Some).ok_or(Invalid::new("a namespace and a name such as ingress/headers"))
    },
    print: |reference| reference.as_ref().map(Reference::to_string).unwrap_or_default(),
};

/// Address ranges between commas.
pub(crate) const CIDRS: Grammar<CidrSet> = Grammar {
    value: "a comma-separated list of IP addresses and ranges",
    read: |text, notes| Ok(usable::<Cidr>(text, notes, str::parse).into_iter().collect()),
    print: CidrSet::to_string,
};

/// Address ranges that are allowed. Where something is listed but nothing of it is usable, no address is.
pub(crate) const ALLOWED_CIDRS: Grammar<CidrSet> = Grammar {
    read: |text, notes| {
        let set: CidrSet = usable::<Cidr>(text, notes, str::parse).into_iter().collect();
        if set.is_empty() && items(text).next().is_some() {
            notes.push("nothing in the list is usable; no client is let through".to_owned());
            return "0.0.0.0".parse();
        }
        Ok(set)
    },
    ..CIDRS
};

/// Versions of TLS.
pub(crate) const PROTOCOLS: Grammar<Vec<TlsProtocol>> = words("versions of TLS such as TLSv1.2 TLSv1.3, separated by spaces");

/// Types of content.
pub(crate) const MIME_TYPES: Grammar<Vec<Word>> = Grammar {
    read: |text, notes| {
        let types = (WORDS.read)(text, notes)?;
        let (types, long): (Vec<Word>, Vec<Word>) = types.into_iter().partition(|name| name.as_str().len() <= LONGEST_HASHED);
        notes.extend(long.iter().map(|name| {
            format!(
                "{name:?}: expected at most {LONGEST_HASHED} bytes, which is what NGINX's table of types holds; it is left out",
                name = name.as_str()
            )
        }));
        if types.is_empty() { Err(Invalid::because(format!("types of at most {LONGEST_HASHED} bytes"))) } else { Ok(types) }
    },
    ..WORDS
};

const WORDS: Grammar<Vec<Word>> = words("types such as text/css, separated by spaces, or *");

/// Bytes of the longest name in a hash table of NGINX with buckets of 64 bytes, where no directive sets another size.
const LONGEST_HASHED: usize = 46;

/// Several of what `FromStr` and `Display` say, separated by spaces.
const fn words<T: FromStr<Err = Invalid> + Display>(value: &'static str) -> Grammar<Vec<T>> {
    Grammar {
        value,
        read: |text, _| {
            let list: Vec<T> = text.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>()?;
            if list.is_empty() { Err(Invalid::new("at least one word")) } else { Ok(list) }
        },
        print: |list| list.iter().map(T::to_string).collect::<Vec<_>>().join(" "),
    }
}

/// Names of headers between commas.
pub(crate) const HEADER_NAMES: Grammar<Vec<HeaderName>> = Grammar {
    value: "names of headers between commas",
    read: |text, notes| Ok(usable(text, notes, str::parse)),
    print: |list| list.iter().map(HeaderName::to_string).collect::<Vec<_>>().join(","),
};

/// Values of a header, between commas.
pub(crate) const HEADER_PATTERNS: Grammar<Vec<HeaderPattern>> = Grammar {
    value: "texts between commas, or ~ or ~* and a regular expression",
    read: |text, notes| Ok(usable(text, notes, str::parse)),
    print: |list| list.iter().map(HeaderPattern::to_string).collect::<Vec<_>>().join(","),
};

/// Parameters of an access log between spaces.
pub(crate) const LOG_PARAMETERS: Grammar<Vec<LogParameter>> = Grammar {
    value: "buffer=SIZE, flush=TIME, gzip or gzip=LEVEL, separated by spaces",
    read: |text, notes| {
        let mut list: Vec<LogParameter> = usable(&text.split_ascii_whitespace().collect::<Vec<_>>().join(","), notes, str::parse);
        if !list.iter().any(|parameter| matches!(parameter, LogParameter::Buffer(_) | LogParameter::Gzip(_))) {
            let lost = list.extract_if(.., |parameter| matches!(parameter, LogParameter::Flush(_)));
            notes.extend(lost.map(|flush| format!("\"{flush}\": without buffer=SIZE or gzip nothing is collected; it is left out")));
        }
        Ok(list)
    },
    print: |list| list.iter().map(LogParameter::to_string).collect::<Vec<_>>().join(" "),
};

/// The status of an error.
pub(crate) const ERROR_CODE: Grammar<u16> = Grammar {
    value: "a status from 400 to 599",
    read: |text, _| number(text, 400..=599).map(|status| status as u16),
    print: u16::to_string,
};

/// Balanced NGINX text; empty means none.
pub(crate) const SNIPPET: Grammar<Option<Snippet>> = Grammar {
    value: "complete NGINX directives, or empty",
    read: |text, _| match Snippet::parse(text) {
        Ok(snippet) => Ok(Some(snippet).filter(|snippet| !snippet.as_str().is_empty())),
        Err(error) => Err(Invalid::because(format!("complete NGINX directives, but {}", error.reason()))),
    },
    print: |snippet| snippet.as_ref().map(Snippet::to_string).unwrap_or_default(),
};

pub(crate) fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// The items that can be read; the others are reported and left out.
pub(crate) fn usable<T>(text: &str, notes: &mut Vec<String>, read: impl Fn(&str) -> Result<T, Invalid>) -> Vec<T> {
    let mut list = Vec::new();
    for item in items(text) {
        match read(item) {
            Ok(value) => list.push(value),
            Err(invalid) => notes.push(format!("{item:?}: {invalid}; it is left out")),
        }
    }
    list
}
