//! Flags about databases of places.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use geoip::{FetchOptions, Origin};
use model::options::GeoIp;

use super::values::signed_duration;

/// The databases for `use-geoip2`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Databases of places")]
pub(crate) struct GeoIpArgs {
    /// Databases for use-geoip2, by the names of their editions, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "GeoLite2-City,GeoLite2-ASN")]
    pub(crate) maxmind_edition_ids: Vec<String>,
    /// Directory of the databases: EDITION.mmdb
    #[arg(long, value_name = "DIR", default_value = "/etc/ingress-controller/geoip")]
    pub(crate) maxmind_directory: PathBuf,
}

impl GeoIpArgs {
    /// The checked form.
    pub(crate) fn settings(&self) -> anyhow::Result<GeoIp> {
        let mut editions = Vec::new();
        for name in self.maxmind_edition_ids.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            let edition = name.parse().context("--maxmind-edition-ids")?;
            if !editions.contains(&edition) {
                editions.push(edition);
            }
        }
        Ok(GeoIp { directory: std::path::absolute(&self.maxmind_directory).context("--maxmind-directory")?, editions })
    }
}

/// How databases are fetched.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Databases of places")]
pub(crate) struct FetchArgs {
    /// Fetch the databases from MaxMind with this key
    #[arg(long, value_name = "KEY")]
    pub(crate) maxmind_license_key: Option<String>,
    /// Fetch them from this URL, below which there is EDITION.tar.gz; wins over the key
    #[arg(long, value_name = "URL")]
    pub(crate) maxmind_mirror: Option<String>,
    /// Attempts to fetch a database
    #[arg(long, value_name = "NUMBER", default_value = "1", allow_negative_numbers = true)]
    pub(crate) maxmind_retries_count: i64,
    /// Wait after the first attempt, which grows by half with each; 0: there is one attempt
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = signed_duration, allow_hyphen_values = true)]
    pub(crate) maxmind_retries_timeout: Duration,
}

impl FetchArgs {
    /// `None`: nothing is fetched.
    pub(crate) fn options(&self) -> Option<FetchOptions> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let vendor = || given(&self.maxmind_license_key).map(|license_key| Origin::Vendor { license_key });
        let origin = given(&self.maxmind_mirror).map(Origin::Mirror).or_else(vendor)?;
        let attempts = u32::try_from(self.maxmind_retries_count).unwrap_or(1);
        Some(FetchOptions { origin, attempts, wait: self.maxmind_retries_timeout })
    }
}
