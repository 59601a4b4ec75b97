//! External authentication of all locations.

use ngx_value::{CacheRules, HeaderName, HeaderTemplate, Invalid, Method, QueryName, RedirectTemplate, Snippet, Template, UrlTemplate};

use crate::config::grammar::{BOOL, Grammar, HEADER_NAMES, LIST, SNIPPET, optional};
use crate::config::table::settings;

settings! {
    /// External authentication of all locations.
    ExternalAuthDefaults in external_auth;

    /// The service that each request is put before first, unless its Ingress has an `auth-url` of its own or `enable-global-auth: "false"`. A text that is no URL closes the locations.
    global_auth_url: Option<UrlTemplate> = None, URL, "http://auth.example.com/verify", [Routes];
    /// Method of the request to it. Empty: GET.
    global_auth_method: Option<Method> = None, optional("GET, HEAD, POST, PUT, PATCH, DELETE, CONNECT, OPTIONS, TRACE, or empty"), "HEAD", [Routes];
    /// Where clients are sent instead of a 401.
    global_auth_signin: Option<RedirectTemplate> = None, optional("a URL, perhaps with variables, or empty"), "https://auth.example.com/login", [Routes];
    /// The parameter there that holds the original URL. Empty: `rd`.
    global_auth_signin_redirect_param: Option<QueryName> = None, optional("the name of a query parameter, or empty"), "next", [Routes];
    /// Headers of the service's answer that replace those of the request to the backend.
    global_auth_response_headers: Vec<HeaderName> = Vec::new(), HEADER_NAMES, "X-User,X-Groups", [Routes];
    /// The header `X-Auth-Request-Redirect` of the request to it. Empty: the URI of the request.
    global_auth_request_redirect: Option<HeaderTemplate> = None, optional("text with NGINX variables, or empty"), "$scheme://$host$request_uri", [Routes];
    /// Text for the location of the request to it.
    global_auth_snippet: Option<Snippet> = None, SNIPPET, "proxy_set_header X-From narthex;", [Routes];
    /// Keep its answers by this key. Empty: they are not kept.
    global_auth_cache_key: Option<Template> = None, optional("text with NGINX variables, or empty"), "$http_authorization", [Routes];
    /// How long its answers are kept; `off`: not at all. Empty or unusable: `200 202 401 5m`.
    global_auth_cache_duration: Option<CacheRules> = None, DURATION, "200 202 10m", [Routes];
    /// Cookies of its answer go to the client whatever the status.
    global_auth_always_set_cookie: bool = false, BOOL, "true", [Routes];
    /// Rule paths that begin with one of these are served without any authentication, an Ingress's own included.
    no_auth_locations: Vec<String> = vec!["/.well-known/acme-challenge".to_owned()], LIST, "/.well-known/acme-challenge,/healthz", [Routes];
}

/// A service that never answers, so that no client is let through.
const NOBODY: &str = "http://unusable.invalid/";

const URL: Grammar<Option<UrlTemplate>> = Grammar {
    read: |text, notes| match (OPTIONAL_URL.read)(text, notes) {
        Err(invalid) => {
            notes.push(format!("{invalid}; no client is let through"));
            NOBODY.parse().map(Some)
        }
        read => read,
    },
    ..OPTIONAL_URL
};

const OPTIONAL_URL: Grammar<Option<UrlTemplate>> = optional("a URL with http or https, perhaps with variables, or empty");

const DURATION: Grammar<Option<CacheRules>> = Grammar {
    value: "rules between commas, such as 200 202 5m, or off",
    read: |text, notes| {
        Ok(match text {
            "off" => None,
            "" => Some(CacheRules::default()),
            text => Some(text.parse().unwrap_or_else(|invalid: Invalid| {
                notes.push(format!("{invalid}; 200 202 401 5m is used"));
                CacheRules::default()
            })),
        })
    },
    print: |rules| rules.as_ref().map_or_else(|| "off".to_owned(), CacheRules::to_string),
};

#[cfg(test)]
mod tests {
    use crate::config::tests::{check, read};

    #[test]
    fn a_service_that_cannot_be_asked_lets_nobody_through() {
        check("global-auth-url", "http://$host:8080/auth", "http://$host:8080/auth", &[]);
        check("global-auth-url", "", "", &[]);
        for url in ["https://invalid..auth.url", "auth", "http://a/;"] {
            let (config, findings) = read(&[("global-auth-url", url)]);
            assert_eq!(config.external_auth.global_auth_url.unwrap().host(), "unusable.invalid", "{url}");
            assert!(findings[0].detail.ends_with("; no client is let through"), "{findings:?}");
        }
    }

    #[test]
    fn answers_are_kept_as_the_rules_say() {
        for (value, printed) in [("200 10m,any 1s", "200 600s,any 1s"), ("", "200 202 401 300s"), ("off", "off")] {
            check("global-auth-cache-duration", value, printed, &[]);
        }
        let bad = "expected statuses and one time in whole seconds, such as 200 202 5m; 200 202 401 5m is used";
        check("global-auth-cache-duration", "200 202", "200 202 401 300s", &[bad]);
    }

    #[test]
    fn details_are_typed() {
        check("global-auth-method", "GET", "GET", &[]);
        check(
            "global-auth-method",
            "get",
            "",
            &["expected GET, HEAD, POST, PUT, PATCH, DELETE, CONNECT, OPTIONS or TRACE; the default \"\" is used"],
        );
        check("global-auth-signin", "http://foo.com/global-error-page", "http://foo.com/global-error-page", &[]);
        check("global-auth-request-redirect", "Foo-Redirect", "Foo-Redirect", &[]);
        let left_out = "\"a b\": expected a header name of letters, digits, - and _; it is left out";
        check("global-auth-response-headers", "X-A,a b", "X-A", &[left_out]);
        check("no-auth-locations", "/noauth, /x", "/noauth,/x", &[]);
        check("global-auth-snippet", "a b;", "a b;\n", &[]);
        let closes =
            "expected complete NGINX directives, but line 1: \"}\" closes a block that was not opened here; the default \"\" is used";
        check("global-auth-snippet", "}", "", &[closes]);
    }
}
