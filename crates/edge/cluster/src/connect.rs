//! A client from the flags.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;

use crate::PRODUCT;

/// Longest wait for a TCP and TLS connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest silence on a connection that waits for an answer. Watches ([`crate::ListWatch`]) end at the server's side before,
/// so that silence means a dead server or a dead path to it.
pub(crate) const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The directory that the kubelet makes in every Pod that has a service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The address of the API server. Everything absent: the cluster that this process runs in, else the default kubeconfig.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// `--kubeconfig`: read first; its current context gives server and credentials.
    pub kubeconfig: Option<PathBuf>,
    /// `--apiserver-host`: URL of the API server; replaces the one of the kubeconfig.
    pub apiserver_host: Option<String>,
    /// `--certificate-authority`: PEM file; looked at only together with `apiserver_host`. An unreadable file is logged and ignored.
    pub certificate_authority: Option<PathBuf>,
}

/// The reason why there is no client. None of these goes away by itself.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig can't be read, or names a context, user or file that does not exist.
    #[error("kubeconfig {path:?} is not usable")]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The fault of the file.
        #[source]
        source: KubeconfigError,
    },
    /// `--apiserver-host` is not a URL.
    #[error("--apiserver-host {value:?} is not a URL of the form https://host:port")]
    Host {
        /// The flag's value.
        value: String,
    },
    /// No flag says where the server is, this is not a pod, and there is no default kubeconfig.
    #[error(
        "no API server: neither --kubeconfig nor --apiserver-host is set, this is not a pod ({in_cluster}), and the default kubeconfig is not usable"
    )]
    NotFound {
        /// The fault of the in-cluster configuration.
        in_cluster: kube::config::InClusterError,
        /// The fault of the default kubeconfig.
        #[source]
        source: KubeconfigError,
    },
    /// Certificates or credentials do not fit together.
    #[error("the API client can't be set up")]
    Client {
        /// The cause.
        #[source]
        source: kube::Error,
    },
}

/// Makes a client. No request is sent: a server that does not answer is found by the first one.
///
/// # Errors
///
/// [`ConnectError`]; all of them are about the configuration, so that a retry makes no sense.
pub async fn connect(options: &ConnectOptions) -> Result<Client, ConnectError> {
    let mut config = configuration(options).await?;
    if config.accept_invalid_certs {
        tracing::warn!(server = %config.cluster_url, "the certificate of the API server is not verified: insecure-skip-tls-verify is set");
    }
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config.write_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    // Retries are ours: the built-in ones double up to minutes and hide the error meanwhile.
    config.default_retry = false;
    config.headers.push((
        "user-agent".parse().expect("a literal that is a header name"),
        PRODUCT.parse().expect("a version holds only characters that a header value may hold"),
    ));
    Client::try_from(config).map_err(|source| ConnectError::Client { source })
}

/// The namespace that a client of these flags belongs to: of the Pod's service account, or of the current context of the kubeconfig. `None`: neither says.
pub fn own_namespace(options: &ConnectOptions) -> Option<String> {
    let of_file = |kubeconfig: Kubeconfig| {
        let current = kubeconfig.current_context?;
        kubeconfig.contexts.into_iter().find(|context| context.name == current)?.context?.namespace
    };
    let found = match (&options.kubeconfig, &options.apiserver_host) {
        (Some(path), _) => Kubeconfig::read_from(path).ok().and_then(of_file),
        (None, Some(_)) => service_account(),
        (None, None) => service_account().or_else(|| Kubeconfig::read().ok().and_then(of_file)),
    };
    found.filter(|namespace| !namespace.is_empty())
}

fn service_account() -> Option<String> {
    Some(std::fs::read_to_string(SERVICE_ACCOUNT).ok()?.trim().to_owned())
}

async fn configuration(options: &ConnectOptions) -> Result<Config, ConnectError> {
    let mut config = match (&options.kubeconfig, &options.apiserver_host) {
        (Some(path), _) => from_file(path).await?,
        (None, Some(host)) => return with_host(None, host, options.certificate_authority.as_deref()),
        (None, None) => match Config::incluster() {
            Ok(config) => config,
            Err(in_cluster) => Config::from_kubeconfig(&KubeConfigOptions::default())
                .await
                .map_err(|source| ConnectError::NotFound { in_cluster, source })?,
        },
    };
    if let Some(host) = &options.apiserver_host {
        config = with_host(Some(config), host, options.certificate_authority.as_deref())?;
    }
    Ok(config)
}

