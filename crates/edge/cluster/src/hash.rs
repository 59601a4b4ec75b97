//! FNV-1a, 64 bits: names of Events that are the same after a restart and on every replica. Not for anything that must resist an attacker.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Hashes the parts, kept distinct from each other.
pub(crate) fn fnv1a<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    parts
        .into_iter()
        .fold(OFFSET, |hash, part| part.bytes().chain([0xff]).fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    #[test]
    fn parts_are_told_apart() {
        assert_ne!(fnv1a(["ab", "c"]), fnv1a(["a", "bc"]));
        assert_eq!(fnv1a(["ab", "c"]), fnv1a(["ab", "c"]));
    }
}
