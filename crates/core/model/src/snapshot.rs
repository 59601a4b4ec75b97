//! A frozen view of the objects that matter, as a source last saw them.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use imbl::OrdMap;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::IngressClass;

use crate::key::ObjectKey;
use crate::object::{EndpointSlice, Ingress, Service};
use crate::options::Edition;
use crate::problem::Problem;

/// All objects of one kind. Persistent: a clone is constant time, and two versions share what did not change,
/// which is what makes a difference between two snapshots cost what changed.
pub type Objects<T> = OrdMap<ObjectKey, Arc<T>>;

/// What was fetched from the issuer of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fetched<T> {
    /// The answer, and until when it is valid, in seconds since 1970. It was checked.
    pub answer: Option<(i64, T)>,
    /// Why there is none, or no newer one.
    pub fault: Option<Arc<str>>,
}

/// The status of a certificate (OCSP, RFC 6960): what clients get in the handshake, DER.
pub type Staple = Fetched<Arc<[u8]>>;

/// Statuses by the content address of the key pair.
pub type Staples = OrdMap<Arc<str>, Arc<Staple>>;

/// Certificates that the chain of a certificate lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingIssuers {
    /// The content address of the key pair as it is in the Secret.
    pub of: Arc<str>,
    /// DER, each followed by its issuer's, without the root.
    pub certificates: Arc<[Arc<[u8]>]>,
}

/// What chains lack, by the Secret of the certificate.
pub type Issuers = OrdMap<ObjectKey, Arc<Fetched<MissingIssuers>>>;

/// A consistent-enough view of the cluster or of a directory. The kinds are not mutually consistent; the builder copes.
///
/// The kinds that there are many of are types of ours ([`crate::object`]). Of the others, sources strip what is not read (`managedFields`, `status`, the
/// annotation `kubectl.kubernetes.io/last-applied-configuration`) before they put an object here.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Every Ingress in the watched namespaces, of whatever class.
    pub ingresses: Objects<Ingress>,
    /// IngressClasses by name, or `None` when they can't be listed (no permission): then `spec.ingressClassName` is not looked at.
    pub ingress_classes: Option<OrdMap<Arc<str>, Arc<IngressClass>>>,
    /// Services.
    pub services: Objects<Service>,
    /// EndpointSlices; they belong to the Service named by their label `kubernetes.io/service-name`, whatever their own name is.
    pub endpoint_slices: Objects<EndpointSlice>,
    /// Secrets that something refers to, with data. Others are absent.
    pub secrets: Objects<Secret>,
    /// ConfigMaps that something refers to, with data. Others are absent.
    pub config_maps: Objects<ConfigMap>,
    /// Namespaces by name; only filled when a namespace selector is set.
    pub namespaces: OrdMap<Arc<str>, Arc<Namespace>>,
    /// Addresses of ExternalName targets, by the name in the Service. Absent = not resolved yet; empty = does not resolve.
    pub addresses: OrdMap<Arc<str>, Arc<[IpAddr]>>,
    /// What responders say of certificates (OCSP), by the content address of the key pair. Absent: nothing is known, or nothing was asked.
    pub staples: Staples,
    /// What chains lack and was fetched, by Secret. Absent: nothing is known, or nothing was asked.
    pub issuers: Issuers,
    /// As of when certificates are judged: seconds since 1970. `None`: the times in them are not looked at.
    pub time: Option<i64>,
    /// Databases of places that are there and can be read.
    pub databases: Arc<BTreeSet<Edition>>,
    /// What the source itself could not read: files, documents, objects. Their last good versions are still in the maps.
    pub problems: Arc<Vec<Problem>>,
}
