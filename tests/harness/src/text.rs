//! Configuration text: read as NGINX reads it, and never out of its block.

use ngx_value::lexer::{self as reader, Body, Directive};
use ngx_value::{Snippet, Text, quote};

/// Reading never panics, and what was read prints to text that reads the same.
///
/// # Panics
/// It does not.
pub fn lexer(input: &[u8]) {
    let text = crate::text(input);
    let Ok(directives) = reader::parse(&text) else { return };
    let Some(printed) = print(&directives) else { return };
    let again = reader::parse(&printed).unwrap_or_else(|error| panic!("{text:?} prints as {printed:?}: {error}"));
    assert_eq!(shape(&again), shape(&directives), "{printed:?}");
}

/// A snippet that is taken stays in the block into which it is put.
///
/// # Panics
/// It ends the block, or changes what it reads as in there.
pub fn snippets(input: &[u8]) {
    let text = crate::text(input);
    let Ok(snippet) = Snippet::parse(&text) else { return };
    let inside = format!("before;\nlocation / {{\n{snippet}}}\nafter;\n");
    let read = reader::parse(&inside).unwrap_or_else(|error| panic!("{text:?} is taken, and breaks its block: {error}"));
    let [before, location, after] = read.as_slice() else { panic!("{text:?} leaves its block") };
    assert_eq!((before.name(), location.name(), after.name()), ("before", "location", "after"), "{text:?}");
    assert_eq!(shape(location.children()), shape(&snippet.directives()), "{text:?}");
}

/// The texts of directives, wherever they stand.
#[derive(Debug, PartialEq)]
struct Shape {
    words: Vec<String>,
    lua: Option<String>,
    block: Option<Vec<Shape>>,
}

fn shape(directives: &[Directive]) -> Vec<Shape> {
    let words = |directive: &Directive| directive.words.iter().map(|word| word.text.clone()).collect();
    let of = |directive: &Directive| match &directive.body {
        Body::None => Shape { words: words(directive), lua: None, block: None },
        Body::Block(children) => Shape { words: words(directive), lua: None, block: Some(shape(children)) },
        Body::Lua(source) => Shape { words: words(directive), lua: Some(source.trim().to_owned()), block: None },
    };
    directives.iter().map(of).collect()
}

/// The text of directives, each word in quotes but the names. None: a word is too long to be quoted.
fn print(directives: &[Directive]) -> Option<String> {
    let mut out = String::new();
    for directive in directives {
        for (at, word) in directive.words.iter().enumerate() {
            // The name of a block of Lua is known by its bare word.
            let bare = at == 0 && matches!(directive.body, Body::Lua(_));
            out.push_str(&if bare { word.text.clone() } else { quote(Text::new(&word.text).ok()?) });
            out.push(' ');
        }
        match &directive.body {
            Body::None => out.push_str(";\n"),
            Body::Block(children) => out.push_str(&format!("{{\n{}}}\n", print(children)?)),
            Body::Lua(source) => out.push_str(&format!("{{{source}}}\n")),
        }
    }
    Some(out)
}
