use proptest::prelude::*;

use super::*;

#[test]
fn a_url_is_cut_into_host_port_and_path() {
    for (text, https, host, port, path) in [
        ("http://a", false, "a", None, ""),
        ("HTTPS://A.b:8443/c?d=e&f=$host", true, "A.b", Some(8443), "/c?d=e&f=$host"),
        ("http://$host/auth", false, "$host", None, "/auth"),
        ("https://${host}:1", true, "${host}", Some(1), ""),
        ("http://a?b=c", false, "a", None, "?b=c"),
        ("http://[::1]:80/", false, "[::1]", Some(80), "/"),
        ("http://unix.a/b", false, "unix.a", None, "/b"),
        ("http://10.0.0.1/basic-auth/user/password", false, "10.0.0.1", None, "/basic-auth/user/password"),
    ] {
        let url: UrlTemplate = text.parse().unwrap();
        assert_eq!((url.is_https(), url.host(), url.port(), url.path(), url.as_str()), (https, host, port, path, text));
    }
    assert!("http://a.$host/".parse::<UrlTemplate>().unwrap().has_variable_host());
    assert!(!"http://a/$host".parse::<UrlTemplate>().unwrap().has_variable_host());
    assert_eq!("http://a:1/b".parse::<UrlTemplate>().unwrap().authority(), "a:1");
}

#[test]
fn what_is_no_url_is_refused_with_a_reason() {
    for (text, reason) in [
        ("", ", with http:// or https://"),
        ("/auth", ", with http:// or https://"),
        ("ftp://a", ", with http:// or https://"),
        ("$scheme://a", ", with http:// or https://"),
        ("http:/a", ", with http:// or https://"),
        ("https://invalid..auth.url", " with a host of letters, digits, - . _ and variables, without .."),
        ("http://", " with a host of letters, digits, - . _ and variables, without .."),
        ("http://u@a/", " with a host of letters, digits, - . _ and variables, without .."),
        ("http://[::1", ""),
        ("http://[::1]a", ""),
        ("http://unix:/run/control.sock:/live", ", not a unix socket"),
        ("https://UNIX:80/", ", not a unix socket"),
        ("http://unix/a", ", not a unix socket"),
        ("https://Unix", ", not a unix socket"),
        ("http://a:0/", " with a port from 1 to 65535"),
        ("http://a:$server_port/", " with a port from 1 to 65535"),
        ("http://a/b;c", " of letters, digits, - . _ ~ / : , ? & = and variables, at most 4000 bytes"),
        ("http://a/b c", " of letters, digits, - . _ ~ / : , ? & = and variables, at most 4000 bytes"),
        ("http://a/{b}", " of letters, digits, - . _ ~ / : , ? & = and variables, at most 4000 bytes"),
        ("http://a/b\n", " of letters, digits, - . _ ~ / : , ? & = and variables, at most 4000 bytes"),
        ("http://a/b#c", " of letters, digits, - . _ ~ / : , ? & = and variables, at most 4000 bytes"),
        ("http://a/$", " in which every $ begins a variable such as $host or ${host}"),
        ("http://a/$1", " without captures such as $1"),
        ("http://$secret/", " with variables that can be used here, which $secret can't"),
    ] {
        let message = text.parse::<UrlTemplate>().unwrap_err().to_string();
        assert_eq!(message, format!("expected {EXPECTED}{reason}"), "{text:?}");
    }
}

#[test]
fn a_redirect_may_be_relative() {
    for text in ["/login", "/a?b=$request_uri", "$scheme://$host/x", "https://a.b:1/?rd=$escaped_request_uri", "http://a"] {
        assert_eq!(text.parse::<RedirectTemplate>().unwrap().as_str(), text);
    }
    for text in ["", "login", "//evil.com", "/a b", "/a;", "$scheme:/a", "$scheme://", "javascript:x", "/\\evil", "$host/x", "/$x"] {
        assert!(text.parse::<RedirectTemplate>().is_err(), "{text:?}");
    }
}

#[test]
fn a_redirect_knows_its_parameters() {
    let url: RedirectTemplate = "https://a/?rd=$host&x=&rdx=1".parse().unwrap();
    for (name, has) in [("rd", true), ("x", false), ("rdx", true), ("r", false), ("", false)] {
        assert_eq!(url.has_parameter(name), has, "{name}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_url_or_an_error(text in r#"(https?://)?([a-c.:/?=&\[\]$;{} "']|\$host|\$\{uri\}){0,14}"#) {
        if let Ok(url) = text.parse::<UrlTemplate>() {
            prop_assert!(!url.as_str().contains([';', '"', '\'', ' ', '\n']));
            prop_assert_eq!(format!("{}{}", url.authority(), url.path()).len() + if url.is_https() { 8 } else { 7 }, text.len());
            prop_assert_eq!(url.to_string().parse(), Ok(url));
        }
    }
}
