//! Texts with `$1`, `$name` and `${name}`.

use model::Globals;
use model::live::Route;

use crate::pattern::Captured;
use crate::request::Seen;

/// Writes a capture so that it fits where it goes.
pub(crate) type Escape = fn(&[u8]) -> Vec<u8>;

/// Where the values of variables come from.
#[derive(Clone, Copy)]
pub(crate) struct Variables<'a> {
    pub(crate) seen: &'a Seen<'a>,
    pub(crate) globals: &'a Globals,
    pub(crate) route: Option<&'a Route>,
    /// Host of the rules (`$server_name`).
    pub(crate) server_name: &'a str,
}

impl Variables<'_> {
    /// A text with its variables replaced. What only NGINX knows stands in it as it is written. `escape` is applied to captures.
    pub(crate) fn expand(&self, text: &str, captures: Option<&Captured>, escape: Option<Escape>) -> Vec<u8> {
        let (mut out, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.find('$') {
            out.extend(rest[..at].bytes());
            let Some((reference, length)) = reference(&rest[at + 1..]) else {
                out.push(b'$');
                rest = &rest[at + 1..];
                continue;
            };
            let captured = match reference.parse::<usize>() {
                Ok(number) => Some(captures.map_or(&b""[..], |captures| captures.number(number))),
                Err(_) => captures.and_then(|captures| captures.name(reference)),
            };
            match captured {
                Some(captured) => out.extend(escape.map_or_else(|| captured.to_vec(), |escape| escape(captured))),
                None => out.extend(self.value(reference).unwrap_or_else(|| format!("${reference}").into_bytes())),
            }
            rest = &rest[at + 1 + length..];
        }
        out.extend(rest.bytes());
        out
    }

    /// The same as text, for people.
    pub(crate) fn text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.expand(text, None, None)).into_owned()
    }

    /// The value of a variable. `None`: only NGINX knows it.
    fn value(&self, name: &str) -> Option<Vec<u8>> {
        let request = self.seen.request;
        let route = |value: fn(&Route) -> &str| self.route.map_or("", value).to_owned();
        let text = match name {
            "host" => self.seen.host.clone(),
            "http_host" => request.authority.clone(),
            "uri" | "document_uri" => return Some(self.seen.path.clone()),
            "request_uri" => request.target.clone(),
            "args" | "query_string" => request.args().to_owned(),
            "is_args" => if request.args().is_empty() { "" } else { "?" }.to_owned(),
            "scheme" => self.seen.scheme().to_owned(),
            "request_method" => request.method.clone(),
            "server_name" => self.server_name.to_owned(),
            "best_http_host" => self.best_http_host(),
            "pass_access_scheme" => self.scheme(),
            "pass_port" => self.port(),
            "remote_addr" => request.client?.to_string(),
            "namespace" => route(|route| &route.namespace),
            "ingress_name" => route(|route| &route.ingress),
            "service_name" => route(|route| &route.service),
            "service_port" => route(|route| &route.port),
            "location_path" => route(|route| &route.path),
            _ => self.of_request(name)?,
        };
        Some(text.into_bytes())
    }

    fn of_request(&self, name: &str) -> Option<String> {
        let request = self.seen.request;
        let value = match name.split_once('_')? {
            ("http", header) => request.variable(header),
            ("arg", parameter) => request.arg(parameter),
            ("cookie", cookie) => request.cookie(cookie),
            _ => return None,
        };
        Some(value.unwrap_or_default())
    }

    fn forwarded(&self, header: &str) -> Option<String> {
        self.seen.request.variable(header).filter(|value| self.globals.config.use_forwarded_headers && !value.is_empty())
    }

    /// The scheme as the client sees it.
    pub(crate) fn scheme(&self) -> String {
        self.forwarded("x-forwarded-proto").unwrap_or_else(|| self.seen.scheme().to_owned())
    }

    /// The host and port as the client sees them.
    pub(crate) fn best_http_host(&self) -> String {
        let forwarded = self.forwarded("x-forwarded-host");
        let first = forwarded.as_ref().and_then(|hosts| hosts.split(',').next()).filter(|host| !host.is_empty());
        let own = || if self.seen.request.authority.is_empty() { &self.seen.host } else { &self.seen.request.authority };
        first.unwrap_or_else(|| own()).to_owned()
    }

    /// The port as the client sees it.
    pub(crate) fn port(&self) -> String {
        let https = self.globals.listen.https.to_string();
        let port = self.forwarded("x-forwarded-port").unwrap_or_else(|| self.own_port().to_string());
        if port == https { "443".to_owned() } else { port }
    }

    /// The port that NGINX listens on.
    pub(crate) fn own_port(&self) -> u16 {
        if self.seen.request.tls { self.globals.listen.https } else { self.globals.listen.http }
    }
}

/// The name or number behind a `$`, and how much of the text it takes.
fn reference(text: &str) -> Option<(&str, usize)> {
    let is_name = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    if let Some(inner) = text.strip_prefix('{') {
        let (name, _) = inner.split_once('}')?;
        return (!name.is_empty() && !name.contains(is_name)).then_some((name, name.len() + 2));
    }
    if text.starts_with(|c: char| ('1'..='9').contains(&c)) {
        return Some((&text[..1], 1));
    }
    let end = text.find(is_name).unwrap_or(text.len());
    (end > 0).then_some((&text[..end], end))
}
