//! Texts of small alphabets: nothing in them means anything to NGINX, to a cookie or to a shell.

use std::borrow::Borrow;
use std::str::FromStr;

use crate::Invalid;
use crate::template::is_basic;
use crate::words::word;

/// The characters of a URL here: no `$`, `%`, `#`, `+`, no space.
pub(crate) const fn is_url(byte: u8) -> bool {
    is_basic(byte) || matches!(byte, b',' | b'?' | b'&' | b'=')
}

const MAX_BYTES: usize = 4000;

word! {
    /// Letters, digits, spaces and `- . _ ~ / :`; no space at the ends; at most 4000 bytes, not empty.
    BasicText,
    "letters, digits, spaces and - . _ ~ / :",
    |text| (1..=MAX_BYTES).contains(&text.len()) && text.trim() == text && text.bytes().all(|byte| is_basic(byte) || byte == b' ')
}

word! {
    /// The name of a cookie: letters, digits and `- . _ ~ / :`; at most 256 bytes, not empty.
    CookieName,
    "a cookie's name of letters, digits and - . _ ~ / :, at most 256",
    |text| (1..=256).contains(&text.len()) && text.bytes().all(is_basic)
}

word! {
    /// The `Domain` of a cookie: labels of letters, digits, `-` and `_` with dots between them, perhaps a dot before; at most 253 bytes.
    CookieDomain,
    "a domain such as example.com",
    |text| text.len() <= 253 && text.strip_prefix('.').unwrap_or(text).split('.').all(is_label)
}

word! {
    /// The `Path` of a cookie: letters, digits and `- . _ ~ / : , ? & =`; at most 4000 bytes, not empty.
    CookiePath,
    "a path of letters, digits and - . _ ~ / : , ? & =",
    |text| (1..=MAX_BYTES).contains(&text.len()) && text.bytes().all(is_url)
}

word! {
    /// The target of a redirect, `http(s)://` and so on or relative: letters, digits and `- . _ ~ / : , ? & =`; at most 4000 bytes, not empty.
    RedirectUrl,
    "a URL of letters, digits and - . _ ~ / : , ? & =, without variables",
    |text| (1..=MAX_BYTES).contains(&text.len()) && text.bytes().all(is_url)
}

impl RedirectUrl {
    /// `true` if it begins with `http://` or `https://`, in any letter case, and something follows.
    pub fn is_absolute(&self) -> bool {
        let follows = |scheme: &str| {
            self.0.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)) && self.0.len() > scheme.len()
        };
        follows("http://") || follows("https://")
    }
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::check;

    #[test]
    fn a_text_has_only_the_characters_of_its_alphabet() {
        check::<BasicText>(&["DoCanary", "a:b/c~d_e.f-g", "a b"], &["", " a", "a;", "a$", "a\n", "é", "a,b"]);
        check::<CookieName>(&["SERVERID", "hello-cookie", "a.b"], &["", "a=b", "a b", "a;b", &"a".repeat(257)]);
        check::<CookieDomain>(&["foo.bar", ".foo.bar", "localhost"], &["", ".", "a..b", "a/b", "a;b", "a b", "foo."]);
        check::<CookiePath>(&["/foo/bar", "/a?b=c,d&e"], &["", "/a;b", "/a b", "/a\"", "/a\n", "/(.*)"]);
        check::<RedirectUrl>(
            &["http://a.com/b?c=d&e", "/new", "a"],
            &["", "http://$host", "http://a.com/%20", "/a;b", "/a#b", "/a\r\nX: y"],
        );
    }

    #[test]
    fn an_absolute_url_has_a_scheme_of_the_web() {
        for (text, absolute) in
            [("http://a.com", true), ("HTTPS://a", true), ("/http://a", false), ("ftp://a", false), ("http://", false), ("http:", false)]
        {
            assert_eq!(text.parse::<RedirectUrl>().unwrap().is_absolute(), absolute, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_harmless_or_an_error(text in ".*") {
            let kept = [
                text.parse::<BasicText>().map(|value| value.to_string()),
                text.parse::<CookieName>().map(|value| value.to_string()),
                text.parse::<CookieDomain>().map(|value| value.to_string()),
                text.parse::<CookiePath>().map(|value| value.to_string()),
                text.parse::<RedirectUrl>().map(|value| value.to_string()),
            ];
            for value in kept.into_iter().flatten() {
                prop_assert!(!value.is_empty() && value.bytes().all(|byte| is_url(byte) || byte == b' '));
            }
        }
    }
}
