//! Raw NGINX text that passed the gate.

/// Raw configuration text, parsed and balanced. The only raw text that templates print.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Snippet(String);

impl Snippet {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
