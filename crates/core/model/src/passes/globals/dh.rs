//! Parameters of key exchange with DHE.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::der::{INTEGER, SEQUENCE, bits, element};

const BEGIN: &str = "-----BEGIN DH PARAMETERS-----";
const END: &str = "-----END DH PARAMETERS-----";

/// Sizes of the prime. OpenSSL refuses smaller ones at the level of security that Debian builds it with, and NGINX the whole configuration then.
const BITS: std::ops::RangeInclusive<usize> = 2048..=10_000;

/// The block with the parameters, alone. The error says what is wrong with the text.
pub(super) fn parameters(text: &str) -> Result<String, String> {
    let inside = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(inside, _)| inside);
    let inside: String = inside.ok_or("has no PEM block DH PARAMETERS")?.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(&inside).map_err(|_| "is not base64 inside of its PEM block")?;
    let prime = prime(&bytes).ok_or("is not a prime and a generator in DER")?;
    if !BITS.contains(&bits(prime)) || prime.last().is_none_or(|last| last % 2 == 0) {
        return Err(format!("has a prime of {} bits; expected an odd one of {} to {}", bits(prime), BITS.start(), BITS.end()));
    }
    // Lines of 64, as PEM has them: NGINX reads no longer ones.
    let lines: Vec<&str> = inside.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    Ok(format!("{BEGIN}\n{}\n{END}\n", lines.join("\n")))
}

/// The prime of `SEQUENCE { prime INTEGER, generator INTEGER, length INTEGER OPTIONAL }` (PKCS #3).
fn prime(bytes: &[u8]) -> Option<&[u8]> {
    let (SEQUENCE, content, []) = element(bytes)? else { return None };
    let (INTEGER, prime, rest) = element(content)? else { return None };
    let (INTEGER, _, _) = element(rest)? else { return None };
    Some(prime)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The group ffdhe2048 of RFC 7919.
    const GOOD: &str = include_str!("dh/2048.pem");

    #[test]
    fn the_block_is_found_among_other_text() {
        let text = format!("    DH Parameters: (2048 bit)\n{}\nand more\n", GOOD.replace('\n', "\r\n"));
        assert_eq!(parameters(&text).as_deref(), Ok(GOOD));
    }

    #[test]
    fn what_is_no_parameters_is_refused() {
        let short = GOOD.lines().take(2).chain([END]).collect::<Vec<_>>().join("\n");
        for (text, expected) in [
            ("", "has no PEM block DH PARAMETERS"),
            ("-----BEGIN CERTIFICATE-----", "has no PEM block DH PARAMETERS"),
            (&format!("{BEGIN}\n?\n{END}"), "is not base64 inside of its PEM block"),
            (&short, "is not a prime and a generator in DER"),
            (&format!("{BEGIN}\nMAYCAQcCAQI=\n{END}"), "has a prime of 3 bits; expected an odd one of 2048 to 10000"),
        ] {
            assert_eq!(parameters(text), Err(expected.to_owned()), "{text}");
        }
    }
}
