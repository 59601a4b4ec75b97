//! What an object says of its rules: typed settings, and what they name.

use std::sync::Arc;

use ngx_value::{FastcgiName, FastcgiValue, HeaderName, HeaderTemplate};
use settings::Spec;

use crate::fixed::TrustedClients;
use crate::key::{BackendId, ObjectKey};
use crate::live::{Header, UsersRecord};
use crate::profile::TlsMaterial;
use crate::references::Reference;

/// How requests are treated. Some kilobytes: shared by all rules that say the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Policy {
    /// The settings.
    pub(crate) spec: Spec,
    /// What they name.
    pub(crate) resolved: Resolved,
    /// A protecting setting is unusable: every location answers 503.
    pub(crate) denied: bool,
}

/// Everything that settings name and that was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Resolved {
    /// `proxy-ssl-secret`.
    pub(crate) backend_tls: Option<BackendSecret>,
    /// `fastcgi-*`.
    pub(crate) fastcgi: FastcgiSettings,
    /// `custom-headers`, in order of their names.
    pub(crate) headers: Vec<Header>,
    /// `default-backend`.
    pub(crate) default_backend: Option<BackendId>,
    /// `auth-tls-secret`.
    pub(crate) client_trust: Option<ClientTrust>,
    /// `auth-secret`.
    pub(crate) users: Option<Users>,
    /// `auth-proxy-set-headers`.
    pub(crate) auth_headers: Vec<(HeaderName, HeaderTemplate)>,
    /// What was read in its last readable version.
    pub(crate) last_readable: Vec<Reference>,
}

/// A usable Secret for TLS to endpoints.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BackendSecret {
    /// None where it has no `ca.crt`: then the key pair is not used either.
    pub(crate) material: Option<Arc<TlsMaterial>>,
}

/// What is sent to FastCGI servers besides the usual parameters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FastcgiSettings {
    /// `fastcgi-index`.
    pub(crate) index: Option<FastcgiName>,
    /// Ordered by name.
    pub(crate) params: Arc<[(FastcgiName, FastcgiValue)]>,
}

/// What came of the Secret with a CA for clients' certificates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ClientTrust {
    /// A CA, perhaps with a list of revoked certificates.
    Trusted(Arc<TrustedClients>),
    /// None that can be used: every host of the object stays closed.
    Unusable,
}

/// The users that a password is asked of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Users {
    /// Content address.
    pub(crate) id: Arc<str>,
    pub(crate) record: Arc<UsersRecord>,
    /// Where they come from.
    pub(crate) secret: ObjectKey,
    /// What they take of NGINX's memory.
    pub(crate) bytes: u64,
}
