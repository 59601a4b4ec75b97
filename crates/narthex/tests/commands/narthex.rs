//! The command, a directory to run it in, and manifests.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// An Ingress with one annotation.
pub(crate) fn ingress(name: &str, annotation: &str, value: &str) -> String {
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

/// The objects that the Ingresses need.
pub(crate) const REST: &str = "---
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: nginx}, spec: {controller: k8s.io/ingress-nginx}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, metadata: {name: s-1, namespace: shop, labels: {kubernetes.io/service-name: s}}, ports: [{port: 80}], endpoints: [{addresses: [10.0.0.1]}]}
";

/// A directory with files.
pub(crate) struct Directory(tempfile::TempDir);

/// The result of a command.
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Directory {
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(directory)
    }

    /// Runs it here.
    pub(crate) fn narthex(&self, command: &[&str], arguments: &[&str]) -> Output {
        let output = self.command(command, arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Output { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
    }

    pub(crate) fn command(&self, command: &[&str], arguments: &[&str]) -> Command {
        let mut narthex = Command::new(env!("CARGO_BIN_EXE_narthex"));
        narthex.args(command).args(arguments).current_dir(self.path()).stdin(Stdio::null());
        narthex
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}
