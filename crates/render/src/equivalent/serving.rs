//! Which locations a path means: those of the rule that has it, or the one that a request for it comes to.

use std::sync::Arc;

use model::HostRecord;
use ngx_value::PathRegex;

use super::location::{Kind, Match};

/// The locations of `all` that `path` means. Without a path: all of them.
pub(super) fn meant(all: Vec<Match>, record: &HostRecord, path: Option<&str>) -> Vec<Match> {
    let Some(path) = path else { return all };
    let rule = |index: Option<u32>| record.routes.get(index? as usize).map(|route| &*route.path);
    let of_rule = |found: &Match| *found.name == *path || rule(found.route) == Some(path);
    if all.iter().any(of_rule) {
        return all.into_iter().filter(of_rule).collect();
    }
    let serving = normalised(path).and_then(|uri| serving(&all, &uri));
    serving.and_then(|at| all.into_iter().nth(at)).into_iter().collect()
}

/// What the router does with a normalised path: the exact one, the first regex, the one that only a slash is missing to, the longest prefix.
fn serving(all: &[Match], uri: &str) -> Option<usize> {
    let of = |kind: Kind, fits: &dyn Fn(&Arc<str>) -> bool| all.iter().position(|found| found.kind == kind && fits(&found.name));
    let with_slash = format!("{uri}/");
    of(Kind::Exact, &|name| **name == *uri)
        .or_else(|| of(Kind::Regex, &|regex| regex.parse::<PathRegex>().is_ok_and(|regex| regex.is_match(uri))))
        .or_else(|| of(Kind::Prefix, &|name| **name == *with_slash))
        // The longest come first.
        .or_else(|| of(Kind::Prefix, &|name| uri.starts_with(&**name)))
}

/// As NGINX has it in `$uri`: without arguments, decoded, with single slashes and without segments of dots. `None`: no path, or one that leads out.
fn normalised(path: &str) -> Option<String> {
    let path = path.split(['?', '#']).next().filter(|path| path.starts_with('/'))?;
    let decoded = decoded(path);
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split('/').filter(|segment| !segment.is_empty() && *segment != ".") {
        if segment == ".." {
            segments.pop()?;
        } else {
            segments.push(segment);
        }
    }
    let ends_in_slash = ["/", "/.", "/.."].iter().any(|end| decoded.ends_with(end)) && !segments.is_empty();
    Some(format!("/{}{}", segments.join("/"), if ends_in_slash { "/" } else { "" }))
}

fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_as_nginx_does_it() {
        for (path, uri) in [
            ("/", "/"),
            ("/cart/5?x=/y", "/cart/5"),
            ("//cart///5/", "/cart/5/"),
            ("/a/./b/../c", "/a/c"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/%63art%2F5", "/cart/5"),
            ("/100%", "/100%"),
        ] {
            assert_eq!(normalised(path).as_deref(), Some(uri), "{path}");
        }
        for path in ["", "cart", "/..", "/a/../../b"] {
            assert_eq!(normalised(path), None, "{path}");
        }
    }
}
