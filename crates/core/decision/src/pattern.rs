//! Regular expressions as NGINX and Lua use them: on bytes.

use pcre2::bytes::{Captures, Regex, RegexBuilder};

/// A regular expression that disregards letter case. `None`: it can't be used.
pub(crate) fn caseless(pattern: &str) -> Option<Regex> {
    RegexBuilder::new().caseless(true).build(pattern).ok()
}

/// One that regards it.
pub(crate) fn exact(pattern: &str) -> Option<Regex> {
    RegexBuilder::new().build(pattern).ok()
}

/// What a match captured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Captured {
    numbered: Vec<Vec<u8>>,
    named: Vec<(String, Vec<u8>)>,
}

impl Captured {
    /// `None`: no match, or the engine gave up.
    pub(crate) fn of(regex: &Regex, text: &[u8]) -> Option<Self> {
        let captures = regex.captures(text).ok()??;
        let text = |captures: &Captures<'_>, at: usize| captures.get(at).map(|found| found.as_bytes().to_vec()).unwrap_or_default();
        let numbered = (0..captures.len()).map(|at| text(&captures, at)).collect();
        let names = regex.capture_names().iter().enumerate();
        let named = names.filter_map(|(at, name)| Some((name.clone()?, text(&captures, at)))).collect();
        Some(Self { numbered, named })
    }

    pub(crate) fn number(&self, at: usize) -> &[u8] {
        self.numbered.get(at).map_or(b"", Vec::as_slice)
    }

    pub(crate) fn name(&self, name: &str) -> Option<&[u8]> {
        self.named.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_slice())
    }
}
