//! The one name of a setting: with dashes in text, with underscores in code.

/// The name of the setting that a field is.
#[macro_export]
macro_rules! setting_name {
    ($field:expr) => {{
        const BYTES: [u8; $field.len()] = $crate::dashes($field);
        match std::str::from_utf8(&BYTES) {
            Ok(name) => name,
            Err(_) => unreachable!(),
        }
    }};
}

/// The bytes of a field's name, with dashes. For [`setting_name!`].
pub const fn dashes<const LENGTH: usize>(field: &str) -> [u8; LENGTH] {
    let (mut name, mut at) = ([0; LENGTH], 0);
    while at < LENGTH {
        let byte = field.as_bytes()[at];
        name[at] = if byte == b'_' { b'-' } else { byte };
        at += 1;
    }
    name
}
