//! Another variable in the place of one, wherever a text refers to it.

/// `true` if a text refers to a variable, as `$name` or `${name}`.
pub fn refers_to(text: &str, name: &str) -> bool {
    references(text, name).next().is_some()
}

/// The text with references to a variable made references to another. Names that only begin alike stay, and `\$name`, which is none in a
/// regular expression.
/// `b` made `x`: `a $b ${b}c $bc` gives `a $x ${x}c $bc`.
pub fn rename_variable(text: &str, from: &str, to: &str) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut done = 0;
    for at in references(text, from) {
        renamed.push_str(&text[done..at]);
        renamed.push_str(to);
        done = at + from.len();
    }
    renamed.push_str(&text[done..]);
    renamed
}

/// The place of the name in each reference.
fn references<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_reference = move |at: usize| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let dollar = match before.strip_suffix('{') {
            Some(before) if after.starts_with('}') => before,
            Some(_) => return false,
            None if after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') => return false,
            None => before,
        };
        dollar.strip_suffix('$').is_some_and(|before| !before.ends_with('\\'))
    };
    text.match_indices(name).map(|(at, _)| at).filter(move |at| is_reference(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_are_renamed() {
        for (text, expected) in [
            ("", ""),
            ("$server_name", "$own"),
            ("\"${server_name}:$server_name\";", "\"${own}:$own\";"),
            ("$server_names $my_server_name ${server_name_x}", "$server_names $my_server_name ${server_name_x}"),
            ("server_name server_name;", "server_name server_name;"),
            ("{server_name} ${server_name $server_name}", "{server_name} ${server_name $own}"),
            (r"~ \$server_name$", r"~ \$server_name$"),
            ("é$server_nameé", "é$owné"),
        ] {
            assert_eq!(rename_variable(text, "server_name", "own"), expected, "{text}");
            assert_eq!(refers_to(text, "server_name"), text != expected, "{text}");
        }
    }
}
