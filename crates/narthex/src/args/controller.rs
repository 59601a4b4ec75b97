//! Flags about the source, the model and the status of Ingresses.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::{ArgAction, Args, ValueEnum};
use model::options::{HostOwnership, LocalEndpoints, PemPair};
use model::{BuildOptions, ObjectKey};

use super::geoip::GeoIpArgs;
use super::values::{boolean, seconds, signed_duration};
use super::{ApiArgs, MetricsArgs, selector};

/// The source of the objects.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Source")]
pub(crate) struct SourceArgs {
    /// Serve the manifests in this directory instead of a cluster
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kubeconfig", "apiserver_host"])]
    pub(crate) manifests: Option<PathBuf>,
    /// Look for changes by reading the directory again this often, in seconds, where the file system sends no events
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub(crate) manifests_poll_interval: u64,
    /// Don't rely on file system events at all
    #[arg(long)]
    pub(crate) manifests_poll: bool,
    #[command(flatten)]
    pub(crate) api: ApiArgs,
}

/// Options of the model.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    /// IngressClasses with this controller are ours
    #[arg(long, default_value = "k8s.io/ingress-nginx", value_name = "NAME")]
    pub(crate) controller_class: String,
    /// Value of the annotation kubernetes.io/ingress.class that is ours
    #[arg(long, default_value = "nginx", value_name = "NAME")]
    pub(crate) ingress_class: String,
    /// An IngressClass named like --ingress-class is ours as well
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) ingress_class_by_name: bool,
    /// Serve Ingresses without any class
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) watch_ingress_without_class: bool,
    /// Watch only this namespace
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) watch_namespace: Option<String>,
    /// Watch only namespaces with these labels
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) watch_namespace_selector: Option<String>,
    /// Ownership of hosts, for paths, canaries, aliases and ssl-passthrough: the Ingresses of any namespace, or only those of the namespace whose Ingress is the host's oldest
    #[arg(long, value_enum, default_value_t = Ownership::Any, value_name = "WHO")]
    pub(crate) host_ownership: Ownership,
    /// Ignore Ingresses with spec.defaultBackend
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) disable_catch_all: bool,
    /// Prefix of annotations
    #[arg(long, default_value = "nginx.ingress.kubernetes.io", value_name = "PREFIX")]
    pub(crate) annotations_prefix: String,
    /// Check annotation values
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) enable_annotation_validation: bool,
    /// Refuse hosts and paths that look like an attempt to reach files or Lua
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) deep_inspect: bool,
    /// ConfigMap with the global settings, as namespace/name
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(crate) configmap: Option<String>,
    /// Service for requests that nothing matches, as namespace/name
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(crate) default_backend_service: Option<String>,
    /// TLS Secret for hosts without a usable one, as namespace/name
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(crate) default_ssl_certificate: Option<String>,
    /// Fetch the certificates that lie between the certificate of a Secret and its root, where the Secret lacks them, from the URLs in the certificates
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) enable_ssl_chain_completion: bool,
    /// Give ExternalName Services no endpoints
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) disable_svc_external_name: bool,
    /// Let endpoints, ExternalNames, authentication services and mirrors be loopback, link-local, multicast and unspecified addresses, and this controller's own control ports; with --manifests they always may
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) allow_local_endpoints: bool,
    /// Prefer endpoints of this node's zone where a Service asks for it
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) enable_topology_aware_routing: bool,
    /// Port for HTTP
    #[arg(long, default_value_t = 80, value_name = "PORT")]
    pub(crate) http_port: u16,
    /// Port for HTTPS
    #[arg(long, default_value_t = 443, value_name = "PORT")]
    pub(crate) https_port: u16,
    /// ConfigMap with TCP services, port: NAMESPACE/SERVICE:PORT, then :PROXY to read PROXY headers, and once more to send them
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(crate) tcp_services_configmap: Option<String>,
    /// ConfigMap with UDP services, port: NAMESPACE/SERVICE:PORT
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(crate) udp_services_configmap: Option<String>,
    /// UDP port, on an address of the machine itself, by which the stream block finds the addresses of endpoints
    #[arg(long, default_value_t = 10247, value_parser = clap::value_parser!(u16).range(1..), value_name = "PORT")]
    pub(crate) stream_port: u16,
    /// Let hosts with the annotation ssl-passthrough decrypt their TLS connections themselves
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) enable_ssl_passthrough: bool,
    /// Port for TLS that NGINX decrypts, behind the PROXY protocol, with --enable-ssl-passthrough
    #[arg(long, default_value_t = 442, value_name = "PORT")]
    pub(crate) ssl_passthrough_proxy_port: u16,
    /// Path that answers 200 on --healthz-port and on the catch-all host
    #[arg(long, default_value = "/healthz", value_name = "PATH")]
    pub(crate) health_check_path: String,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
    #[command(flatten)]
    pub(crate) geoip: GeoIpArgs,
}

