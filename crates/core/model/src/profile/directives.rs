//! Directives that are one annotation and nothing else.

use ngx_value::{HttpVersion, Seconds, Size};
use settings::{Arguments, Config, Effective, Spec};

/// Declares them: documentation, field, type, the group of the annotation of that name in [`Spec`], where there is a key of that name its group in
/// [`Config`] behind `over`, and the name of the directive where it is another one.
macro_rules! directives {
    (
        $(#[doc = $outer:literal])+
        pub struct $struct:ident {
            $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $group:ident $(over $global:ident)? $(=> $directive:literal)?,)*
        }
    ) => {
        $(#[doc = $outer])+
        #[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
        pub struct $struct {
            $($(#[doc = $doc])+ pub $field: Option<$type>,)*
        }

        impl $struct {
            /// What the annotations of an Ingress ask for.
            pub(crate) fn of(spec: &Spec, config: &Config) -> Self {
                Self { $($field: directives!(@value spec config $field $group $($global)?),)* }
            }

            /// Names of settings and of directives, and their arguments: none where it is not set.
            fn rows(&self) -> Vec<(&'static str, &'static str, Vec<String>)> {
                vec![$((settings::setting_name!(stringify!($field)), directives!(@name $field $($directive)?), self.$field.arguments())),*]
            }
        }
    };

    (@value $spec:ident $config:ident $field:ident $group:ident) => { $spec.$group.$field };
    (@value $spec:ident $config:ident $field:ident $group:ident $global:ident) => {
        Effective::new(&$spec.$group.$field, &$config.$global.$field).differing().cloned()
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $directive:literal) => { $directive };
}

directives! {
    /// Directives of a location. A field that is `None` is inherited from the `http` block.
    pub struct Directives {
        /// Largest request body; 0 = unlimited. The Content-Length check itself is done in Lua, this one catches chunked bodies.
        proxy_body_size: Size = proxy over proxy => "client_max_body_size",
        /// Answers are buffered.
        proxy_buffering: bool = proxy over proxy,
        /// Request bodies are buffered.
        proxy_request_buffering: bool = proxy over proxy,
        /// Buffer for a request body.
        client_body_buffer_size: Size = limits over limits,
        /// Version of HTTP towards endpoints.
        proxy_http_version: HttpVersion = proxy over proxy,
        /// A request goes on although its client is gone.
        proxy_ignore_client_abort: bool = proxy,
        /// How long a request may go on to other endpoints; 0 = no limit.
        proxy_next_upstream_timeout: Seconds = proxy over proxy,
    }
}

impl Directives {
    /// Those that are set: name and arguments, in a fixed order.
    pub fn text(&self) -> impl Iterator<Item = (&'static str, Vec<String>)> {
        self.rows().into_iter().filter(|(_, _, arguments)| !arguments.is_empty()).map(|(_, name, arguments)| (name, arguments))
    }

    /// Every field as (setting name, value if set), in a fixed order.
    pub(super) fn parts(&self) -> Vec<(&'static str, Option<String>)> {
        let value = |arguments: Vec<String>| (!arguments.is_empty()).then(|| arguments.join(" "));
        self.rows().into_iter().map(|(name, _, arguments)| (name, value(arguments))).collect()
    }
}
