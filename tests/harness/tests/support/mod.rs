//! Random text that is near to what has a meaning.
#![allow(dead_code, reason = "each test binary uses its part")]

pub(crate) mod settings;

use proptest::prelude::*;
use proptest::sample::select;

/// What has a meaning to NGINX, to Lua, to the templates, in YAML or in a log.
pub(crate) fn token() -> impl Strategy<Value = String> {
    let special = select(vec![
        "\"",
        "'",
        "\\",
        "$",
        "${",
        "{",
        "}",
        ";",
        "#",
        "\n",
        "\r",
        "\r\n",
        "\t",
        " ",
        "{{ x }}",
        "{% if %}",
        "]]",
        "--",
        "*/",
        "$host",
        "${host}",
        "$remote_addr",
        "\";",
        "\"; }",
        "\\\"",
        "\u{1}",
        "\u{2028}",
        "é",
        "location",
        "content_by_lua_block",
        "_by_lua_block {",
        "if (",
        ")",
        "~",
        "=",
        "^",
        "?",
        "&",
        "|",
        "..",
        "*",
        "/",
        ":",
        ",",
        "-",
        "%00",
        "%",
        "[::1]",
        "10.0.0.0/8",
        "http://",
        "https://",
        "a.example.com",
        "*.example.com",
        "0",
        "-1",
        "1m",
        "10k",
        "99999999999999999999",
        "on",
        "off",
        "GET",
        "(?i)",
        "(a+)+",
        "[a-z]",
    ]);
    prop_oneof![6 => special.prop_map(str::to_owned), 1 => "[a-z0-9.-]{1,8}", 1 => any::<String>()]
}

/// Some of them in a row, fewer than `most`.
pub(crate) fn tokens(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(token(), 0..most).prop_map(|parts| parts.concat())
}
