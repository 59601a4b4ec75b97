//! No text in any key of the ConfigMap, or in a header that it names, changes a line that is not the key's own: the tree of directives stays that of the
//! templates. Snippets are text of the administrator and left out.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::LazyLock;

use ngx_value::lexer::{self, Body, Directive};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use render::{Capabilities, Paths};
use support::settings::{Data, Input, examples, headers, keys, setting};

/// Names of directives, each behind those of the blocks that it is in.
type Names = BTreeSet<String>;

/// How often each line stands in the text, by its name.
type Lines = BTreeMap<String, BTreeMap<String, usize>>;

static CAPABILITIES: LazyLock<Capabilities> = LazyLock::new(Capabilities::complete);

fn lines(input: &Input) -> Result<Lines, String> {
    let set = input.render(&CAPABILITIES, &Paths::new("/var/lib/narthex"))?;
    let text = String::from_utf8_lossy(set.conf());
    let mut found = Lines::new();
    collect("", &lexer::parse(&text).map_err(|error| format!("{error}\n{text}"))?, &set.revision, &mut found);
    Ok(found)
}

fn collect(prefix: &str, directives: &[Directive], revision: &str, found: &mut Lines) {
    for directive in directives {
        // The content of these is data: a key for a value.
        let is_data = ["/http/map", "/http/geo", "/stream/map"].contains(&prefix);
        let name = if is_data { format!("{prefix}/...") } else { format!("{prefix}/{}", directive.name()) };
        let mut words: Vec<String> = directive.words.iter().map(|word| word.text.clone()).collect();
        match &directive.body {
            Body::Block(children) => collect(&name, children, revision, found),
            // The revision is that of all lines. Long texts are in pieces.
            Body::Lua(source) => words.push(source.replace("\",\n\"", "").replace(revision, "REVISION")),
            Body::None => {}
        }
        *found.entry(name).or_default().entry(words.join(" ")).or_default() += 1;
    }
}

/// The names of lines that one text has and the other has not, or not as often.
fn changed(one: &Lines, other: &Lines) -> Names {
    let names: Names = one.keys().chain(other.keys()).cloned().collect();
    names.into_iter().filter(|name| one.get(name) != other.get(name)).collect()
}

