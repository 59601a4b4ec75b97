//! The newest texts of `nginx.conf`.

use std::collections::VecDeque;
use std::sync::Arc;

/// Texts that are kept.
const MOST: usize = 20;
/// Bytes of all of them; the newest two are kept whatever they have, for their difference.
const MOST_BYTES: usize = 16 << 20;

/// The texts by their revision, the newest last.
#[derive(Default)]
pub(super) struct Texts(VecDeque<(String, Arc<str>)>);

impl Texts {
    /// Keeps a text, as the newest.
    pub(super) fn keep(&mut self, revision: &str, text: &[u8]) {
        let text = self.get(revision).unwrap_or_else(|| String::from_utf8_lossy(text).into());
        self.0.retain(|(known, _)| known != revision);
        self.0.push_back((revision.to_owned(), text));
        while self.0.len() > MOST || self.0.len() > 2 && self.bytes() > MOST_BYTES {
            self.0.pop_front();
        }
    }

    pub(super) fn get(&self, revision: &str) -> Option<Arc<str>> {
        self.0.iter().find(|(known, _)| known == revision).map(|(_, text)| text.clone())
    }

    pub(super) fn size(&self, revision: &str) -> Option<usize> {
        self.0.iter().find(|(known, _)| known == revision).map(|(_, text)| text.len())
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(_, text)| text.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_texts_are_kept_as_far_as_there_is_room() {
        let mut texts = Texts::default();
        (0..30).for_each(|number| texts.keep(&number.to_string(), b"x"));
        assert!(texts.get("9").is_none() && texts.get("10").is_some());
        texts.keep("10", b"x");
        texts.keep("30", b"x");
        assert!(texts.get("10").is_some() && texts.get("12").is_none(), "what runs again is new again");
        let large = vec![b'x'; MOST_BYTES];
        texts.keep("large", &large);
        texts.keep("larger", &large);
        assert_eq!((texts.size("large"), texts.size("larger"), texts.size("30")), (Some(MOST_BYTES), Some(MOST_BYTES), None));
    }
}
