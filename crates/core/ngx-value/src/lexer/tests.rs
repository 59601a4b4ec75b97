use proptest::prelude::*;

use super::*;

/// The tree in one line: words with `|` between them, `[...]` for a block, `<...>` for Lua.
fn show(directives: &[Directive]) -> String {
    let one = |directive: &Directive| {
        let words: Vec<&str> = directive.words.iter().map(|word| word.text.as_str()).collect();
        let body = match &directive.body {
            Body::None => String::new(),
            Body::Block(children) => format!("[{}]", show(children)),
            Body::Lua(source) => format!("<{source}>"),
        };
        format!("{}{body}", words.join("|"))
    };
    directives.iter().map(one).collect::<Vec<_>>().join(";")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    match parse(text) {
        Ok(directives) => assert_eq!(show(&directives), expected, "{text}"),
        Err(error) => panic!("{text}: {error}"),
    }
}

#[track_caller]
fn refuse(text: &str, expected: &str) {
    match parse(text) {
        Ok(directives) => panic!("{text}: accepted as {}", show(&directives)),
        Err(error) => assert_eq!(error.to_string(), expected, "{text}"),
    }
}

#[test]
fn directives_end_in_semicolons_and_blocks_nest() {
    check("", "");
    check(" \t\r\n", "");
    check("a;", "a");
    check("a b  c;d;", "a|b|c;d");
    check("if ($x = y) { return 403; } a;", "if|($x|=|y)[return|403];a");
    check("a{b{c;}}", "a[b[c]]");
    check("a {}", "a[]");
}