/// Values of `--host-ownership`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ownership {
    Any,
    Namespace,
}

/// The status of Ingresses.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Status")]
pub(crate) struct StatusArgs {
    /// Write the addresses of this controller into the status of Ingresses
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) update_status: bool,
    /// Addresses to write, separated by commas
    #[arg(long, value_name = "ADDRESSES")]
    pub(crate) publish_status_address: Option<String>,
    /// Service whose addresses to write, as namespace/name
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(crate) publish_service: Option<String>,
    /// Name of the Lease that decides which replica writes
    #[arg(long, default_value = "ingress-controller-leader", value_name = "NAME")]
    pub(crate) election_id: String,
    /// How long the Lease lasts without being renewed; a quarter of it lies between two renewals
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = signed_duration, allow_hyphen_values = true)]
    pub(crate) election_ttl: Duration,
    /// Hold no election: no Lease is read or written, and no status of Ingresses, since it is the leader that writes it
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) disable_leader_election: bool,
    /// How soon a status that did not take effect, or that others change, is written again, and how often the addresses of nodes are read, in seconds; 5 at least
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) status_update_interval: u64,
    /// Empty the status of Ingresses when the last Pod of the controller ends
    #[arg(long, num_args = 0..=1, default_value_t = true, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) update_status_on_shutdown: bool,
    /// Without --publish-service and --publish-status-address: write the internal addresses of our nodes, also where they have external ones
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) report_node_internal_ip_address: bool,
}

/// Shortest interval of `--status-update-interval`, seconds.
const LEAST_INTERVAL: u64 = 5;

impl StatusArgs {
    /// The addresses to write and the Service that has them; empty ones count as not given.
    pub(crate) fn published(&self) -> anyhow::Result<(Option<&str>, Option<ObjectKey>)> {
        let addresses = self.publish_status_address.as_deref().filter(|text| !text.is_empty());
        let service = key("--publish-service", self.publish_service.as_deref())?;
        match (addresses, &service) {
            (Some(addresses), Some(service)) => {
                bail!("--publish-status-address {addresses:?} and --publish-service {service} exclude each other")
            }
            _ => Ok((addresses, service)),
        }
    }

    /// The interval, with a warning when it is too short.
    pub(crate) fn interval(&self) -> Duration {
        let seconds = self.status_update_interval;
        if seconds < LEAST_INTERVAL {
            tracing::warn!(seconds, "--status-update-interval is less than {LEAST_INTERVAL}: {LEAST_INTERVAL} seconds are used");
        }
        Duration::from_secs(seconds.max(LEAST_INTERVAL))
    }
}

/// Parses `namespace/name` of a flag.
pub(crate) fn key(flag: &str, value: Option<&str>) -> anyhow::Result<Option<ObjectKey>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    match ObjectKey::parse(value) {
        Some(key) => Ok(Some(key)),
        None => bail!("{flag} {value:?} is not of the form namespace/name"),
    }
}

