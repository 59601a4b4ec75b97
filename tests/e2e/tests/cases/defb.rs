//! DEFB: what answers when no rule does.

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, has_fake_certificate};
use testkit::http::Request;
use testkit::poll;

#[tokio::test]
async fn defb_01_the_default_backend_service_answers_unknown_hosts() -> anyhow::Result<()> {
    let case = Case::new("defb-01").await?;
    let _servers = case.echo(1).await?;
    let controller = case.controller().flag("--default-backend-service={NS}/echo").start().await?;
    controller.until("unknown.example.com", "/", 200).await?;
    let record = controller.record('b', "-").await?.unwrap_or_default();
    assert!(record.contains("\"name\":\"upstream-default-backend\""), "{record}");
    Ok(())
}

#[tokio::test]
async fn defb_02_without_anything_every_request_is_answered_404() -> anyhow::Result<()> {
    let case = Case::new("defb-02").await?;
    let controller = case.controller().start().await?;
    for method in ["GET", "POST"] {
        for path in ["/", "/demo"] {
            for tls in [false, true] {
                let address = if tls { controller.https() } else { controller.http() };
                // A client that is given no host sends the address.
                for host in [address.to_string(), "foo.bar.com".to_owned()] {
                    let request = Request::new(method, address, path).host(&host);
                    let response = if tls { request.tls("").send() } else { request.send() }.await?;
                    assert_eq!(response.status, 404, "{method} {path} tls={tls} {host}");
                }
            }
        }
    }
    Ok(())
}

/// Waits until a setting of the access log is in effect: a request is logged, or it is not though a later one is.
async fn until_logged(controller: &Controller, log: &std::path::Path, logged: bool) -> anyhow::Result<()> {
    let mut n = 0;
    poll(PATIENCE, || {
        n += 1;
        let (unknown, known) = (format!("/unknown-{logged}-{n}"), format!("/known-{logged}-{n}"));
        async move {
            ensure!(controller.get("bar", &unknown).await?.status == 404);
            ensure!(controller.get("known.example.com", &known).await?.status == 200);
            poll(PATIENCE, || async {
                ensure!(std::fs::read_to_string(log)?.contains(&known), "{known} is not in the log yet");
                Ok(())
            })
            .await?;
            ensure!(std::fs::read_to_string(log)?.contains(&unknown) == logged, "{unknown} in the log is not {logged}");
            Ok(())
        }
    })
    .await
}

#[tokio::test]
async fn defb_03_requests_to_the_default_backend_are_logged_only_if_that_is_asked_for() -> anyhow::Result<()> {
    let case = Case::new("defb-03").await?;
    let scratch = tempfile::tempdir()?;
    let log = scratch.path().join("access.log");
    let path = log.to_str().unwrap_or_default();
    let key = "enable-access-log-for-default-backend";
    case.settings(&[("access-log-path", path), (key, "true")]).await?;
    let _servers = case.echo(1).await?;
    case.serve("known.example.com").await?;
    let controller = case.controller().start().await?;
    controller.until("known.example.com", "/", 200).await?;
    until_logged(&controller, &log, true).await?;

    case.settings(&[("access-log-path", path), (key, "false")]).await?;
    until_logged(&controller, &log, false).await?;
    assert_eq!(controller.get("bar", "/somethingTwo").await?.status, 404);
    until_logged(&controller, &log, false).await?;
    assert!(!std::fs::read_to_string(&log)?.contains("/somethingTwo"));
    Ok(())
}

#[tokio::test]
async fn defb_04_https_shows_one_generated_certificate() -> anyhow::Result<()> {
    let case = Case::new("defb-04").await?;
    let controller = case.controller().start().await?;
    let address = controller.https();
    for (sni, host) in [("", address.to_string()), ("foo.bar.com", "foo.bar.com".to_owned())] {
        let response = Request::get(address, "/").tls(sni).host(host).send().await?;
        assert!(has_fake_certificate(&response), "server name {sni:?}");
        assert_eq!(response.status, 404);
    }
    Ok(())
}

#[tokio::test]
async fn defb_05_annotations_apply_to_the_default_backend_of_an_ingress() -> anyhow::Result<()> {
    let case = Case::new("defb-05").await?;
    let _servers = case.echo(1).await?;
    case.apply(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: default
  annotations: {nginx.ingress.kubernetes.io/proxy-buffer-size: 8k}
spec:
  ingressClassName: nginx
  defaultBackend: {service: {name: echo, port: {number: 80}}}
  rules: [{host: foo.com}]
",
    )
    .await?;
    let controller = case.controller().start().await?;
    controller.until("foo.com", "/", 200).await?;
    let text = controller.conf(&["foo.com"])?;
    assert!(text.contains("proxy_buffer_size 8k;"), "{text}");
    Ok(())
}

#[tokio::test]
async fn an_ingress_whose_default_backend_is_no_name_of_a_service_is_refused() -> anyhow::Result<()> {
    let case = Case::new("defb-name").await?;
    let _servers = case.echo(1).await?;
    for (host, service) in [("good.foo.com", "echo"), ("blank.foo.com", "ec ho"), ("around.foo.com", " echo"), ("only.foo.com", " ")] {
        case.create(&e2e::rule(host, host).annotation("default-backend", service).build()).await?;
    }
    let controller = case.controller().start().await?;
    controller.until("good.foo.com", "/", 200).await?;
    for host in ["blank.foo.com", "around.foo.com", "only.foo.com"] {
        assert_eq!(controller.get(host, "/").await?.status, 404, "{host}");
    }
    Ok(())
}
