//! Directives that only some versions of NGINX know.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use render::Capabilities;
use support::{config, fixed, paths};

/// The value of `keepalive_min_timeout` that this version gets.
fn keepalive_min_timeout(version: (u32, u32, u32), keep_alive: &str) -> Option<String> {
    let caps = Capabilities { version, ..Capabilities::assumed() };
    let set = render::render(&fixed(config(&[("keep-alive", keep_alive)]), []), &caps, &paths()).unwrap();
    let conf = std::str::from_utf8(set.conf()).unwrap();
    conf.lines().find_map(|line| line.trim().strip_prefix("keepalive_min_timeout ")).map(str::to_owned)
}

#[test]
fn old_workers_leave_idle_connections_open_where_nginx_can() {
    for version in [(1, 22, 1), (1, 26, 3), (1, 27, 3)] {
        assert_eq!(keepalive_min_timeout(version, "75"), None, "{version:?}");
    }
    for version in [(1, 27, 4), (1, 28, 0), (1, 29, 1), (2, 0, 0)] {
        assert_eq!(keepalive_min_timeout(version, "75").as_deref(), Some("5s;"), "{version:?}");
    }
    // Never longer than connections are kept at all.
    assert_eq!(keepalive_min_timeout((1, 28, 0), "2").as_deref(), Some("2s;"));
    assert_eq!(keepalive_min_timeout((1, 28, 0), "0"), None);
}
