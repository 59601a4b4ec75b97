use super::*;
use crate::config::Config;
use crate::groups::testing::{bad, good};
use crate::parse::FindingKind::Invalid as Bad;
use crate::parse::ParseVerdict::Accepted;

#[track_caller]
fn proxy(name: &str, value: &str) -> Proxy {
    good(&[(name, value)]).proxy
}

fn config(pairs: &[(&str, &str)]) -> Config {
    Config::parse(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()).0
}

#[test]
fn values_are_read_by_their_type() {
    assert_eq!(proxy("proxy-cookie-domain", "localhost example.org").proxy_cookie_domain.unwrap().to_string(), "localhost example.org");
    assert_eq!(proxy("proxy-cookie-path", "/one/ /").proxy_cookie_path.unwrap().to_string(), "/one/ /");
    assert_eq!(proxy("proxy-cookie-path", "off").proxy_cookie_path, Some(CookiePathReplacement::Off));
    assert_eq!(proxy("proxy-http-version", "1.0").proxy_http_version, Some(HttpVersion::V1_0));
    assert_eq!(proxy("proxy-next-upstream-timeout", "999999").proxy_next_upstream_timeout, Some(Seconds(999_999)));
    assert_eq!(proxy("proxy-next-upstream-tries", "888888").proxy_next_upstream_tries, Some(888_888));
    assert_eq!(proxy("proxy-cookie-path", " "), Proxy::default());
}

#[test]
fn a_value_that_is_not_taken_gives_way_to_the_global_setting() {
    for (name, value) in [
        ("proxy-busy-buffers-size", "8x"),
        ("proxy-cookie-domain", "one"),
        ("proxy-cookie-domain", "a b c"),
        ("proxy-cookie-path", "/one;"),
        ("proxy-cookie-path", "/one/ /\n"),
        ("proxy-http-version", "2"),
        ("proxy-max-temp-file-size", "-1"),
        ("proxy-next-upstream", "errortimeout"),
        ("proxy-next-upstream-timeout", "-1"),
        ("proxy-next-upstream-tries", "-1"),
        ("proxy-redirect-from", "http://$host"),
        ("proxy-redirect-to", "a;b"),
    ] {
        assert_eq!(bad(&[(name, value)], Accepted, &[(name, Bad, "expected ")]).proxy, Proxy::default(), "{name}: {value}");
    }
}

#[test]
fn proxy_ignore_client_abort_is_on_or_off() {
    assert_eq!(proxy("proxy-ignore-client-abort", "on").proxy_ignore_client_abort, Some(true));
    let ignored = [("proxy-ignore-client-abort", Bad, "expected on or off")];
    assert_eq!(bad(&[("proxy-ignore-client-abort", "true")], Accepted, &ignored).proxy, Proxy::default());
}

#[test]
fn buffers_fit_together() {
    let global = Config::default();
    let spec = good(&[("proxy-buffers-number", "8"), ("proxy-buffer-size", "8k"), ("proxy-busy-buffers-size", "16k")]);
    let gib = Size::mib(1024);
    assert_eq!(spec.proxy.buffers(&global), Buffers { number: 8, size: Size::kib(8), busy: Some(Size::kib(16)), max_temp_file: gib });

    let detail = "expected a size from 4k to 12k, as there are 4 buffers of 4k; it is ignored";
    for busy in ["1k", "13k"] {
        let spec = bad(&[("proxy-busy-buffers-size", busy)], Accepted, &[("proxy-busy-buffers-size", Bad, detail)]);
        assert_eq!(spec.proxy.buffers(&global).busy, None);
    }
    let detail = "expected 0, or at least 4k, the size of a buffer; the global setting 1024m is used";
    let spec = bad(&[("proxy-max-temp-file-size", "1k")], Accepted, &[("proxy-max-temp-file-size", Bad, detail)]);
    assert_eq!(spec.proxy.buffers(&global).max_temp_file, gib);
    assert_eq!(proxy("proxy-max-temp-file-size", "0").buffers(&global).max_temp_file.bytes, 0);
}

#[test]
fn a_global_size_that_does_not_fit_the_buffers_of_an_ingress_is_left_out() {
    let global = config(&[("proxy-busy-buffers-size", "12k"), ("proxy-max-temp-file-size", "16k")]);
    assert_eq!(Proxy::default().buffers(&global).busy, Some(Size::kib(12)));
    let buffers = proxy("proxy-buffer-size", "32k").buffers(&global);
    assert_eq!((buffers.busy, buffers.max_temp_file), (None, Size::kib(32)));
}

#[test]
fn retries_depend_on_both() {
    assert_eq!(proxy("proxy-next-upstream", "error  http_502").next_upstream(&Config::default()).to_string(), "error http_502");
    let global = config(&[("proxy-next-upstream", "timeout"), ("retry-non-idempotent", "true")]);
    assert_eq!(Proxy::default().next_upstream(&global).to_string(), "timeout non_idempotent");
}

#[test]
fn redirects_are_replaced_where_both_ends_are_given() {
    let (hello, bye): (LocationPart, LocationPart) = ("hello.com".parse().unwrap(), "goodbye.com".parse().unwrap());
    let replace = LocationRewrite::Replace { from: &hello, to: &bye };
    for (from, to, expected) in [
        ("off", "goodbye.com", LocationRewrite::Off),
        ("default", "goodbye.com", LocationRewrite::Default),
        ("hello.com", "off", LocationRewrite::Default),
        ("hello.com", "goodbye.com", replace),
    ] {
        let spec = good(&[("proxy-redirect-from", from), ("proxy-redirect-to", to)]);
        assert_eq!(spec.proxy.location_rewrite(&Config::default()), expected, "{from} {to}");
        let global = config(&[("proxy-redirect-from", from), ("proxy-redirect-to", to)]);
        assert_eq!(Proxy::default().location_rewrite(&global), expected, "{from} {to}");
    }
    assert_eq!(Proxy::default().location_rewrite(&Config::default()), LocationRewrite::Off);
}
