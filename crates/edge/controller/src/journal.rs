//! What the controller found and did, for people: a bounded log of events, the starts and reloads of NGINX, and the newest texts of `nginx.conf`.
//!
//! It is written where metrics are counted, at the cost of a few strings for each event, however many objects an event is about. Nothing waits for its
//! readers: they get copies.

mod changes;
mod posted;
mod texts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inspect::{Event, EventKind, Events, Lane, LastReload, Quantiles, Revision, RevisionKind, TimeToEffect};
use model::{ObjectRef, Problem, Snapshot};
use parking_lot::Mutex;
use tokio::sync::watch;

pub(crate) use posted::Summary;
use texts::Texts;

/// Events that come with every change. They have a ring of their own, so that they don't push the others out.
const FREQUENT: usize = 600;
/// Other events.
const RARE: usize = 400;
/// Events of one answer.
const AT_ONCE: usize = 500;
/// Starts and reloads.
const REVISIONS: usize = 100;
/// Durations that quantiles are of.
const DURATIONS: usize = 512;
/// Objects, reasons and namespaces that are named.
const NAMED: usize = 10;
const NAMESPACES: usize = 20;
/// Bytes of a text: findings and messages of NGINX quote what tenants write.
const LONGEST: usize = 2000;

/// The journal. Clones share it.
#[derive(Clone, Default)]
pub struct Journal(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    newest: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    last_id: u64,
    frequent: VecDeque<Arc<Event>>,
    rare: VecDeque<Arc<Event>>,
    revisions: VecDeque<Revision>,
    texts: Texts,
    /// When findings were new, by what they are about.
    since: BTreeMap<Finding, f64>,
    live: VecDeque<f64>,
    reloads: VecDeque<f64>,
    /// Why the last update of a channel failed, for as long as it does.
    live_errors: BTreeMap<&'static str, String>,
}

/// A finding, whatever its text: object, field and kind.
type Finding = (ObjectRef, String, &'static str);

/// A start or reload that came to its end.
pub(crate) struct Attempted<'a> {
    pub(crate) kind: RevisionKind,
    /// Content address of the text, or what NGINX says against it.
    pub(crate) result: Result<&'a str, String>,
    /// Why it was, in words.
    pub(crate) reasons: &'a [String],
    /// Who asked for it.
    pub(crate) namespaces: Vec<String>,
    /// From the oldest change that it brings to its end.
    pub(crate) effect: Duration,
    /// How long it took by itself.
    pub(crate) took: Duration,
}

impl Journal {
    /// The objects that are read are others than before.
    pub(crate) fn changed(&self, before: Option<&Snapshot>, now: &Snapshot) {
        if let Some(changes) = changes::between(before, now) {
            let mut event = event(EventKind::Change, changes.text);
            (event.objects, event.objects_total) = (changes.objects, changes.total);
            self.write(event);
        }
    }

    /// Findings that are new and findings that are gone.
    pub(crate) fn problems(&self, new: &[&Problem], ended: &[&Problem]) {
        let time = now();
        let finding = |problem: &Problem| (problem.object.clone(), problem.field.clone(), problem.kind.label());
        let gone: BTreeSet<Finding> = ended.iter().map(|problem| finding(problem)).collect();
        let mut state = self.0.state.lock();
        state.since.retain(|key, _| !gone.contains(key));
        for problem in new {
            state.since.entry(finding(problem)).or_insert(time);
        }
        drop(state);
        for (kind, problems, are) in [(EventKind::Problem, new, "new"), (EventKind::Resolved, ended, "gone")] {
            let Some(first) = problems.first() else { continue };
            let text = match problems.len() {
                1 if kind == EventKind::Problem => first.to_string(),
                1 => format!("{}: {} is no longer a problem", first.object, if first.field.is_empty() { "it" } else { &first.field }),
                number => format!("{number} findings are {are}, the first about {}", first.object),
            };
            let mut event = event(kind, text);
            event.objects = problems.iter().take(NAMED).map(|problem| problem.object.to_string()).collect();
            event.objects_total = problems.len();
            self.write(event);
        }
    }

