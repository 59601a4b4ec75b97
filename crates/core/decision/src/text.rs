//! A decision in words.

use std::fmt;

use crate::backend::BackendShare;
use crate::host::HostMatch;
use crate::location::LocationMatch;
use crate::{Decision, Outcome};

/// How many rules that do not serve the request are shown.
const SHOWN: usize = 20;

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        row(f, "Request", &format!("{}{}", self.host, self.path))?;
        if let Some(certificate) = &self.certificate {
            let name = if &*certificate.name == "_" { "the default certificate" } else { &certificate.name };
            row(f, "Certificate", name)?;
        }
        row(f, "Host", &format!("{} ({})", self.rules.name, self.rules.by))?;
        if let Some(location) = &self.location {
            row(f, "Path", &format!("{} ({})", location.path, location.by))?;
            row(f, "Ingress", location.ingress.as_deref().unwrap_or("none"))?;
        }
        self.outcome.fmt(f)?;
        for (at, condition) in self.conditions.iter().enumerate() {
            row(f, if at == 0 { "Unless" } else { "" }, &format!("{}: {}", condition.when, condition.then))?;
        }
        for (at, other) in self.others.iter().take(SHOWN).enumerate() {
            let text = format!("{} {}{}: {}", other.ingress, other.host, other.path, other.because);
            row(f, if at == 0 { "Not used" } else { "" }, &text)?;
        }
        match self.others.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => row(f, "", &format!("and {more} more")),
            _ => Ok(()),
        }
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    // Nothing that a tenant or a request says may move the cursor of a terminal.
    let value: String = value.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect();
    writeln!(f, "{name:<13}{value}")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { status, location, because, page } => {
                row(f, "Answer", &status.to_string())?;
                row(f, "Because", because)?;
                if let Some(location) = location {
                    row(f, "Location", location)?;
                }
                page.as_ref().map_or(Ok(()), |page| row(f, "Page", &format!("of {page} (custom-http-errors)")))
            }
            Self::Proxy { backends, target, headers } => {
                for backend in backends {
                    shown(f, backend)?;
                }
                row(f, "Gets", target)?;
                headers.iter().try_for_each(|(name, value)| row(f, "", &format!("{name}: {value}")))
            }
        }
    }
}

fn shown(f: &mut fmt::Formatter<'_>, share: &BackendShare) -> fmt::Result {
    row(f, "Backend", &format!("{}, {}%: {}", share.backend, rounded(share.percent), share.because))?;
    for (at, endpoint) in share.endpoints.iter().enumerate() {
        let percent = endpoint.percent.map_or(String::new(), |percent| format!(", {}%", rounded(percent)));
        let choice = if at == 0 { format!(" ({})", share.choice) } else { String::new() };
        row(f, if at == 0 { "Endpoints" } else { "" }, &format!("{}{percent}{choice}", endpoint.address))?;
    }
    Ok(())
}

/// With one digit behind the point where that says more.
fn rounded(percent: f64) -> String {
    let text = format!("{percent:.1}");
    text.strip_suffix(".0").map_or(text.clone(), ToOwned::to_owned)
}

impl fmt::Display for HostMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("the host of the rules"),
            Self::Alias => f.write_str("server-alias has the host"),
            Self::AliasSuffix(suffix) => write!(f, "server-alias *{suffix}"),
            Self::Wildcard => f.write_str("the wildcard above"),
            Self::AliasRegex(regex) => write!(f, "server-alias ~{regex}"),
            Self::CatchAll => f.write_str("no rule has the host"),
        }
    }
}

impl fmt::Display for LocationMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(_) => f.write_str("the path as a whole"),
            Self::Regex(regex) => write!(f, "the regular expression {regex}"),
            Self::MissingSlash(_) => f.write_str("but for the slash at its end"),
            Self::Prefix(prefix) => write!(f, "the longest prefix, {prefix}"),
            Self::Default => f.write_str("no rule matches"),
        }
    }
}
