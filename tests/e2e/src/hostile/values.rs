//! Values of annotations: every entry of the table, in every taste.

use settings::{ANNOTATIONS, Entry};

use super::victims;

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taste {
    /// The example of the table.
    Good,
    /// Nothing.
    Empty,
    /// The least number, or `false`.
    Least,
    /// A number that no type holds, or `true`.
    Largest,
    /// A negative number.
    Negative,
    /// The example, as a list of many.
    List,
    /// As long as annotations may be together, nearly.
    Long,
    /// The example with something in it that ends words, blocks and comments.
    Broken,
    /// A character that is no text.
    Odd,
    /// Variables of NGINX.
    Variables,
    /// An expression that takes long.
    Expression,
    /// Names of other tenants' hosts and objects.
    Foreign,
}

const TASTES: [Taste; 12] = [
    Taste::Good,
    Taste::Empty,
    Taste::Least,
    Taste::Largest,
    Taste::Negative,
    Taste::List,
    Taste::Long,
    Taste::Broken,
    Taste::Odd,
    Taste::Variables,
    Taste::Expression,
    Taste::Foreign,
];

const PIECES: [&str; 6] = ["\";}}evil on;#", "\r\nevil on;\n", "{% evil %}", "]]evil()--[[", "${evil", "\\"];
/// Entries of a list. Annotations of an object have 256 KiB together.
const ENTRIES: usize = 4_000;
const LONG_BYTES: usize = 180_000;

/// Names of all annotations, in the order of values.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    ANNOTATIONS.iter().map(|entry| entry.name)
}

/// The value with this number, and what must stand beside it to be read at all. As many in a row as there are annotations have one each.
pub(super) fn value(number: usize, namespace: &str) -> Vec<(&'static str, String)> {
    let (round, at) = (number / ANNOTATIONS.len() % TASTES.len(), number % ANNOTATIONS.len());
    let (entry, taste) = (&ANNOTATIONS[at], TASTES[(at + round) % TASTES.len()]);
    let companions = entry.companions.iter().map(|(name, value)| (*name, own(value, namespace)));
    std::iter::once((entry.name, tasted(entry, taste, namespace))).chain(companions).collect()
}

fn tasted(entry: &Entry, taste: Taste, namespace: &str) -> String {
    let good = own(entry.example, namespace);
    let number = |to: &str| if good.parse::<f64>().is_ok() { to.to_owned() } else { digits_as(&good, to) };
    match taste {
        Taste::Good => good,
        Taste::Empty => String::new(),
        Taste::Least if good == "true" => "false".into(),
        Taste::Least => number("0"),
        Taste::Largest if good == "false" => "true".into(),
        Taste::Largest => number("99999999999999999999"),
        Taste::Negative => number("-1"),
        Taste::List => vec![good; ENTRIES].join(","),
        Taste::Long => good.repeat(LONG_BYTES / good.len().max(1)),
        Taste::Broken => {
            let middle = good.char_indices().nth(good.chars().count() / 2).map_or(0, |(at, _)| at);
            format!("{}{}{}", &good[..middle], PIECES[good.len() % PIECES.len()], &good[middle..])
        }
        Taste::Odd => format!("\0{good}\u{2028}\u{feff}"),
        Taste::Variables => "$host$request_uri$arg_a${http_cookie}$ssl_client_raw_cert$evil".into(),
        Taste::Expression => "~^(?<a>(a+)+)+$(?=.*){1,1000}".into(),
        Taste::Foreign => {
            let host = victims::host("plain-0");
            let named = good.replace("example.com", &host).replace("example.org", victims::DOMAIN);
            named.replace(&format!("{namespace}/"), "kube-system/")
        }
    }
}

/// An example, with names of objects of this namespace.
fn own(example: &str, namespace: &str) -> String {
    match example.split_once('/') {
        Some(("default" | "shop", name)) => format!("{namespace}/{name}"),
        _ => example.to_owned(),
    }
}

/// The numbers in a text replaced, or this number where there is none.
fn digits_as(text: &str, to: &str) -> String {
    let mut out = String::new();
    let mut in_number = false;
    for char in text.chars() {
        match (char.is_ascii_digit(), in_number) {
            (true, false) => out.push_str(to),
            (true, true) => {}
            (false, _) => out.push(char),
        }
        in_number = char.is_ascii_digit();
    }
    if out == text { to.to_owned() } else { out }
}
