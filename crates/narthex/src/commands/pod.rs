//! The Pod that we run in and its cluster, as far as known.

use model::ObjectKey;

use crate::args::ApiArgs;

/// Our own Pod, by `POD_NAMESPACE` and `POD_NAME`.
pub(crate) fn pod() -> Option<ObjectKey> {
    Some(ObjectKey::new(env("POD_NAMESPACE")?, env("POD_NAME")?))
}

/// A variable that is set to something.
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The namespace that we belong to: of `POD_NAMESPACE`, of the service account, or of the kubeconfig's context.
pub(crate) fn own_namespace(api: &ApiArgs) -> Option<String> {
    env("POD_NAMESPACE").or_else(|| cluster::own_namespace(&api.connect_options()))
}

/// Whether there is an API server for us: a flag names one, or this is a Pod.
pub(crate) fn has_api(api: &ApiArgs) -> bool {
    api.names_one() || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}
