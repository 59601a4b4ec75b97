//! What the groups share: the usual entry, the usual words, the usual ways to read a value.

use std::str::FromStr;

use ngx_value::{Invalid, Seconds, Size, Snippet};

use crate::config::Config;
use crate::policy;
use crate::reference::Reference;
use crate::spec::Spec;
use crate::table::*;

pub(super) const BOOL: &str = "true or false";
pub(super) const ON_OFF: &str = "on or off";
pub(super) const SECONDS: &str = "seconds, a whole number";
pub(super) const DIRECTIVES: &str = "complete NGINX directives";

/// What most entries have in common.
pub(super) const LOCATION: Entry = Entry {
    name: "",
    aliases: &[],
    scope: Scope::Location,
    risk: Risk::Low,
    config_key: None,
    applies: Applies::Route,
    value: "",
    doc: "",
    example: "",
    companions: &[],
    on_invalid: OnInvalid::Ignore,
    on_empty: OnEmpty::Absent,
    needs: None,
    yields_to: None,
    guard: Guard::Nothing,
    since: Since::IngressNginx,
    inert: None,
    parse: |_, _| Ok(()),
};

/// What most groups have in common.
pub(super) const GROUP: Group = Group { title: "", doc: "", entries: &[], keys: &[], finish: |_| {}, settle: |_, _| {}, clear: |_| {} };

/// Puts a value into its field, or passes on what was expected.
pub(super) fn set<T>(field: &mut T, value: Result<T, Invalid>) -> Result<(), Invalid> {
    *field = value?;
    Ok(())
}

/// Reads a text whose spaces do not count, and which is not set if it holds nothing else.
pub(super) fn without_blanks<T: FromStr<Err = Invalid>>(text: &str) -> Result<Option<T>, Invalid> {
    let text = text.replace(' ', "");
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

/// Reads one line whose spaces at the ends do not count, and which is not set if it holds nothing else.
pub(super) fn trimmed<T: FromStr<Err = Invalid>>(text: &str) -> Result<Option<T>, Invalid> {
    if text.contains(['\r', '\n']) {
        return Err(Invalid::new("one line"));
    }
    let text = text.trim();
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

/// A size; spaces do not count.
pub(super) fn size(text: &str) -> Result<Option<Size>, Invalid> {
    without_blanks(text)
}

/// The size of a buffer. Sizes outside lead to a configuration that NGINX refuses.
pub(super) fn buffer_size(text: &str) -> Result<Option<Size>, Invalid> {
    match without_blanks::<Size>(text) {
        Ok(Some(size)) if !(1..=1 << 30).contains(&size.bytes) => Err(Invalid::new("a size from 1 byte to 1g, such as 8k")),
        other => other,
    }
}

/// Whole seconds.
pub(super) fn seconds(text: &str) -> Result<Option<Seconds>, Invalid> {
    text.parse().map(Some)
}

/// Letters, digits and `- . _ ~ / :`.
pub(super) fn is_basic(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/' | b':')
}

/// A reference to another object; spaces do not count. Other characters than names have lead to [`Entry::on_invalid`]; a text that names no
/// object, or lacks the namespace where it must be `qualified`, closes the locations.
pub(super) fn object(text: &str, draft: &mut Draft, qualified: bool) -> Result<Option<Reference>, Invalid> {
    let text = text.replace(' ', "");
    if text.is_empty() {
        return Ok(None);
    }
    let expected = if qualified { "a namespace and a name such as shop/ca" } else { "a name, or a namespace and a name such as shop/ca" };
    if !text.bytes().all(is_basic) {
        return Err(Invalid::new(expected));
    }
    match text.parse::<Reference>() {
        Ok(reference) if reference.is_qualified() || !qualified => Ok(Some(reference)),
        _ => {
            draft.on_invalid(OnInvalid::Deny);
            Err(Invalid::new(expected))
        }
    }
}

/// Whether a byte may stand in a text of the kind that is often a regular expression: no space, comma, quote or semicolon.
pub(super) const fn is_regex(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'^' | b'$' | b'[' | b']' | b'(' | b')' | b'{' | b'}')
        || matches!(byte, b'*' | b'+' | b'?' | b'&' | b'=' | b'\\' | b'|')
}

/// Balanced NGINX text; not set if it holds nothing.
pub(super) fn snippet(text: &str) -> Result<Option<Snippet>, Invalid> {
    match Snippet::parse(text) {
        Ok(snippet) => Ok(Some(snippet).filter(|snippet| !snippet.as_str().is_empty())),
        Err(error) => Err(Invalid::because(format!("{DIRECTIVES}, but {}", error.reason()))),
    }
}

/// Forgets a snippet that the policy refuses, and says so. For [`Group::settle`].
pub(super) fn hold_to_policy(draft: &mut Draft, config: &Config, annotation: &'static str, field: fn(&mut Spec) -> &mut Option<Snippet>) {
    let Some(snippet) = field(&mut draft.spec) else { return };
    if let Err(invalid) = policy::check(annotation, snippet, &config.allowed_snippet_directives) {
        *field(&mut draft.spec) = None;
        draft.fault_on(annotation, OnInvalid::Refuse, &invalid);
    }
}
