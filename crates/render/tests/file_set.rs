//! The file set as a whole: which files, what they are called, what is refused.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::path::Path;
use std::sync::Arc;

use annotations::Config;
use model::profile::Directives;
use model::settings::PemPair;
use model::{Fixed, Globals, HostRecord, Listen, Profile, ProfileId, Shell};
use ngx_value::{Size, Snippet};
use render::{Capabilities, ConfFilter, FileSet, OriginKind, Paths, RenderError};
use support::{fixed, model, paths, record, route};

fn rendered(fixed: &Fixed) -> FileSet {
    render::render(fixed, &Capabilities::assumed(), &paths()).unwrap()
}

fn text(set: &FileSet) -> &str {
    std::str::from_utf8(set.conf()).unwrap()
}

fn with_globals(change: impl FnOnce(&mut Globals)) -> Fixed {
    let mut fixed = fixed(Config::default(), []);
    let mut globals = (*fixed.globals).clone();
    change(&mut globals);
    fixed.globals = Arc::new(globals);
    fixed
}

fn snippet(text: &str) -> Option<Snippet> {
    Some(Snippet::parse(text).unwrap())
}

#[test]
fn a_file_set_holds_the_configuration_the_lua_modules_and_the_certificate() {
    let set = rendered(&fixed(Config::default(), []));
    let modes: Vec<(&str, u32)> = set.files.iter().map(|file| (file.path.to_str().unwrap(), file.mode)).collect();
    assert_eq!(modes[0], ("nginx.conf", 0o644));
    for expected in [("lua/narthex/route.lua", 0o644), ("lua/nginx/ngx_conf_balancer.lua", 0o644), ("certs/static.pem", 0o600)] {
        assert!(modes.contains(&expected), "{expected:?} is not in {modes:?}");
    }
    let mut names: Vec<&Path> = set.files.iter().map(|file| &*file.path).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), set.files.len());
    assert!(!format!("{set:?}").contains("KEY"));
}

#[test]
fn the_revision_is_the_address_of_everything() {
    let base = rendered(&fixed(Config::default(), []));
    assert_eq!(base, rendered(&fixed(Config::default(), [])));
    assert_eq!(base.revision.len(), 16);
    assert!(text(&base).starts_with(&format!("# Configuration checksum: {}\n", base.revision)));

    let other_key = with_globals(|globals| globals.static_certificate = PemPair { chain: "CHAIN".into(), key: "OTHER".into() });
    let other_profile = fixed(
        Config::default(),
        [Profile { directives: Directives { proxy_body_size: Some(Size::mib(8)), ..Directives::default() }, ..Profile::default() }],
    );
    for other in [other_key, other_profile] {
        assert_ne!(base.revision, rendered(&other).revision);
    }
}

#[test]
fn a_line_leads_to_what_it_comes_from() {
    let profile = Profile { snippet: snippet("limit_rate\n  1k;"), ..Profile::default() };
    let mut fixed = fixed(Config::default(), [profile.clone()]);
    let shell = Shell { snippet: snippet("set $shell 1;"), profiles: [profile.id()].into(), ..Shell::default() };
    fixed.shells.insert("foo.com".into(), Arc::new(shell));
    let set = rendered(&fixed);
    let mut found = Vec::new();
    for (line, content) in (1..).zip(text(&set).lines()) {
        let origin = set.origin(line);
        match content.trim() {
            "1k;" => found.push(*origin == OriginKind::Profile(profile.id())),
            "set $shell 1;" => found.push(*origin == OriginKind::Shell("foo.com".into())),
            "stub_status;" | "events {" | "server_name \"_\";" => found.push(*origin == OriginKind::Globals),
            _ => {}
        }
    }
    // The profile is in both servers.
    assert_eq!(found, [true; 6]);
}

#[test]
fn a_hundred_profiles_are_less_than_a_hundred_kilobytes() {
    let profiles = (1..=99).map(|i| Profile {
        directives: Directives {
            proxy_body_size: Some(Size::mib(i)),
            proxy_buffering: Some(true),
            proxy_request_buffering: Some(false),
            ..Directives::default()
        },
        ..Profile::default()
    });
    let set = rendered(&fixed(Config::default(), profiles));
    assert!(set.conf().len() < 50_000, "{} bytes", set.conf().len());
}

#[test]
fn the_text_grows_with_the_hosts_that_have_a_server_block_not_with_them_times_the_profiles() {
    let size = |hosts: u32| {
        let profiles: Vec<Profile> = (1..=hosts)
            .map(|i| Profile {
                directives: Directives { proxy_body_size: Some(Size::mib(i)), ..Directives::default() },
                ..Profile::default()
            })
            .collect();
        let ids: Vec<ProfileId> = profiles.iter().map(Profile::id).collect();
        let mut fixed = fixed(Config::default(), profiles);
        for (host, id) in ids.into_iter().enumerate() {
            let shell = Shell { snippet: snippet("set $shell 1;"), profiles: [id].into(), ..Shell::default() };
            fixed.shells.insert(format!("h{host}.example.com").into(), Arc::new(shell));
        }
        rendered(&fixed).conf().len()
    };
    let (one, many, more) = (size(1), size(50), size(100));
    assert!((more - one) * 100 < (many - one) * 205, "{one} bytes for 1, {many} for 50, {more} for 100");
}

