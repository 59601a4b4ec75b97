//! Request metrics: what NGINX's workers counted, added up, and shown as the predecessor's families.

mod families;
mod line;
mod native;
mod series;
mod traffic;

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

pub use line::Labels;
use line::Line;
pub use native::NativeOptions;
pub(crate) use native::{Sparse, ZERO_THRESHOLD};
use parking_lot::Mutex;
use series::{HISTOGRAMS, Series};
use traffic::Traffic;

use crate::exposition::Exposition;

/// Names of hosts that clients made up and that have a label of their own; the others have the label [`NO_HOST`].
const MOST_CLIENT_HOSTS: usize = 10_000;
/// The label of rules without a host.
const NO_HOST: &str = "_";

/// The options of request metrics, which differ from one controller to the next.
#[derive(Debug, Clone)]
pub struct RequestOptions {
    /// Constant labels, `name="value"` with commas between them.
    pub constant_labels: String,
    /// `--metrics-per-host`: there is a label `host`.
    pub per_host: bool,
    /// `--report-status-classes`: `2xx` instead of `200`.
    pub status_classes: bool,
    /// `--exclude-socket-metrics`: families without their prefix; names of no family are ignored.
    pub excluded: Vec<String>,
    /// The name of the bounds, on both sides.
    pub key: String,
    /// Seconds.
    pub time: Vec<f64>,
    /// Bytes.
    pub length: Vec<f64>,
    /// Bytes.
    pub size: Vec<f64>,
    /// Exponential buckets beside those of the bounds.
    pub native: Option<NativeOptions>,
}

impl RequestOptions {
    fn bounds(&self, kind: series::Kind) -> &[f64] {
        match kind {
            series::Kind::Time => &self.time,
            series::Kind::Length => &self.length,
            series::Kind::Size => &self.size,
        }
    }
}

/// The sums since the controller started. Memory: the number of series.
#[derive(Debug)]
pub struct RequestMetrics {
    options: RequestOptions,
    counted: Mutex<Counted>,
    traffic: Mutex<Traffic>,
}

#[derive(Debug, Default)]
struct Counted {
    /// By their labels as they are shown, constant ones left out.
    series: BTreeMap<Box<str>, Series>,
    client_hosts: HashSet<Box<str>>,
}

/// The result of taking an answer of NGINX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The text that acknowledges it.
    pub number: String,
    /// Lines that can't be read: a fault of this program. The first one.
    pub unreadable: Option<String>,
    /// Requests of workers that run other bounds, whose histograms can't be added. They count, without histograms.
    pub without_histograms: u64,
}

impl RequestMetrics {
    /// Nothing was counted yet.
    pub fn new(options: RequestOptions) -> Self {
        Self { options, counted: Mutex::default(), traffic: Mutex::new(Traffic::new()) }
    }

    /// Adds an answer to `GET /requests` (`docs/live-protocol.md`): a number, then batches, each of which begins with what names its bounds.
    /// `None` for an empty one. What is not `known` any more is left out.
    pub fn take(&self, answer: &str, known: impl Fn(&Labels) -> bool) -> Option<Taken> {
        let (number, lines) = answer.split_once('\n')?;
        let mut taken = Taken { number: number.to_owned(), unreadable: None, without_histograms: 0 };
        let (mut counted, mut traffic) = (self.counted.lock(), self.traffic.lock());
        let (mut comparable, time) = (false, Instant::now());
        for text in lines.lines() {
            if text.starts_with('"') {
                comparable = serde_json::from_str::<String>(text).is_ok_and(|key| key == self.options.key);
                continue;
            }
            match text.parse::<Line>() {
                Ok(line) if known(&line.labels) => {
                    let host = counted.add(&self.options, &line, comparable);
                    traffic.add(&line, host, comparable, time);
                    taken.without_histograms += if comparable { 0 } else { line.count };
                }
                Ok(_) => {}
                Err(line::Unreadable) => taken.unreadable = taken.unreadable.or_else(|| Some(text.to_owned())),
            }
        }
        Some(taken)
    }

    /// Forgets the series of what is not `known` any more.
    pub fn retain(&self, known: impl Fn(&Labels) -> bool) {
        self.counted.lock().series.retain(|_, series| known(&series.labels));
        self.traffic.lock().retain(&known);
    }

    /// What was counted by rule, and the requests of the last seconds, whose number is given.
    pub fn traffic(&self) -> (Vec<inspect::Counted>, f64) {
        self.traffic.lock().counted(Instant::now())
    }

    /// The bounds of durations, in seconds.
    pub fn time_bounds(&self) -> &[f64] {
        &self.options.time
    }

    /// Appends the families.
    pub fn write(&self, out: &mut Exposition) {
        let counted = self.counted.lock();
        families::write(&self.options, counted.series.iter().map(|(labels, series)| (&**labels, series)), out);
    }
}

impl Counted {
    /// Adds a line. Its label `host`.
    fn add<'a>(&mut self, options: &RequestOptions, line: &'a Line, comparable: bool) -> &'a str {
        let host = self.host(&line.labels);
        let labels = families::labels(options, line, host);
        if !self.series.contains_key(labels.as_str()) {
            let bounds = HISTOGRAMS.map(|histogram| options.bounds(histogram.kind).len());
            self.series.insert(labels.as_str().into(), Series::new(line.labels.clone(), bounds, options.native));
        }
        if let Some(series) = self.series.get_mut(labels.as_str()) {
            series.add(line, comparable);
        }
        host
    }

    /// The label of the host. Those that clients make up have labels of their own up to a number.
    fn host<'a>(&mut self, labels: &'a Labels) -> &'a str {
        let host = &*labels.host;
        if !labels.of_client || self.client_hosts.contains(host) {
            return host;
        }
        if self.client_hosts.len() >= MOST_CLIENT_HOSTS {
            return NO_HOST;
        }
        self.client_hosts.insert(host.into());
        host
    }
}

#[cfg(test)]
mod tests;
