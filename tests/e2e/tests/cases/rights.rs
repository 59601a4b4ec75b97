//! The controller with the rights that ingress-nginx's chart grants, and none besides.

use anyhow::{Context, ensure};
use e2e::{Case, PATIENCE, rule};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Service};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use testkit::poll;

use super::status::status_is;

const HOST: &str = "rights.example.com";

/// A ServiceAccount with ingress-nginx's ClusterRole and Role, and a class that no other case has. `{NS}` is the namespace.
const INSTALLED: &str = r#"
apiVersion: v1
kind: ServiceAccount
metadata: {name: ingress-nginx}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {NS}}
rules:
- {apiGroups: [""], resources: [configmaps, endpoints, nodes, pods, secrets, namespaces], verbs: [list, watch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [list, watch]}
- {apiGroups: [""], resources: [nodes], verbs: [get]}
- {apiGroups: [""], resources: [services], verbs: [get, list, watch]}
- {apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [events], verbs: [create, patch]}
- {apiGroups: [networking.k8s.io], resources: [ingresses/status], verbs: [update]}
- {apiGroups: [networking.k8s.io], resources: [ingressclasses], verbs: [get, list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch, get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: {NS}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {NS}}
subjects: [{kind: ServiceAccount, name: ingress-nginx, namespace: {NS}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ingress-nginx}
rules:
- {apiGroups: [""], resources: [namespaces], verbs: [get]}
- {apiGroups: [""], resources: [configmaps, pods, secrets, endpoints], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [services], verbs: [get, list, watch]}
- {apiGroups: [networking.k8s.io], resources: [ingresses], verbs: [get, list, watch]}
- {apiGroups: [networking.k8s.io], resources: [ingresses/status], verbs: [update]}
- {apiGroups: [networking.k8s.io], resources: [ingressclasses], verbs: [get, list, watch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [ingress-nginx-leader], verbs: [get, update]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [""], resources: [events], verbs: [create, patch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch, get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ingress-nginx}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ingress-nginx}
subjects: [{kind: ServiceAccount, name: ingress-nginx, namespace: {NS}}]
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: {NS}}
spec: {controller: example.com/{NS}}
---
apiVersion: v1
kind: Service
metadata: {name: ingress-nginx-controller}
spec: {type: LoadBalancer, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: ingress-nginx-controller-1, labels: {app: ingress-nginx}}
spec: {schedulerName: none, serviceAccountName: ingress-nginx, containers: [{name: controller, image: none}]}
"#;

/// The arguments of its Deployment.
const ARGUMENTS: [&str; 7] = [
    "--publish-service={NS}/ingress-nginx-controller",
    "--election-id=ingress-nginx-leader",
    "--controller-class=example.com/{NS}",
    "--ingress-class={NS}",
    "--configmap={NS}/settings",
    "--enable-metrics=true",
    "--disable-leader-election=f",
];

#[tokio::test]
async fn the_rights_of_ingress_nginx_are_enough() -> anyhow::Result<()> {
    let case = Case::new("rights").await?;
    // The objects that are referred to are in a namespace where no Role adds to the ClusterRole.
    let tenant = Case::new("rights-tenant").await?;
    case.apply(INSTALLED).await?;
    let balancer = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}});
    let services = case.namespace.api::<Service>();
    services.patch_status("ingress-nginx-controller", &PatchParams::default(), &Patch::Merge(balancer)).await?;
    let account = case.kubeconfig_of("ingress-nginx").await?;
    let launch = ARGUMENTS.iter().fold(case.bare_controller(), |launch, flag| launch.flag(flag));
    let launch = launch.env("POD_NAME", "ingress-nginx-controller-1").env("POD_NAMESPACE", case.ns());
    let mut controller = launch.start_as(account.path()).await?;

    // What comes later is read one by one: a Secret and a ConfigMap of the tenant, and the settings.
    let _servers = tenant.echo(1).await?;
    let certificate = tenant.certificate("cert", &[HOST]).await?;
    let headers = json!({"metadata": {"name": "headers"}, "data": {"X-Right": "yes"}});
    tenant.create(&serde_json::from_value::<ConfigMap>(headers)?).await?;
    case.settings(&[("global-allowed-response-headers", "X-Right"), ("ssl-redirect", "false"), ("keep-alive", "61")]).await?;
    let ingress = rule("tls", HOST).class(case.ns()).tls(HOST, "cert");
    let named = ingress.annotation("custom-headers", &format!("{}/headers", tenant.ns()));
    tenant.create(&named.build()).await?;
    controller.until_that("the header of the ConfigMap", HOST, "/", |answer| answer.header("x-right") == Some("yes")).await?;
    poll(PATIENCE, || async {
        let answer = controller.get_tls(HOST, "/").await?;
        ensure!(
            answer.status == 200 && answer.certificates.first() == Some(&certificate.der),
            "{} with another certificate",
            answer.status
        );
        Ok(())
    })
    .await?;

    status_is(&tenant, "tls", &["192.0.2.7"]).await?;
    let lease = case.namespace.api::<Lease>().get("ingress-nginx-leader").await?.spec.context("a spec")?;
    assert_eq!(lease.holder_identity.as_deref(), Some("ingress-nginx-controller-1"));
    for (namespace, object, reason) in [(&tenant, "tls", "Sync"), (&case, "ingress-nginx-controller-1", "RELOAD")] {
        poll(PATIENCE, || async {
            let events = namespace.namespace.api::<Event>().list(&Default::default()).await?.items;
            let of = |event: &Event| event.involved_object.name.as_deref() == Some(object) && event.reason.as_deref() == Some(reason);
            ensure!(events.iter().any(of), "no {reason} of {object} among {events:?}");
            Ok(())
        })
        .await?;
    }
    controller.signal(nix::sys::signal::Signal::SIGTERM)?;
    assert_eq!(controller.ended().await?, Some(0));
    // The last Pod of its set.
    status_is(&tenant, "tls", &[]).await?;
    let log = controller.log().to_ascii_lowercase();
    assert!(!log.contains("forbidden") && !log.contains("may not be"), "{log}");
    Ok(())
}
