//! What the command line says about building the model. Plain data; parsed and checked by the binary.

mod counting;
mod geoip;
mod local;
mod ownership;

use std::collections::{BTreeMap, BTreeSet};

use crate::key::ObjectKey;
use crate::modules::Module;
use crate::object::Protocol;

pub use counting::{Bounds, InvalidBounds, RequestCounting, UnknownHosts, native_schema};
pub use geoip::{Database, Edition, GeoIp, UnknownEdition};
pub use local::LocalEndpoints;
pub use ownership::HostOwnership;

/// Inputs of the build that are not objects. A change of any of them rebuilds everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildOptions {
    /// `--controller-class`: IngressClasses with this `spec.controller` are ours.
    pub controller_class: String,
    /// `--ingress-class`: the value of the legacy annotation that is ours.
    pub ingress_class: String,
    /// `--ingress-class-by-name`: an IngressClass named like `ingress_class` is ours too.
    pub ingress_class_by_name: bool,
    /// Where there is no IngressClass at all, one named like `ingress_class` is taken to be ours: for directories, whose
    /// manifests often leave it to the cluster.
    pub implied_class: bool,
    /// `--watch-ingress-without-class`.
    pub watch_ingress_without_class: bool,
    /// `--watch-namespace`: only this one.
    pub watch_namespace: Option<String>,
    /// `--watch-namespace-selector`: equality and set terms; all must hold. Empty: every namespace.
    pub namespace_selector: Vec<SelectorTerm>,
    /// `--host-ownership`: whose rules a host has.
    pub host_ownership: HostOwnership,
    /// `--disable-catch-all`: an Ingress with `spec.defaultBackend` is not ours.
    pub disable_catch_all: bool,
    /// `--annotations-prefix`.
    pub annotations_prefix: String,
    /// `--enable-annotation-validation`.
    pub annotation_validation: bool,
    /// `--deep-inspect`: refuse hosts, paths and secret names that look like an attempt to reach files or Lua.
    pub deep_inspect: bool,
    /// `--configmap`: the global settings.
    pub configmap: Option<ObjectKey>,
    /// `--tcp-services-configmap`.
    pub tcp_services: Option<ObjectKey>,
    /// `--udp-services-configmap`.
    pub udp_services: Option<ObjectKey>,
    /// Ports that no TCP or UDP service may have, each with the flag that sets it.
    pub reserved_ports: BTreeMap<u16, &'static str>,
    /// `--stream-port`.
    pub stream_port: u16,
    /// `--default-backend-service`.
    pub default_backend_service: Option<ObjectKey>,
    /// `--default-ssl-certificate`.
    pub default_ssl_certificate: Option<ObjectKey>,
    /// The generated certificate (PEM chain and key), used where no other is.
    pub fallback_certificate: PemPair,
    /// `--disable-svc-external-name`.
    pub disable_external_name: bool,
    /// Addresses that tenants may not lead requests to.
    pub local: LocalEndpoints,
    /// The zone of our own node, when `--enable-topology-aware-routing` is set and it is known.
    pub zone: Option<String>,
    /// What the NGINX at hand can't do.
    pub missing: BTreeSet<Module>,
    /// `--http-port`.
    pub http_port: u16,
    /// `--https-port`.
    pub https_port: u16,
    /// `--ssl-passthrough-proxy-port` where `--enable-ssl-passthrough` is set.
    pub passthrough_port: Option<u16>,
    /// `--health-check-path`, answered on the catch-all host.
    pub health_check_path: String,
    /// `--enable-metrics`: how requests are counted.
    pub counting: Option<RequestCounting>,
    /// `--maxmind-edition-ids`: databases for `use-geoip2`.
    pub geoip: GeoIp,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            controller_class: "k8s.io/ingress-nginx".into(),
            ingress_class: "nginx".into(),
            ingress_class_by_name: false,
            implied_class: false,
            watch_ingress_without_class: false,
            watch_namespace: None,
            namespace_selector: Vec::new(),
            host_ownership: HostOwnership::Any,
            disable_catch_all: false,
            annotations_prefix: "nginx.ingress.kubernetes.io".into(),
            annotation_validation: true,
            deep_inspect: true,
            configmap: None,
            tcp_services: None,
            udp_services: None,
            reserved_ports: BTreeMap::new(),
            stream_port: 10247,
            default_backend_service: None,
            default_ssl_certificate: None,
            fallback_certificate: PemPair::default(),
            disable_external_name: false,
            local: LocalEndpoints::default(),
            zone: None,
            missing: BTreeSet::new(),
            http_port: 80,
            https_port: 443,
            passthrough_port: None,
            health_check_path: "/healthz".into(),
            counting: None,
            geoip: GeoIp::default(),
        }
    }
}

impl BuildOptions {
    /// The port for TLS that is decrypted, where connections to some hosts are not; `None`: all are, because that was not asked for or NGINX
    /// can't do it.
    pub fn passthrough(&self) -> Option<u16> {
        self.passthrough_port.filter(|_| self.missing_for_stream().is_none())
    }

    /// The ConfigMaps of TCP and UDP services, with the flags that name them.
    pub fn stream_config_maps(&self) -> impl Iterator<Item = (Protocol, &'static str, &ObjectKey)> {
        let tcp = self.tcp_services.iter().map(|key| (Protocol::Tcp, "--tcp-services-configmap", key));
        tcp.chain(self.udp_services.iter().map(|key| (Protocol::Udp, "--udp-services-configmap", key)))
    }

    /// Whether NGINX's stream block reads files.
    pub fn has_stream_map(&self) -> bool {
        self.missing_for_stream().is_none() && (self.passthrough_port.is_some() || self.stream_config_maps().next().is_some())
    }

    /// What NGINX lacks for TCP and UDP services, and connections that are not decrypted.
    pub fn missing_for_stream(&self) -> Option<Module> {
        [Module::Stream, Module::StreamScript].into_iter().find(|module| self.missing.contains(module))
    }
}

/// A certificate chain and its private key as PEM text. No `Debug` of the key, no `Serialize`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct PemPair {
    /// Leaf first, then intermediates.
    pub chain: String,
    /// The private key.
    pub key: String,
}

impl std::fmt::Debug for PemPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PemPair(..)")
    }
}

/// One requirement of a label selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectorTerm {
    /// `key in (a, b)`, `key = a`, `key == a`.
    In(String, Vec<String>),
    /// `key notin (a, b)`, `key != a`; true when the label is absent.
    NotIn(String, Vec<String>),
    /// `key`.
    Exists(String),
    /// `!key`.
    NotExists(String),
}
