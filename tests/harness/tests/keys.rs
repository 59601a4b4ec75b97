//! No text in any key of the ConfigMap, or in a header that it names, brings a directive that the templates do not have. Snippets are text of the
//! administrator and left out.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use model::options::PemPair;
use model::{Fixed, GlobalHeaders, Globals, Listen};
use ngx_value::lexer::{self, Directive};
use proptest::prelude::*;
use proptest::sample::select;
use render::{Capabilities, Paths};
use settings::{CONFIG_KEYS, Config, ConfigEntry};
use support::tokens;

type Data = BTreeMap<String, String>;

/// Names of directives, each behind those of the blocks that it is in.
type Names = BTreeSet<String>;

fn keys() -> impl Iterator<Item = &'static ConfigEntry> {
    CONFIG_KEYS.iter().copied().filter(|entry| !entry.name.ends_with("-snippet"))
}

/// Every example at once, so that there is as much text as can be, and the key for each that switches it.
static EXAMPLES: LazyLock<Data> = LazyLock::new(|| keys().map(|entry| (entry.name.to_owned(), entry.example.to_owned())).collect());

fn conf(data: &Data, headers: &[(String, String)]) -> String {
    let (config, _) = Config::parse(data);
    let read = |(name, value): &(String, String)| Some((name.parse().ok()?, value.parse().ok()?));
    let list: Vec<_> = headers.iter().filter_map(read).collect();
    let globals = Globals {
        config,
        headers: GlobalHeaders { answer: list.clone(), request: list },
        health_check_path: "/healthz".into(),
        listen: Listen { http: 8080, https: 8443, passthrough: None, stream: 10247 },
        static_certificate: PemPair { chain: "CHAIN".into(), key: "KEY".into() },
        ..Globals::default()
    };
    let mut capabilities = Capabilities::assumed();
    let modules = [
        "ngx_http_modsecurity_module",
        "ngx_http_brotli_filter_module",
        "ngx_http_zstd_filter_module",
        "ngx_http_geoip2_module",
        "ngx_stream_module",
    ];
    capabilities.modules.extend(modules.map(str::to_owned));
    let fixed = Fixed { globals: Arc::new(globals), ..Fixed::default() };
    let set = render::render(&fixed, &capabilities, &Paths::new("/var/lib/narthex")).unwrap();
    String::from_utf8(set.conf().to_owned()).unwrap()
}

fn names(prefix: &str, directives: &[Directive], found: &mut Names) {
    for directive in directives {
        // The content of these is data: a key for a value.
        let is_data = ["map", "geo"].contains(&directive.name());
        let name = format!("{prefix}/{}", directive.name());
        if !is_data {
            names(&name, directive.children(), found);
        }
        found.insert(name);
    }
}

fn names_of(text: &str) -> Result<Names, String> {
    let mut found = Names::new();
    names("", &lexer::parse(text).map_err(|error| format!("{error}\n{text}"))?, &mut found);
    Ok(found)
}

/// All that templates have: with no key, with every example, and with each alone.
static TEMPLATES: LazyLock<Names> = LazyLock::new(|| {
    let header = [("X-Team".to_owned(), "red".to_owned())];
    let alone = keys().map(|entry| Data::from([(entry.name.to_owned(), entry.example.to_owned())]));
    let without = keys().map(|entry| {
        let mut data = EXAMPLES.clone();
        data.remove(entry.name);
        data
    });
    let all = [Data::new(), EXAMPLES.clone()].into_iter().chain(alone).chain(without);
    all.flat_map(|data| names_of(&conf(&data, &header)).unwrap()).collect()
});

/// Text near a value of a key: the example with something before, behind or in the middle of it, or anything.
fn value(entry: &'static ConfigEntry) -> impl Strategy<Value = String> {
    let example = entry.example;
    let middle = (0..=example.len()).rev().find(|at| *at <= example.len() / 2 && example.is_char_boundary(*at)).unwrap_or_default();
    prop_oneof![
        tokens(6),
        tokens(4).prop_map(move |text| format!("{example}{text}")),
        tokens(4).prop_map(move |text| format!("{text}{example}")),
        tokens(4).prop_map(move |text| format!("{}{text}{}", &example[..middle], &example[middle..])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_value_of_a_key_brings_a_directive(
        (entry, text) in select(keys().collect::<Vec<_>>()).prop_flat_map(|entry| (Just(entry), value(entry))),
        crowded: bool,
    ) {
        let mut data = if crowded { EXAMPLES.clone() } else { Data::new() };
        data.insert(entry.name.to_owned(), text.clone());
        let found = names_of(&conf(&data, &[])).map_err(TestCaseError::fail)?;
        let foreign: Vec<&String> = found.difference(&TEMPLATES).collect();
        prop_assert!(foreign.is_empty(), "{} = {text:?} brings {foreign:?}", entry.name);
    }

    #[test]
    fn no_header_of_a_configmap_brings_a_directive(name in tokens(3), text in tokens(6)) {
        let headers = [(name, text.clone()), ("X-Team".to_owned(), text)];
        let found = names_of(&conf(&Data::new(), &headers)).map_err(TestCaseError::fail)?;
        let foreign: Vec<&String> = found.difference(&TEMPLATES).collect();
        prop_assert!(foreign.is_empty(), "{headers:?} bring {foreign:?}");
    }
}