    /// Records were posted and confirmed. `effect`: since the oldest change among them was seen.
    pub(crate) fn posted(&self, summary: Summary, effect: Duration) {
        let mut event = event(EventKind::Live, format!("{}: posted live in {}", summary.text, shown(effect)));
        (event.lane, event.seconds) = (Some(Lane::Live), Some(effect.as_secs_f64()));
        (event.objects, event.objects_total, event.records) = (summary.objects, summary.total, summary.records);
        push(&mut self.0.state.lock().live, effect.as_secs_f64(), DURATIONS);
        self.write(event);
    }

    /// An update of a channel failed, or one was confirmed.
    pub(crate) fn channel(&self, name: &'static str, failure: Option<&str>) {
        let errors = &mut self.0.state.lock().live_errors;
        match failure {
            Some(error) => drop(errors.insert(name, error.to_owned())),
            None => drop(errors.remove(name)),
        }
    }

    /// Records of these hosts wait for a reload.
    pub(crate) fn held<'a>(&self, hosts: impl ExactSizeIterator<Item = &'a str>) {
        let total = hosts.len();
        let are = if total == 1 { "host waits" } else { "hosts wait" };
        let mut event = event(EventKind::Held, format!("{total} {are} for a reload, with the version of before until then"));
        event.lane = Some(Lane::Live);
        (event.objects, event.objects_total) = (hosts.take(NAMED).map(|host| format!("Host {host}")).collect(), total);
        self.write(event);
    }

    /// A start or reload came to its end.
    pub(crate) fn attempted(&self, attempted: Attempted<'_>) {
        let Attempted { kind, result, reasons, namespaces, effect, took } = attempted;
        let what = match kind {
            RevisionKind::Start => "start of NGINX",
            RevisionKind::Reload => "reload",
            RevisionKind::Adopted => "adoption of the NGINX that ran",
        };
        let why = match reasons {
            [] => String::new(),
            [one] => format!("{one}: "),
            [first, others @ ..] => format!("{first}, and {}: ", counted(others.len(), "other reason")),
        };
        let (event_kind, text) = match (&result, kind) {
            (Ok(_), RevisionKind::Adopted) => (EventKind::NginxStarted, "NGINX ran with this configuration already".to_owned()),
            (Ok(_), RevisionKind::Start) => (EventKind::NginxStarted, format!("{why}{what}, confirmed after {}", shown(took))),
            (Ok(_), RevisionKind::Reload) => (EventKind::Reload, format!("{why}{what}, confirmed after {}", shown(took))),
            (Err(message), _) => (EventKind::ReloadFailed, format!("{why}{what} failed: {message}")),
        };
        let named: Vec<String> = reasons.iter().take(NAMED).cloned().map(shortened).collect();
        let mut event = event(event_kind, text);
        (event.lane, event.reasons, event.seconds) = (Some(Lane::Reload), named.clone(), Some(effect.as_secs_f64()));
        event.revision = result.as_ref().ok().map(|revision| (*revision).to_owned());
        let revision = Revision {
            revision: event.revision.clone().unwrap_or_default(),
            at: event.at,
            kind,
            ok: result.is_ok(),
            seconds: took.as_secs_f64(),
            reasons: named,
            namespaces: namespaces.into_iter().take(NAMESPACES).collect(),
            message: shortened(result.err().unwrap_or_default()),
            running: false,
            bytes: None,
        };
        let mut state = self.0.state.lock();
        push(&mut state.revisions, revision, REVISIONS);
        if event_kind == EventKind::Reload {
            push(&mut state.reloads, effect.as_secs_f64(), DURATIONS);
        }
        drop(state);
        self.write(event);
    }

    /// NGINX was lost, and runs again with the text of before.
    pub(crate) fn restarted(&self) {
        let mut event = event(EventKind::NginxStarted, "NGINX had ended and was started again with its last configuration".to_owned());
        event.lane = Some(Lane::Reload);
        self.write(event);
    }

    /// Keeps the text of a revision.
    pub fn text(&self, revision: &str, text: &[u8]) {
        self.0.state.lock().texts.keep(revision, text);
    }

    fn write(&self, mut event: Event) {
        let mut state = self.0.state.lock();
        state.last_id += 1;
        event.id = state.last_id;
        event.text = shortened(event.text);
        let is_frequent = matches!(event.kind, EventKind::Change | EventKind::Live);
        let (ring, most) = if is_frequent { (&mut state.frequent, FREQUENT) } else { (&mut state.rare, RARE) };
        push(ring, Arc::new(event), most);
        let newest = state.last_id;
        drop(state);
        self.0.newest.send_replace(newest);
    }

    /// The number of the newest event; notified of each.
    pub fn newest(&self) -> watch::Receiver<u64> {
        self.0.newest.subscribe()
    }

    /// The events after this one, the oldest first, at most 500; without one the newest of all.
    pub fn events(&self, since: Option<u64>) -> Events {
        let state = self.0.state.lock();
        let after = |event: &&Arc<Event>| event.id > since.unwrap_or(0);
        let mut items: Vec<Arc<Event>> = state.frequent.iter().chain(&state.rare).filter(after).cloned().collect();
        drop(state);
        items.sort_by_key(|event| event.id);
        match since {
            Some(_) => items.truncate(AT_ONCE),
            None => drop(items.drain(..items.len().saturating_sub(AT_ONCE))),
        }
        Events { items: items.iter().map(|event| (**event).clone()).collect() }
    }

    /// The starts and reloads, the newest first. `running`: what NGINX runs.
    pub fn revisions(&self, running: &str) -> Vec<Revision> {
        let state = self.0.state.lock();
        let mut is_found = false;
        let revision = |revision: &Revision| {
            let is_running = revision.ok && revision.revision == running && !std::mem::replace(&mut is_found, true);
            Revision { running: is_running, bytes: state.texts.size(&revision.revision), ..revision.clone() }
        };
        state.revisions.iter().rev().map(revision).collect()
    }

    /// The text of a revision, if it is kept.
    pub fn text_of(&self, revision: &str) -> Option<Arc<str>> {
        self.0.state.lock().texts.get(revision)
    }

    /// When a present finding was new.
    pub fn since(&self, problem: &Problem) -> Option<f64> {
        self.0.state.lock().since.get(&(problem.object.clone(), problem.field.clone(), problem.kind.label())).copied()
    }

    /// The last start or reload.
    pub fn last_reload(&self) -> Option<LastReload> {
        let state = self.0.state.lock();
        let Revision { at, ok, seconds, reasons, message, .. } = state.revisions.back()?.clone();
        Some(LastReload { at, ok, seconds, reasons, message })
    }

    /// How long a confirmed reload takes, of the newest ones.
    pub fn mean_reload(&self) -> Option<f64> {
        let state = self.0.state.lock();
        let took: Vec<f64> = state.revisions.iter().filter(|of| of.ok && of.kind == RevisionKind::Reload).map(|of| of.seconds).collect();
        (!took.is_empty()).then(|| took.iter().sum::<f64>() / took.len() as f64)
    }

    /// From a change to its effect, of the newest ones.
    pub fn time_to_effect(&self) -> TimeToEffect {
        let state = self.0.state.lock();
        let (live, reload) = (state.live.iter().copied().collect(), state.reloads.iter().copied().collect());
        drop(state);
        TimeToEffect { live: Quantiles::of(live), reload: Quantiles::of(reload) }
    }

    /// Why the last live update failed. `None`: it did not.
    pub fn live_error(&self) -> Option<String> {
        self.0.state.lock().live_errors.values().next().cloned()
    }
}

fn event(kind: EventKind, text: String) -> Event {
    Event {
        id: 0,
        at: now(),
        kind,
        lane: None,
        text,
        objects: Vec::new(),
        objects_total: 0,
        records: BTreeMap::new(),
        reasons: Vec::new(),
        revision: None,
        seconds: None,
    }
}

fn push<T>(ring: &mut VecDeque<T>, item: T, most: usize) {
    if ring.len() >= most {
        ring.pop_front();
    }
    ring.push_back(item);
}

/// A text of a bounded length.
fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push_str("...");
        text.shrink_to_fit();
    }
    text
}

/// A duration for people.
fn shown(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", 1000.0 * seconds) } else { format!("{seconds:.1} s") }
}

/// A number of things with their noun.
fn counted(number: usize, noun: &str) -> String {
    if number == 1 {
        return format!("1 {noun}");
    }
    let (head, rest) = noun.find(" of ").map_or((noun, ""), |at| noun.split_at(at));
    let ending = if head.ends_with('s') { "es" } else { "s" };
    format!("{number} {head}{ending}{rest}")
}

/// Parts of a sentence with commas and an `and`.
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests;
