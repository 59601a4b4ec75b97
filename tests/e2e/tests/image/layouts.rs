//! Releases of other layouts than the default one: each is installed, upgraded and uninstalled, with the rights that it needs and no others.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::{Context, ensure};
use e2e::helm::Release;
use e2e::rollout::merge;
use e2e::{Case, PATIENCE};
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::{Value, json};
use testkit::http::Request;
use testkit::{poll, poll_every};

use super::objects::all;
use super::pods::{case, logs, rolled_out};
use super::release::{DRAIN, SELECTOR, balance, controller, published, rights_are_those_that_are_needed, uninstalled, values};
use super::traffic::{Backends, Traffic, rule};

/// Values of one version with what a layout changes.
fn with(case: &Case, version: &str, more: &Value) -> Value {
    let mut all = values(case, version);
    merge(&mut all, json!({"controller": {"replicaCount": 2, "admissionWebhooks": {"enabled": true}}}));
    merge(&mut all, more.clone());
    all
}

/// Ingresses that a release serves: where they are, and their class.
struct Served<'a>(&'a Case, &'a str);

/// Installs and upgrades a release, and uninstalls it. `look` looks at the second version.
async fn life(
    case: &Case,
    Served(at, class): Served<'_>,
    more: Value,
    look: impl AsyncFnOnce(&Traffic) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let _backends = Backends::start(at, class).await?;
    let before = all(case.namespace.client()).await?;
    let release = Release::install(case, &with(case, "1", &more))?;
    let name = controller(case);
    balance(case, &name).await?;
    rolled_out(case, &name, SELECTOR).await?;
    let traffic = Traffic::start(case, &name, Some(DRAIN)).await?;
    traffic.flow(500).await;
    release.upgrade(&with(case, "2", &more))?;
    rolled_out(case, &name, SELECTOR).await?;
    look(&traffic).await.with_context(|| logs(case))?;
    traffic.flow(500).await;
    traffic.stop(&BTreeSet::new()).await.with_context(|| logs(case))?;
    // A controller that must not read IngressClasses has to ask for them once to know.
    let may_not = class.is_empty().then_some("ingressclasses");
    rights_are_those_that_are_needed(case, may_not).await?;
    uninstalled(case, release, before).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_for_its_own_namespace_has_no_right_on_the_cluster() -> anyhow::Result<()> {
    let Some(case) = case("own").await? else { return Ok(()) };
    let scope = json!({"rbac": {"scope": true}, "controller": {
        "scope": {"enabled": true}, "watchIngressWithoutClass": true, "ingressClassResource": {"enabled": false},
    }});
    life(&case, Served(&case, ""), scope, async |_| published(&case, "web.example.com").await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_for_another_namespace_has_its_rights_there() -> anyhow::Result<()> {
    let Some(case) = case("other").await? else { return Ok(()) };
    let shop = Case::with_bed(case.bed.clone(), "shop").await?;
    let scope = json!({"controller": {"scope": {"enabled": true, "namespace": shop.ns()}, "addHeaders": {"X-Layout": "other"}}});
    life(&case, Served(&shop, case.ns()), scope, async |_| published(&shop, "web.example.com").await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_for_selected_namespaces_reads_their_labels() -> anyhow::Result<()> {
    let Some(case) = case("selected").await? else { return Ok(()) };
    let selector = format!("kubernetes.io/metadata.name={}", case.ns());
    let scope = json!({"controller": {"scope": {"namespaceSelector": selector}}});
    life(&case, Served(&case, case.ns()), scope, async |_| published(&case, "web.example.com").await).await
}

/// Where there is no load balancer. The bed's kubelet gives such Pods an address of their own, as it has no other network for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_on_the_network_of_its_nodes_publishes_their_addresses() -> anyhow::Result<()> {
    let Some(case) = case("nodes").await? else { return Ok(()) };
    let nodes = json!({"controller": {
        "hostNetwork": true, "reportNodeInternalIp": true, "publishService": {"enabled": false},
        "extraArgs": {"status-update-interval": "5"},
    }});
    let look = async |_: &Traffic| {
        poll(PATIENCE, || async {
            let status = json!(case.namespace.api::<Ingress>().get("web.example.com").await?.status);
            let entries = status["loadBalancer"]["ingress"].as_array().cloned().unwrap_or_default();
            let is_node = |entry: &Value| entry["ip"].as_str().is_some_and(|ip| ip.starts_with("10.77.1."));
            ensure!(!entries.is_empty() && entries.iter().all(is_node), "{status}");
            Ok(())
        })
        .await
    };
    life(&case, Served(&case, case.ns()), nodes, look).await
}

/// A tenant with all rights: its Lua answers with what looks like a token, wherever one could be.
const THIEF: &str = r#"
location = /thief {
  content_by_lua_block {
    local found = { "looked" }
    local function look(path)
      local file = io.open(path)
      local text = file and file:read("*a")
      if text and text:find("eyJ", 1, true) then
        found[#found + 1] = path
      end
    end
    local mounted = "/run/secrets/kubernetes.io/serviceaccount/"
    for _, name in ipairs({ "token", "..data/token" }) do
      look("/var" .. mounted .. name)
      look(mounted .. name)
      for pid = 1, 200 do
        look("/proc/" .. pid .. "/root/var" .. mounted .. name)
        look("/proc/" .. pid .. "/environ")
      end
    end
    ngx.say(table.concat(found, "\n"))
  }
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_release_with_two_containers_has_no_token_where_nginx_runs() -> anyhow::Result<()> {
    let Some(case) = case("split").await? else { return Ok(()) };
    let split = json!({"controller": {
        "splitDataPlane": true, "allowSnippetAnnotations": true, "config": {"annotations-risk-level": "Critical"},
        "dataPlane": {"readinessProbe": {"periodSeconds": 1}},
    }});
    let look = async |traffic: &Traffic| {
        published(&case, "web.example.com").await?;
        case.create(&rule(case.ns(), "thief.example.com", "echo").annotation("server-snippet", THIEF).build()).await?;
        for target in traffic.targets() {
            poll_every(std::time::Duration::from_millis(250), PATIENCE, || async {
                let answer = Request::get(SocketAddr::from((target, 80)), "/thief").host("thief.example.com").send().await?;
                ensure!(answer.status == 200 && answer.text() == "looked\n", "{} {}", answer.status, answer.text());
                Ok(())
            })
            .await?;
        }
        case.delete::<Ingress>("thief.example.com").await
    };
    life(&case, Served(&case, case.ns()), split, look).await
}
