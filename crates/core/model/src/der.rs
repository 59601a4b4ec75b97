//! As much of DER (X.690) as is read here: elements with a tag of one byte and a length of at most four.

/// `INTEGER`.
pub const INTEGER: u8 = 0x02;
/// `BIT STRING`.
pub const BIT_STRING: u8 = 0x03;
/// `OCTET STRING`.
pub const OCTET_STRING: u8 = 0x04;
/// `OBJECT IDENTIFIER`.
pub const OBJECT_IDENTIFIER: u8 = 0x06;
/// `SEQUENCE`.
pub const SEQUENCE: u8 = 0x30;

/// The first element of some bytes: its tag, its content, and what follows it. `None`: there is no whole one.
pub fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        let (digits, rest) = rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

/// The number of bits of an unsigned `INTEGER`.
pub fn bits(integer: &[u8]) -> usize {
    let digits = magnitude(integer);
    digits.first().map_or(0, |first| digits.len() * 8 - first.leading_zeros() as usize)
}

/// An unsigned `INTEGER` without zeros before it.
pub fn magnitude(integer: &[u8]) -> &[u8] {
    let zeros = integer.iter().take_while(|digit| **digit == 0).count();
    &integer[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_follow_each_other() {
        let bytes = [0x02, 0x01, 0x07, 0x04, 0x81, 0x01, 0xff, 0x05];
        let (tag, content, rest) = element(&bytes).unwrap();
        assert_eq!((tag, content), (INTEGER, &[7][..]));
        let (tag, content, rest) = element(rest).unwrap();
        assert_eq!((tag, content, rest), (OCTET_STRING, &[0xff][..], &[0x05][..]));
        for bytes in [&[][..], &[2], &[2, 2, 1], &[2, 0x80], &[2, 0x85, 0, 0, 0, 0, 0], &[2, 0x84, 0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(element(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn integers_have_bits() {
        assert_eq!([&[][..], &[0], &[1], &[0, 0x80], &[7, 0]].map(bits), [0, 0, 1, 8, 11]);
    }
}
