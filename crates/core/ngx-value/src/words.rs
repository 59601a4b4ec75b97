//! Small vocabularies: names, levels, protocols.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::quote::Text;

macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $expected:literal, |$text:ident| $valid:expr) => {
        $crate::newtype::newtype! {
            $(#[$doc])*
            $name
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str($text: &str) -> Result<Self, Invalid> {
                if $valid { Ok(Self($text.to_owned())) } else { Err(Invalid::new($expected)) }
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

pub(crate) use word;

word! {
    /// The name of a header: letters, digits, `-` and `_`, at most 256, not empty.
    HeaderName,
    "a header name of letters, digits, - and _",
    |text| (1..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

word! {
    /// A name of letters, digits and `_`, at most 64, not empty: a shared dictionary, a zone.
    Identifier,
    "a name of letters, digits and _",
    |text| (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

word! {
    /// One argument of a directive, as the administrator wrote it: a path, a list of ciphers. Not empty, without spaces and control characters.
    ///
    /// Print it with [`crate::quote()`].
    Word,
    "one word without spaces",
    |text| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control()) && Text::new(text).is_ok()
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $expected:literal, { $($(#[$variant_doc:meta])* $variant:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every choice, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word of NGINX.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(Invalid::new($expected)),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use choice;

choice! {
    /// The level of the error log.
    LogLevel, "debug, info, notice, warn, error, crit, alert or emerg", {
        /// Everything.
        Debug => "debug",
        /// Information.
        Info => "info",
        /// Normal but noteworthy.
        Notice => "notice",
        /// Suspicious.
        Warn => "warn",
        /// A request failed.
        Error => "error",
        /// Serious.
        Crit => "crit",
        /// At once.
        Alert => "alert",
        /// Unusable.
        Emerg => "emerg",
    }
}

choice! {
    /// A version of TLS.
    TlsProtocol, "TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3", {
        /// 1.0.
        V1 => "TLSv1",
        /// 1.1.
        V1_1 => "TLSv1.1",
        /// 1.2.
        V1_2 => "TLSv1.2",
        /// 1.3.
        V1_3 => "TLSv1.3",
    }
}

choice! {
    /// The version of HTTP towards backends.
    HttpVersion, "1.0 or 1.1", {
        /// Without keep-alive.
        V1_0 => "1.0",
        /// With keep-alive.
        V1_1 => "1.1",
    }
}

choice! {
    /// The condition for trying another endpoint.
    RetryCondition,
    "error, timeout, invalid_header, http_500, http_502, http_503, http_504, http_403, http_404, http_429, non_idempotent or off", {
        /// The connection, the sending or the reading failed.
        Error => "error",
        /// It took too long.
        Timeout => "timeout",
        /// An empty or broken answer.
        InvalidHeader => "invalid_header",
        /// Status 500.
        Http500 => "http_500",
        /// Status 502.
        Http502 => "http_502",
        /// Status 503.
        Http503 => "http_503",
        /// Status 504.
        Http504 => "http_504",
        /// Status 403.
        Http403 => "http_403",
        /// Status 404.
        Http404 => "http_404",
        /// Status 429.
        Http429 => "http_429",
        /// Also for requests that must not be sent twice (POST, LOCK, PATCH).
        NonIdempotent => "non_idempotent",
        /// Never.
        Off => "off",
    }
}

/// The conditions of `proxy_next_upstream`: at least one, in the order written, without duplicates, `non_idempotent` last.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NextUpstream(Vec<RetryCondition>);

impl NextUpstream {
    /// The conditions.
    pub fn conditions(&self) -> &[RetryCondition] {
        &self.0
    }

    /// The same, and `non_idempotent`.
    #[must_use]
    pub fn with_non_idempotent(&self) -> Self {
        Self::ordered(self.0.iter().copied().chain([RetryCondition::NonIdempotent]))
    }

    fn ordered(conditions: impl Iterator<Item = RetryCondition>) -> Self {
        let (mut last, mut seen) = (false, Vec::new());
        for condition in conditions {
            if condition == RetryCondition::NonIdempotent {
                last = true;
            } else if !seen.contains(&condition) {
                seen.push(condition);
            }
        }
        seen.extend(last.then_some(RetryCondition::NonIdempotent));
        Self(seen)
    }
}

impl FromStr for NextUpstream {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let conditions = text.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>()?;
        if conditions.is_empty() {
            return Err(Invalid::new("conditions such as error timeout http_502, separated by spaces"));
        }
        Ok(Self::ordered(conditions.into_iter()))
    }
}

impl fmt::Display for NextUpstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, condition) in self.0.iter().enumerate() {
            write!(f, "{}{condition}", if at == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::check;

    #[test]
    fn a_header_name_has_letters_digits_dashes_and_underscores() {
        check::<HeaderName>(&["X-Real-IP", "a_b", "1"], &["", "a b", "a:", "a\n", "é", "a.b"]);
    }

    #[test]
    fn an_identifier_has_letters_digits_and_underscores() {
        check::<Identifier>(&["configuration_data", "a1"], &["", "a-b", "a;b", "a b", " a"]);
    }

    #[test]
    fn a_word_has_no_spaces() {
        check::<Word>(
            &["/var/log/nginx/access.log", "syslog:server=[::1]:514", "A:B:!C", "a;b{}\"'"],
            &["", "a b", "a\nb", "\0", "a\u{a0}b"],
        );
    }

    #[test]
    fn vocabularies_are_case_sensitive() {
        check::<LogLevel>(&["debug", "notice", "emerg"], &["", "Debug", "warning", "notice "]);
        check::<TlsProtocol>(&["TLSv1", "TLSv1.3"], &["TLSv1.4", "tlsv1.2", "SSLv3"]);
        check::<HttpVersion>(&["1.0", "1.1"], &["1", "2", ""]);
    }

    #[test]
    fn retry_conditions_keep_their_order_with_non_idempotent_last() {
        check::<NextUpstream>(
            &["error timeout", "off", "http_502 error non_idempotent"],
            &["", " ", "error,timeout", "http_500http_502", "Error"],
        );
        let mixed: NextUpstream = " non_idempotent  error timeout error ".parse().unwrap();
        assert_eq!(mixed.to_string(), "error timeout non_idempotent");
        assert_eq!(mixed.with_non_idempotent(), mixed);
    }

    proptest! {
        #[test]
        fn printed_conditions_parse_back(picks in prop::collection::vec(prop::sample::select(RetryCondition::ALL), 1..15)) {
            let set = NextUpstream::ordered(picks.into_iter());
            prop_assert_eq!(set.to_string().parse(), Ok(set));
        }

        #[test]
        fn any_text_is_a_word_or_an_error(text in ".*") {
            if let Ok(word) = text.parse::<Word>() {
                prop_assert_eq!(word.to_string(), text);
            }
        }
    }
}
