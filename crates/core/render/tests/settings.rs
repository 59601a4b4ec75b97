//! Every key of the ConfigMap changes: the text does where its row says so.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::options::{Database, Edition};
use model::profile::Transport;
use model::profile::external_auth::AuthLocation;
use model::{Fixed, GlobalHeaders, Globals, Listen, Profile};
use render::{Capabilities, Paths};
use settings::groups::BackendProtocol;
use settings::{CONFIG_KEYS, Config, Derived};
use support::{accepted_by_nginx, config, fixed, installed, paths, stream_services};

type Data = BTreeMap<String, String>;

fn capabilities() -> Capabilities {
    let mut capabilities = Capabilities::complete();
    capabilities.bpf = true;
    capabilities.core_rules = vec!["/usr/share/modsecurity-crs/*.conf".to_owned()];
    capabilities
}

/// The content address of all files with these settings.
fn revision(data: &Data) -> String {
    let (config, _) = Config::parse(data);
    let header = || vec![("X-Team".parse().unwrap(), "red".parse().unwrap())];
    let headers = GlobalHeaders {
        answer: config.headers.add_headers.iter().flat_map(|_| header()).collect(),
        request: config.headers.proxy_set_headers.iter().flat_map(|_| header()).collect(),
    };
    let grpc = Transport { protocol: BackendProtocol::Grpc, ..Transport::default() };
    let profiles =
        [Profile { transport: grpc, ..Profile::default() }, Profile { external_auth: Some(AuthLocation::default()), ..Profile::default() }];
    let dh_parameters = config.ssl_dh_param.as_ref().map(|_| "PEM".into());
    let fixed = fixed(config, profiles);
    let listen = Listen { passthrough: Some(8442), ..fixed.globals.listen };
    let file = "/usr/share/GeoIP/GeoLite2-City.mmdb".into();
    let database = Database { edition: Edition::LiteCity, file };
    let databases = Some(database).filter(|_| fixed.globals.config.use_geoip2).into_iter().collect();
    let globals = Globals { headers, dh_parameters, listen, databases, ..(*fixed.globals).clone() };
    let fixed = Fixed { globals: Arc::new(globals), stream_services: stream_services(), ..fixed };
    render::render(&fixed, &capabilities(), &paths()).unwrap().revision
}

#[test]
fn the_text_changes_with_the_keys_whose_rows_say_so() {
    let all: Data = CONFIG_KEYS.iter().map(|key| (key.name.to_owned(), key.example.to_owned())).collect();
    let mut found = BTreeSet::new();
    for base in [Data::new(), all] {
        let before = revision(&base);
        for key in CONFIG_KEYS.iter() {
            let mut data = base.clone();
            if data.remove(key.name).is_none() {
                data.insert(key.name.to_owned(), key.example.to_owned());
            }
            if revision(&data) != before {
                found.insert(key.name);
            }
        }
    }
    let declared: BTreeSet<&str> = CONFIG_KEYS.iter().filter(|key| key.invalidates.contains(&Derived::Text)).map(|key| key.name).collect();
    assert_eq!(declared.difference(&found).collect::<Vec<_>>(), Vec::<&&str>::new(), "these are not in the text");
    assert_eq!(found.difference(&declared).collect::<Vec<_>>(), Vec::<&&str>::new(), "these are in the text");
}

/// Their examples name what is not on every machine, or need rights: addresses, files of logs, modules.
const OF_THE_MACHINE: [&str; 5] = ["access-log-path", "bind-address", "error-log-path", "http-access-log-path", "stream-access-log-path"];

#[test]
fn nginx_accepts_the_examples_of_the_keys() {
    let keys = CONFIG_KEYS
        .iter()
        .filter(|key| !OF_THE_MACHINE.contains(&key.name) && !key.name.contains("modsecurity") && key.name != "use-http3");
    let data: Vec<(&str, &str)> = keys.map(|key| (key.name, key.example)).collect();
    let scratch = tempfile::tempdir().unwrap();
    let paths = Paths::new(scratch.path());
    let fixed = Fixed { stream_services: stream_services(), ..fixed(config(&data), []) };
    let set = render::render(&fixed, &installed(), &paths).unwrap();
    accepted_by_nginx(&set, std::str::from_utf8(set.conf()).unwrap(), &paths);
}

#[test]
fn zstd_is_in_the_text_where_the_module_is_there() {
    let data = [("enable-zstd", "true"), ("zstd-level", "7"), ("zstd-min-length", "24"), ("zstd-types", "text/css image/svg+xml")];
    let text = |capabilities: &Capabilities| {
        let set = render::render(&fixed(config(&data), []), capabilities, &paths()).unwrap();
        std::str::from_utf8(set.conf()).unwrap().to_owned()
    };
    let there = text(&capabilities());
    for expected in [
        "load_module \"/usr/lib/nginx/modules/ngx_http_zstd_filter_module.so\";",
        "    zstd on;\n    zstd_comp_level 7;\n    zstd_min_length 24;\n    zstd_types text/css image/svg+xml;\n",
    ] {
        assert!(there.contains(expected), "no {expected:?} in {there}");
    }
    assert!(!text(&Capabilities::assumed()).contains("zstd"));
}
