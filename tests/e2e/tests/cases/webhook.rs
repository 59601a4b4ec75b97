//! ADM: the admission webhook, called by the API server itself, and by clients that are none.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use testkit::http::{Connection, Request, Response};
use testkit::kube::{PathType, mk_ingress};
use testkit::{poll, ports};

const PATH: &str = "/networking/v1/ingresses";

/// A case whose Ingresses are reviewed.
struct Hook {
    case: Case,
    address: SocketAddr,
}

impl Hook {
    /// With the registration and an empty Secret, as an installation makes them.
    async fn new(id: &str, policy: &str) -> anyhow::Result<Self> {
        let case = Case::new(id).await?;
        let address = SocketAddr::new(IpAddr::V4(ports::addresses(1)?[0]), 8443);
        case.create(&serde_json::from_value::<Secret>(json!({"metadata": {"name": "hook"}}))?).await?;
        let webhook = json!({
            "name": "validate.nginx.ingress.kubernetes.io", "matchPolicy": "Equivalent", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "failurePolicy": policy, "timeoutSeconds": 5,
            "rules": [{"apiGroups": ["networking.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["ingresses"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": case.ns()}},
            "clientConfig": {"url": format!("https://{address}{PATH}")},
        });
        let configuration = serde_json::from_value(json!({"metadata": {"name": case.ns()}, "webhooks": [webhook]}))?;
        let api: Api<ValidatingWebhookConfiguration> = Api::all(case.namespace.client().clone());
        api.create(&PostParams::default(), &configuration).await?;
        Ok(Self { case, address })
    }

    /// Starts the controller and waits until Ingresses are accepted by its review.
    async fn start(&self, flags: &[&str]) -> anyhow::Result<Controller> {
        let mut launch = self.case.controller().flag(&format!("--validating-webhook={}", self.address));
        launch = launch.flag("--validating-webhook-secret=NS/hook").flag("--validating-webhook-configuration=NS");
        launch = launch.flag(&format!("--validating-webhook-names={}", self.address.ip()));
        for flag in flags {
            launch = launch.flag(flag);
        }
        let controller = launch.start().await?;
        // The API server learns of the authority by a watch of its own.
        poll(PATIENCE, || async {
            let refused = self.case.create_dry(&bad("probe")).await.err().context("nothing is reviewed yet")?;
            ensure!(format!("{refused:#}").contains("/etc/nginx"), "{refused:#}");
            Ok(())
        })
        .await
        .with_context(|| controller.log())?;
        Ok(controller)
    }

    async fn denied(&self, ingress: &Ingress, expected: &str) -> anyhow::Result<()> {
        let error = self.case.create(ingress).await.err().context("it was not refused")?;
        let error = format!("{error:#}");
        ensure!(error.contains("denied the request") && error.contains(expected), "{error}");
        Ok(())
    }

    fn request(&self, body: Vec<u8>) -> Request {
        Request::new("POST", self.address, PATH).host("hook").tls("hook.example").body(body)
    }

    async fn post(&self, body: Vec<u8>) -> anyhow::Result<Response> {
        self.request(body).send().await
    }
}

trait Dry {
    async fn create_dry(&self, ingress: &Ingress) -> anyhow::Result<Ingress>;
}

impl Dry for Case {
    async fn create_dry(&self, ingress: &Ingress) -> anyhow::Result<Ingress> {
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        Ok(self.namespace.api::<Ingress>().create(&dry, ingress).await?)
    }
}

fn bad(name: &str) -> Ingress {
    mk_ingress(name).class("nginx").host("bad.example.com").path("/etc/nginx", PathType::Prefix, "echo", 80).build()
}

fn with_path(name: &str, host: &str, path: &str, kind: PathType) -> testkit::kube::IngressBuilder {
    mk_ingress(name).class("nginx").host(host).path(path, kind, "echo", 80)
}

fn review(object: &Value) -> Vec<u8> {
    let kind = json!({"group": "networking.k8s.io", "version": "v1", "kind": "Ingress"});
    let (namespace, name) = (&object["metadata"]["namespace"], &object["metadata"]["name"]);
    let request = json!({"uid": "u", "kind": kind, "operation": "CREATE", "namespace": namespace, "name": name, "object": object});
    serde_json::to_vec(&json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})).expect("JSON")
}

