//! No text in any field changes the structure of what is rendered, and every text reads back as it was.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::sync::{Arc, OnceLock};

use model::options::PemPair;
use model::{Fixed, Globals, HostServer, Listen};
use ngx_value::lexer::{self, Body, Directive};
use proptest::prelude::*;
use render::{Capabilities, Paths, RenderError};
use support::tokens;

/// One text for each field; empty ones are plain.
type Texts = [String; 5];

/// A text of its own in every field that holds any. Texts are between fixed letters, so that none changes what is meant: two equal hosts.
fn fixed(texts: &Texts) -> Fixed {
    let text = |at: usize| -> Arc<str> { format!("a{at}{}z", texts[at]).into() };
    let globals = Globals {
        health_check_path: format!("/{}", text(0)),
        listen: Listen { http: 8080, https: 8443, passthrough: None, stream: 10247 },
        static_certificate: PemPair { chain: "CHAIN".into(), key: "KEY".into() },
        ..Globals::default()
    };
    let mut fixed = Fixed { globals: Arc::new(globals), ..Fixed::default() };
    fixed.host_servers.insert(format!("h{}", text(1)).into(), Arc::new(HostServer { aliases: vec![text(2)], ..HostServer::default() }));
    fixed.host_servers.insert(format!("*.{}", text(3)).into(), Arc::new(HostServer::default()));
    fixed.pinned_names = [text(4)].into_iter().collect();
    fixed
}

/// Name, number of words and content of every directive.
#[derive(Debug, PartialEq)]
enum Shape {
    Plain(String, usize),
    Block(String, usize, Vec<Shape>),
    Lua(String),
}

fn shape(directives: &[Directive]) -> Vec<Shape> {
    directives
        .iter()
        .map(|directive| match &directive.body {
            Body::None => Shape::Plain(directive.name().to_owned(), directive.words.len()),
            Body::Block(children) => Shape::Block(directive.name().to_owned(), directive.words.len(), shape(children)),
            Body::Lua(_) => Shape::Lua(directive.name().to_owned()),
        })
        .collect()
}

/// What is rendered; nothing if a text can't stand in a configuration at all.
fn rendered(fixed: &Fixed) -> Option<String> {
    match render::render(fixed, &Capabilities::assumed(), &Paths::new("/var/lib/narthex")) {
        Ok(set) => Some(String::from_utf8(set.conf().to_owned()).unwrap()),
        Err(RenderError::Text { .. }) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// Arguments of every directive of this name, anywhere, as NGINX sees them.
fn arguments(directives: &[Directive], name: &str, found: &mut Vec<Vec<String>>) {
    for directive in directives {
        if directive.name() == name {
            found.push(directive.arguments().map(|word| word.replace("${narthex_dollar}", "$")).collect());
        }
        arguments(directive.children(), name, found);
    }
}

/// What is rendered when every text is empty.
static PLAIN: OnceLock<Vec<Shape>> = OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_text_changes_the_structure(given in prop::array::uniform5(tokens(5))) {
        let plain = PLAIN.get_or_init(|| shape(&lexer::parse(&rendered(&fixed(&Texts::default())).unwrap()).unwrap()));
        let Some(other) = rendered(&fixed(&given)) else { return Ok(()) };
        let read = lexer::parse(&other).map_err(|error| TestCaseError::fail(format!("{error}\n{other}")))?;
        prop_assert_eq!(plain, &shape(&read), "{}", other);
    }

    #[test]
    fn names_read_back_as_they_were(given in prop::array::uniform5(tokens(5))) {
        let fixed = fixed(&given);
        let Some(conf) = rendered(&fixed) else { return Ok(()) };
        let mut names = Vec::new();
        arguments(&lexer::parse(&conf).unwrap(), "server_name", &mut names);
        let names: Vec<String> = names.concat();
        let hosts = fixed.host_servers.keys().filter(|host| !host.starts_with('*'));
        for name in hosts.chain(fixed.host_servers.values().flat_map(|host_server| &host_server.aliases)).chain(&fixed.pinned_names) {
            prop_assert!(names.contains(&name.replace("${narthex_dollar}", "$")), "{:?} is not in {:?}", name, names);
        }
    }
}
