//! The file set as a whole: which files, what they are called, what is refused.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::path::Path;
use std::sync::Arc;

use model::options::PemPair;
use model::profile::Directives;
use model::{Fixed, Globals, HostRecord, HostServer, Listen, Model, Part, Policy, Profile, ProfileId, Route};
use ngx_value::{Size, Snippet, lexer};
use render::{Capabilities, FileSet, Paths, RenderError, Served};
use settings::Config;
use support::{fixed, model, paths, record, route, with};

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
    for expected in [("lua/narthex/route/router.lua", 0o644), ("certs/static.pem", 0o600)] {
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
    let host_server = HostServer { snippet: snippet("set $host_server 1;"), profiles: [profile.id()].into(), ..HostServer::default() };
    fixed.host_servers.insert("foo.com".into(), Arc::new(host_server));
    let set = rendered(&fixed);
    let mut found = Vec::new();
    for (line, content) in (1..).zip(text(&set).lines()) {
        let origin = set.origin(line);
        match content.trim() {
            "1k;" => found.push(*origin == Part::Profile(profile.id())),
            "set $host_server 1;" => found.push(*origin == Part::Server("foo.com".into())),
            "stub_status;" | "events {" | "server_name \"_\";" => found.push(*origin == Part::Globals),
            _ => {}
        }
    }
    // The profile is in both servers, the page of statuses in all and for the metrics.
    assert_eq!(found, [true; 7]);
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
            let host_server = HostServer { snippet: snippet("set $host_server 1;"), profiles: [id].into(), ..HostServer::default() };
            fixed.host_servers.insert(format!("h{host}.example.com").into(), Arc::new(host_server));
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
    fixed
        .host_servers
        .insert("foo.com".into(), Arc::new(HostServer { snippet: snippet("proxy_set_header A b;"), profiles, ..HostServer::default() }));
    // The host server has them in the location that finds the route and in that of errors, too.
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
    let same_port = with_globals(|globals| globals.listen = Listen { http: 8080, https: 8080, passthrough: None, stream: 10247 });
    check_refused(&same_port, &caps, &paths(), "setting --https-port: 8080 is the port of plain HTTP too; expected another");
    let no_port = with_globals(|globals| globals.listen.http = 0);
    assert!(matches!(render::render(&no_port, &caps, &paths()), Err(RenderError::Setting { key: "--http-port", .. })));
    for directory in ["relative", "/with;semicolon", "/with$dollar", "/line\nbreak", &format!("/{}", "long".repeat(30))] {
        assert!(matches!(render::render(&good, &caps, &Paths::new(directory)), Err(RenderError::WorkDir { .. })), "{directory:?}");
    }
    let spaced = render::render(&good, &caps, &Paths::new("/with space")).unwrap();
    assert!(text(&spaced).contains("pid \"/with space/run/nginx.pid\";"));
}

/// The paths of the rules that what is asked for leads to.
fn paths_of(model: &Model, host: &str, path: Option<&str>) -> Vec<String> {
    let served = Served::new(&model.fixed, model, &Capabilities::assumed(), &paths(), host, path).unwrap();
    served.record.routes.iter().map(|route| route.path.to_string()).collect()
}

#[test]
fn a_path_leads_to_the_route_that_serves_it() {
    let plain = record(&[("/a", 0)], &[("/a/", 0), ("/a/b/", 1)], vec![route("a", "/a"), route("b", "/a/b/")]);
    let routes = record(&[], &[], vec![route("v1", "/v1(/|$)(.*)"), route("rest", "/")]);
    let regexes = HostRecord { regex: vec![("^/v1(/|$)(.*)".into(), 0), ("^/".into(), 1)], ..(*routes).clone() };
    let model = model(fixed(Config::default(), []), vec![("plain.test", plain), ("regex.test", regexes.into())], &[]);
    for (host, path, expected) in [
        ("plain.test", "/a/x?y=/z", &["/a"][..]),
        ("plain.test", "//a/./b/5", &["/a/b/"]),
        // NGINX redirects it to the slash.
        ("plain.test", "/a/b", &["/a/b/"]),
        ("plain.test", "/other", &[]),
        ("regex.test", "/V1/orders", &["/v1(/|$)(.*)"]),
        ("regex.test", "/v10", &["/"]),
    ] {
        assert_eq!(paths_of(&model, host, Some(path)), expected, "{host}{path}");
    }
}

