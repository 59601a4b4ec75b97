//! The figures of NGINX's stub status page.

use std::str::FromStr;

/// Connections and requests of an NGINX since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Open now, waiting ones included.
    pub active: u64,
    /// Reading a request's header.
    pub reading: u64,
    /// Answering, or reading a body.
    pub writing: u64,
    /// Idle.
    pub waiting: u64,
    /// Accepted since the start.
    pub accepted: u64,
    /// Number of these that were not closed for lack of room.
    pub handled: u64,
    /// Requests since the start.
    pub requests: u64,
}

impl FromStr for Connections {
    type Err = ();

    /// Four lines: the active ones; a heading; three totals; three states.
    fn from_str(page: &str) -> Result<Self, ()> {
        let words: Vec<&str> = page.split_ascii_whitespace().collect();
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1)?.parse().ok()
        };
        let totals = words.iter().position(|word| *word == "requests").ok_or(())?;
        let total = |index: usize| words.get(totals + index).and_then(|word| word.parse().ok());
        let all = || {
            Some(Self {
                active: after("connections:")?,
                reading: after("Reading:")?,
                writing: after("Writing:")?,
                waiting: after("Waiting:")?,
                accepted: total(1)?,
                handled: total(2)?,
                requests: total(3)?,
            })
        };
        all().ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stub_status_page_is_read() {
        let page = "Active connections: 2 \nserver accepts handled requests\n 10 9 70 \nReading: 0 Writing: 1 Waiting: 3 \n";
        let read = Connections { active: 2, reading: 0, writing: 1, waiting: 3, accepted: 10, handled: 9, requests: 70 };
        assert_eq!(page.parse(), Ok(read));
        assert_eq!("<html>".parse::<Connections>(), Err(()));
        assert_eq!("Active connections: 2 \nserver accepts handled requests\n 10".parse::<Connections>(), Err(()));
    }
}