impl ModelArgs {
    /// The checked form. `zone` is that of the own node, where it is to be used.
    pub(crate) fn settings(&self, fallback_certificate: PemPair, zone: Option<String>) -> anyhow::Result<BuildOptions> {
        if self.http_port == self.https_port {
            bail!("--http-port and --https-port are both {}, expected two ports", self.http_port);
        }
        let passthrough_port = self.enable_ssl_passthrough.then_some(self.ssl_passthrough_proxy_port);
        if let Some(port) = passthrough_port.filter(|port| [self.http_port, self.https_port].contains(port)) {
            bail!("--ssl-passthrough-proxy-port is {port} like --http-port or --https-port, expected three ports");
        }
        let (namespace, selector) = (self.watch_namespace.as_deref(), self.watch_namespace_selector.as_deref());
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        let selector = selector.unwrap_or_default();
        if let Some(namespace) = namespace.filter(|_| !selector.is_empty()) {
            bail!("--watch-namespace {namespace:?} and --watch-namespace-selector {selector:?} exclude each other");
        }
        if !self.health_check_path.starts_with('/') {
            bail!("--health-check-path {:?} does not start with /", self.health_check_path);
        }
        Ok(BuildOptions {
            missing: Default::default(),
            controller_class: self.controller_class.clone(),
            ingress_class: self.ingress_class.clone(),
            ingress_class_by_name: self.ingress_class_by_name,
            implied_class: false,
            watch_ingress_without_class: self.watch_ingress_without_class,
            watch_namespace: namespace.map(str::to_owned),
            namespace_selector: selector::parse("--watch-namespace-selector", selector)?,
            host_ownership: match self.host_ownership {
                Ownership::Any => HostOwnership::Any,
                Ownership::Namespace => HostOwnership::Namespace,
            },
            disable_catch_all: self.disable_catch_all,
            annotations_prefix: self.annotations_prefix.clone(),
            annotation_validation: self.enable_annotation_validation,
            deep_inspect: self.deep_inspect,
            configmap: key("--configmap", self.configmap.as_deref())?,
            tcp_services: key("--tcp-services-configmap", self.tcp_services_configmap.as_deref())?,
            udp_services: key("--udp-services-configmap", self.udp_services_configmap.as_deref())?,
            reserved_ports: self.reserved_ports(passthrough_port),
            stream_port: self.stream_port,
            default_backend_service: key("--default-backend-service", self.default_backend_service.as_deref())?,
            default_ssl_certificate: key("--default-ssl-certificate", self.default_ssl_certificate.as_deref())?,
            fallback_certificate,
            disable_external_name: self.disable_svc_external_name,
            local: LocalEndpoints { allowed: self.allow_local_endpoints, ..LocalEndpoints::default() },
            zone: zone.filter(|_| self.enable_topology_aware_routing),
            http_port: self.http_port,
            https_port: self.https_port,
            passthrough_port,
            health_check_path: self.health_check_path.clone(),
            counting: self.metrics.counting()?,
            geoip: self.geoip.settings()?,
        })
    }

    /// Ports of NGINX itself, which no TCP or UDP service may have.
    fn reserved_ports(&self, passthrough: Option<u16>) -> BTreeMap<u16, &'static str> {
        let passthrough = passthrough.map(|port| (port, "--ssl-passthrough-proxy-port"));
        let ports = [(self.http_port, "--http-port"), (self.https_port, "--https-port"), (self.stream_port, "--stream-port")];
        ports.into_iter().chain(passthrough).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        model: ModelArgs,
        #[command(flatten)]
        status: StatusArgs,
    }

    fn line(flags: &[&str]) -> Line {
        Line::try_parse_from(["x"].iter().chain(flags)).unwrap()
    }

    fn settings(flags: &[&str]) -> anyhow::Result<BuildOptions> {
        line(flags).model.settings(PemPair { chain: String::new(), key: String::new() }, None)
    }

    #[test]
    fn an_empty_namespace_beside_a_selector_is_none() {
        let settings_of = settings(&["--watch-namespace=", "--watch-namespace-selector=a=b"]).unwrap();
        assert_eq!((settings_of.watch_namespace, settings_of.namespace_selector.len()), (None, 1));
        assert_eq!(settings(&["--watch-namespace=a", "--watch-namespace-selector="]).unwrap().watch_namespace.as_deref(), Some("a"));
        let both = settings(&["--watch-namespace=a", "--watch-namespace-selector=b"]).unwrap_err().to_string();
        assert_eq!(both, "--watch-namespace \"a\" and --watch-namespace-selector \"b\" exclude each other");
    }

    #[test]
    fn addresses_and_a_service_exclude_each_other_unless_one_is_empty() {
        let published =
            |flags: &[&str]| line(flags).status.published().map(|(addresses, service)| (addresses.is_some(), service.is_some()));
        assert_eq!(published(&["--publish-service=", "--publish-status-address=192.0.2.1"]).unwrap(), (true, false));
        assert_eq!(published(&["--publish-service=a/b", "--publish-status-address="]).unwrap(), (false, true));
        assert!(published(&["--publish-service=a/b", "--publish-status-address=192.0.2.1"]).is_err());
    }

    #[test]
    fn the_interval_of_the_status_has_a_least_value() {
        for (text, seconds) in [("60", 60), ("5", 5), ("4", 5), ("-1", 5)] {
            let status = line(&[&format!("--status-update-interval={text}")]).status;
            assert_eq!(status.interval(), Duration::from_secs(seconds), "{text}");
        }
    }
}
