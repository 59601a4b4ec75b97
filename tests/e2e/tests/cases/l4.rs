//! L4: TCP and UDP services.

mod tls;
mod udp;
mod world;

use anyhow::ensure;
use e2e::{Case, PATIENCE};
use k8s_openapi::api::core::v1::{ConfigMap, Event, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::ListParams;
use serde_json::json;
use testkit::http::{Request, raw};
use testkit::kube::{mk_service, mk_slice};
use testkit::poll;
use testkit::ports::{Ports, addresses};
use world::{Server, at, controller, entries, until};

#[tokio::test]
async fn l4_01_a_tcp_service_is_served_and_its_name_is_in_the_configuration() -> anyhow::Result<()> {
    let case = Case::new("l4-01").await?;
    let _servers = case.echo(1).await?;
    let port = Ports::one()?;
    entries(&case, "tcp", &[(port, "{NS}/echo:80")]).await?;
    let controller = controller(&case).start().await?;
    let answer = poll(PATIENCE, || Request::get(at(port), "/").host("any").send()).await?;
    assert_eq!(answer.status, 200);
    let conf = controller.nginx_conf()?;
    assert!(conf.contains(&format!("\"TCP:{port}\" \"tcp-{}-echo-80\";", case.ns())), "{conf}");
    Ok(())
}

#[tokio::test]
async fn l4_02_an_entry_that_changes_leads_to_the_other_service() -> anyhow::Result<()> {
    let case = Case::new("l4-02").await?;
    let (first, second) = (Server::start("first").await?, Server::start("second").await?);
    first.serve(&case, "first-service").await?;
    second.serve(&case, "second-service").await?;
    let port = Ports::one()?;
    entries(&case, "tcp", &[(port, "{NS}/first-service:80")]).await?;
    let controller = controller(&case).start().await?;
    until(port, b"x", b"first x").await?;
    let name = |service: &str| format!("\"tcp-{}-{service}-80\"", case.ns());
    assert!(controller.nginx_conf()?.contains(&name("first-service")));

    let data = json!({"data": {port.to_string(): format!("{}/second-service:80", case.ns())}});
    case.patch::<ConfigMap>("tcp", data).await?;
    until(port, b"x", b"second x").await?;
    poll(PATIENCE, || async {
        let conf = controller.nginx_conf()?;
        ensure!(conf.contains(&name("second-service")) && !conf.contains(&name("first-service")), "{conf}");
        let why = format!("port {port} of the TCP services is opened, closed or changed");
        ensure!(controller.log().contains(&why), "{}", controller.log());
        Ok(())
    })
    .await?;

    // An entry that is gone closes its port, a new one opens another.
    let other = Ports::one()?;
    let data = json!({"data": {port.to_string(): null, other.to_string(): format!("{}/second-service:80", case.ns())}});
    case.patch::<ConfigMap>("tcp", data).await?;
    until(other, b"x", b"second x").await?;
    poll(PATIENCE, || async {
        ensure!(raw(at(port), b"x").await.is_err(), "still open");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn l4_03_endpoints_change_without_a_reload_and_dead_ones_are_avoided() -> anyhow::Result<()> {
    let case = Case::new("l4-03").await?;
    let (one, two) = (Server::start("one").await?, Server::start("two").await?);
    let port = Ports::one()?;
    entries(&case, "tcp", &[(port, "{NS}/db:80")]).await?;
    let controller = controller(&case).start().await?;
    poll(PATIENCE, || async {
        ensure!(controller.log().contains("the Service does not exist; connections are closed"), "{}", controller.log());
        // The port is open all the same, so that the Service needs no reload.
        ensure!(raw(at(port), b"x").await.unwrap_or_default().is_empty());
        Ok(())
    })
    .await?;
    let reloads = controller.reloads().await?;

    one.serve(&case, "db").await?;
    until(port, b"x", b"one x").await?;
    // Nothing listens at two of these.
    let dead = addresses(2)?;
    let ready = |addresses: &[String]| json!({"endpoints": addresses.iter().map(|ip| json!({"addresses": [ip], "conditions": {"ready": true}})).collect::<Vec<_>>()});
    let all = [two.address.ip().to_string(), dead[0].to_string(), dead[1].to_string()];
    case.patch::<EndpointSlice>("db", ready(&all)).await?;
    until(port, b"x", b"two x").await?;
    for _ in 0..60 {
        assert_eq!(raw(at(port), b"x").await?, b"two x");
    }
    case.patch::<EndpointSlice>("db", ready(&[one.address.ip().to_string(), two.address.ip().to_string()])).await?;
    let mut seen = [0, 0];
    poll(PATIENCE, || async {
        ensure!(raw(at(port), b"x").await? == b"one x", "not both yet");
        Ok(())
    })
    .await?;
    for _ in 0..40 {
        seen[usize::from(raw(at(port), b"x").await? == b"two x")] += 1;
    }
    assert!(seen.iter().all(|count| *count >= 8), "{seen:?}");
    case.patch::<EndpointSlice>("db", json!({"endpoints": []})).await?;
    poll(PATIENCE, || async {
        ensure!(raw(at(port), b"x").await.unwrap_or_default().is_empty(), "still answered");
        Ok(())
    })
    .await?;
    assert_eq!(controller.reloads().await?, reloads);
    Ok(())
}

#[tokio::test]
async fn l4_04_the_proxy_protocol_comes_in_and_goes_out() -> anyhow::Result<()> {
    let case = Case::new("l4-04").await?;
    let server = Server::start("seen").await?;
    server.serve(&case, "mail").await?;
    let ports = Ports::take(3)?;
    let written = ["{NS}/mail:80:PROXY", "{NS}/mail:80:proxy:PROXY", "{NS}/mail:80::PROXY"];
    entries(&case, "tcp", &ports.iter().copied().zip(written).collect::<Vec<_>>()).await?;
    case.settings(&[("enable-real-ip", "true")]).await?;
    let _controller = controller(&case).start().await?;
    let v1 = b"PROXY TCP4 192.0.2.7 192.0.2.1 1000 25\r\nhello".to_vec();
    let v2 = [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x08\xc0\0\x02\x01\x03\xe8\0\x19"[..], b"hello"].concat();
    until(ports[0], &v1, b"seen hello").await?;
    until(ports[0], &v2, b"seen hello").await?;
    let seen = async |port: u16, bytes: &[u8]| anyhow::Ok(String::from_utf8(raw(at(port), bytes).await?)?);
    for (client, bytes) in [("192.0.2.7", &v1), ("192.0.2.8", &v2)] {
        let answer = seen(ports[1], bytes).await?;
        assert!(answer.starts_with(&format!("seen PROXY TCP4 {client} ")) && answer.ends_with("\r\nhello"), "{answer:?}");
    }
    let answer = seen(ports[2], b"hello").await?;
    assert!(answer.starts_with("seen PROXY TCP4 127.0.0.1 127.0.0.1 ") && answer.ends_with("\r\nhello"), "{answer:?}");
    Ok(())
}

#[tokio::test]
async fn l4_05_ports_have_names_services_are_in_any_namespace_or_have_external_names() -> anyhow::Result<()> {
    let case = Case::new("l4-05").await?;
    let other = Case::new("l4-05-other").await?;
    let server = Server::start("own").await?;
    let service =
        |name: &str, spec| -> Service { serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).expect("a Service") };
    let ports = json!([{"name": "web", "port": 80, "targetPort": 1}, {"name": "http", "port": 9000, "targetPort": server.address.port()}]);
    other.create(&service("db", json!({"ports": ports}))).await?;
    other.create(&mk_slice("db", "db", &[server.address])).await?;
    let ports = json!([{"name": "far", "port": 7, "targetPort": server.address.port()}]);
    let spec = json!({"type": "ExternalName", "externalName": server.address.ip().to_string(), "ports": ports});
    case.create(&service("far", spec)).await?;

    let ports = Ports::take(4)?;
    let of_other = |port: &str| format!("{}/db:{port}", other.ns());
    let by = [of_other("http"), of_other("9000"), "{NS}/far:far".to_owned(), "{NS}/far:7".to_owned()];
    entries(&case, "tcp", &ports.iter().copied().zip(by.iter().map(String::as_str)).collect::<Vec<_>>()).await?;
    let _controller = case.bare_controller().flag("--tcp-services-configmap={NS}/tcp").start().await?;
    for port in ports {
        until(port, b"x", b"own x").await?;
    }
    Ok(())
}

#[tokio::test]
async fn l4_06_what_is_no_entry_is_reported_and_all_others_are_served() -> anyhow::Result<()> {
    let case = Case::new("l4-06").await?;
    let server = Server::start("own").await?;
    server.serve(&case, "db").await?;
    let good = Ports::one()?;
    let ports = Ports::take(3)?;
    entries(&case, "tcp", &[(good, "{NS}/db:80"), (ports[0], "db:80"), (ports[1], "{NS}/db:81"), (ports[2], "{NS}/absent:80")]).await?;
    let controller = controller(&case).start().await?;
    let reserved = controller.http().port();
    case.patch::<ConfigMap>("tcp", json!({"data": {reserved.to_string(): format!("{}/db:80", case.ns()), "http": "a/b:80"}})).await?;
    until(good, b"x", b"own x").await?;
    let events = async || anyhow::Ok(case.namespace.api::<Event>().list(&ListParams::default()).await?.items);
    poll(PATIENCE, || async {
        let events = events().await?;
        let said: Vec<&str> = events.iter().filter_map(|event| event.message.as_deref()).collect();
        for expected in [
            format!("data[\"{}\"]: \"db:80\": expected namespace/service:port", ports[0]),
            "the Service has no TCP port 81, expected one of 80 (http); connections are closed".to_owned(),
            format!("Service {}/absent: the Service does not exist; connections are closed", case.ns()),
            format!("port {reserved} is that of --http-port"),
            "data[\"http\"]: \"a/b:80\": expected a port from 1 to 65535".to_owned(),
        ] {
            ensure!(said.iter().any(|message| message.contains(&expected)), "{expected}: {said:#?}\n{}", controller.log());
        }
        Ok(())
    })
    .await?;
    until(good, b"x", b"own x").await?;
    assert_eq!(controller.get("any", "/").await?.status, 404);

    // A port of another process keeps nothing else from being served.
    let other = tokio::net::TcpListener::bind(("0.0.0.0", Ports::one()?)).await?;
    let taken = other.local_addr()?.port();
    let more = Ports::one()?;
    let entry = format!("{}/db:80", case.ns());
    case.patch::<ConfigMap>("tcp", json!({"data": {taken.to_string(): entry, more.to_string(): entry}})).await?;
    until(more, b"x", b"own x").await?;
    let problem = format!("port {taken} can't be opened: ");
    poll(PATIENCE, || async {
        let events = events().await?;
        ensure!(
            events.iter().any(|event| event.message.as_ref().is_some_and(|message| message.contains(&problem))),
            "{}",
            controller.log()
        );
        Ok(())
    })
    .await?;
    // It is opened once it is free, without a change of any object.
    drop(other);
    until(taken, b"x", b"own x").await?;
    poll(PATIENCE, || async {
        let ended =
            controller.log().lines().any(|line| line.contains(&format!("data[\\\"{taken}\\\"]")) && line.contains("no longer a problem"));
        ensure!(ended, "{}", controller.log());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn l4_03_a_connection_may_have_one_try_alone() -> anyhow::Result<()> {
    let case = Case::new("l4-tries").await?;
    let server = Server::start("own").await?;
    server.serve(&case, "db").await?;
    let port = Ports::one()?;
    entries(&case, "tcp", &[(port, "{NS}/db:80")]).await?;
    case.settings(&[("proxy-stream-next-upstream-tries", "1"), ("proxy-stream-next-upstream-timeout", "17s")]).await?;
    let controller = controller(&case).start().await?;
    until(port, b"x", b"own x").await?;
    assert!(controller.nginx_conf()?.contains("proxy_next_upstream_timeout 17s;"));
    let dead = addresses(2)?;
    let all = [server.address.ip().to_string(), dead[0].to_string(), dead[1].to_string()];
    let endpoints: Vec<_> = all.iter().map(|ip| json!({"addresses": [ip], "conditions": {"ready": true}})).collect();
    case.patch::<EndpointSlice>("db", json!({"endpoints": endpoints})).await?;
    // With a further try it would reach the one that lives.
    poll(PATIENCE, || async {
        ensure!(raw(at(port), b"x").await.unwrap_or_default().is_empty(), "each connection is answered");
        Ok(())
    })
    .await?;
    until(port, b"x", b"own x").await
}

#[tokio::test]
async fn l4_07_settings_logs_and_metrics_are_those_of_the_service() -> anyhow::Result<()> {
    let case = Case::new("l4-07").await?;
    let server = Server::start("own").await?;
    server.serve(&case, "db").await?;
    case.create(&mk_service("silent", 80, 80, None)).await?;
    let port = Ports::one()?;
    entries(&case, "tcp", &[(port, "{NS}/db:80")]).await?;
    let format = "l4 $proxy_upstream_name $protocol $status $bytes_received $bytes_sent";
    case.settings(&[("proxy-stream-timeout", "1s"), ("log-format-stream", format), ("proxy-stream-next-upstream", "false")]).await?;
    let controller = controller(&case).flag("--enable-metrics").start().await?;
    until(port, b"hello", b"own hello").await?;
    // The server waits for something to answer, and the client sends nothing.
    assert_eq!(raw(at(port), b"").await?, b"");
    poll(PATIENCE, || async {
        let line = format!("l4 tcp-{}-db-80 TCP 200 5 9", case.ns());
        ensure!(controller.log().contains(&line), "{}", controller.log());
        let text = controller.metrics().await?;
        let labels =
            format!("protocol=\"tcp\",port=\"{port}\",namespace=\"{}\",service=\"db\",service_port=\"80\",status=\"200\"", case.ns());
        let value = |family: &str| {
            let mut lines = text.lines().filter(|line| line.starts_with(&format!("nginx_ingress_controller_stream_{family}{{")));
            lines.find(|line| line.contains(&labels)).and_then(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).unwrap_or_default()
        };
        ensure!(value("connections_total") >= 2.0 && value("seconds_total") >= 1.0, "{text}");
        ensure!(value("received_bytes_total") >= 5.0 && value("sent_bytes_total") >= 9.0, "{text}");
        Ok(())
    })
    .await
}
