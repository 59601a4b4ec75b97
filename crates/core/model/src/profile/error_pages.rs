//! Error pages.

/// Errors that another backend answers, instead of the global list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct ErrorPages {
    /// Statuses in order, never empty.
    pub statuses: Vec<u16>,
    /// Only those that NGINX makes, not the endpoint's.
    pub only_own: bool,
}

impl ErrorPages {
    pub(super) fn canonical(&self) -> String {
        let Self { statuses, only_own } = self;
        let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
        format!("{}{}", statuses.join(","), if *only_own { " of NGINX itself" } else { "" })
    }
}
