//! Directives that depend on the version of NGINX and on the limits of the machine.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use render::Capabilities;
use support::{config, fixed, paths};

/// The arguments of a directive.
fn arguments(name: &str, settings: &[(&str, &str)], caps: &Capabilities) -> Option<String> {
    let set = render::render(&fixed(config(settings), []), caps, &paths()).unwrap();
    let conf = std::str::from_utf8(set.conf()).unwrap();
    conf.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(' ')?.strip_suffix(';')).map(str::to_owned)
}

fn keepalive_min_timeout(version: (u32, u32, u32), keep_alive: &str) -> Option<String> {
    arguments("keepalive_min_timeout", &[("keep-alive", keep_alive)], &Capabilities { version, ..Capabilities::assumed() })
}

#[test]
fn old_workers_leave_idle_connections_open_where_nginx_can() {
    for version in [(1, 22, 1), (1, 26, 3), (1, 27, 3)] {
        assert_eq!(keepalive_min_timeout(version, "75"), None, "{version:?}");
    }
    for version in [(1, 27, 4), (1, 28, 0), (1, 29, 1), (2, 0, 0)] {
        assert_eq!(keepalive_min_timeout(version, "75").as_deref(), Some("5s"), "{version:?}");
    }
    // Never longer than connections are kept at all.
    assert_eq!(keepalive_min_timeout((1, 28, 0), "2").as_deref(), Some("2s"));
    assert_eq!(keepalive_min_timeout((1, 28, 0), "0"), None);
}

#[test]
fn workers_are_given_no_more_open_files_than_the_hard_limit() {
    for (limit, expected) in [(24, "24"), (1024, "1024"), (1500, "1024"), (4096, "3072"), (1_048_576, "1047552")] {
        let caps = Capabilities { open_files_limit: Some(limit), ..Capabilities::assumed() };
        assert_eq!(arguments("worker_rlimit_nofile", &[], &caps).as_deref(), Some(expected), "{limit}");
    }
}
