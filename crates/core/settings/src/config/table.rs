//! How the keys of the ConfigMap are written down.

/// Defines a struct of settings, its defaults and its keys from one list: documentation, field, type, default, grammar, another value as an example,
/// what a change invalidates; then, where it is so, the directive of the `http` block that has the value (`=> "name"`), and that the
/// predecessor does not have the key (`since Narthex`), or why its example changes nothing that is built (`inert "..."`).
///
/// `topics` are further fields that a file of their own defines; `in` says in which field of [`super::Config`] such a struct lies, or `all`.
macro_rules! settings {
    (
        $(#[doc = $outer:literal])+ $struct:ident in $place:tt;
        $(topics { $($(#[doc = $topic_doc:literal])+ $topic_field:ident: $topic_type:ty,)* })?
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr, $grammar:expr, $example:literal, [$($part:ident),*]
            $(=> $directive:literal)? $(since $since:ident)? $(inert $inert:literal)?;)*
    ) => {
        $(#[doc = $outer])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $struct {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[doc = $topic_doc])+ pub $topic_field: $topic_type,)*)?
        }

        impl Default for $struct {
            fn default() -> Self {
                Self { $($field: $default,)* $($($topic_field: Default::default(),)*)? }
            }
        }

        /// The keys, grouped by subject.
        pub(crate) static KEYS: &[$crate::config::ConfigEntry] = &[$({
            const GRAMMAR: $crate::config::grammar::Grammar<$type> = $grammar;
            $crate::config::ConfigEntry {
                name: $crate::setting_name!(stringify!($field)),
                value: GRAMMAR.value,
                doc: concat!($($doc),+),
                example: $example,
                invalidates: &[$($crate::config::Derived::$part),*],
                directive: $crate::config::table::directive!($place $field $($directive)?),
                since: $crate::config::table::since!($($since)?),
                inert: $crate::config::table::inert!($($inert)?),
                set: |config, text, notes| {
                    $crate::config::table::place!(config, $place).$field = (GRAMMAR.read)(text, notes)?;
                    Ok(())
                },
                get: |config| (GRAMMAR.print)(&$crate::config::table::place!(config, $place).$field),
                same: |one, other| $crate::config::table::place!(one, $place).$field == $crate::config::table::place!(other, $place).$field,
            }
        }),*];
    };
}

/// The struct of settings that lies in a field of a configuration, or the whole.
macro_rules! place {
    ($config:ident, all) => {
        $config
    };
    ($config:ident, $topic:tt) => {
        $config.$topic
    };
}

/// The directive of the `http` block that has the value of a key.
macro_rules! directive {
    ($place:tt $field:ident) => {
        None
    };
    ($place:tt $field:ident $name:literal) => {
        Some($crate::config::Directive {
            name: $name,
            arguments: |config| $crate::arguments::Arguments::arguments(&$crate::config::table::place!(config, $place).$field),
        })
    };
}

/// Which controller had a key first.
macro_rules! since {
    () => {
        $crate::table::Since::IngressNginx
    };
    ($since:ident) => {
        $crate::table::Since::$since
    };
}

/// Why a key changes nothing that is built.
macro_rules! inert {
    () => {
        None
    };
    ($why:literal) => {
        Some($why)
    };
}

pub(crate) use {directive, inert, place, settings, since};

/// Reads a default that is written as text.
pub(crate) fn default<T: std::str::FromStr<Err = ngx_value::Invalid>>(text: &str) -> T {
    text.parse().expect("a default in the table is a valid value")
}