#[tokio::test]
async fn adm_01_to_04_and_06_paths_words_and_sizes() -> anyhow::Result<()> {
    let hook = Hook::new("adm-02", "Fail").await?;
    let case = &hook.case;
    let _servers = case.echo(1).await?;
    case.settings(&[("annotation-value-word-blocklist", "}")]).await?;
    let controller = hook.start(&[]).await?;
    // ADM-01
    assert_eq!(hook.post(vec![b' '; 9 << 20]).await?.status, 413);
    // ADM-02
    let first = with_path("first", "admission-test", "/safe-path-1", PathType::Prefix).path("/conflict-path", PathType::Prefix, "echo", 80);
    case.create(&first.build()).await?;
    controller.until("admission-test", "/safe-path-1", 200).await?;
    let second =
        with_path("second", "admission-test", "/safe-path-2", PathType::Prefix).path("/conflict-path", PathType::Prefix, "echo", 80);
    hook.denied(&second.build(), "already defined by Ingress").await?;
    // ADM-03
    case.create(&with_path("mypage", "invalid-path", "/mypage", PathType::Prefix).build()).await?;
    hook.denied(&with_path("files", "invalid-path", "/etc/nginx", PathType::Prefix).build(), "/etc/nginx").await?;
    // ADM-04
    let word = with_path("word", "word.example.com", "/", PathType::Prefix).annotation("connection-proxy-header", "a;}");
    hook.denied(&word.build(), "connection-proxy-header").await?;
    // ADM-06
    let mut annotated = mk_ingress("extensions-class").host("extensions-class").path("/", PathType::Prefix, "echo", 80).build();
    annotated.metadata.annotations.get_or_insert_default().insert("kubernetes.io/ingress.class".into(), "nginx".into());
    case.create(&annotated).await?;
    controller.until("extensions-class", "/", 200).await?;
    let metrics = controller.metrics().await?;
    assert!(metrics.contains("nginx_ingress_controller_admission_roundtrip_duration{"), "{metrics}");
    let counted =
        metrics.lines().find(|line| line.starts_with("nginx_ingress_controller_check_success{") && line.contains("extensions-class"));
    assert!(counted.is_some_and(|line| line.ends_with(" 1")), "{metrics}");
    Ok(())
}

#[tokio::test]
async fn adm_05_path_types() -> anyhow::Result<()> {
    let hook = Hook::new("adm-05", "Fail").await?;
    hook.case.settings(&[("strict-validate-path-type", "true")]).await?;
    let _controller = hook.start(&[]).await?;
    let odd = |name: &str, kind| with_path(name, "paths.example.com", "/foo/bar/[a-z]{3}", kind);
    hook.denied(&odd("exact", PathType::Exact).build(), "strict-validate-path-type").await?;
    hook.denied(&odd("prefix", PathType::Prefix).build(), "strict-validate-path-type").await?;
    let free = odd("free", PathType::ImplementationSpecific).annotation("use-regex", "true").annotation("rewrite-target", "/new/backend");
    hook.case.create(&free.build()).await?;
    hook.case.create(&with_path("plain", "other.example.com", "/bloblo", PathType::Prefix).build()).await?;
    Ok(())
}

