//! Databases from the vendor or a mirror: fetched beside the file, checked, and put in its place by rename.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::LOCATION;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use model::options::{Edition, GeoIp};
use rustls::crypto::ring;
use tokio::io::AsyncWriteExt;
use tracing::{info, warn};

use crate::archive::{self, ArchiveError};
use crate::database::{self, DatabaseError};

/// Longest download, and its largest archive.
const LONGEST: Duration = Duration::from_secs(600);
const MOST_BYTES: usize = 512 << 20;
/// The vendor answers with a redirect to where the archives are stored.
const MOST_REDIRECTS: usize = 5;
/// Growth of the wait between two attempts.
const GROWTH: f64 = 1.5;
/// Between two rounds for what could not be fetched. The vendor counts downloads by the day.
const ANOTHER_ROUND: Duration = Duration::from_secs(6 * 3600);

/// Where databases come from.
#[derive(Clone, PartialEq, Eq)]
pub enum Origin {
    /// `--maxmind-mirror`: a URL, below which there is `<edition>.tar.gz`.
    Mirror(String),
    /// `--maxmind-license-key`.
    Vendor {
        /// The key.
        license_key: String,
    },
}

impl Origin {
    fn url(&self, edition: Edition) -> String {
        match self {
            Self::Mirror(url) => format!("{}/{edition}.tar.gz", url.trim_end_matches('/')),
            Self::Vendor { license_key } => {
                format!("https://download.maxmind.com/app/geoip_download?license_key={license_key}&edition_id={edition}&suffix=tar.gz")
            }
        }
    }
}

/// How databases are fetched.
#[derive(Clone)]
pub struct FetchOptions {
    /// From where.
    pub origin: Origin,
    /// `--maxmind-retries-count`: attempts of a round, 1 at least.
    pub attempts: u32,
    /// `--maxmind-retries-timeout`: wait after the first attempt, which grows; zero: there is no second one.
    pub wait: Duration,
}

