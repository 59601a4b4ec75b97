//! The way from manifests to text: total, and the text keeps its structure.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use manifests::{Content, File, Loaded};
use migrate::request::Scheme;
use migrate::traffic::{self, LogFormat, LogSelection};
use model::options::PemPair;
use model::{BuildOptions, Builder, Model};
use ngx_value::lexer;
use render::{Capabilities, Paths, RenderError};
use settings::Policy;

/// Lines `name: value` are annotations: reading them never panics, with snippets allowed and with the default policy.
///
/// # Panics
/// It does.
pub fn annotations(input: &[u8]) {
    let text = crate::text(input);
    let given: BTreeMap<String, String> = text
        .split('\n')
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value.replace("\\n", "\n")))
        .collect();
    for data in [&[][..], &[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")]] {
        let data = data.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (config, _) = settings::Config::parse(&data);
        let parsed = settings::parse(&given, &Policy { prefix: "nginx.ingress.kubernetes.io", validation: true, config: &config });
        for finding in &parsed.findings {
            assert!(given.contains_key(&finding.key), "a finding about {:?}, which is not there", finding.key);
        }
    }
}

/// The input is versions of a manifest, divided by NUL: reading, building and rendering never panic, and the text is NGINX's grammar.
///
/// # Panics
/// One of these does not hold.
pub fn manifests(input: &[u8]) {
    let mut builder = builder();
    let mut loaded: Option<Loaded> = None;
    for version in input.split(|byte| *byte == 0).take(4) {
        let file = File { path: Arc::from("all.yaml"), content: Content::Bytes(version.to_vec()) };
        let now = manifests::read([file], loaded.as_ref());
        check_text(&builder.build(&now.snapshot).model);
        loaded = Some(now);
    }
}

/// For Ingresses of no class.
fn builder() -> Builder {
    Builder::new(BuildOptions { watch_ingress_without_class: true, fallback_certificate: certificate(), ..BuildOptions::default() })
}

/// The one that is served where there is no other.
fn certificate() -> PemPair {
    static MADE: OnceLock<PemPair> = OnceLock::new();
    let make = || {
        let made = rcgen::generate_simple_self_signed(["fallback.example.com".to_owned()]).expect("a certificate can be made");
        PemPair { chain: made.cert.pem(), key: made.signing_key.serialize_pem() }
    };
    MADE.get_or_init(make).clone()
}

fn check_text(model: &Model) {
    let (caps, paths) = (Capabilities::assumed(), Paths::new("/var/lib/narthex"));
    match render::render(&model.fixed, &caps, &paths) {
        Ok(set) => {
            let text = String::from_utf8_lossy(set.conf());
            drop(lexer::parse(&text).unwrap_or_else(|error| panic!("what is rendered is not NGINX's grammar: {error}\n{text}")));
        }
        // A text that no configuration can hold is left out, with an error.
        Err(RenderError::Text { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Lines of access logs, which clients fill.
///
/// # Panics
/// Reading them does.
pub fn logs(input: &[u8]) {
    for format in [LogFormat::Auto, LogFormat::Text] {
        let selection =
            LogSelection { schemes: vec![Scheme::Http], all_methods: true, sample: 100, host: Some("example.com".to_owned()), format };
        let read = traffic::read(input, &[], &selection).expect("memory can be read");
        assert!(read.requests.len() <= 100);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_manifest_becomes_a_host() {
        let text = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec:\n  rules:\n  - host: a.example.com\n    http:\n      \
                    paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]\n";
        let file = File { path: Arc::from("all.yaml"), content: Content::Bytes(text.into()) };
        let built = builder().build(&manifests::read([file], None).snapshot);
        assert!(built.model.live.hosts.contains_key("a.example.com"), "{:?}", built.problems());
        check_text(&built.model);
    }
}
