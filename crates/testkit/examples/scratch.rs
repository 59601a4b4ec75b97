//! scratch
#![allow(clippy::all, clippy::print_stdout, clippy::unwrap_used)]
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Pod, Service},
    discovery::v1::EndpointSlice,
    networking::v1::Ingress,
};
use kube::api::*;
use std::time::{Duration, Instant};
use testkit::{bed::Bed, http, kube::*, load::Load, poll};
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let t = Instant::now();
    let bed = Bed::from_env()?;
    let ns = bed.namespace("t").await?;
    println!("ns {} {:?}", ns.name(), t.elapsed());
    let n: i32 = std::env::args().nth(1).map(|a| a.parse().unwrap()).unwrap_or(3);
    let dep: Api<Deployment> = ns.api();
    dep.create(&Default::default(), &mk_deployment("shop", n)).await?;
    ns.api::<Service>().create(&Default::default(), &mk_service("shop", 80, 8080, Some("shop"))).await?;
    let slices: Api<EndpointSlice> = ns.api();
    let ready = || async {
        let l = slices.list(&ListParams::default()).await?;
        Ok::<_, anyhow::Error>(
            l.iter()
                .flat_map(|s| s.endpoints.clone())
                .filter(|e| e.conditions.as_ref().unwrap().ready == Some(true))
                .map(|e| e.addresses[0].clone())
                .collect::<Vec<_>>(),
        )
    };
    let ips = poll(Duration::from_secs(60), || async {
        let r = ready().await?;
        anyhow::ensure!(r.len() as i32 == n, "{} ready", r.len());
        Ok(r)
    })
    .await?;
    println!("{n} ready {:?}", t.elapsed());
    let addr: std::net::SocketAddr = format!("{}:8080", ips[0]).parse()?;
    let r = Load::new(http::Request::get(addr, "/").host("x"), 2000).run(Duration::from_secs(1)).await;
    println!("{r}");
    // readiness annotation
    let pods: Api<Pod> = ns.api();
    let p = pods.list(&ListParams::default().limit(1)).await?.items[0].metadata.name.clone().unwrap();
    let t1 = Instant::now();
    pods.patch(
        &p,
        &PatchParams::default(),
        &Patch::Merge(serde_json::json!({"metadata":{"annotations":{"echo.narthex.dev/ready":"false"}}})),
    )
    .await?;
    poll(Duration::from_secs(10), || async {
        let r = ready().await?;
        anyhow::ensure!(r.len() as i32 == n - 1, "{} ready", r.len());
        Ok(())
    })
    .await?;
    println!("unready {:?}", t1.elapsed());
    // manifests
    let t1 = Instant::now();
    ns.apply("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {defaultBackend: {service: {name: shop, port: {number: 80}}}}\n---\napiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: foo}\nspec: {controller: k8s.io/x}\n").await?;
    println!("applied {:?}", t1.elapsed());
    let t1 = Instant::now();
    create_all(
        ns.client(),
        ns.name(),
        (0..1000).map(|i| mk_ingress(&format!("i{i}")).host(&format!("h{i}.example.com")).path("/", PathType::Prefix, "shop", 80).build()),
    )
    .await?;
    println!("1000 ingresses {:?}; {}", t1.elapsed(), ns.api::<Ingress>().list(&ListParams::default()).await?.items.len());
    // dns
    bed.dns_set("foo.bar.test", vec!["10.77.64.9".parse()?], 1).await?;
    let a = tokio::net::lookup_host("foo.bar.test:80").await?.collect::<Vec<_>>();
    println!("dns {a:?} {}", bed.dns_queries("foo.bar.test").await?);
    bed.dns_remove("foo.bar.test").await?;
    assert!(tokio::net::lookup_host("foo.bar.test:80").await.is_err());
    // private
    let t1 = Instant::now();
    let private = Bed::start_private().await?;
    println!("private {:?} {:?}", t1.elapsed(), private.info());
    let c = private.client().await?;
    let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(c.clone());
    println!("nodes {}", nodes.list(&Default::default()).await?.items.len());
    let ns2 = private.namespace("p").await?;
    ns2.api::<Deployment>().create(&Default::default(), &mk_deployment("shop", 2)).await?;
    let up = |c: kube::Client, k: i32| async move {
        poll(Duration::from_secs(20), || async {
            let d: Deployment = Api::<Deployment>::all(c.clone()).list(&Default::default()).await?.items.remove(0);
            let r = d.status.unwrap().ready_replicas.unwrap_or(0);
            anyhow::ensure!(r == k, "{r}");
            Ok(())
        })
        .await
    };
    up(c.clone(), 2).await?;
    private.api_server().kill().await?;
    println!("killed: {}", nodes.list(&Default::default()).await.is_err());
    let t1 = Instant::now();
    private.api_server().start().await?;
    println!("restarted {:?} nodes {}", t1.elapsed(), nodes.list(&Default::default()).await?.items.len());
    let t1 = Instant::now();
    ns2.api::<Deployment>().patch("shop", &PatchParams::default(), &Patch::Merge(serde_json::json!({"spec":{"replicas":5}}))).await?;
    up(c.clone(), 5).await?;
    println!("scaled after restart {:?}", t1.elapsed());
    let t1 = Instant::now();
    private.api_server().stop().await?;
    println!("stopped {:?}", t1.elapsed());
    private.api_server().start().await?;
    private.api_server().pause().await?;
    println!("paused: {}", tokio::time::timeout(Duration::from_millis(300), nodes.list(&Default::default())).await.is_err());
    private.api_server().resume().await?;
    nodes.list(&Default::default()).await?;
    let pids = private.info().pids.clone();
    drop(ns2);
    drop(private);
    let t1 = Instant::now();
    poll(Duration::from_secs(5), || async {
        for p in pids.values() {
            anyhow::ensure!(!std::path::Path::new(&format!("/proc/{p}")).exists(), "{p} lives")
        }
        Ok(())
    })
    .await?;
    println!("private gone {:?}", t1.elapsed());
    let name = ns.name().to_owned();
    drop(ns);
    let t1 = Instant::now();
    let nss: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(bed.client().await?);
    poll(Duration::from_secs(60), || async {
        anyhow::ensure!(nss.get_opt(&name).await?.is_none(), "there");
        Ok(())
    })
    .await?;
    println!("namespace gone {:?}", t1.elapsed());
    Ok(())
}
