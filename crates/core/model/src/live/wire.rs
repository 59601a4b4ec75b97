//! The declaration of records: each is declared once, with `record!`, from which come the struct, its JSON, what Lua checks it with
//! (`lua/narthex/state/wire.lua`) and its table in `docs/live-protocol.md`.
//!
//! The name of a field on the wire is its name in Rust; where it is the value of one annotation, it is the annotation's name. A field at its default
//! is left out.

mod lua;
mod sent;
mod value;

use serde::ser::SerializeMap;

pub use lua::{format, module};
pub(crate) use sent::{FromSettings, Sent};
pub use value::Value;

/// A kind of record, or a part of one.
#[derive(Debug)]
pub struct Declaration {
    /// Name of the Rust type.
    pub name: &'static str,
    /// Sentences about it, Markdown.
    pub doc: &'static str,
    /// In the order of the JSON. Those that are internal or flat are among them: [`Declaration::sent`] is what is on the wire.
    pub fields: &'static [Field],
}

/// A field of a record.
#[derive(Debug)]
pub struct Field {
    /// Name in Rust, in JSON and in Lua.
    pub name: &'static str,
    /// What values are like.
    pub shape: Shape,
    /// When it is there.
    pub presence: Presence,
    /// Sentences about it, Markdown.
    pub doc: &'static str,
}

/// When a field is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Unless it is false, 0, empty or absent.
    Optional,
    /// Unless it has this value, as JSON.
    UnlessDefault(&'static str),
    /// The same as `Optional`; it is about access: a worker that can't read it closes the locations.
    Protects,
    /// Always.
    Required,
    /// Its own fields stand in its place.
    Flat,
    /// Never.
    Internal,
}

