//! Who may read: the name that a client asks by, its token, and what a browser may do with the page.

use std::net::IpAddr;

use axum::extract::{Form, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, http::uri::Authority};
use tracing::{error, warn};

use crate::answers::failure;
use crate::page;
use crate::token::{Token, TokenError, no_cookie};

/// What every answer says to browsers: no other host, no inline script or style, no frame, no guessing of types.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The place in the login page where a failure is said.
const SAID: &str = "<p class=\"failed\" role=\"alert\"></p>";

/// The API behind its guard, and the page beside it.
pub(crate) fn guarded(api: Router, token: Option<Token>) -> Router {
    let (api, pages) = match &token {
        Some(token) => {
            let api = api.layer(middleware::from_fn_with_state(token.clone(), with_session));
            let pages = Router::new().route("/login", get(form).post(login)).route("/logout", post(logout));
            (api, pages.with_state(token.clone()))
        }
        None => (api, Router::new()),
    };
    let files = Router::new().fallback(get(file)).with_state(token.clone());
    let all = Router::new().merge(api).merge(pages).fallback_service(files);
    all.layer(middleware::from_fn_with_state(token.is_some(), by_name)).layer(middleware::map_response(with_headers))
}

async fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Refuses names that another site may have made lead here (DNS rebinding): without a token its script could read.
async fn by_name(State(has_token): State<bool>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if has_token || is_local(host) {
        return next.run(request).await;
    }
    let why = "the console answers to addresses and to localhost; to be reached by another name it needs --console-token-file";
    failure(StatusCode::FORBIDDEN, why)
}

/// Whether no other site can have this name: it is an address, or the machine itself.
fn is_local(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Whether a client has the token or a session.
async fn is_allowed(token: &Token, headers: &HeaderMap) -> Result<bool, TokenError> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(given) = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")) {
        return token.is(given).await;
    }
    token.has_session(text(header::COOKIE).unwrap_or_default()).await
}

async fn with_session(State(token): State<Token>, request: Request, next: Next) -> Response {
    match is_allowed(&token, request.headers()).await {
        Ok(true) => next.run(request).await,
        Ok(false) => failure(StatusCode::UNAUTHORIZED, "expected the token of --console-token-file, or a session"),
        Err(error) => unusable(&error),
    }
}

fn unusable(error: &TokenError) -> Response {
    error!(%error, "the console lets no client in");
    failure(StatusCode::SERVICE_UNAVAILABLE, "the token can't be checked; the log of the controller says why")
}

/// A file of the page. The views need a session, all else has nothing of the cluster.
async fn file(State(token): State<Option<Token>>, uri: Uri, headers: HeaderMap) -> Response {
    if let Some(token) = token.filter(|_| page::is_view(uri.path())) {
        match is_allowed(&token, &headers).await {
            Ok(true) => {}
            Ok(false) => return to("/login"),
            Err(error) => return unusable(&error),
        }
    }
    page::file(uri.path(), &headers)
}

fn to(path: &'static str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, path), (header::CACHE_CONTROL, "no-store")]).into_response()
}

async fn form() -> Response {
    shown(StatusCode::OK, "")
}

fn shown(status: StatusCode, failed: &str) -> Response {
    let page = page::text("login.html").replace(SAID, &SAID.replace("></p>", &format!(">{failed}</p>")));
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], page).into_response()
}

async fn login(State(token): State<Token>, Form(pairs): Form<Vec<(String, String)>>) -> Response {
    let given = pairs.iter().find(|(name, _)| name == "token").map(|(_, value)| value.as_str()).unwrap_or_default();
    let cookie = match token.is(given).await {
        Ok(true) => token.cookie().await,
        Ok(false) => {
            warn!("a login to the console failed: it is not the token");
            return shown(StatusCode::UNAUTHORIZED, "This is not the token.");
        }
        Err(error) => Err(error),
    };
    match cookie {
        Ok(cookie) => (to("/").into_parts().0, [(header::SET_COOKIE, cookie)], ()).into_response(),
        Err(error) => unusable(&error),
    }
}

async fn logout() -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, "/login".to_owned()), (header::SET_COOKIE, no_cookie())]).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_local_and_other_names_are_not() {
        for host in ["127.0.0.1:10244", "[::1]:10244", "localhost", "LOCALHOST:1", "a.localhost:1", "10.1.2.3"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["", "example.com", "localhost.example.com", "127.0.0.1.example.com:80", "notlocalhost", "a b"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