#[tokio::test]
async fn adm_07_and_08_classes_and_risks() -> anyhow::Result<()> {
    let hook = Hook::new("adm-07", "Fail").await?;
    let case = &hook.case;
    case.settings(&[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Medium")]).await?;
    let _controller = hook.start(&[]).await?;
    // ADM-07
    let other = mk_ingress("other").class("nginx-other").host("other.example.com").path("/", PathType::Prefix, "echo", 80);
    case.create(&other.annotation("configuration-snippet", "something invalid").build()).await?;
    // ADM-08
    let low = || rule("risk", "risk.example.com").annotation("default-backend", "bla").annotation("denylist-source-range", "1.1.1.1/32");
    case.create(&low().build()).await?;
    let prefix = "nginx.ingress.kubernetes.io";
    let high = json!({"metadata": {"annotations": {
        format!("{prefix}/modsecurity-transaction-id"): "a", format!("{prefix}/modsecurity-snippet"): "SecRuleEngine On",
    }}});
    let refused = case.patch::<Ingress>("risk", high).await.err().context("the update was not refused")?;
    ensure!(format!("{refused:#}").contains("modsecurity-snippet"), "{refused:#}");
    Ok(())
}

#[tokio::test]
async fn a_webhook_that_is_down_leaves_the_decision_to_its_policy_and_serving_alone() -> anyhow::Result<()> {
    for (policy, stored) in [("Fail", false), ("Ignore", true)] {
        let hook = Hook::new(&format!("adm-{policy}"), policy).await?;
        let _servers = hook.case.echo(1).await?;
        let mut controller = hook.start(&[]).await?;
        hook.case.serve("served.example.com").await?;
        controller.until("served.example.com", "/", 200).await?;
        controller.kill()?;
        let created = hook.case.create(&rule("late", "late.example.com").build()).await;
        assert_eq!(created.is_ok(), stored, "{policy}: {created:?}");
        assert_eq!(controller.get("served.example.com", "/").await?.status, 200);
    }
    Ok(())
}

/// Any client in a cluster can send reviews: none reaches NGINX, none writes a file.
#[tokio::test]
async fn cve_2025_1974_no_review_reaches_nginx_or_a_file() -> anyhow::Result<()> {
    let hook = Hook::new("cve-2025-1974", "Fail").await?;
    let _servers = hook.case.echo(1).await?;
    let allowed = [("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")];
    hook.case.settings(&allowed).await?;
    let controller = hook.start(&[]).await?;
    hook.case.serve("served.example.com").await?;
    controller.until("served.example.com", "/", 200).await?;
    let (text, reloads, files) = (controller.nginx_conf()?, controller.reloads().await?, files(&controller)?);
    let injected = "a\"; } ssl_engine /proc/1/fd/9; #";
    for (annotation, value) in [
        ("configuration-snippet", "ssl_engine /tmp/evil;"),
        ("server-snippet", "} } ssl_engine /tmp/evil; http {"),
        ("auth-url", "http://a.example/#;load_module /tmp/evil.so;"),
        ("auth-tls-match-cn", "CN=a #(\n) ssl_engine evil;"),
        ("mirror-target", injected),
        ("mirror-host", injected),
        ("auth-secret", "../../../../tmp/evil"),
        ("rewrite-target", injected),
    ] {
        let mut object = serde_json::to_value(rule("evil", "evil.example.com").annotation(annotation, value).build())?;
        object["metadata"]["namespace"] = json!(hook.case.ns());
        object["metadata"]["uid"] = json!("a\n#} ssl_engine evil;");
        let answer = hook.post(review(&object)).await?;
        assert_eq!(answer.status, 200, "{annotation}: {}", answer.text());
    }
    hook.case.serve("after.example.com").await?;
    controller.until("after.example.com", "/", 200).await?;
    assert_eq!(controller.get("evil.example.com", "/").await?.status, 404);
    assert_eq!((controller.nginx_conf()?, controller.reloads().await?), (text, reloads));
    assert_eq!(self::files(&controller)?, files);
    Ok(())
}

/// The files that a controller has written, without logs.
fn files(controller: &Controller) -> anyhow::Result<Vec<String>> {
    let output = std::process::Command::new("find").arg(controller.work_dir()).args(["-type", "f", "-not", "-name", "*.log"]).output()?;
    let mut files: Vec<String> = String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect();
    files.sort();
    Ok(files)
}

#[tokio::test]
async fn garbage_large_bodies_and_clients_that_hang_keep_no_review_waiting() -> anyhow::Result<()> {
    let hook = Arc::new(Hook::new("adm-flood", "Fail").await?);
    let controller = hook.start(&[]).await?;
    for body in [&b"{"[..], b"null", b"\xff\xfe\x00", b"[[[[[[[["] {
        assert_eq!(hook.post(body.to_vec()).await?.status, 400);
    }
    // They say that a body follows, and send none.
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: hook\r\nContent-Length: 9000000\r\n\r\n");
    let hanging: Vec<_> = (0..50)
        .map(|_| {
            let (address, head) = (hook.address, head.clone());
            tokio::spawn(async move { testkit::http::raw_tls(address, "hook.example", head.as_bytes()).await })
        })
        .collect();
    let mut padded = review(&json!({"metadata": {"name": "a", "namespace": hook.case.ns()}, "spec": {}}));
    padded.resize((9 << 20) - 1, b' ');
    // Of the large ones some find no room, and are cut off. The small ones are all answered.
    let callers: Vec<_> = (0..50)
        .map(|i| {
            let (hook, padded) = (hook.clone(), padded.clone());
            tokio::spawn(async move {
                if i % 5 == 0 {
                    return Ok(hook.post(padded).await.is_ok());
                }
                let status = hook.request(b"{}".to_vec()).timeout(PATIENCE).send().await?.status;
                ensure!(status == 400, "{status}");
                Ok(true)
            })
        })
        .collect();
    for i in 0..20 {
        hook.case.create_dry(&rule(&format!("dry-{i}"), "dry.example.com").build()).await?;
    }
    for caller in callers {
        caller.await??;
    }
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
    assert_eq!(Request::get(controller.health(), "/healthz").send().await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn the_certificate_is_rotated_while_reviews_go_on() -> anyhow::Result<()> {
    let hook = Hook::new("adm-rotate", "Fail").await?;
    let _controller = hook.start(&["--validating-webhook-lifetime=36s"]).await?;
    let shown = async || -> anyhow::Result<Vec<u8>> {
        let mut connection = Connection::open(&Request::get(hook.address, PATH).host("hook").tls("hook.example")).await?;
        let answer = connection.send(&Request::get(hook.address, PATH).host("hook").tls("hook.example")).await?;
        ensure!(answer.status == 405, "{}", answer.status);
        answer.certificates.first().cloned().context("a certificate")
    };
    let (first, begun, ended) = (shown().await?, Instant::now(), AtomicBool::new(false));
    let reviews = async {
        let mut reviews = 0;
        while !ended.load(Ordering::Relaxed) {
            hook.case.create_dry(&rule("dry", "dry.example.com").build()).await.with_context(|| format!("after {:?}", begun.elapsed()))?;
            reviews += 1;
        }
        anyhow::Ok(reviews)
    };
    let exchange = async {
        while shown().await? == first {
            ensure!(begun.elapsed() < Duration::from_secs(60), "it is the same certificate all the time");
            tokio::task::yield_now().await;
        }
        ended.store(true, Ordering::Relaxed);
        anyhow::Ok(())
    };
    let (reviews, ()) = tokio::try_join!(reviews, exchange)?;
    assert!(reviews > 10, "{reviews}");
    hook.case.create_dry(&rule("dry", "dry.example.com").build()).await?;
    Ok(())
}
