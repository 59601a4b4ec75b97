//! Values: what one type takes is one word of NGINX's configuration, and reads back as it is shown.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use ngx_value::{
    BasicText, CacheRule, CacheRules, Cidr, CidrSet, CipherList, CookieDomain, CookieDomainReplacement, CookieName, CookiePath,
    CookiePathReplacement, ErrorStatus, Expression, FastcgiName, FastcgiValue, FirewallRules, HashKey, HeaderName, HeaderPattern,
    HeaderTemplate, HeaderValue, HostName, HttpVersion, Identifier, LocationName, LocationPart, LogLevel, LogParameter, Method,
    NextUpstream, Origin, PathRegex, Pattern, QueryName, Realm, RedirectTemplate, RedirectUrl, RewriteTarget, Seconds, ServiceName, Size,
    SpanName, SyslogHost, Template, Text, Time, TlsProtocol, TokenList, UrlTemplate, VhostTemplate, Word, lexer, quote, quote_text,
};

macro_rules! types {
    ($($name:ident)*) => { &[("FirewallRules", one_word::<FirewallRules>), $((stringify!($name), check::<$name>)),*] };
}

/// A name for messages, and the check.
type Check = (&'static str, fn(&str, &str));

const TYPES: &[Check] = types![
    BasicText CacheRule CacheRules Cidr CidrSet CipherList CookieDomain CookieDomainReplacement CookieName CookiePath CookiePathReplacement
    ErrorStatus Expression FastcgiName FastcgiValue HashKey HeaderName HeaderPattern HeaderTemplate HeaderValue HostName
    HttpVersion Identifier LocationName LocationPart LogLevel LogParameter Method NextUpstream Origin PathRegex Pattern QueryName Realm
    RedirectTemplate RedirectUrl RewriteTarget Seconds ServiceName Size SpanName SyslogHost Template Time TlsProtocol TokenList UrlTemplate
    VhostTemplate Word
];

/// The first byte chooses a type, the rest is the value.
///
/// # Panics
/// A value that its type takes does not read back as it is shown, or is more than one word when it is quoted.
pub fn values(input: &[u8]) {
    let Some((choice, value)) = input.split_first() else { return };
    let (name, check) = TYPES[usize::from(*choice) % TYPES.len()];
    check(name, &crate::text(value));
}

fn check<T: FromStr + Display>(name: &str, value: &str)
where
    T::Err: Debug,
{
    let Ok(read) = value.parse::<T>() else { return };
    let shown = read.to_string();
    let again = shown.parse::<T>().unwrap_or_else(|error| panic!("{name} {value:?} is shown as {shown:?}, which is none: {error:?}"));
    assert_eq!(again.to_string(), shown, "{name} {value:?}");
    one_word::<T>(name, value);
}

/// The part of it that is true of values that are shown otherwise than they are written, too.
fn one_word<T: FromStr + Display>(name: &str, value: &str) {
    let Ok(read) = value.parse::<T>() else { return };
    let shown = read.to_string();
    // A longer one can't be printed at all.
    let Ok(text) = Text::new(&shown) else { return };
    for quoted in [quote(text), quote_text(text)] {
        let directives =
            lexer::parse(&format!("d {quoted};\n")).unwrap_or_else(|error| panic!("{name} {value:?} prints as {quoted}: {error}"));
        let [directive] = directives.as_slice() else { panic!("{name} {value:?} prints as {quoted}, which ends the directive") };
        let words: Vec<String> = directive.arguments().map(|word| word.replace("${narthex_dollar}", "$")).collect();
        assert_eq!(words, [shown.replace("${narthex_dollar}", "$")], "{name} {value:?} prints as {quoted}");
        assert!(directive.children().is_empty(), "{name} {value:?} prints as {quoted}, which opens a block");
    }
}
