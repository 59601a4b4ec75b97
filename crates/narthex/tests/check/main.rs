//! `narthex check` as people run it.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::process::Command;

/// An Ingress with one annotation.
fn ingress(name: &str, annotation: &str, value: &str) -> String {
    format!(
        "---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  namespace: shop
  annotations: {{nginx.ingress.kubernetes.io/{annotation}: {value:?}}}
spec:
  ingressClassName: nginx
  rules: [{{host: {name}.example, http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: s, port: {{number: 80}}}}}}}}]}}}}]
"
    )
}

const REST: &str = "---
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: nginx}, spec: {controller: k8s.io/ingress-nginx}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, metadata: {name: s-1, namespace: shop, labels: {kubernetes.io/service-name: s}}, ports: [{port: 80}], endpoints: [{addresses: [10.0.0.1]}]}
";

/// The last line of the output and the exit code.
fn check(ingresses: &[String]) -> (String, Option<i32>) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("all.yaml"), ingresses.concat() + REST).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_narthex")).arg("check").arg(directory.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text.lines().last().unwrap_or_default().to_owned(), output.status.code())
}

#[test]
fn ingresses_and_problems_are_counted_refused_ones_too() {
    let good = ingress("good", "limit-rps", "5");
    let refused = ingress("refused", "limit-rps", "nonsense");
    let surprising = ingress("surprising", "rewrite-target", "/$nobody");
    assert_eq!(check(std::slice::from_ref(&good)), ("1 Ingress checked, no problems".to_owned(), Some(0)));
    assert_eq!(check(&[good.clone(), refused.clone()]), ("2 Ingresses checked, 1 problem".to_owned(), Some(1)));
    assert_eq!(check(&[good, refused, surprising]), ("3 Ingresses checked, 2 problems".to_owned(), Some(1)));
    assert_eq!(check(&[]), ("0 Ingresses checked, no problems".to_owned(), Some(0)));
}
