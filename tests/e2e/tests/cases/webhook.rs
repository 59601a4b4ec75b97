//! ADM: the admission webhook, called by the API server itself, and by clients that are none.

mod clients;
mod rows;
mod states;

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, ensure};
use e2e::{Case, Controller, Launch, PATIENCE};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use testkit::http::{Request, Response};
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
        // Deletions as well, which an installation does not register.
        let webhook = |name: &str, group: &str, resource: &str, path: &str| {
            let operations = json!(["CREATE", "UPDATE", "DELETE"]);
            json!({
                "name": name, "matchPolicy": "Equivalent", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "failurePolicy": policy, "timeoutSeconds": 5,
                "rules": [{"apiGroups": [group], "apiVersions": ["v1"], "operations": operations, "resources": [resource]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": case.ns()}},
                "clientConfig": {"url": format!("https://{address}{path}")},
            })
        };
        let ingresses = webhook("validate.nginx.ingress.kubernetes.io", "networking.k8s.io", "ingresses", PATH);
        let mut settings = webhook("settings.nginx.ingress.kubernetes.io", "", "configmaps", "/v1/configmaps");
        settings["failurePolicy"] = "Ignore".into();
        settings["timeoutSeconds"] = 1.into();
        let configuration = serde_json::from_value(json!({"metadata": {"name": case.ns()}, "webhooks": [ingresses, settings]}))?;
        let api: Api<ValidatingWebhookConfiguration> = Api::all(case.namespace.client().clone());
        api.create(&PostParams::default(), &configuration).await?;
        Ok(Self { case, address })
    }

    /// Starts the controller and waits until Ingresses are accepted by its review.
    async fn start(&self, flags: &[&str]) -> anyhow::Result<Controller> {
        self.begin(self.launch(flags)).await
    }

    fn launch(&self, flags: &[&str]) -> Launch<'_> {
        let mut launch = self.case.controller().flag(&format!("--validating-webhook={}", self.address));
        launch = launch.flag("--validating-webhook-secret={NS}/hook").flag("--validating-webhook-configuration={NS}");
        launch = launch.flag(&format!("--validating-webhook-names={}", self.address.ip()));
        for flag in flags {
            launch = launch.flag(flag);
        }
        launch
    }

    async fn begin(&self, launch: Launch<'_>) -> anyhow::Result<Controller> {
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
    review_of("CREATE", "Ingress", object)
}

fn review_of(operation: &str, kind: &str, object: &Value) -> Vec<u8> {
    let kind = json!({"group": "networking.k8s.io", "version": "v1", "kind": kind});
    let (namespace, name) = (&object["metadata"]["namespace"], &object["metadata"]["name"]);
    let request = json!({"uid": "u", "kind": kind, "operation": operation, "namespace": namespace, "name": name, "object": object});
    serde_json::to_vec(&json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})).expect("JSON")
}
