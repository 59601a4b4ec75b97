//! What the annotations of an Ingress and the ConfigMap amount to together.

/// A setting of one Ingress: its annotation, over the key of the ConfigMap, which has a default.
#[derive(Debug)]
pub struct Effective<'a, T> {
    own: Option<&'a T>,
    global: &'a T,
}

impl<'a, T: PartialEq> Effective<'a, T> {
    /// Of the two fields.
    pub const fn new(own: &'a Option<T>, global: &'a T) -> Self {
        Self { own: own.as_ref(), global }
    }

    /// The value that applies.
    pub fn value(&self) -> &'a T {
        self.own.unwrap_or(self.global)
    }

    /// The value where it is not the global one: what has equal values shares records and profiles, and needs none for the global ones.
    pub fn differing(&self) -> Option<&'a T> {
        self.own.filter(|own| *own != self.global)
    }
}
