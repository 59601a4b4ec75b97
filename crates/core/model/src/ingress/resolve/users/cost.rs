//! What a password's hash costs to check. The tenant chooses the hash and a worker of all tenants pays, so only known costs are taken.

/// The largest cost of bcrypt: a quarter of a second.
const BCRYPT: u32 = 12;
/// The most rounds of SHA-crypt.
const ROUNDS: u32 = 100_000;

/// Whether the cost of a hash is known and bounded; what is expected otherwise.
pub(super) fn check(hash: &str) -> Result<(), String> {
    if ["{PLAIN}", "{SHA}", "{SSHA}", "$apr1$", "$1$", "$y$j9T$"].iter().any(|scheme| hash.starts_with(scheme)) {
        return Ok(());
    }
    if let Some(cost) = ["$2a$", "$2b$", "$2y$"].iter().find_map(|scheme| hash.strip_prefix(scheme)) {
        let cost = cost.split('$').next().unwrap_or_default();
        let known = cost.len() == 2 && is_digits(cost) && cost.parse().is_ok_and(|cost: u32| cost <= BCRYPT);
        return if known { Ok(()) } else { Err(format!("bcrypt with the cost {}, expected at most {BCRYPT}", shown(cost))) };
    }
    if let Some(rest) = ["$5$", "$6$"].iter().find_map(|scheme| hash.strip_prefix(scheme)) {
        let Some(rounds) = rest.strip_prefix("rounds=") else { return Ok(()) };
        let rounds = rounds.split('$').next().unwrap_or_default();
        let known = is_digits(rounds) && rounds.parse().is_ok_and(|rounds: u32| rounds <= ROUNDS);
        return if known { Ok(()) } else { Err(format!("SHA-crypt with {} rounds, expected at most {ROUNDS}", shown(rounds))) };
    }
    let is_des = hash.len() == 13 && hash.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/'));
    if is_des { Ok(()) } else { Err(EXPECTED.to_owned()) }
}

const EXPECTED: &str = "a hash of an unknown scheme, expected bcrypt, SHA-crypt ($5$, $6$), MD5 ($apr1$, $1$), yescrypt ($y$j9T$), DES, {SHA}, {SSHA} or {PLAIN}";

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A cost for a message. What is none may be a part of the hash, which belongs into none.
fn shown(text: &str) -> &str {
    if is_digits(text) && text.len() <= 10 { text } else { "?" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_up_to_the_bound_are_taken() {
        for hash in [
            "$2y$05$abc",
            "$2a$12$abc",
            "$2b$04$abc",
            "$6$salt$abc",
            "$5$rounds=100000$salt$abc",
            "$6$rounds=1000$salt$abc",
            "$apr1$8PPKKQlU$0VvnjOGJ3sEjQGOTbLVzE1",
            "$1$abc$def",
            "$y$j9T$abc$def",
            "ab0123456789.",
            "{PLAIN}x",
            "{SHA}x",
            "{SSHA}x",
        ] {
            assert_eq!(check(hash), Ok(()), "{hash}");
        }
    }

    #[test]
    fn costs_above_it_and_unknown_ones_are_refused() {
        for (hash, expected) in [
            ("$2y$13$abc", "bcrypt with the cost 13, expected at most 12"),
            ("$2y$99", "bcrypt with the cost 99"),
            ("$2y$5$abc", "bcrypt with the cost 5"),
            ("$2y$+5$abc", "bcrypt with the cost ?"),
            ("$6$rounds=100001$salt$abc", "SHA-crypt with 100001 rounds, expected at most 100000"),
            ("$5$rounds=20000000$", "SHA-crypt with 20000000 rounds"),
            ("$5$rounds=99999999999999$", "SHA-crypt with ? rounds"),
            ("$6$rounds=+1$a", "SHA-crypt with ? rounds"),
            ("$6$rounds=$a", "SHA-crypt with ? rounds"),
            ("$y$jFT$abc$def", "unknown scheme"),
            ("$7$CU..../....abc", "unknown scheme"),
            ("$sha1$99999999$a$b", "unknown scheme"),
            ("$md5,rounds=99999999$a$b", "unknown scheme"),
            ("_/...abcdefghijklmnop", "unknown scheme"),
            ("$9$x", "unknown scheme"),
            ("*", "unknown scheme"),
            ("secret", "unknown scheme"),
        ] {
            assert!(check(hash).is_err_and(|what| what.contains(expected)), "{hash}: {:?}", check(hash));
        }
    }
}
