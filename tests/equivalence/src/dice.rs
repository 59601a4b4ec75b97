//! Choices that a seed decides.

/// A stream of choices (splitmix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own, which what is taken from this one later does not change.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`, which is not 0.
    pub const fn roll(&mut self, sides: usize) -> usize {
        (self.next() >> 11) as usize % sides
    }

    /// True in so many cases of a hundred.
    pub const fn percent(&mut self, chance: usize) -> bool {
        self.roll(100) < chance
    }

    /// One of these.
    pub const fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }

    /// One of these, which can't be copied.
    pub const fn among<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.roll(all.len())]
    }
}
