//! What a tenant writes is a value, never syntax: whatever stands in an annotation, a path, a host, or an object that an annotation names,
//! what is rendered keeps its structure, and NGINX accepts it.
//!
//! Every value is an example of its annotation, as it is, or broken up by a piece that would begin a directive called `evil` if it ever
//! became syntax. The text is read with our lexer: no directive has that name, and no Lua block the word. Snippets are left out: they are
//! syntax, behind a risk level, with tests of their own.
//!
//! The seed is fixed; `NARTHEX_EQUIVALENCE_SEED` sets another.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::BTreeMap;
use std::sync::Arc;

use equivalence::{Dice, rules};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::networking::v1::Ingress;
use model::{Builder, Model, ObjectKey, Snapshot, references};
use nginx::{Options, Supervisor};
use ngx_value::lexer::{self, Body, Directive};
use render::{Capabilities, Paths};
use settings::ANNOTATIONS;
use testkit::kube::{PathType, mk_ingress, mk_service, mk_slice};
use testkit::ports::Ports;

const NAMESPACE: &str = "tenant";
const ROUNDS: usize = 30;
const INGRESSES: usize = 25;
const ANNOTATIONS_EACH: usize = 8;

/// Pieces that end a word, a directive or a block in some context, and begin another.
const PIECES: [&str; 24] = [
    "; evil on;",
    "\"; evil on; #",
    "'; evil on; #",
    "}\nevil { }\n{",
    "\nevil on;\n",
    "\r\nevil on;",
    "\\\"; evil on;",
    "\\'; evil on;",
    "\\",
    "${evil",
    "$evil;",
    "$",
    "{{ evil }}",
    "{% evil %}",
    "]]; evil() --",
    "]==] evil() --",
    "\"; evil() --",
    "# evil",
    "*/ evil;",
    "\u{0}evil",
    "\u{2028}evil on;",
    "\tevil on;",
    "%0aevil on;",
    "(?<evil>.*)",
];

/// A good value with a bad piece somewhere, or only the piece.
fn broken(good: &str, dice: &mut Dice) -> String {
    let piece = dice.of(&PIECES);
    if dice.percent(20) {
        return piece.to_owned();
    }
    let at: Vec<usize> = good.char_indices().map(|(at, _)| at).chain([good.len()]).collect();
    let at = dice.of(&at);
    format!("{}{piece}{}", &good[..at], &good[at..])
}

fn maybe_broken(good: &str, dice: &mut Dice) -> String {
    if dice.percent(40) { broken(good, dice) } else { good.to_owned() }
}

fn ingress(number: usize, dice: &mut Dice) -> Ingress {
    let host = maybe_broken(&format!("h{}.example.com", dice.roll(6)), dice);
    let path = maybe_broken(&format!("/p{}", dice.roll(4)), dice);
    let kind = dice.of(&[PathType::Exact, PathType::Prefix, PathType::ImplementationSpecific]);
    let mut ingress = mk_ingress(&format!("i{number}")).class("nginx").host(&host).path(&path, kind, "web", 80).tls(&host, "pair");
    for _ in 0..dice.roll(ANNOTATIONS_EACH) {
        let entry = dice.among(&ANNOTATIONS);
        if !entry.name.ends_with("-snippet") {
            let key = format!("nginx.ingress.kubernetes.io/{}", entry.name);
            ingress = ingress.annotation(&key, &maybe_broken(entry.example, dice));
            for (name, value) in entry.companions {
                ingress = ingress.annotation(&format!("nginx.ingress.kubernetes.io/{name}"), value);
            }
        }
    }
    let mut ingress = ingress.build();
    ingress.metadata.namespace = Some(NAMESPACE.into());
    ingress
}

/// Contents of Secrets and ConfigMaps in a form that could be expected.
struct Contents {
    chain: String,
    key: String,
}

impl Contents {
    fn secret(&self, dice: &mut Dice) -> Secret {
        let users = maybe_broken("user:$apr1$8PPKKQlU$0VvnjOGJ3sEjQGOTbLVzE1\n", dice);
        let mut data = BTreeMap::from([
            ("auth".to_owned(), users),
            ("tls.crt".to_owned(), self.chain.clone()),
            ("tls.key".to_owned(), self.key.clone()),
            ("ca.crt".to_owned(), maybe_broken(&self.chain, dice)),
        ]);
        data.insert(maybe_broken("user", dice), maybe_broken("$apr1$8PPKKQlU$0VvnjOGJ3sEjQGOTbLVzE1", dice));
        let data = data.into_iter().map(|(key, value)| (key, ByteString(value.into_bytes()))).collect();
        Secret { data: Some(data), ..Secret::default() }
    }
}