/// What a value is like in JSON.
#[derive(Debug)]
pub enum Shape {
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A string.
    Text,
    /// A list of these, in this order. The last ones may be missing, from the second number on.
    Tuple(&'static [Shape], usize),
    /// A list of any length.
    List(&'static Shape),
    /// An object with any keys.
    Map(&'static Shape),
    /// An object with the fields that are declared.
    Record(&'static Declaration),
}

impl Declaration {
    /// The fields on the wire: those of flat fields in their place, without internal ones.
    pub fn sent(&'static self) -> Vec<&'static Field> {
        let of = |field: &'static Field| match (field.presence, &field.shape) {
            (Presence::Internal, _) => Vec::new(),
            (Presence::Flat, Shape::Record(inner)) => inner.sent(),
            _ => vec![field],
        };
        self.fields.iter().flat_map(of).collect()
    }

    /// Everything that it has in it, then itself. Each is there once, behind what it has in it.
    pub fn with_inner(&'static self) -> Vec<&'static Self> {
        let mut found: Vec<&'static Self> = Vec::new();
        for inner in self.sent().into_iter().filter_map(|field| field.shape.inner()).flat_map(Self::with_inner).chain([self]) {
            if !found.iter().any(|known| known.name == inner.name) {
                found.push(inner);
            }
        }
        found
    }
}

impl Shape {
    /// The declaration of what a value has in it.
    pub const fn inner(&self) -> Option<&'static Declaration> {
        match self {
            Self::Record(declaration) => Some(declaration),
            Self::List(of) | Self::Map(of) => of.inner(),
            Self::Boolean | Self::Number | Self::Text | Self::Tuple(..) => None,
        }
    }
}

/// What can be sent as an object, or as fields of one.
pub trait Record {
    /// Its fields.
    const DECLARATION: Declaration;

    /// Writes those that are sent.
    ///
    /// # Errors
    /// Those of the serializer.
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl<T: Record + ?Sized> Record for std::sync::Arc<T> {
    const DECLARATION: Declaration = T::DECLARATION;

    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        (**self).entries(map)
    }
}

/// Declares a record: a struct whose fields have, behind the type, when they are on the wire: nothing ([`Presence::Optional`]), `= <value>`, which is
/// the default too, `= protects`, `= required`, `= flat` or `= internal`.
///
/// A field that is one setting says which: `= (group)` is the annotation of the field's name, a field of that group in [`settings::Spec`], and
/// `= (group over group)` the same where it differs from the key of that name, a field of that group in [`settings::Config`].
/// [`FromSettings::of`] fills these.
macro_rules! record {
    (
        $(#[doc = $about:literal])*
        #[derive($($derive:ident),*)]
        $visible:vis struct $name:ident {
            $($(#[doc = $doc:literal])* $seen:vis $field:ident: $type:ty $(= $presence:tt)?,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive($($derive),*)]
        $visible struct $name {
            $($(#[doc = $doc])* $seen $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::live::wire::record!(@default $($presence)?),)* }
            }
        }

        impl $crate::live::wire::Record for $name {
            const DECLARATION: $crate::live::wire::Declaration = $crate::live::wire::Declaration {
                name: stringify!($name),
                doc: concat!($($about),*),
                fields: &[$($crate::live::wire::Field {
                    name: stringify!($field),
                    shape: $crate::live::wire::record!(@shape $type $(= $presence)?),
                    presence: $crate::live::wire::record!(@presence $($presence)?),
                    doc: concat!($($doc),*),
                }),*],
            };

            fn entries<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::live::wire::record!(@write self, map, $field $(= $presence)?);)*
                Ok(())
            }
        }

        impl $crate::live::wire::FromSettings for $name {
            #[allow(unused_variables, reason = "not every record has settings")]
            fn of(spec: &settings::Spec, config: &settings::Config) -> Self {
                Self { $($field: $crate::live::wire::record!(@settle spec, config, $field $($presence)?),)* }
            }
        }

        impl $crate::live::wire::Value for $name {
            const SHAPE: $crate::live::wire::Shape =
                $crate::live::wire::Shape::Record(&<$name as $crate::live::wire::Record>::DECLARATION);

            fn is_absent(&self) -> bool {
                false
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $crate::live::wire::Record::entries(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }
    };

    (@default) => { Default::default() };
    (@default protects) => { Default::default() };
    (@default required) => { Default::default() };
    (@default flat) => { Default::default() };
    (@default internal) => { Default::default() };
    (@default ($($from:tt)*)) => { Default::default() };
    (@default $value:tt) => { $value };

    (@settle $spec:ident, $config:ident, $field:ident ($group:ident)) => { $crate::live::wire::Sent::sent(&$spec.$group.$field) };
    (@settle $spec:ident, $config:ident, $field:ident ($group:ident over $global:ident)) => {
        settings::Effective::new(&$spec.$group.$field, &$config.$global.$field).differing().map($crate::live::wire::Sent::sent)
    };
    (@settle $spec:ident, $config:ident, $field:ident $($presence:tt)?) => { $crate::live::wire::record!(@default $($presence)?) };

    (@shape $type:ty = flat) => { $crate::live::wire::Shape::Record(&<$type as $crate::live::wire::Record>::DECLARATION) };
    (@shape $type:ty = internal) => { $crate::live::wire::Shape::Boolean };
    (@shape $type:ty $(= $presence:tt)?) => { <$type as $crate::live::wire::Value>::SHAPE };

    (@presence) => { $crate::live::wire::Presence::Optional };
    (@presence protects) => { $crate::live::wire::Presence::Protects };
    (@presence required) => { $crate::live::wire::Presence::Required };
    (@presence flat) => { $crate::live::wire::Presence::Flat };
    (@presence internal) => { $crate::live::wire::Presence::Internal };
    (@presence ($($from:tt)*)) => { $crate::live::wire::Presence::Optional };
    (@presence $value:tt) => { $crate::live::wire::Presence::UnlessDefault(stringify!($value)) };

    (@write $self:ident, $map:ident, $field:ident = flat) => { $crate::live::wire::Record::entries(&$self.$field, $map)? };
    (@write $self:ident, $map:ident, $field:ident = internal) => {};
    (@write $self:ident, $map:ident, $field:ident = required) => { $map.serialize_entry(stringify!($field), &$self.$field)? };
    (@write $self:ident, $map:ident, $field:ident = protects) => { $crate::live::wire::record!(@write $self, $map, $field) };
    (@write $self:ident, $map:ident, $field:ident = ($($from:tt)*)) => { $crate::live::wire::record!(@write $self, $map, $field) };
    (@write $self:ident, $map:ident, $field:ident) => {
        if !$crate::live::wire::Value::is_absent(&$self.$field) {
            $map.serialize_entry(stringify!($field), &$self.$field)?;
        }
    };
    (@write $self:ident, $map:ident, $field:ident = $value:tt) => {
        if $self.$field != $value {
            $map.serialize_entry(stringify!($field), &$self.$field)?;
        }
    };
}

pub(crate) use record;