/// Why a database was not fetched. No message has the URL, in which the license key stands.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// There are no certificate authorities on this machine.
    #[error("no certificate authorities")]
    Trust(#[source] io::Error),
    /// The URL can't be used.
    #[error("the URL can't be used")]
    Url,
    /// There is no connection, or it was lost.
    #[error("no connection")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another answer than the archive.
    #[error("the server answered {0}")]
    Status(StatusCode),
    /// Too many redirects.
    #[error("the server redirects more than {MOST_REDIRECTS} times")]
    Redirects,
    /// It took too long.
    #[error("the download took longer than {} s", LONGEST.as_secs())]
    Slow,
    /// The archive is too large.
    #[error("the archive has more than {MOST_BYTES} bytes")]
    TooLarge,
    /// It can't be written.
    #[error("it can't be written to the directory of databases")]
    Io(#[from] io::Error),
    /// The archive is none.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// What is in it is not the database.
    #[error("what was fetched is not the database")]
    Database(#[from] DatabaseError),
}

/// Fetches all databases, and those that could not be fetched again after some hours. Never ends; what is there stays until another takes its place.
pub async fn keep(geoip: GeoIp, options: FetchOptions) -> &'static str {
    let mut wanted = geoip.editions.clone();
    loop {
        let mut failed = Vec::new();
        for edition in wanted {
            match in_attempts(&geoip, edition, &options).await {
                Ok(()) => info!(%edition, "a database of places was fetched"),
                Err(error) => {
                    let error = cluster::chain(&error);
                    warn!(%edition, error, hours = ANOTHER_ROUND.as_secs() / 3600, "a database of places could not be fetched; it is tried again after some hours");
                    failed.push(edition);
                }
            }
        }
        wanted = failed;
        if wanted.is_empty() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(ANOTHER_ROUND).await;
    }
}

async fn in_attempts(geoip: &GeoIp, edition: Edition, options: &FetchOptions) -> Result<(), FetchError> {
    let attempts = if options.wait.is_zero() { 1 } else { options.attempts.max(1) };
    let mut wait = options.wait;
    for _ in 1..attempts {
        match fetch(geoip, edition, &options.origin).await {
            Ok(()) => return Ok(()),
            Err(error) => {
                warn!(%edition, error = %cluster::chain(&error), seconds = wait.as_secs_f64(), "a database of places could not be fetched; it is tried again")
            }
        }
        tokio::time::sleep(wait).await;
        wait = wait.mul_f64(GROWTH);
    }
    fetch(geoip, edition, &options.origin).await
}

/// Fetches a database and puts it in its place.
///
/// # Errors
/// It can't be fetched, is not the database, or can't be written. The file of before stays.
pub async fn fetch(geoip: &GeoIp, edition: Edition, origin: &Origin) -> Result<(), FetchError> {
    tokio::fs::create_dir_all(&geoip.directory).await?;
    let part = |kind: &str| geoip.directory.join(format!(".{edition}.{kind}"));
    let (archive, unpacked, file) = (part("tar.gz"), part("mmdb"), geoip.file(edition));
    let fetched = async {
        tokio::time::timeout(LONGEST, download(&origin.url(edition), &archive)).await.unwrap_or(Err(FetchError::Slow))?;
        let (archive, unpacked) = (archive.clone(), unpacked.clone());
        let task = tokio::task::spawn_blocking(move || {
            archive::unpack(&archive, edition, &unpacked)?;
            database::check(&unpacked, edition)?;
            Ok::<_, FetchError>(fs::rename(&unpacked, &file)?)
        });
        task.await.map_err(|error| FetchError::Io(io::Error::other(error)))?
    };
    let fetched = fetched.await;
    for left in [archive.as_path(), unpacked.as_path()] {
        let _ = tokio::fs::remove_file(left).await;
    }
    fetched
}

type HttpClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

fn client() -> Result<HttpClient, FetchError> {
    let mut plain = HttpConnector::new();
    plain.enforce_http(false);
    let tls = HttpsConnectorBuilder::new().with_provider_and_native_roots(ring::default_provider()).map_err(FetchError::Trust)?;
    Ok(Client::builder(TokioExecutor::new()).build(tls.https_or_http().enable_http1().wrap_connector(plain)))
}

async fn download(url: &str, to: &Path) -> Result<(), FetchError> {
    let mut body = get(&client()?, url).await?.into_body();
    let mut file = tokio::fs::File::create(to).await?;
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| FetchError::Connection(Box::new(error)))?;
        let Some(data) = frame.data_ref() else { continue };
        length += data.len();
        if length > MOST_BYTES {
            return Err(FetchError::TooLarge);
        }
        file.write_all(data).await?;
    }
    Ok(file.flush().await?)
}

/// The answer with the archive, behind redirects: never from HTTPS to HTTP.
async fn get(client: &HttpClient, url: &str) -> Result<Response<Incoming>, FetchError> {
    let mut uri: Uri = url.parse().map_err(|_| FetchError::Url)?;
    for _ in 0..=MOST_REDIRECTS {
        let request = Request::get(uri.clone()).header("user-agent", "narthex").body(Empty::new()).map_err(|_| FetchError::Url)?;
        let answer = client.request(request).await.map_err(|error| FetchError::Connection(Box::new(error)))?;
        if answer.status() == StatusCode::OK {
            return Ok(answer);
        }
        let location = answer.headers().get(LOCATION).filter(|_| answer.status().is_redirection()).and_then(|value| value.to_str().ok());
        let Some(next) = location else { return Err(FetchError::Status(answer.status())) };
        let next: Uri = next.parse().map_err(|_| FetchError::Url)?;
        let is_downgrade = uri.scheme_str() == Some("https") && next.scheme_str() != Some("https");
        if next.host().is_none() || is_downgrade {
            return Err(FetchError::Url);
        }
        uri = next;
    }
    Err(FetchError::Redirects)
}

#[cfg(test)]
mod tests;