fn config_map(dice: &mut Dice) -> ConfigMap {
    let data = [("X-One", "one"), ("X-Two", "$remote_addr"), ("SCRIPT_FILENAME", "/srv/index.php")];
    let data = data.map(|(key, value)| (maybe_broken(key, dice), maybe_broken(value, dice)));
    ConfigMap { data: Some(data.into()), ..ConfigMap::default() }
}

fn snapshot(contents: &Contents, dice: &mut Dice) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let settings = [
        ("annotations-risk-level", "Critical"),
        ("allow-cross-namespace-resources", "true"),
        ("global-allowed-response-headers", "X-One,X-Two"),
        ("worker-processes", "1"),
        ("error-log-level", "crit"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let settings = ConfigMap { data: Some(settings), ..ConfigMap::default() };
    snapshot.config_maps.insert(ObjectKey::new(rules::NAMESPACE, "settings"), Arc::new(settings));
    for number in 0..INGRESSES {
        let (name, ingress) = (ObjectKey::new(NAMESPACE, format!("i{number}")), model::Ingress::from(ingress(number, dice)));
        for key in references::secrets_of(&name, &ingress) {
            snapshot.secrets.insert(key, Arc::new(contents.secret(dice)));
        }
        for key in references::config_maps_of(&name, &ingress) {
            snapshot.config_maps.insert(key, Arc::new(config_map(dice)));
        }
        snapshot.ingresses.insert(name, Arc::new(ingress));
    }
    snapshot.services.insert(ObjectKey::new(NAMESPACE, "web"), Arc::new(mk_service("web", 80, 8080, None).into()));
    let slice = mk_slice("web", "web", &["10.0.0.1:8080".parse().unwrap()]);
    snapshot.endpoint_slices.insert(ObjectKey::new(NAMESPACE, "web"), Arc::new(slice.into()));
    snapshot
}

/// What in a text is a tenant's and yet syntax.
fn evil(directives: &[Directive], found: &mut Vec<String>) {
    for directive in directives {
        if directive.name().contains("evil") {
            found.push(directive.name().to_owned());
        }
        match &directive.body {
            Body::Lua(code) if code.contains("evil") => found.push(code.to_string()),
            _ => evil(directive.children(), found),
        }
    }
}

fn check(what: &str, text: &str) {
    let directives = lexer::parse(text).unwrap_or_else(|error| panic!("{what}: {error}\n{text}"));
    let mut found = Vec::new();
    evil(&directives, &mut found);
    assert!(found.is_empty(), "{what}: {found:?} became syntax:\n{text}");
}

/// Checks the text of a model, and that NGINX accepts it.
async fn accepted(what: &str, model: &Model, caps: &Capabilities, paths: &Paths, supervisor: &mut Supervisor) {
    let set = render::render(&model.fixed, caps, paths).unwrap_or_else(|error| panic!("{what}: {error}"));
    check(what, std::str::from_utf8(set.conf()).unwrap());
    supervisor
        .test(&set, supervisor.patience())
        .await
        .unwrap_or_else(|error| panic!("{what}: {error}\n{}", String::from_utf8_lossy(set.conf())));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_tenant_writes_becomes_syntax() {
    let seed = std::env::var("NARTHEX_EQUIVALENCE_SEED").map_or(1, |text| text.parse().expect("the seed is a number"));
    let mut dice = Dice::new(seed);
    let ports = Ports::take(2).unwrap();
    let caps = nginx::detect(None).await.expect("this test needs a real NGINX");
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::new(dir.path());
    let mut supervisor = Supervisor::open(Options::new(nginx::find_binary(None).unwrap(), paths.clone())).await.unwrap();
    let pair = rcgen::generate_simple_self_signed(["h1.example.com".to_owned()]).unwrap();
    let contents = Contents { chain: pair.cert.pem(), key: pair.signing_key.serialize_pem() };
    for round in 0..ROUNDS {
        let what = format!("seed {seed}, round {round}");
        let mut builder = Builder::new(rules::settings(ports[0], ports[1]).unwrap());
        let built = builder.build(&snapshot(&contents, &mut dice.fork()));
        assert!(!built.model.live.hosts.is_empty(), "{what}: nothing is served");
        accepted(&what, &built.model, &caps, &paths, &mut supervisor).await;
    }
}
