//! NGINX accepts what is made of any text in any key of the ConfigMap, and in any header that it names. Snippets are text of the administrator and
//! left out, and so is what NGINX alone can judge: there the controller finds the key.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "NGINX tests files")]

mod support;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use ngx_value::{built_in_variables, stream_variables};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use render::{Capabilities, Paths};
use support::settings::{Data, Input, ODD, headers, keys, long, setting};

/// Keys whose values depend on the machine or on libraries: addresses, files, names to look up, ciphers and groups; and the one beside which a snippet of
/// an Ingress may define any variable.
const JUDGED_BY_NGINX: [&str; 9] = [
    "access-log-path",
    "allow-snippet-annotations",
    "bind-address",
    "error-log-path",
    "http-access-log-path",
    "ssl-ciphers",
    "ssl-ecdh-curve",
    "stream-access-log-path",
    "syslog-host",
];

/// The NGINX of this machine.
static INSTALLED: LazyLock<Capabilities> = LazyLock::new(|| {
    let output = Command::new("nginx")
        .arg("-V")
        .output()
        .expect("the tests need NGINX with Lua (Debian: apt-get install nginx libnginx-mod-http-lua)");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = text.split("nginx/").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("nginx -V names its version");
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().unwrap()).collect();
    let modules_dir =
        text.split("--modules-path=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("/usr/lib/nginx/modules");
    let stem = |entry: std::io::Result<fs::DirEntry>| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned());
    let modules = fs::read_dir(modules_dir).unwrap().filter_map(stem);
    let http3 = text.contains("http_v3_module").then(|| "ngx_http_v3_module".to_owned());
    Capabilities {
        version: (numbers[0], numbers[1], numbers[2]),
        modules_dir: modules_dir.into(),
        modules: modules.chain(http3).collect(),
        ..Capabilities::assumed()
    }
});

/// What NGINX says against an input, if anything.
fn complaint(input: &Input) -> Option<String> {
    test(input).err()
}

/// What NGINX says to an input: warnings, or why it does not accept it.
fn test(input: &Input) -> Result<String, String> {
    let scratch = tempfile::tempdir().unwrap();
    let paths = Paths::new(scratch.path());
    let set = input.render(&INSTALLED, &paths)?;
    for directory in [paths.run_dir(), paths.certs_dir(), paths.temp_dir(), paths.lua_dir(), paths.inner_dir()] {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).unwrap();
    }
    for file in &set.files {
        let path = paths.work_dir.join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, file.mode, &file.bytes);
    }
    let output = Command::new("nginx").args(["-t", "-e", "stderr", "-c"]).arg(paths.conf()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}

fn write(path: &Path, mode: u32, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path).unwrap().write_all(bytes).unwrap();
}

/// The same without the keys that NGINX alone can judge.
fn without_judged(input: &Input) -> Input {
    let data = input.data.iter().filter(|(key, _)| !JUDGED_BY_NGINX.contains(&key.as_str()));
    Input { data: data.map(|(key, value)| (key.clone(), value.clone())).collect(), headers: input.headers.clone() }
}

/// The smallest part of an input that NGINX refuses, for the message: keys are left out one by one.
fn smallest(mut input: Input) -> (Input, String) {
    for key in input.data.keys().cloned().collect::<Vec<_>>() {
        let mut less = input.clone();
        less.data.remove(&key);
        if complaint(&less).is_some() {
            input = less;
        }
    }
    let complaint = complaint(&input).unwrap_or_default();
    (input, complaint)
}

#[track_caller]
fn accepted(input: &Input) {
    if complaint(input).is_some() {
        let (input, complaint) = smallest(input.clone());
        panic!("{input:?}: {complaint}");
    }
}

#[test]
fn nginx_accepts_every_key_with_the_same_odd_text() {
    // Switches are on, so that what they switch is there.
    let is_switch = |value: &str| ["true", "false"].contains(&value);
    let step = if std::env::var_os("NARTHEX_SOAK").is_some() { 1 } else { 4 };
    for text in ODD.iter().map(|text| (*text).to_owned()).chain(long()).step_by(step) {
        let of = |example: &str| if is_switch(example) { "true".to_owned() } else { text.clone() };
        let data = keys().filter(|entry| !JUDGED_BY_NGINX.contains(&entry.name)).map(|entry| (entry.name.to_owned(), of(entry.example)));
        accepted(&Input { data: data.collect(), ..Input::default() });
    }
}

#[test]
fn nginx_accepts_any_text_in_keys_and_headers() {
    let cases = if std::env::var_os("NARTHEX_SOAK").is_some() { 3000 } else { 30 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let input = (prop::collection::vec(setting(), 1..40), headers(), headers());
    let result = TestRunner::new(config).run(&input, |(settings, answer, request)| {
        let data = settings.into_iter().map(|(entry, text)| (entry.name.to_owned(), text)).collect();
        let input = Input { data, headers: [answer, request] };
        if complaint(&input).is_some()
            && let Some(complaint) = complaint(&without_judged(&input))
        {
            return Err(TestCaseError::fail(format!("{input:?}: {complaint}")));
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// The tables of NGINX that are too small for what is in them.
fn small_tables(settings: &[(&str, &str)]) -> Vec<String> {
    let data = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let warnings = test(&Input { data, ..Input::default() }).unwrap();
    let names = warnings.split("could not build optimal ").skip(1).filter_map(|rest| rest.split([',', ' ']).next());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.dedup();
    names
}

#[test]
fn sizes_of_hash_tables_are_those_of_nginx() {
    assert_eq!(small_tables(&[]), [""; 0]);
    for (settings, table) in [
        ([("variables-hash-max-size", "8"), ("variables-hash-bucket-size", "64")], "variables_hash"),
        ([("proxy-headers-hash-max-size", "1"), ("proxy-headers-hash-bucket-size", "64")], "proxy_headers_hash"),
    ] {
        assert_eq!(small_tables(&settings), [table]);
        let [(max, small), (bucket, _)] = settings;
        assert_eq!(small_tables(&[(max, small), (bucket, "32768")]), [""; 0], "{bucket}");
        assert_eq!(small_tables(&[(max, "4096"), (bucket, "64")]), [""; 0], "{max}");
    }
}

#[test]
fn the_tables_of_names_and_maps_grow_with_what_is_in_them() {
    let long = format!("agent-{}", "a".repeat(200));
    let settings = [("block-user-agents", long.as_str()), ("server-name-hash-max-size", "1"), ("server-name-hash-bucket-size", "1")];
    assert_eq!(small_tables(&settings), [""; 0]);
}

#[test]
fn nginx_has_every_variable_that_a_log_or_a_header_may_name() {
    let list = |names: Vec<String>| names.iter().map(|name| format!("${{{name}}}")).collect::<Vec<_>>();
    let all = list(built_in_variables().collect());
    let stream = list(stream_variables().map(str::to_owned).collect());
    let data = Data::from([("log-format-upstream".to_owned(), all.concat()), ("log-format-stream".to_owned(), stream.concat())]);
    let parse = |text: &&String| text.parse::<ngx_value::HeaderTemplate>().is_ok();
    let request = all.iter().filter(parse).enumerate().map(|(at, text)| (format!("X-{at}"), text.clone())).collect();
    accepted(&Input { data, headers: [Data::new(), request] });
}