#[test]
fn headers_are_complete_where_a_snippet_may_set_one() {
    let count = |fixed: &Fixed| text(&rendered(fixed)).matches("proxy_set_header Host $narthex_vhost;").count();
    assert_eq!(count(&fixed(Config::default(), [Profile { snippet: snippet("limit_rate 1k;"), ..Profile::default() }])), 1);
    let profile = Profile { snippet: snippet("proxy_set_header A b;"), ..Profile::default() };
    let profiles = [profile.id()].into();
    let mut fixed = fixed(Config::default(), [profile]);
    assert_eq!(count(&fixed), 2);
    fixed.shells.insert("foo.com".into(), Arc::new(Shell { snippet: snippet("proxy_set_header A b;"), profiles, ..Shell::default() }));
    // The shell has them in the location that finds the route and in that of errors, too.
    assert_eq!(count(&fixed), 6);
}

#[track_caller]
fn check_refused(fixed: &Fixed, caps: &Capabilities, paths: &Paths, message: &str) {
    let error = render::render(fixed, caps, paths).unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[test]
fn what_no_configuration_can_be_without_is_said() {
    let (good, caps) = (fixed(Config::default(), []), Capabilities::assumed());
    let mut without_lua = caps.clone();
    without_lua.modules.remove("ngx_http_lua_module");
    check_refused(
        &good,
        &without_lua,
        &paths(),
        "NGINX has no module ngx_http_lua_module in /usr/lib/nginx/modules: install the Debian package libnginx-mod-http-lua",
    );
    let no_certificate = with_globals(|globals| globals.static_certificate = PemPair::default());
    assert!(matches!(render::render(&no_certificate, &caps, &paths()), Err(RenderError::Setting { key: "--default-ssl-certificate", .. })));
    let same_port = with_globals(|globals| globals.listen = Listen { http: 8080, https: 8080, passthrough: None });
    check_refused(&same_port, &caps, &paths(), "setting --https-port: 8080 is the port of plain HTTP too; expected another");
    let no_port = with_globals(|globals| globals.listen.http = 0);
    assert!(matches!(render::render(&no_port, &caps, &paths()), Err(RenderError::Setting { key: "--http-port", .. })));
    for directory in ["relative", "/with;semicolon", "/with$dollar", "/line\nbreak", &format!("/{}", "long".repeat(30))] {
        assert!(matches!(render::render(&good, &caps, &Paths::new(directory)), Err(RenderError::WorkDir { .. })), "{directory:?}");
    }
    let spaced = render::render(&good, &caps, &Paths::new("/with blank")).unwrap();
    assert!(text(&spaced).contains("pid \"/with blank/run/nginx.pid\";"));
}

#[test]
fn a_path_leads_to_the_location_that_serves_it() {
    let plain = record(&[("/a", 0)], &[("/a/", 0), ("/a/b/", 1)], vec![route("a", "/a"), route("b", "/a/b/")]);
    let routes = record(&[], &[], vec![route("v1", "/v1(/|$)(.*)"), route("rest", "/")]);
    let regexes = HostRecord { regex: vec![("^/v1(/|$)(.*)".into(), 0), ("^/".into(), 1)], ..(*routes).clone() };
    let model = model(fixed(Config::default(), []), vec![("plain.test", plain), ("regex.test", regexes.into())], &[]);
    let caps = Capabilities::assumed();
    let serving = |host, path| {
        let text = render::conf(&model, &caps, &paths(), ConfFilter { host: Some(host), path: Some(path) }).unwrap();
        text.lines()
            .filter_map(|line| line.trim().strip_prefix("location "))
            .map(|line| line.trim_end_matches(" {").to_owned())
            .collect::<Vec<_>>()
    };
    for (host, path, location) in [
        ("plain.test", "/a/x?y=/z", "\"/a/\""),
        ("plain.test", "//a/./b/5", "\"/a/b/\""),
        // NGINX redirects it to the slash.
        ("plain.test", "/a/b", "\"/a/b/\""),
        ("plain.test", "/other", "\"/\""),
        ("regex.test", "/V1/orders", "~* \"^/v1(/|$)(.*)\""),
        ("regex.test", "/v10", "~* \"^/\""),
    ] {
        assert_eq!(serving(host, path), [location], "{host}{path}");
    }
}

#[test]
fn one_host_or_one_path_can_be_asked_for() {
    let hosts = vec![
        ("foo.com", record(&[("/a", 0)], &[("/a/", 0), ("/b/", 1)], vec![route("a", "/a"), route("b", "/b/")])),
        ("*.foo.com", record(&[], &[("/", 0)], vec![route("wild", "/")])),
    ];
    let model = model(fixed(Config::default(), []), hosts, &[]);
    let conf = |host, path| render::conf(&model, &Capabilities::assumed(), &paths(), ConfFilter { host: Some(host), path });
    let locations = |text: &str| {
        text.lines().filter(|line| line.trim_start().starts_with("location ")).map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };

    let whole = conf("foo.com", None).unwrap();
    assert!(whole.starts_with("    ## start server foo.com\n") && whole.ends_with("    ## end server foo.com\n"));
    assert_eq!(locations(&whole), ["location = \"/a\" {", "location \"/b/\" {", "location \"/a/\" {", "location \"/\" {"]);
    assert_eq!(locations(&conf("foo.com", Some("/a")).unwrap()), ["location = \"/a\" {", "location \"/a/\" {"]);
    assert!(conf("any.foo.com", None).unwrap().contains("## start server *.foo.com"));
    let unknown = conf("foo.com", Some("none")).unwrap_err().to_string();
    let expected = "\"none\" is neither a path, which begins with \"/\", nor the name of a location of \"foo.com\"";
    assert!(unknown.starts_with(expected) && unknown.ends_with("the paths of its rules are /a, /b/"), "{unknown}");
    assert_eq!(conf("bar.com", None).unwrap_err().to_string(), "no host \"bar.com\" is served; the catch-all is \"_\"");
}
