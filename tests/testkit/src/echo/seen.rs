//! A request as an echo server saw and reports it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// One request through the eyes of the server. `Display` and `FromStr` are the text form, serde the JSON form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Name of the server.
    pub server: String,
    /// Its Service, may be empty.
    pub service: String,
    /// Its namespace, may be empty.
    pub namespace: String,
    /// Its Pod; the same as `server`.
    pub pod: String,
    /// Address and port on which the request arrived.
    pub address: String,
    /// Address and port it came from.
    pub client: String,
    /// Request method.
    pub method: String,
    /// Request target as it arrived, not decoded, with the query.
    pub request_uri: String,
    /// The target without its query.
    pub path: String,
    /// Value of the Host header, else empty.
    pub host: String,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub proto: String,
    /// Every header: the name in lower case, the values in the order of arrival.
    pub headers: BTreeMap<String, Vec<String>>,
    /// Length of the request body.
    pub body_bytes: u64,
}

impl Seen {
    /// First value of a header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|values| values.first()).map(String::as_str)
    }

    /// Reads an answer in either form.
    ///
    /// # Errors
    /// The body is not an echo server's answer; the error quotes its beginning.
    pub fn read(body: &[u8]) -> anyhow::Result<Self> {
        let text = String::from_utf8_lossy(body);
        let seen = if text.starts_with('{') { serde_json::from_str(&text).map_err(Into::into) } else { text.parse::<Self>() };
        seen.with_context(|| format!("not an echo server's answer: {:?}", text.chars().take(200).collect::<String>()))
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, service, namespace, pod, address, client, method, request_uri, path, host: _, proto, headers, body_bytes } =
            self;
        writeln!(f, "server={server}\nservice={service}\nnamespace={namespace}\npod={pod}\naddress={address}\nclient={client}")?;
        writeln!(f, "method={method}\nrequest_uri={request_uri}\npath={path}\nproto={proto}\nbody_bytes={body_bytes}\n")?;
        for (name, values) in headers {
            for value in values {
                writeln!(f, "{name}={value}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Seen {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (head, headers) = text.split_once("\n\n").context("no empty line between the request and its headers")?;
        let mut seen = Self::default();
        for line in head.lines() {
            let (name, value) = line.split_once('=').with_context(|| format!("line {line:?} has no '='"))?;
            let field = match name {
                "server" => &mut seen.server,
                "service" => &mut seen.service,
                "namespace" => &mut seen.namespace,
                "pod" => &mut seen.pod,
                "address" => &mut seen.address,
                "client" => &mut seen.client,
                "method" => &mut seen.method,
                "request_uri" => &mut seen.request_uri,
                "path" => &mut seen.path,
                "proto" => &mut seen.proto,
                "body_bytes" => {
                    seen.body_bytes = value.parse().with_context(|| format!("body_bytes {value:?} is not a number"))?;
                    continue;
                }
                other => anyhow::bail!("line {other:?} is unknown"),
            };
            value.clone_into(field);
        }
        for line in headers.lines() {
            let (name, value) = line.split_once('=').with_context(|| format!("header line {line:?} has no '='"))?;
            seen.headers.entry(name.to_owned()).or_default().push(value.to_owned());
        }
        seen.host = seen.header("host").unwrap_or_default().to_owned();
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Seen {
        let headers = [("host", vec!["shop.example.com"]), ("x-a", vec!["1", "b=c"])];
        Seen {
            server: "shop-1".into(),
            service: "shop".into(),
            namespace: "default".into(),
            pod: "shop-1".into(),
            address: "10.77.16.1:8080".into(),
            client: "10.77.0.1:5555".into(),
            method: "GET".into(),
            request_uri: "/a%2fb//c?d=e".into(),
            path: "/a%2fb//c".into(),
            host: "shop.example.com".into(),
            proto: "HTTP/1.1".into(),
            headers: headers.into_iter().map(|(n, v)| (n.to_owned(), v.into_iter().map(str::to_owned).collect())).collect(),
            body_bytes: 3,
        }
    }

    #[test]
    fn both_forms_read_back() {
        let seen = sample();
        assert_eq!(Seen::read(seen.to_string().as_bytes()).unwrap(), seen);
        assert_eq!(Seen::read(&serde_json::to_vec(&seen).unwrap()).unwrap(), seen);
    }

    #[test]
    fn the_text_lists_each_header_value_on_a_line() {
        let text = sample().to_string();
        assert!(text.contains("\nhost=shop.example.com\nx-a=1\nx-a=b=c\n"), "{text}");
    }

    #[test]
    fn anything_else_is_quoted() {
        let error = Seen::read(b"<html>404</html>").unwrap_err();
        assert!(format!("{error:#}").contains("<html>404</html>"));
    }
}