/// Texts without braces, semicolons, quotes or comments. The last is longer than an entry of a hash table of NGINX by default.
const HARMLESS: &[&str] = &[
    "",
    "0",
    "1",
    "64",
    "1g",
    "true",
    "false",
    "off",
    "a",
    "x",
    "~x",
    "10.0.0.1",
    "$host",
    "$server_name",
    "/x ngx.var",
    "TLSv1.2",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

/// With no key; with every example, so that there is as much text as can be; and with those that switch nothing off.
static BASES: LazyLock<[(Data, Lines); 3]> = LazyLock::new(|| {
    let on = examples().into_iter().filter(|(name, _)| !name.starts_with("disable-")).collect();
    [Data::new(), examples(), on].map(|data| (data.clone(), lines(&Input { data, ..Input::default() }).unwrap()))
});

/// What is left of these names without those of lines that these keys have a say in.
fn without_own(mut names: Names, owners: &[&'static str]) -> Names {
    let example = |key: &str| keys().find(|entry| entry.name == key).map(|entry| entry.example);
    let examples: Vec<_> = owners.iter().filter_map(|key| Some((*key, example(key)?))).collect();
    let harmless = HARMLESS.iter().flat_map(|text| owners.iter().map(move |key| (*key, *text)));
    // The examples alone explain most.
    for (key, text) in examples.into_iter().chain(harmless) {
        for at in 0..BASES.len() {
            if names.is_empty() {
                return names;
            }
            names.retain(|name| !owned(key, text, at).contains(name));
        }
    }
    names
}

/// By key, text and base.
type KnownNames = BTreeMap<(&'static str, &'static str, usize), Rc<Names>>;

/// The names of the lines that change where a key gets a text.
fn owned(key: &'static str, text: &'static str, at: usize) -> Rc<Names> {
    thread_local! {
        static KNOWN: RefCell<KnownNames> = const { RefCell::new(KnownNames::new()) };
    }
    if let Some(names) = KNOWN.with_borrow(|known| known.get(&(key, text, at)).cloned()) {
        return names;
    }
    let (data, base) = &BASES[at];
    let data = data.iter().map(|(name, text)| (name.clone(), text.clone())).chain([(key.to_owned(), text.to_owned())]).collect();
    let names = Rc::new(changed(base, &lines(&Input { data, ..Input::default() }).unwrap()));
    KNOWN.with_borrow_mut(|known| known.insert((key, text, at), names.clone()));
    names
}

/// The names of the lines that headers have a say in.
static OF_HEADERS: LazyLock<Names> = LazyLock::new(|| {
    let (name, long) = ("X-Team".to_owned(), format!("X-{}", "a".repeat(100)));
    let lists = ["red", "/x ngx.var $ssl_cipher", "$server_name"]
        .map(|value| Data::from([(name.clone(), value.to_owned()), (long.clone(), value.to_owned())]));
    let with = |data: &Data, headers: &Data| lines(&Input { data: data.clone(), headers: [headers.clone(), headers.clone()] }).unwrap();
    BASES.iter().flat_map(|(data, base)| lists.iter().flat_map(|list| changed(base, &with(data, list))).collect::<Vec<_>>()).collect()
});

/// Runs a property on so many cases; 20 times as many with `NARTHEX_SOAK`.
fn run<T: std::fmt::Debug>(cases: u32, input: impl Strategy<Value = T>, property: impl Fn(T) -> Result<(), TestCaseError>) {
    let cases = if std::env::var_os("NARTHEX_SOAK").is_some() { cases * 20 } else { cases };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&input, property).unwrap_or_else(|error| panic!("{error}"));
}

/// The names of the lines of an input that a base does not have, or not as often.
fn changes(base: &Lines, input: &Input) -> Result<Names, TestCaseError> {
    lines(input).map(|found| changed(base, &found)).map_err(TestCaseError::fail)
}

#[test]
fn a_text_in_a_key_changes_the_lines_of_that_key_alone() {
    run(250, (setting(), any::<bool>()), |((entry, text), crowded)| {
        let (data, base) = &BASES[usize::from(crowded)];
        let mut input = Input { data: data.clone(), ..Input::default() };
        input.data.insert(entry.name.to_owned(), text);
        let foreign = without_own(changes(base, &input)?, &[entry.name]);
        prop_assert!(foreign.is_empty(), "{:?} changes {:?}", input.data.get(entry.name), foreign);
        Ok(())
    });
}

#[test]
fn texts_in_several_keys_change_the_lines_of_these_alone() {
    run(40, prop::collection::vec(setting(), 2..8), |settings| {
        let data: Data = settings.iter().map(|(entry, text)| (entry.name.to_owned(), text.clone())).collect();
        let owners: Vec<_> = settings.iter().map(|(entry, _)| entry.name).collect();
        let foreign = without_own(changes(&BASES[0].1, &Input { data: data.clone(), ..Input::default() })?, &owners);
        prop_assert!(foreign.is_empty(), "{data:?} changes {foreign:?}");
        Ok(())
    });
}

#[test]
fn a_text_in_a_header_of_a_configmap_changes_the_lines_of_headers_alone() {
    run(100, (headers(), headers(), any::<bool>()), |(answer, request, crowded)| {
        let (data, base) = &BASES[usize::from(crowded)];
        let input = Input { data: data.clone(), headers: [answer, request] };
        let foreign: Names = changes(base, &input)?.difference(&OF_HEADERS).cloned().collect();
        prop_assert!(foreign.is_empty(), "{:?} changes {:?}", input.headers, foreign);
        Ok(())
    });
}

/// What the properties rest on: a line of another key is seen.
#[test]
fn a_line_of_another_key_is_seen() {
    let data = Data::from([("keep-alive".to_owned(), "5".to_owned())]);
    let found = changes(&BASES[0].1, &Input { data, ..Input::default() }).unwrap();
    assert!(!found.is_empty() && without_own(found.clone(), &["keep-alive"]).is_empty());
    assert_eq!(without_own(found.clone(), &["ssl-ciphers"]), found);
}
