//! Requests from access logs.

mod choose;
mod format;
mod json;
mod line;

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use crate::request::{Request, Scheme};
use crate::site::{PathKind, Rule, Site};
use choose::shape;
use line::Line;

pub use format::{Fields, InvalidFormat, LogFormat};

/// Distinct requests that are kept of a log, of whatever length.
const KEPT: usize = 200_000;
/// Bytes of a line that are looked at.
const LINE_BYTES: usize = 64 * 1024;

/// The selection from logs.
#[derive(Debug, Clone)]
pub struct LogSelection {
    /// With or without TLS.
    pub schemes: Vec<Scheme>,
    /// All methods, and not only GET and HEAD. Bodies are not in logs and are not sent.
    pub all_methods: bool,
    /// Requests at most.
    pub sample: usize,
    /// The host of lines that don't say theirs.
    pub host: Option<String>,
    /// The format of the lines.
    pub format: LogFormat,
}

/// The content of a log.
#[derive(Debug, Default)]
pub struct Traffic {
    /// The requests: of every shape (host and path without numbers and values) as many as there is room for, beginning with the first.
    pub requests: Vec<Request>,
    /// Lines that were read.
    pub lines: u64,
    /// Reasons why lines were passed over, with their number.
    pub skipped: Vec<(&'static str, u64)>,
}

/// Reads a log to its end.
///
/// # Errors
/// The log can't be read.
pub fn read(log: impl BufRead, sites: &[Site], taste: &LogSelection) -> std::io::Result<Traffic> {
    let mut reader = Reader {
        hosts: Hosts::new(sites, taste.host.clone()),
        taste,
        found: HashMap::new(),
        order: Vec::new(),
        kept: 0,
        skipped: Vec::new(),
    };
    let mut lines = 0;
    for bytes in log.split(b'\n') {
        let bytes = bytes?;
        let text = String::from_utf8_lossy(bytes.get(..LINE_BYTES).unwrap_or(&bytes));
        let text = text.trim_end();
        if text.is_empty() {
            continue;
        }
        lines += 1;
        if let Err(reason) = reader.take(text) {
            reader.skip(reason);
        }
    }
    let mut shapes: Vec<Vec<Request>> = reader.order.iter().filter_map(|shape| reader.found.remove(shape)).collect();
    Ok(Traffic { requests: choose::round_robin(&mut shapes, taste.sample), lines, skipped: reader.skipped })
}

struct Reader<'a> {
    hosts: Hosts<'a>,
    taste: &'a LogSelection,
    found: HashMap<String, Vec<Request>>,
    order: Vec<String>,
    kept: usize,
    skipped: Vec<(&'static str, u64)>,
}

impl Reader<'_> {
    fn skip(&mut self, reason: &'static str) {
        match self.skipped.iter_mut().find(|(own, _)| *own == reason) {
            Some((_, count)) => *count += 1,
            None => self.skipped.push((reason, 1)),
        }
    }

    fn take(&mut self, text: &str) -> Result<(), &'static str> {
        let line = Line::read(text, &self.taste.format).ok_or("not in a format that is known")?;
        if !self.taste.all_methods && !matches!(line.method.as_str(), "GET" | "HEAD") {
            return Err("another method than GET and HEAD");
        }
        let places = self.hosts.of(&line);
        if places.is_empty() {
            return Err("the host is not in the line and does not follow from its backend");
        }
        for (host, rule) in places {
            for &scheme in &self.taste.schemes {
                let request = Request::get(scheme, &host, line.target.clone(), "access log");
                self.keep(Request { method: line.method.clone(), rule: rule.clone(), ..request });
            }
        }
        Ok(())
    }

    fn keep(&mut self, request: Request) {
        let shape = shape(&request);
        let known = self.found.get(&shape);
        // A shape needs no more requests than there may be in all.
        let full = known.is_some_and(|known| known.len() >= self.taste.sample) || self.kept >= KEPT;
        if full || known.is_some_and(|known| known.iter().any(|other| other.identity() == request.identity())) {
            return;
        }
        if known.is_none() {
            self.order.push(shape.clone());
        }
        self.kept += 1;
        self.found.entry(shape).or_default().push(request);
    }
}

/// The hosts that a line may be about.
struct Hosts<'a> {
    sites: &'a [Site],
    /// Sites with a backend, by its name in logs.
    by_backend: HashMap<&'a str, Vec<(&'a Site, &'a Arc<Rule>)>>,
    fallback: Option<String>,
}

impl<'a> Hosts<'a> {
    fn new(sites: &'a [Site], fallback: Option<String>) -> Self {
        let mut by_backend: HashMap<&str, Vec<_>> = HashMap::new();
        for site in sites {
            for rule in &site.rules {
                by_backend.entry(rule.backend.as_str()).or_default().push((site, rule));
            }
        }
        let only = match sites {
            [one] => Some(crate::probe::concrete(&one.host)),
            _ => None,
        };
        Self { sites, by_backend, fallback: fallback.or(only) }
    }

    fn of(&self, line: &Line) -> Vec<(String, Option<Arc<Rule>>)> {
        if let Some(host) = &line.host {
            let site = self.sites.iter().find(|site| site.host == *host);
            let rule =
                site.and_then(|site| site.rules.iter().filter(|rule| reaches(rule, &line.target)).max_by_key(|rule| rule.path.len()));
            return vec![(host.clone(), rule.cloned())];
        }
        let rules = line.backend.as_deref().and_then(|backend| self.by_backend.get(backend));
        let mut found: Vec<(String, Option<Arc<Rule>>)> = Vec::new();
        for (site, rule) in rules.into_iter().flatten().filter(|(_, rule)| reaches(rule, &line.target)) {
            let host = crate::probe::concrete(&site.host);
            if !found.iter().any(|(own, _)| *own == host) {
                found.push((host, Some((*rule).clone())));
            }
        }
        if found.is_empty() {
            found.extend(self.fallback.clone().map(|host| (host, None)));
        }
        found
    }
}

/// `true` if a rule may match a target; of patterns nothing is known.
fn reaches(rule: &Rule, target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    match rule.kind {
        PathKind::Exact => path == rule.path,
        PathKind::Prefix => path.starts_with(rule.path.trim_end_matches('/')),
        PathKind::Pattern => true,
    }
}

#[cfg(test)]
mod tests;
