//! Databases of places and networks, which NGINX asks for the addresses of clients.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A database of MaxMind, by the name of its edition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edition {
    /// `GeoIP2-Anonymous-IP`.
    AnonymousIp,
    /// `GeoIP2-Country`.
    Country,
    /// `GeoIP2-City`.
    City,
    /// `GeoIP2-Connection-Type`.
    ConnectionType,
    /// `GeoIP2-Domain`: no variable reads it.
    Domain,
    /// `GeoIP2-ISP`.
    Isp,
    /// `GeoIP2-ASN`.
    Asn,
    /// `GeoLite2-ASN`.
    LiteAsn,
    /// `GeoLite2-Country`.
    LiteCountry,
    /// `GeoLite2-City`.
    LiteCity,
}

impl Edition {
    /// All that ingress-nginx knows.
    pub const ALL: [Self; 10] = [
        Self::AnonymousIp,
        Self::Country,
        Self::City,
        Self::ConnectionType,
        Self::Domain,
        Self::Isp,
        Self::Asn,
        Self::LiteAsn,
        Self::LiteCountry,
        Self::LiteCity,
    ];

    /// The name, which is also that of the file (`GeoLite2-City.mmdb`) and the type that the file says it has.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnonymousIp => "GeoIP2-Anonymous-IP",
            Self::Country => "GeoIP2-Country",
            Self::City => "GeoIP2-City",
            Self::ConnectionType => "GeoIP2-Connection-Type",
            Self::Domain => "GeoIP2-Domain",
            Self::Isp => "GeoIP2-ISP",
            Self::Asn => "GeoIP2-ASN",
            Self::LiteAsn => "GeoLite2-ASN",
            Self::LiteCountry => "GeoLite2-Country",
            Self::LiteCity => "GeoLite2-City",
        }
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No such edition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no edition of a database; there are {names}", names = Edition::ALL.map(Edition::name).join(", "))]
pub struct UnknownEdition(String);

impl FromStr for Edition {
    type Err = UnknownEdition;

    fn from_str(text: &str) -> Result<Self, UnknownEdition> {
        Self::ALL.into_iter().find(|edition| edition.name() == text).ok_or_else(|| UnknownEdition(text.to_owned()))
    }
}

/// Where databases are looked for, and which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GeoIp {
    /// The directory of the files.
    pub directory: PathBuf,
    /// `--maxmind-edition-ids`, in that order, each once.
    pub editions: Vec<Edition>,
}

impl GeoIp {
    /// The file of an edition.
    pub fn file(&self, edition: Edition) -> PathBuf {
        self.directory.join(format!("{edition}.mmdb"))
    }

    /// The databases that NGINX reads where these are present.
    pub fn databases(&self, present: &BTreeSet<Edition>) -> Vec<Database> {
        let used = self.editions.iter().copied().filter(|edition| present.contains(edition));
        used.map(|edition| Database { edition, file: self.file(edition) }).collect()
    }

    /// Those that are wanted and not present.
    pub fn missing(&self, present: &BTreeSet<Edition>) -> Vec<Edition> {
        self.editions.iter().copied().filter(|edition| !present.contains(edition)).collect()
    }
}

/// A database that NGINX reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// Its edition.
    pub edition: Edition,
    /// Its file.
    pub file: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editions_are_read_by_their_names() {
        for edition in Edition::ALL {
            assert_eq!(edition.name().parse(), Ok(edition));
        }
        let unknown = "GeoLite2-Town".parse::<Edition>().unwrap_err().to_string();
        assert!(unknown.starts_with("\"GeoLite2-Town\" is no edition of a database; there are GeoIP2-Anonymous-IP, "), "{unknown}");
    }
}
