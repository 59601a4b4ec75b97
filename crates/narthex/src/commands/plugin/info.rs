//! The addresses of the controller's Service.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Value, json};

use super::kubectl::Kubectl;
use super::pod::{LABELS, USUAL, text};
use crate::args::{InfoArgs, TableFormat};
use crate::output;

/// Prints them.
pub(super) fn print(kubectl: &Kubectl, args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let services = kubectl.list(&["services"], false)?;
    let named = |name: &str| services.iter().find(|service| text(service, "/metadata/name") == name).cloned();
    let service = match &args.service {
        Some(name) => named(name),
        None => match named(USUAL) {
            None => kubectl.list(&["services", "--selector", LABELS], false)?.into_iter().min_by_key(rank),
            usual => usual,
        },
    };
    let Some(service) = service else {
        let names: Vec<&str> = services.iter().map(|service| text(service, "/metadata/name")).collect();
        let wanted = args.service.as_deref().unwrap_or(USUAL);
        bail!(
            "no Service {wanted:?} in namespace {:?}: it has {}",
            kubectl.namespace(),
            if names.is_empty() { "none".into() } else { names.join(", ") }
        );
    };
    let (cluster, balancer) = (text(&service, "/spec/clusterIP"), balancer(&service));
    match args.output {
        TableFormat::Table => {
            output::text(format_args!("Service cluster IP address: {cluster}\nLoadBalancer IP|CNAME: {}\n", balancer.join(",")))?;
        }
        TableFormat::Json => {
            let name = text(&service, "/metadata/name");
            output::line(format_args!("{:#}", json!({"service": name, "clusterIP": cluster, "loadBalancer": balancer})))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The Service for clients before those for metrics, the webhook and internal clients: a load balancer, then the shortest name.
fn rank(service: &Value) -> (bool, usize) {
    (text(service, "/spec/type") != "LoadBalancer", text(service, "/metadata/name").len())
}

/// The addresses of its load balancer, else the one that is asked for.
fn balancer(service: &Value) -> Vec<String> {
    let given = service.pointer("/status/loadBalancer/ingress").and_then(Value::as_array).into_iter().flatten();
    let addresses = given.flat_map(|address| [text(address, "/ip"), text(address, "/hostname")]);
    let mut all: Vec<String> = addresses.filter(|address| !address.is_empty()).map(str::to_owned).collect();
    if all.is_empty() {
        all.extend(Some(text(service, "/spec/loadBalancerIP")).filter(|address| !address.is_empty()).map(str::to_owned));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_a_load_balancer_are_those_that_it_has() {
        let service = |status: Value| json!({"spec": {"loadBalancerIP": "192.0.2.9"}, "status": {"loadBalancer": status}});
        assert_eq!(
            balancer(&service(json!({"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example.com"}]}))),
            ["192.0.2.1", "lb.example.com"]
        );
        assert_eq!(balancer(&service(json!({}))), ["192.0.2.9"]);
        assert!(balancer(&json!({})).is_empty());
    }
}
