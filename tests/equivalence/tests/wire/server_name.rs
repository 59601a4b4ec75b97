//! `$server_name` is the host of the rule, though one server block serves all hosts.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::ensure;
use equivalence::world::{PATIENCE, World};
use testkit::echo::{self, Identity, Seen};
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::poll;

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// What NGINX has for a wildcard.
const WILD: &str = r"~^(?<subdomain>[\w-]+)\.wild\.test$";

fn rule(host: &str) -> IngressBuilder {
    mk_ingress("web").host(host).path("/", PathType::Prefix, "web", 80)
}

#[tokio::test]
async fn server_name_is_the_host_of_the_rule_in_logs_and_snippets() -> anyhow::Result<()> {
    let logs = tempfile::tempdir()?;
    let log = logs.path().join("access.log");
    let web = echo::start(ANY, Identity::named("web")).await?;
    let settings = [
        ("disable-access-log", "false"),
        ("access-log-path", log.to_str().unwrap_or_default()),
        ("log-format-upstream", "$server_name ${server_name} $request_uri"),
        ("http-snippet", "map $server_name $mapped { default other; plain.test mapped; }"),
        ("server-snippet", "set $early $server_name;"),
        ("proxy-set-headers", "shop/headers"),
    ];
    let snippet = "add_header X-Name $server_name; add_header X-Mapped $mapped; add_header X-Early $early;";
    let world = World::new().await?.configured(&settings).service("web", &[web.address()]);
    let world = world.config_map("headers", &[("X-Server", "$server_name")]);
    let world = world.ingress("plain", rule("plain.test").annotation("configuration-snippet", snippet));
    let world = world.ingress("named", rule("named.test").annotation("server-alias", "alias.test,*.more.test"));
    let world = world.ingress("wild", rule("*.wild.test").annotation("upstream-vhost", "$server_name"));
    let world = world.ingress("shell", rule("shell.test").annotation("server-snippet", "add_header X-Name $server_name;"));
    let world = world.serve().await?;

    let answer = world.get("plain.test", "/plain").await?;
    for (name, value) in [("x-name", "plain.test"), ("x-mapped", "mapped"), ("x-early", "plain.test")] {
        assert_eq!(answer.header(name), Some(value), "{name}: {answer:?}");
    }
    assert_eq!(Seen::read(&answer.body)?.header("x-server"), Some("plain.test"));
    assert_eq!(world.get("shell.test", "/shell").await?.header("x-name"), Some("shell.test"));
    assert_eq!(Seen::read(&world.get("a.wild.test", "/wild").await?.body)?.host, WILD);
    for (host, target) in [("alias.test", "/alias"), ("x.more.test", "/more"), ("unknown.test", "/unknown")] {
        world.get(host, target).await?;
    }
    // As NGINX escapes it in logs.
    let wild = WILD.replace('\\', r"\x5C");
    let wanted = [("plain.test", "/plain"), ("shell.test", "/shell"), (&wild, "/wild"), ("named.test", "/alias"), ("named.test", "/more")];
    poll(PATIENCE, || async {
        let text = std::fs::read_to_string(&log)?;
        for (name, target) in wanted {
            ensure!(text.contains(&format!("{name} {name} {target}\n")), "{name} {target}: {text}");
        }
        Ok(())
    })
    .await
}
