//! Values of fields: their shape in JSON, and when they say nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use settings::LoadBalance;
use settings::groups::ConnectionHeader;

use super::Shape;
use crate::profile::ProfileId;

/// What a field can hold.
pub trait Value: Serialize {
    /// What it is like.
    const SHAPE: Shape;

    /// Whether it is left out where nothing else is said.
    fn is_absent(&self) -> bool;
}

macro_rules! value {
    ($($type:ty: $shape:expr, $absent:expr;)*) => {
        $(impl Value for $type {
            const SHAPE: Shape = $shape;

            fn is_absent(&self) -> bool {
                let absent: fn(&Self) -> bool = $absent;
                absent(self)
            }
        })*
    };
}

value! {
    bool: Shape::Boolean, |flag| !*flag;
    i32: Shape::Number, |number| *number == 0;
    u16: Shape::Number, |number| *number == 0;
    u32: Shape::Number, |number| *number == 0;
    u64: Shape::Number, |number| *number == 0;
    str: Shape::Text, str::is_empty;
    String: Shape::Text, |text| text.is_empty();
    ProfileId: Shape::Text, Self::is_default;
    LoadBalance: Shape::Text, |algorithm| *algorithm == Self::default();
    ConnectionHeader: Shape::Text, |_| false;
}

impl<T: Value + ?Sized> Value for &T {
    const SHAPE: Shape = T::SHAPE;

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<T: Value + ?Sized> Value for Arc<T> {
    const SHAPE: Shape = T::SHAPE;

    fn is_absent(&self) -> bool {
        (**self).is_absent()
    }
}

impl<T: Value> Value for Option<T> {
    const SHAPE: Shape = T::SHAPE;

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Value> Value for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<V: Value> Value for BTreeMap<Arc<str>, V> {
    const SHAPE: Shape = Shape::Map(&V::SHAPE);

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<A: Value, B: Value> Value for (A, B) {
    const SHAPE: Shape = Shape::Tuple(&[A::SHAPE, B::SHAPE], 2);

    fn is_absent(&self) -> bool {
        false
    }
}

impl<T: Value> Value for [T; 2] {
    const SHAPE: Shape = Shape::Tuple(&[T::SHAPE, T::SHAPE], 2);

    fn is_absent(&self) -> bool {
        false
    }
}
