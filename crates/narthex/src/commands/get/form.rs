//! How values of an answer are shown in a cell.

use serde_json::Value;

use crate::table::{Cell, Tone};

/// A way to show a value. What is absent is shown as nothing.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// A text or number as it is.
    Text,
    /// The first letters of a content address.
    Digest,
    /// A number.
    Count,
    /// A number that should be 0.
    Faults,
    /// The items of a list, at most so many.
    List(usize),
    /// A field of the items of a list, at most so many.
    ListOf(&'static str, usize),
    /// The sum of a field of the items of a list, which should be 0.
    FaultsOf(&'static str),
    /// Number of the items of a list, which should be 0.
    FaultsIn,
    /// The time since then.
    Age,
    /// Days that are left.
    Days,
    /// Seconds.
    Duration,
    /// Bytes.
    Bytes,
    /// A part of a whole, 0 to 1.
    Share,
    /// A part of a whole that should be small: from this on it needs attention.
    Burden(f64),
    /// Times in a second.
    Rate,
    /// A word where it is true.
    Flag(&'static str),
    /// One of these words.
    State(&'static [(&'static str, Tone)]),
}

/// Days of a certificate from which on it needs attention.
const FEW_DAYS: f64 = 14.0;
/// Letters of a content address that are shown.
const LETTERS: usize = 12;

impl Form {
    /// The cell of a value at this time, in seconds since 1970.
    pub(super) fn cell(self, value: &Value, now: f64) -> Cell {
        let items = || value.as_array().map(Vec::as_slice).unwrap_or_default();
        let faults = |number: f64| Cell::number(format!("{number}"), if number > 0.0 { Tone::Warning } else { Tone::Quiet });
        match self {
            Self::Text => plain(value).into(),
            Self::Digest => plain(value).chars().take(LETTERS).collect::<String>().into(),
            Self::Count => Cell::number(plain(value), Tone::Plain),
            Self::Faults => value.as_f64().map(faults).unwrap_or_default(),
            Self::List(most) => listed(items().iter().map(plain), most).into(),
            Self::ListOf(field, most) => listed(items().iter().map(|item| plain(&item[field])), most).into(),
            Self::FaultsOf(field) => faults(items().iter().filter_map(|item| item[field].as_f64()).sum()),
            Self::FaultsIn => faults(items().len() as f64),
            Self::Flag(word) => Cell::new(if value == &Value::Bool(true) { word } else { "" }, Tone::Warning),
            Self::State(words) => {
                let tone = words.iter().find(|(word, _)| value == word).map_or(Tone::Plain, |(_, tone)| *tone);
                Cell::new(plain(value), tone)
            }
            Self::Age | Self::Days | Self::Duration | Self::Bytes | Self::Share | Self::Burden(_) | Self::Rate => {
                value.as_f64().map(|number| self.number(number, now)).unwrap_or_default()
            }
        }
    }

    fn number(self, number: f64, now: f64) -> Cell {
        let tone = match self {
            Self::Days if number < 0.0 => Tone::Bad,
            Self::Days if number < FEW_DAYS => Tone::Warning,
            Self::Burden(bound) if number >= bound => Tone::Warning,
            _ => Tone::Plain,
        };
        let text = match self {
            Self::Age => age(now - number),
            Self::Days => format!("{number:.0}"),
            Self::Duration => duration(number),
            Self::Bytes => bytes(number),
            Self::Share | Self::Burden(_) => share(number),
            _ => rate(number),
        };
        Cell::number(text, tone)
    }
}

/// A text, number or truth value.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The first of some texts, and the number of those that are left out.
fn listed(texts: impl Iterator<Item = String>, most: usize) -> String {
    let all: Vec<String> = texts.collect();
    let shown = all.iter().take(most).cloned().collect::<Vec<_>>().join(",");
    match all.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} +{more}"),
    }
}

/// A time that has passed, by its largest unit.
fn age(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    let units = [(86_400.0, "d"), (3600.0, "h"), (60.0, "m")];
    match units.iter().find(|(unit, _)| seconds >= 2.0 * unit) {
        Some((unit, letter)) => format!("{:.0}{letter}", (seconds / unit).floor()),
        None => format!("{:.0}s", seconds.floor()),
    }
}

/// A duration in the unit that suits it.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 0.0095 => format!("{:.1}ms", seconds * 1000.0),
        _ if seconds < 0.9995 => format!("{:.0}ms", seconds * 1000.0),
        _ if seconds < 99.5 => format!("{seconds:.1}s"),
        _ => age(seconds),
    }
}

/// A number of bytes.
pub(crate) fn bytes(number: f64) -> String {
    let units = [(1_073_741_824.0, "Gi"), (1_048_576.0, "Mi"), (1024.0, "Ki")];
    match units.iter().find(|(unit, _)| number >= *unit) {
        Some((unit, name)) => format!("{:.1}{name}", number / unit),
        None => format!("{number:.0}"),
    }
}

/// A part of a whole as percent.
pub(crate) fn share(part: f64) -> String {
    match part * 100.0 {
        0.0 => "0%".to_owned(),
        percent if percent < 10.0 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    }
}

/// Times in a second.
pub(crate) fn rate(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        _ if number < 10.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(form: Form, value: Value, cell: Cell) {
        assert_eq!(form.cell(&value, 1000.0), cell);
    }

    #[test]
    fn values_are_shown_in_the_unit_that_suits_them() {
        for (form, value, text) in [
            (Form::Age, 990.0, "10s"),
            (Form::Age, 0.0, "16m"),
            (Form::Age, 2000.0, "0s"),
            (Form::Duration, 0.0031, "3.1ms"),
            (Form::Duration, 0.19, "190ms"),
            (Form::Duration, 12.0, "12.0s"),
            (Form::Duration, 7200.0, "2h"),
            (Form::Bytes, 5.0, "5"),
            (Form::Bytes, 1_572_864.0, "1.5Mi"),
            (Form::Share, 0.0, "0%"),
            (Form::Share, 0.015, "1.5%"),
            (Form::Share, 0.5, "50%"),
            (Form::Rate, 1.25, "1.2"),
            (Form::Rate, 1234.5, "1234"),
            (Form::Days, 80.4, "80"),
        ] {
            check(form, json!(value), Cell::number(text, Tone::Plain));
        }
        check(Form::Days, json!(3.0), Cell::number("3", Tone::Warning));
        check(Form::Days, json!(-1.2), Cell::number("-1", Tone::Bad));
        check(Form::Burden(0.9), json!(0.95), Cell::number("95%", Tone::Warning));
    }

    #[test]
    fn lists_say_how_much_is_left_out() {
        check(Form::List(2), json!(["a", "b", "c", "d"]), "a,b +2".into());
        check(Form::List(2), json!(["a"]), "a".into());
        check(Form::ListOf("n", 2), json!([{"n": "x"}]), "x".into());
        check(Form::FaultsOf("r"), json!([{"r": 2}, {"r": 0}]), Cell::number("2", Tone::Warning));
        check(Form::FaultsIn, json!([]), Cell::number("0", Tone::Quiet));
    }

    #[test]
    fn what_is_absent_is_shown_as_nothing() {
        for form in [Form::Text, Form::Count, Form::Faults, Form::List(1), Form::Age, Form::Rate, Form::Flag("x"), Form::State(&[])] {
            assert_eq!(form.cell(&Value::Null, 0.0).text(), "", "{form:?}");
        }
    }
}