#[test]
fn one_host_or_one_path_can_be_asked_for() {
    let hosts = vec![
        ("foo.com", record(&[("/a", 0)], &[("/a/", 0), ("/b/", 1)], vec![route("a", "/a"), route("b", "/b/")])),
        ("*.foo.com", record(&[], &[("/", 0)], vec![route("wild", "/")])),
    ];
    let model = model(fixed(Config::default(), []), hosts, &[]);
    assert_eq!(paths_of(&model, "foo.com", None), ["/a", "/b/"]);
    assert_eq!(paths_of(&model, "foo.com", Some("/a")), ["/a"]);
    assert_eq!(paths_of(&model, "ANY.foo.com", None), ["/"]);
    let error = |host, path| Served::new(&model.fixed, &model, &Capabilities::assumed(), &paths(), host, path).unwrap_err().to_string();
    assert_eq!(
        error("foo.com", Some("none")),
        "\"none\" is no path, which begins with \"/\"; the paths of the rules of \"foo.com\" are /a, /b/"
    );
    assert_eq!(error("bar.com", None), "no host \"bar.com\" is served; the catch-all is \"_\"");
}

#[test]
fn a_host_is_shown_with_the_text_that_serves_it_and_with_the_row_of_each_value() {
    let profiles = [1, 2, 3].map(|mib| Profile {
        directives: model::profile::Directives { proxy_body_size: Some(Size::mib(mib)), ..Default::default() },
        ..Profile::default()
    });
    let ids = profiles.each_ref().map(Profile::id);
    let policy = Policy { proxy_read_timeout: Some(30), satisfy_any: true, ..Policy::default() };
    let shared = with(policy, Route { profile: ids[0].clone(), ..route("shared", "/") });
    let own = Route { profile: ids[1].clone(), ..route("own", "/") };
    let mut fixed = fixed(Config::default(), profiles);
    let host_server = HostServer { snippet: snippet("set $own 1;"), profiles: [ids[1].clone()].into(), ..HostServer::default() };
    fixed.host_servers.insert("own.test".into(), Arc::new(host_server));
    let hosts = vec![("shared.test", record(&[], &[("/", 0)], vec![shared])), ("own.test", record(&[], &[("/", 0)], vec![own]))];
    let model = model(fixed.clone(), hosts, &[]);
    let show = |running: &Fixed, host| Served::new(running, &model, &Capabilities::assumed(), &paths(), host, None).unwrap();

    let (shared, own) = (show(&fixed, "shared.test"), show(&fixed, "own.test"));
    let conf = rendered(&fixed);
    for (served, named, body, others) in [(&shared, "\"_\"", "1m", ["2m", "3m"]), (&own, "\"own.test\"", "2m", ["1m", "3m"])] {
        let has = |text: &str| served.text.contains(text);
        assert!(has(&format!("server_name {named};")) && has(&format!("client_max_body_size {body};")), "{}", served.text);
        assert!(
            has("location \"@base\\n\" {") && !others.iter().any(|size| has(&format!("client_max_body_size {size};"))),
            "{}",
            served.text
        );
        assert!(served.text.lines().all(|line| text(&conf).lines().any(|real| real == line)));
        lexer::parse(&served.text).unwrap();
    }
    assert_eq!((shared.server_of.as_deref(), own.server_of.as_deref()), (None, Some("own.test")));
    assert!(own.text.contains("set $own 1;") && !shared.text.contains("set $own 1;"));
    // What waits for a reload is not shown as if it ran.
    assert!(!shared.reload_pending && show(&Fixed { host_servers: Default::default(), ..fixed }, "own.test").reload_pending);

    let shown = shared.to_string();
    for line in [
        "      \"proxy_read_timeout\": 30,  # annotation proxy-read-timeout, else proxy-read-timeout of the ConfigMap",
        "      \"satisfy_any\": true  # One consent of addresses, password and service is enough (`satisfy: any`).",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    let json = serde_json::to_value(&shared).unwrap();
    assert_eq!(json["record"]["policies"][0]["proxy_read_timeout"], 30);
    assert_eq!(json["rows"]["proxy_read_timeout"]["annotation"], "proxy-read-timeout");
}
