//! A report for people.

use std::fmt::Write;

use super::{CompareReport, Group};
use crate::difference::Aspect;

/// Groups of a kind that are shown unless all are wanted.
const FIRST: usize = 20;
/// Characters of a value that are shown.
const VALUE: usize = 100;

/// The amount of text, and its colours.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// Every difference, and not the first 20 of a kind.
    pub all: bool,
    /// For a terminal.
    pub colours: bool,
}

impl Style {
    fn bold(self, text: &str) -> String {
        if self.colours { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
}

impl CompareReport {
    /// The text: differences by kind, then what is explained, varies, or was left out, then the sum in one line.
    pub fn text(&self, style: Style) -> String {
        let mut text = String::new();
        let mut rest = self.differences.as_slice();
        while let Some(first) = rest.first() {
            let kind = first.change.aspect.kind();
            let count = rest.iter().take_while(|group| group.change.aspect.kind() == kind).count();
            let (groups, others) = rest.split_at(count);
            let _ = writeln!(text, "{} ({count})", style.bold(title(&first.change.aspect)));
            list(&mut text, groups, style);
            text.push('\n');
            rest = others;
        }
        for explained in &self.explained {
            let known = explained.known;
            let counts = if known.counts { "known, but look at it" } else { "known" };
            let _ = writeln!(text, "{} ({}, {counts}): {}", style.bold(known.id), explained.groups.len(), known.why);
            let shown =
                if known.counts || style.all { explained.groups.as_slice() } else { &explained.groups[..explained.groups.len().min(1)] };
            list(&mut text, shown, style);
            text.push('\n');
        }
        self.beside(&mut text, style);
        text.push_str(&self.sum());
        text
    }

    fn beside(&self, text: &mut String, style: Style) {
        if !self.unreachable.is_empty() {
            let _ = writeln!(text, "{} ({}): nothing is known of these", style.bold("neither answers"), self.unreachable.len());
            let shown = if style.all { self.unreachable.len() } else { FIRST };
            for request in self.unreachable.iter().take(shown) {
                let _ = writeln!(text, "  {}", printable(request));
            }
            text.push('\n');
        }
        for ((host, aspect), requests) in &self.varies {
            let _ = writeln!(
                text,
                "varies by itself: {aspect} of {} ({}, as {})",
                printable(host),
                many(requests.len(), "request"),
                printable(requests.first().map(String::as_str).unwrap_or_default())
            );
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        if self.ignored > 0 {
            let _ = writeln!(text, "ignored as asked: {}", many(self.ignored, "difference"));
        }
    }

    fn sum(&self) -> String {
        let asked = format!("{} to {}", many(self.requests, "request"), many(self.hosts, "host"));
        let counted =
            self.explained.iter().filter(|explained| explained.known.counts).map(|explained| explained.groups.len()).sum::<usize>();
        match (self.is_equal(), self.differences.len() + counted) {
            (true, _) => format!("{asked}: both answer alike\n"),
            (false, 0) => format!("{asked}: {} without any answer\n", self.unreachable.len()),
            (false, count) => format!("{asked}: {}\n", many(count, "difference")),
        }
    }
}

fn title(aspect: &Aspect) -> &'static str {
    match aspect {
        Aspect::Failure => "no answer from one of them",
        Aspect::Status => "status",
        Aspect::Redirect => "redirects",
        Aspect::Certificate => "certificates",
        Aspect::Backend => "backends",
        Aspect::Rewrite => "what backends are asked for",
        Aspect::Header(_) => "headers",
        Aspect::Body => "bodies",
    }
}

fn list(text: &mut String, groups: &[Group], style: Style) {
    let shown = if style.all { groups.len() } else { FIRST };
    for group in groups.iter().take(shown) {
        let Some((request, purpose)) = group.requests.first() else { continue };
        let name = group.change.aspect.name().map(|name| format!("{}: ", printable(name))).unwrap_or_default();
        let ingress = group.ingress.as_ref().map(|ingress| format!(", Ingress {ingress}")).unwrap_or_default();
        let more = match group.requests.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let _ = writeln!(text, "  {} ({purpose}{ingress}{more})", printable(request));
        let _ = writeln!(text, "      {name}{} -> {}", printable(&group.change.old), printable(&group.change.new));
    }
    if groups.len() > shown {
        let _ = writeln!(text, "  and {} more; --all shows them", groups.len() - shown);
    }
}

/// Text of others, safe to print: no control characters, not too long.
pub(crate) fn printable(text: &str) -> String {
    let mut shown: String = text.chars().take(VALUE).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if shown.len() < text.len() && text.chars().count() > VALUE {
        shown.push_str("...");
    }
    shown
}

pub(crate) fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