async fn from_file(path: &Path) -> Result<Config, ConnectError> {
    let unusable = |source| ConnectError::Kubeconfig { path: path.to_owned(), source };
    let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(unusable)
}

fn with_host(base: Option<Config>, host: &str, authority: Option<&Path>) -> Result<Config, ConnectError> {
    let invalid = || ConnectError::Host { value: host.to_owned() };
    let authority = authority.filter(|path| readable(path));
    // A bare host:port speaks TLS when a certificate authority is given, as client-go has it.
    let url = match host.contains("://") {
        true => host.to_owned(),
        false if authority.is_some() => format!("https://{host}"),
        false => format!("http://{host}"),
    };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(invalid());
    }
    let mut config = match base {
        Some(mut config) => {
            config.cluster_url = url.parse().map_err(|_| invalid())?;
            config
        }
        None => Config::new(url.parse().map_err(|_| invalid())?),
    };
    if config.cluster_url.host().is_none_or(str::is_empty) {
        return Err(invalid());
    }
    if let Some(path) = authority {
        config.root_cert_file = Some(path.to_owned());
    }
    Ok(config)
}

fn readable(path: &Path) -> bool {
    let found = std::fs::read(path);
    if let Err(error) = &found {
        tracing::warn!(path = %path.display(), %error, "--certificate-authority can't be read and is ignored");
    }
    found.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECONFIG: &str = r#"{
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:8001"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}]
    }"#;

    fn kubeconfig() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config");
        std::fs::write(&path, KUBECONFIG).unwrap();
        (directory, path)
    }

    async fn url(options: ConnectOptions) -> Result<String, ConnectError> {
        configuration(&options).await.map(|config| config.cluster_url.to_string())
    }

    #[tokio::test]
    async fn the_kubeconfig_gives_the_server_and_the_host_flag_replaces_it() {
        let (_keep, path) = kubeconfig();
        let options = ConnectOptions { kubeconfig: Some(path), ..Default::default() };
        assert_eq!(url(options.clone()).await.unwrap(), "http://127.0.0.1:8001/");
        let options = ConnectOptions { apiserver_host: Some("https://10.0.0.1:6443".into()), ..options };
        assert_eq!(url(options).await.unwrap(), "https://10.0.0.1:6443/");
    }

    #[tokio::test]
    async fn a_bare_host_is_plain_http_unless_an_authority_is_readable() {
        let host = |authority: Option<PathBuf>| ConnectOptions {
            apiserver_host: Some("10.0.0.1:8080".into()),
            certificate_authority: authority,
            kubeconfig: None,
        };
        assert_eq!(url(host(None)).await.unwrap(), "http://10.0.0.1:8080/");
        assert_eq!(url(host(Some("/nonexistent/ca.pem".into()))).await.unwrap(), "http://10.0.0.1:8080/");
        let (_keep, readable) = kubeconfig();
        assert_eq!(url(host(Some(readable))).await.unwrap(), "https://10.0.0.1:8080/");
    }

    #[test]
    fn the_namespace_is_that_of_the_current_context_or_unknown() {
        let (_keep, path) = kubeconfig();
        let options = ConnectOptions { kubeconfig: Some(path.clone()), ..Default::default() };
        assert_eq!(own_namespace(&options), None);
        std::fs::write(&path, KUBECONFIG.replace(r#""user": "u"}}],"#, r#""user": "u", "namespace": "web"}}],"#)).unwrap();
        assert_eq!(own_namespace(&options).as_deref(), Some("web"));
    }

    #[tokio::test]
    async fn errors_name_the_flag_and_the_file() {
        let error = url(ConnectOptions { kubeconfig: Some("/nonexistent/config".into()), ..Default::default() }).await.unwrap_err();
        assert_eq!(error.to_string(), r#"kubeconfig "/nonexistent/config" is not usable"#);
        for host in ["ftp://x", "http://", "https://a b"] {
            let error = url(ConnectOptions { apiserver_host: Some(host.into()), ..Default::default() }).await.unwrap_err();
            assert!(error.to_string().starts_with("--apiserver-host"), "{host}: {error}");
        }
    }
}