#[test]
fn quotes_count_only_at_the_beginning_of_a_word() {
    check(r#"a "b c;{}" 'd "e';"#, r#"a|b c;{}|d "e"#);
    check(r#"a b"c;"#, r#"a|b"c"#);
    check(r#"a "";"#, "a|");
    check(r#"a "b"{c;}"#, "a|b[c]");
    check(r#"if ($x = "y") {}"#, r"if|($x|=|y|)[]");
    check("a \"b\nc\";", "a|b\nc");
}

#[test]
fn a_backslash_takes_the_next_character_along() {
    check(r#"a "b\"c" 'd\'e' f\ g\;h\{;"#, r#"a|b"c|d'e|f\ g\;h\{"#);
    check(r#"a "\n\t\r\\n\x\$";"#, "a|\n\t\r\\n\\x\\$");
    check(r"a \;;", r"a|\;");
    check("a \\ä;", "a|\\ä");
}

#[test]
fn a_brace_behind_a_dollar_opens_no_block() {
    check("a ${b}c;", "a|${b}c");
    check("a x${b;", "a|x${b");
    check("a ${{b;", "a|${{b");
    check("a $b{c;}", "a|$b[c]");
    check("a b}c;", "a|b}c");
}

#[test]
fn comments_begin_only_where_a_word_could() {
    check("# a { ; }\nb;", "b");
    check("a # b;\nc;", "a|c");
    check("a b#c;", "a|b#c");
    check("a; # no line break at the end }", "a");
}

#[test]
fn a_block_of_lua_is_one_piece() {
    check("content_by_lua_block { ngx.say('}') }", "content_by_lua_block< ngx.say('}') >");
    check("access_by_lua_block{ local t = {a = {1}} -- }\n}a;", "access_by_lua_block< local t = {a = {1}} -- }\n>;a");
    check("set_by_lua_block $x { return [[ } ]] .. [==[ ]] } ]==] }", "set_by_lua_block|$x< return [[ } ]] .. [==[ ]] } ]==] >");
    check("a_by_lua_block { --[[ } ]] --[=[ }\n ]=] x = t[t[1]] }", "a_by_lua_block< --[[ } ]] --[=[ }\n ]=] x = t[t[1]] >");
    check(r#"a_by_lua_block { x = "\"}" .. '\'}' .. "\\" }"#, r#"a_by_lua_block< x = "\"}" .. '\'}' .. "\\" >"#);
    check("\"a_by_lua_block\" { '}' }", "a_by_lua_block< '}' >");
}

#[test]
fn unbalanced_and_unended_text_is_refused_with_its_line() {
    refuse("}", "line 1: \"}\" closes a block that was not opened here");
    refuse("a;\n} b {", "line 2: \"}\" closes a block that was not opened here");
    refuse("a { b; ", "line 1: the block of \"a\" is not closed by \"}\"");
    refuse("a;\nb c", "line 2: directive \"b\" is not ended by \";\"");
    refuse("a;\n\"b\"", "line 2: directive \"b\" is not ended by \";\"");
    refuse("a {\nb\n}", "line 3: directive \"b\" is not ended by \";\" before \"}\"");
    refuse(";", "line 1: \";\" where a directive was expected");
    refuse("a;;", "line 1: \";\" where a directive was expected");
    refuse("{a;}", "line 1: \"{\" where a directive was expected");
    refuse("a;\nb \"c;\n}", "line 2: a quoted word is not closed by \"");
    refuse("a 'b;", "line 1: a quoted word is not closed by '");
    refuse("a \"b\"c;", "line 1: 'c' directly after a closing quote, where a space, \";\" or \"{\" was expected");
    refuse("a \"b\"};", "line 1: '}' directly after a closing quote, where a space, \";\" or \"{\" was expected");
    refuse("a;\n\0", "line 2: a NUL character, which NGINX can't hold");
    refuse("a \\", "line 1: directive \"a\" is not ended by \";\"");
    refuse("a_by_lua_block { ", "line 1: the block of \"a_by_lua_block\" is not closed by \"}\"");
    refuse("a_by_lua_block {\n\n '} }", "line 3: a Lua string or comment is not closed, or a string holds a line break");
    refuse("a_by_lua_block { '\\\n' }", "line 1: a Lua string or comment is not closed, or a string holds a line break");
    refuse("a_by_lua_block { [[ } }", "line 1: a Lua string or comment is not closed, or a string holds a line break");
    refuse("a_by_lua_block { -- }", "line 1: the block of \"a_by_lua_block\" is not closed by \"}\"");
}

#[test]
fn the_limits_of_nginx_are_ours() {
    assert!(parse(&format!("a {};", "b".repeat(4090))).is_ok());
    refuse(&format!("a {};", "b".repeat(4091)), "line 1: a word or comment longer than the 4090 bytes that NGINX reads");
    refuse(&format!("a \"{}\";", "b".repeat(4091)), "line 1: a word or comment longer than the 4090 bytes that NGINX reads");
    refuse(&format!("a;\n#{}", "b".repeat(4090)), "line 2: a word or comment longer than the 4090 bytes that NGINX reads");
    assert!(parse(&format!("{}a;{}", "b{".repeat(32), "}".repeat(32))).is_ok());
    refuse(&format!("{}a;{}", "b{".repeat(33), "}".repeat(33)), "line 1: blocks nested more than 32 deep");
    assert!(parse(&format!("a_by_lua_block {{ '{}' }}", "x".repeat(1200))).is_ok());
    let torn = format!("a_by_lua_block {{ '{}' }}", "}".repeat(1400));
    refuse(&torn, "line 1: a Lua string or comment ends more than 1300 bytes after the one before it, which NGINX may misread");
    let far = format!("a_by_lua_block {{ {} '}}' }}", "x = 1 ".repeat(300));
    refuse(&far, "line 1: a Lua string or comment ends more than 1300 bytes after the one before it, which NGINX may misread");
}

#[test]
fn directives_know_their_line_name_arguments_and_children() {
    let directives = parse("\n# c\na \"b\" c {\n d;\n}").unwrap();
    let a = &directives[0];
    assert_eq!((a.line, a.name(), a.arguments().collect::<Vec<_>>(), a.words[1].quoted), (3, "a", vec!["b", "c"], true));
    assert_eq!((a.children()[0].name(), a.children()[0].line), ("d", 4));
}

proptest! {
    #[test]
    fn no_text_panics(text in r#"([a-z ;{}$#"'\\\n)(]|\[\[|\]\]|--|_by_lua_block|ä){0,40}"#) {
        let _ = parse(&text);
    }

    #[test]
    fn accepted_text_cannot_close_the_block_around_it(text in r#"([ab ;{}$#"'\\\n)]|_by_lua_block ){0,20}"#) {
        if let Ok(inner) = parse(&text) {
            let around = parse(&format!("outer {{\n{text}\n}}\nafter;")).map(|tree| show(&tree));
            prop_assert_eq!(around, Ok(format!("outer[{}];after", show(&inner))));
        }
    }
}
