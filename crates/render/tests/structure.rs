//! No text in any field changes the structure of what is rendered, and every text reads back as it was.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use annotations::Config;
use model::live::{Cors, Redirects};
use model::{BackendRecord, Fixed, Globals, HostRecord, Live, Model, Policy, Route, Shell};
use ngx_value::lexer::{self, Body, Directive};
use proptest::prelude::*;
use render::{Capabilities, ConfFilter, RenderError};
use support::{globals, paths};

/// One text for each field; empty ones are plain.
type Texts = [String; 16];

/// A model with a text of its own in every field that holds one. Texts are between fixed letters, so that none changes what
/// the model means: a path that ends in a slash, two equal hosts.
fn model(texts: &Texts) -> Model {
    let text = |at: usize| -> Arc<str> { format!("a{at}{}z", texts[at]).into() };
    let path = |at: usize| -> Arc<str> { format!("/{}", text(at)).into() };
    let policy = Policy {
        upstream_vhost: Some(text(8)),
        force_ssl_redirect: Some(true),
        redirects: Some(Arc::new(Redirects {
            answer: Some((302, text(0))),
            relative_redirects: true,
            use_port_in_redirects: Some(true),
            ..Redirects::default()
        })),
        cors: Some(Arc::new(Cors { cors_allow_origin: Some(vec![text(1)]), headers: vec![("Access-Control-Max-Age".into(), text(2))] })),
        custom_headers: vec![("X-Custom".into(), text(3))],
        ..Policy::default()
    };
    let route = Route {
        namespace: text(0),
        ingress: text(1),
        service: text(2),
        port: text(3),
        path: path(4),
        backend: text(5),
        rewrite_target: Some(path(7)),
        x_forwarded_prefix: Some(path(4)),
        policy: Arc::new(policy),
        ..Route::default()
    };
    let routes = vec![Arc::new(route)];
    let plain = HostRecord {
        exact: BTreeMap::from([(path(9), 0), (format!("{}/", path(10)).into(), 0)]),
        prefix: BTreeMap::from([(format!("{}/", path(11)).into(), 0)]),
        app_root: Some(path(3)),
        routes: routes.clone(),
        ..HostRecord::default()
    };
    let regex = HostRecord { regex: vec![(format!("^{}", path(12)).into(), 0)], routes, ..HostRecord::default() };
    let host: Arc<str> = format!("h{}", text(13)).into();
    let wildcard: Arc<str> = format!("*.{}", text(14)).into();

    let mut live = Live::default();
    live.backends.insert(text(5), Arc::new(BackendRecord { name: text(15), ..BackendRecord::default() }));
    live.hosts.insert(host.clone(), Arc::new(plain));
    live.hosts.insert(wildcard.clone(), Arc::new(regex));
    live.hosts.insert("www.twin".into(), Arc::new(HostRecord { redirect_to: Some(text(13)), ..HostRecord::default() }));
    let globals = Globals { health_check_path: path(15).to_string(), ..(*globals(Config::default())).clone() };
    let mut fixed = Fixed { globals: Arc::new(globals), ..Fixed::default() };
    fixed.shells.insert(host, Arc::new(Shell { aliases: vec![text(14)], ..Shell::default() }));
    fixed.shells.insert(wildcard, Arc::new(Shell::default()));
    Model { fixed, live, ..Model::default() }
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

/// Both texts of a model; none if a text can't stand in a configuration at all.
fn texts(model: &Model) -> Option<[String; 2]> {
    let caps = Capabilities::assumed();
    let conf = render::conf(model, &caps, &paths(), ConfFilter::default());
    let set = render::render(&model.fixed, &caps, &paths());
    match (conf, set) {
        (Ok(conf), Ok(set)) => Some([conf, String::from_utf8(set.conf().to_owned()).unwrap()]),
        (Err(RenderError::Text { .. }), _) | (_, Err(RenderError::Text { .. })) => None,
        (conf, set) => panic!("{:?} {:?}", conf.err(), set.err()),
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

/// Any text, many with what has a meaning to NGINX, Lua or the templates.
fn any_text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
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
        "\t",
        " ",
        "{{ x }}",
        "{% if %}",
        "]]",
        "--",
        "*/",
        "$host",
        "${host}",
        "\"; }",
        "\\\"",
        "\u{1}",
        "é",
        "\u{2028}",
        "location",
        "_by_lua_block {",
        "~",
        "=",
        "^",
        "?",
        "&",
        "..",
        "*",
    ]);
    prop::collection::vec(prop_oneof![3 => special.prop_map(str::to_owned), 1 => any::<String>()], 0..5).prop_map(|parts| parts.concat())
}

/// What is rendered when every text is empty.
static PLAIN: OnceLock<[String; 2]> = OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_text_changes_the_structure(given in prop::array::uniform16(any_text())) {
        let plain = PLAIN.get_or_init(|| texts(&model(&Texts::default())).unwrap());
        let Some(other) = texts(&model(&given)) else { return Ok(()) };
        for (plain, other) in plain.iter().zip(&other) {
            let read = lexer::parse(other).map_err(|error| TestCaseError::fail(format!("{error}\n{other}")))?;
            prop_assert_eq!(shape(&lexer::parse(plain).unwrap()), shape(&read), "{}", other);
        }
    }

    #[test]
    fn texts_read_back_as_they_were(given in prop::array::uniform16(any_text())) {
        let model = model(&given);
        let Some([conf, _]) = texts(&model) else { return Ok(()) };
        let read = lexer::parse(&conf).unwrap();
        let (mut locations, mut sets) = (Vec::new(), Vec::new());
        arguments(&read, "location", &mut locations);
        arguments(&read, "set", &mut sets);
        for record in model.live.hosts.values().filter(|record| record.redirect_to.is_none()) {
            let route = &record.routes[0];
            for (path, kind) in record.exact.keys().map(|path| (path, Some("="))).chain(record.prefix.keys().map(|path| (path, None))).chain(record.regex.iter().map(|(regex, _)| (regex, Some("~*")))) {
                let wanted: Vec<String> = kind.map(str::to_owned).into_iter().chain([path.replace("${narthex_dollar}", "$")]).collect();
                prop_assert!(locations.contains(&wanted), "{:?} is not in {:?}", wanted, locations);
            }
            for (name, value) in [("$namespace", &route.namespace), ("$location_path", &route.path), ("$narthex_backend", &route.backend)] {
                let wanted = vec![name.to_owned(), value.replace("${narthex_dollar}", "$")];
                prop_assert!(sets.contains(&wanted), "{:?} is not in {:?}", wanted, sets);
            }
        }
    }
}
