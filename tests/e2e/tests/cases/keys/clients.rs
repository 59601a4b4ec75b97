//! What clients may send, and what backends see of it.

use testkit::echo::Seen;
use testkit::http::{Connection, Request};

use super::{HOST, Serving};

/// A header as the backend sees it, with these settings.
async fn header(id: &str, settings: &[(&str, &str)], sent: (&str, &str), seen: &str) -> anyhow::Result<Option<String>> {
    let serving = Serving::start(id, settings).await?;
    let response = serving.controller.get_with(HOST, "/", &[sent]).await?;
    Ok(Seen::read(&response.body)?.header(seen).map(str::to_owned))
}

#[tokio::test]
async fn enable_underscores_in_headers_lets_their_names_have_some() -> anyhow::Result<()> {
    let sent = ("x_team", "red");
    assert_eq!(header("keys-no-underscores", &[], sent, "x_team").await?, None);
    let allowed = [("enable-underscores-in-headers", "true")];
    assert_eq!(header("keys-underscores", &allowed, sent, "x_team").await?.as_deref(), Some("red"));
    Ok(())
}

#[tokio::test]
async fn ignore_invalid_headers_drops_odd_names() -> anyhow::Result<()> {
    let sent = ("x.team", "red");
    assert_eq!(header("keys-invalid", &[], sent, "x.team").await?, None);
    assert_eq!(header("keys-taken", &[("ignore-invalid-headers", "false")], sent, "x.team").await?.as_deref(), Some("red"));
    Ok(())
}

#[tokio::test]
async fn large_client_header_buffers_limit_the_length_of_a_header() -> anyhow::Result<()> {
    let serving = Serving::start("keys-buffers", &[("large-client-header-buffers", "2 1k")]).await?;
    for (length, status) in [(900, 200), (1500, 400)] {
        let answer = serving.controller.get_with(HOST, "/", &[("X-Long", &"x".repeat(length))]).await?;
        assert_eq!(answer.status, status, "{length}");
    }
    Ok(())
}

#[tokio::test]
async fn keep_alive_requests_ends_a_connection_after_so_many() -> anyhow::Result<()> {
    let serving = Serving::start("keys-keep-alive", &[("keep-alive-requests", "2")]).await?;
    let request = Request::get(serving.controller.http(), "/").host(HOST);
    let mut connection = Connection::open(&request).await?;
    let first = connection.send(&request).await?;
    let second = connection.send(&request).await?;
    assert_eq!((first.header("connection"), second.header("connection")), (Some("keep-alive"), Some("close")));
    Ok(())
}

#[tokio::test]
async fn bind_address_leaves_other_addresses_alone() -> anyhow::Result<()> {
    let other = |controller: &e2e::Controller| Request::get(controller.http(), "/").at([127, 0, 0, 2].into()).host(HOST).send();
    let everywhere = Serving::start("keys-everywhere", &[]).await?;
    assert_eq!(other(&everywhere.controller).await?.status, 200);
    let bound = Serving::start("keys-bound", &[("bind-address", "127.0.0.1")]).await?;
    assert!(other(&bound.controller).await.is_err(), "it is refused");
    Ok(())
}

#[tokio::test]
async fn forwarded_for_header_names_the_one_with_the_client_s_address() -> anyhow::Result<()> {
    let settings = [("use-forwarded-headers", "true"), ("forwarded-for-header", "X-Client-Ip")];
    let serving = Serving::start("keys-forwarded-for", &settings).await?;
    let sent = [("X-Client-Ip", "192.0.2.7"), ("X-Forwarded-For", "192.0.2.8")];
    let seen = Seen::read(&serving.controller.get_with(HOST, "/", &sent).await?.body)?;
    assert_eq!((seen.header("x-real-ip"), seen.header("x-original-forwarded-for")), (Some("192.0.2.7"), Some("192.0.2.7")));
    Ok(())
}

#[tokio::test]
async fn forwarded_host_header_names_the_one_that_backends_see_as_the_original() -> anyhow::Result<()> {
    let settings = [("forwarded-host-header", "X-Client-Host")];
    let seen = header("keys-forwarded-host", &settings, ("X-Client-Host", "outer.example"), "x-original-forwarded-host").await?;
    assert_eq!(seen.as_deref(), Some("outer.example"));
    Ok(())
}

#[tokio::test]
async fn generate_request_id_gives_requests_without_one_an_id() -> anyhow::Result<()> {
    let id = header("keys-request-id", &[], ("X-Other", "1"), "x-request-id").await?.unwrap_or_default();
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id:?}");
    let off = [("generate-request-id", "false")];
    assert_eq!(header("keys-no-request-id", &off, ("X-Other", "1"), "x-request-id").await?, None);
    assert_eq!(header("keys-own-request-id", &off, ("X-Request-Id", "mine"), "x-request-id").await?.as_deref(), Some("mine"));
    Ok(())
}

#[tokio::test]
async fn limit_conn_status_code_answers_what_is_too_much_at_once() -> anyhow::Result<()> {
    let serving = Serving::with("keys-limit-conn", &[("limit-conn-status-code", "429")], &[("limit-connections", "1")]).await?;
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..6 {
        requests.spawn(Request::get(serving.controller.http(), "/?delay_ms=800").host(HOST).send());
    }
    let mut statuses = Vec::new();
    for answer in requests.join_all().await {
        statuses.push(answer?.status);
    }
    assert!(statuses.contains(&429) && statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    Ok(())
}

#[tokio::test]
async fn limit_conn_zone_variable_says_who_is_counted_as_one() -> anyhow::Result<()> {
    let annotations = [("limit-rpm", "1"), ("limit-burst-multiplier", "1")];
    let serving = Serving::with("keys-limit-zone", &[("limit-conn-zone-variable", "$http_x_client")], &annotations).await?;
    let mut refused = false;
    for _ in 0..5 {
        refused |= serving.controller.get_with(HOST, "/", &[("X-Client", "one")]).await?.status == 503;
    }
    assert!(refused);
    assert_eq!(serving.controller.get_with(HOST, "/", &[("X-Client", "other")]).await?.status, 200);
    Ok(())
}
