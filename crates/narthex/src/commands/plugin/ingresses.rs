//! The rules of Ingresses, with their Services and the number of endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::kubectl::Kubectl;
use super::pod::text;
use crate::args::{IngressesArgs, TableFormat};
use crate::output;
use crate::table::{Cell, Palette, table};

/// Label of an EndpointSlice with the name of its Service.
const SERVICE: &str = "/metadata/labels/kubernetes.io~1service-name";

/// A path of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Row {
    namespace: String,
    ingress: String,
    host: String,
    path: String,
    tls: bool,
    service: String,
    port: String,
    addresses: String,
}

/// Ready addresses by namespace and Service.
type Endpoints = BTreeMap<(String, String), BTreeSet<String>>;

/// Prints them.
pub(super) fn print(kubectl: &Kubectl, args: &IngressesArgs) -> anyhow::Result<ExitCode> {
    let ingresses = kubectl.list(&["ingresses.networking.k8s.io"], args.all_namespaces)?;
    let slices = kubectl.list(&["endpointslices.discovery.k8s.io"], args.all_namespaces)?;
    let endpoints = endpoints(&slices);
    let wanted = |row: &Row| args.host.as_ref().is_none_or(|host| row.host == *host);
    let rows: Vec<Row> = ingresses.iter().flat_map(rows).filter(wanted).collect();
    match args.output {
        TableFormat::Json => output::line(format_args!("{:#}", rows.iter().map(|row| row.json(&endpoints)).collect::<Value>()))?,
        TableFormat::Table => output::text(shown(&rows, &endpoints, args.all_namespaces))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(rows: &[Row], endpoints: &Endpoints, all_namespaces: bool) -> String {
    let titles = ["NAMESPACE", "INGRESS NAME", "HOST+PATH", "ADDRESSES", "TLS", "SERVICE", "SERVICE PORT", "ENDPOINTS"];
    let first = usize::from(!all_namespaces);
    let cells = rows.iter().map(|row| row.cells(endpoints).split_off(first).into_iter().map(Cell::from).collect());
    let cells: Vec<Vec<Cell>> = cells.collect();
    table(&titles[first..], &cells, Palette::of_stdout())
}

impl Row {
    /// The number of its ready endpoints; `None` where the Service has no EndpointSlice.
    fn endpoints(&self, endpoints: &Endpoints) -> Option<usize> {
        endpoints.get(&(self.namespace.clone(), self.service.clone())).map(BTreeSet::len)
    }

    fn cells(&self, endpoints: &Endpoints) -> Vec<String> {
        let tls = if self.tls { "YES" } else { "NO" };
        let count = self.endpoints(endpoints).map_or_else(|| "N/A".to_owned(), |count| count.to_string());
        let place = format!("{}{}", self.host, self.path);
        [&self.namespace, &self.ingress, &place, &self.addresses, tls, &self.service, &self.port, &count]
            .map(|cell: &str| cell.to_owned())
            .into()
    }

    fn json(&self, endpoints: &Endpoints) -> Value {
        json!({
            "namespace": self.namespace, "ingress": self.ingress, "host": self.host, "path": self.path, "tls": self.tls,
            "addresses": self.addresses.split(',').filter(|address| !address.is_empty()).collect::<Vec<_>>(),
            "service": self.service, "port": self.port, "endpoints": self.endpoints(endpoints),
        })
    }
}

/// A row for each path; for a rule without paths one with the default backend, for an Ingress without rules one with the host `*`.
fn rows(ingress: &Value) -> Vec<Row> {
    let all = |pointer: &str| ingress.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let addresses: Vec<&str> = all("/status/loadBalancer/ingress")
        .flat_map(|address| [text(address, "/ip"), text(address, "/hostname")])
        .filter(|address| !address.is_empty())
        .collect();
    let secured: BTreeSet<&str> =
        all("/spec/tls").flat_map(|tls| tls["hosts"].as_array().into_iter().flatten()).filter_map(Value::as_str).collect();
    let row = |host: &str, path: &str, backend: &Value| Row {
        namespace: text(ingress, "/metadata/namespace").to_owned(),
        ingress: text(ingress, "/metadata/name").to_owned(),
        host: host.to_owned(),
        path: path.to_owned(),
        tls: secured.contains(host),
        service: text(backend, "/service/name").to_owned(),
        port: port(backend),
        addresses: addresses.join(","),
    };
    let default = ingress.pointer("/spec/defaultBackend").unwrap_or(&Value::Null);
    let rules: Vec<&Value> = all("/spec/rules").collect();
    if rules.is_empty() {
        return if default.is_null() { Vec::new() } else { vec![row("*", "", default)] };
    }
    let of_rule = |rule: &Value| {
        let host = text(rule, "/host").to_owned();
        match rule.pointer("/http/paths").and_then(Value::as_array) {
            None => vec![row(&host, "", default)],
            Some(paths) => paths.iter().map(|path| row(&host, text(path, "/path"), &path["backend"])).collect(),
        }
    };
    rules.into_iter().flat_map(of_rule).collect()
}

/// The number or the name of a backend's port.
fn port(backend: &Value) -> String {
    match backend.pointer("/service/port/number").and_then(Value::as_u64) {
        Some(number) => number.to_string(),
        None => text(backend, "/service/port/name").to_owned(),
    }
}

fn endpoints(slices: &[Value]) -> Endpoints {
    let mut all = Endpoints::new();
    for slice in slices {
        let service = (text(slice, "/metadata/namespace").to_owned(), text(slice, SERVICE).to_owned());
        let ready = slice["endpoints"].as_array().into_iter().flatten().filter(|endpoint| endpoint["conditions"]["ready"] != false);
        let addresses = ready.flat_map(|endpoint| endpoint["addresses"].as_array().into_iter().flatten());
        all.entry(service).or_default().extend(addresses.filter_map(Value::as_str).map(str::to_owned));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_path_with_the_endpoints_of_its_service() {
        let backend = |port: Value| json!({"service": {"name": "web", "port": port}});
        let ingress = json!({
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {
                "tls": [{"hosts": ["a.example.com"]}], "defaultBackend": backend(json!({"number": 81})),
                "rules": [
                    {"host": "a.example.com", "http": {"paths": [
                        {"path": "/", "backend": backend(json!({"number": 80}))}, {"path": "/x", "backend": backend(json!({"name": "http"}))}]}},
                    {"host": "b.example.com"},
                ],
            },
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}]}},
        });
        let slice = |addresses: Value| json!({"metadata": {"namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}}, "endpoints": addresses});
        let slices = [
            slice(json!([{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"], "conditions": {"ready": false}}])),
            slice(json!([{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.3"], "conditions": {"ready": true}}])),
        ];
        let text = shown(&rows(&ingress), &endpoints(&slices), false);
        let expected = "\
INGRESS NAME   HOST+PATH         ADDRESSES                  TLS   SERVICE   SERVICE PORT   ENDPOINTS
web            a.example.com/    192.0.2.1,lb.example.com   YES   web       80             2
web            a.example.com/x   192.0.2.1,lb.example.com   YES   web       http           2
web            b.example.com     192.0.2.1,lb.example.com   NO    web       81             2
";
        assert_eq!(text, expected);
        let lone = json!({"metadata": {"namespace": "shop", "name": "all"}, "spec": {"defaultBackend": backend(json!({"number": 80}))}});
        let text = shown(&rows(&lone), &Endpoints::new(), true);
        assert_eq!(text.lines().nth(1), Some("shop        all            *                       NO    web       80             N/A"));
    }
}
