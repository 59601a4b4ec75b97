//! Prometheus' text format, of what is not kept in a registry.

use std::fmt::{Arguments, Write};

/// Prefix of the predecessor's families.
pub(crate) const PREFIX: &str = "nginx_ingress_controller_";

/// A family of the predecessor's, without the prefix `nginx_ingress_controller_`.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub(crate) name: &'static str,
    help: &'static str,
    kind: &'static str,
}

impl Family {
    /// A value that only grows.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: "counter" }
    }

    /// A value that goes up and down.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: "gauge" }
    }

    pub(crate) const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: "histogram" }
    }

    pub(crate) fn head(&self, out: &mut String) {
        let Self { name, help, kind } = self;
        push(out, format_args!("# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}\n"));
    }

    /// Appends the family with a value for each text of [`labels`].
    pub fn write(&self, values: &[(String, f64)], out: &mut String) {
        self.head(out);
        for (labels, value) in values {
            push(out, format_args!("{PREFIX}{}{{{labels}}} {value}\n", self.name));
        }
    }
}

/// Names with their values, as they stand between braces.
pub fn labels(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    push_labels(&mut text, pairs.iter().copied());
    text
}

pub(crate) fn push_labels<'a>(text: &mut String, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
    for (name, value) in pairs {
        let comma = if text.is_empty() { "" } else { "," };
        push(text, format_args!("{comma}{name}=\""));
        escape(text, value);
        text.push('"');
    }
}

fn escape(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
}

pub(crate) fn push(text: &mut String, arguments: Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a String can't fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        assert_eq!(labels(&[("a", "x"), ("b", "\"\\\n")]), "a=\"x\",b=\"\\\"\\\\\\n\"");
        let mut text = String::new();
        Family::gauge("x", "Help.").write(&[(labels(&[("a", "b")]), 0.5)], &mut text);
        let name = "nginx_ingress_controller_x";
        assert_eq!(text, format!("# HELP {name} Help.\n# TYPE {name} gauge\n{name}{{a=\"b\"}} 0.5\n"));
    }
}
