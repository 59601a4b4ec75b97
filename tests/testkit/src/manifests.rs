//! Manifests for tests that need no backend.

use std::fmt::Write as _;

/// An Ingress of the class `nginx` that redirects `{name}.example.com` to `target`. `annotations`: more of them, without their prefix.
pub fn redirect_with(name: &str, target: &str, annotations: &[(&str, &str)]) -> String {
    let more = annotations.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "    nginx.ingress.kubernetes.io/{name}: {value}");
        text
    });
    format!(
        "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  annotations:
    nginx.ingress.kubernetes.io/permanent-redirect: {target}
{more}spec:
  ingressClassName: nginx
  rules:
  - host: {name}.example.com
    http:
      paths:
      - {{path: /, pathType: Prefix, backend: {{service: {{name: {name}, port: {{number: 80}}}}}}}}
"
    )
}

/// The same without more annotations.
pub fn redirect(name: &str, target: &str) -> String {
    redirect_with(name, target, &[])
}
