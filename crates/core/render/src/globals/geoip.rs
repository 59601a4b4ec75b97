//! Places and networks of clients: databases that NGINX asks, and the variables that are made of them.

use std::collections::BTreeSet;

use model::Globals;
use model::options::Edition;
use serde::Serialize;

use super::path;
use crate::print::Printed;
use crate::used_variables::UsedVariables;
use crate::{Capabilities, RenderError};

/// The module that reads them.
pub(crate) const MODULE: &str = "ngx_http_geoip2_module";

/// A variable, and the arguments that define it: its value where the database has none, and its place there.
type Variable = (&'static str, &'static str);

const COUNTRY: &[Variable] = &[
    ("geoip2_country_code", "source=$remote_addr country iso_code"),
    ("geoip2_country_name", "source=$remote_addr country names en"),
    ("geoip2_country_geoname_id", "source=$remote_addr country geoname_id"),
    ("geoip2_continent_code", "source=$remote_addr continent code"),
    ("geoip2_continent_name", "source=$remote_addr continent names en"),
    ("geoip2_continent_geoname_id", "source=$remote_addr continent geoname_id"),
];
const CITY: &[Variable] = &[
    ("geoip2_city_country_code", "source=$remote_addr country iso_code"),
    ("geoip2_city_country_name", "source=$remote_addr country names en"),
    ("geoip2_city_country_geoname_id", "source=$remote_addr country geoname_id"),
    ("geoip2_city", "source=$remote_addr city names en"),
    ("geoip2_city_geoname_id", "source=$remote_addr city geoname_id"),
    ("geoip2_postal_code", "source=$remote_addr postal code"),
    ("geoip2_dma_code", "source=$remote_addr location metro_code"),
    ("geoip2_latitude", "source=$remote_addr location latitude"),
    ("geoip2_longitude", "source=$remote_addr location longitude"),
    ("geoip2_time_zone", "source=$remote_addr location time_zone"),
    ("geoip2_region_code", "source=$remote_addr subdivisions 0 iso_code"),
    ("geoip2_region_name", "source=$remote_addr subdivisions 0 names en"),
    ("geoip2_region_geoname_id", "source=$remote_addr subdivisions 0 geoname_id"),
    ("geoip2_subregion_code", "source=$remote_addr subdivisions 1 iso_code"),
    ("geoip2_subregion_name", "source=$remote_addr subdivisions 1 names en"),
    ("geoip2_subregion_geoname_id", "source=$remote_addr subdivisions 1 geoname_id"),
    ("geoip2_city_continent_code", "source=$remote_addr continent code"),
    ("geoip2_city_continent_name", "source=$remote_addr continent names en"),
];
const ASN: &[Variable] =
    &[("geoip2_asn", "source=$remote_addr autonomous_system_number"), ("geoip2_org", "source=$remote_addr autonomous_system_organization")];
const ISP: &[Variable] = &[
    ("geoip2_isp", "source=$remote_addr isp"),
    ("geoip2_isp_org", "source=$remote_addr organization"),
    ("geoip2_asn", "default=0 source=$remote_addr autonomous_system_number"),
];
const CONNECTION_TYPE: &[Variable] = &[("geoip2_connection_type", "source=$remote_addr connection_type")];
const ANONYMOUS_IP: &[Variable] = &[
    ("geoip2_is_anon", "source=$remote_addr is_anonymous"),
    ("geoip2_is_anonymous", "default=0 source=$remote_addr is_anonymous"),
    ("geoip2_is_anonymous_vpn", "default=0 source=$remote_addr is_anonymous_vpn"),
    ("geoip2_is_hosting_provider", "default=0 source=$remote_addr is_hosting_provider"),
    ("geoip2_is_public_proxy", "default=0 source=$remote_addr is_public_proxy"),
    ("geoip2_is_tor_exit_node", "default=0 source=$remote_addr is_tor_exit_node"),
];

const fn of(edition: Edition) -> &'static [Variable] {
    match edition {
        Edition::Country | Edition::LiteCountry => COUNTRY,
        Edition::City | Edition::LiteCity => CITY,
        Edition::Asn | Edition::LiteAsn => ASN,
        Edition::Isp => ISP,
        Edition::ConnectionType => CONNECTION_TYPE,
        Edition::AnonymousIp => ANONYMOUS_IP,
        Edition::Domain => &[],
    }
}

/// The names of all variables, each once.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    let names: BTreeSet<&str> = Edition::ALL.into_iter().flat_map(of).map(|(name, _)| *name).collect();
    names.into_iter()
}

/// Whether NGINX needs the module.
pub(super) fn is_used(globals: &Globals, caps: &Capabilities) -> bool {
    caps.has(MODULE) && !globals.databases.is_empty()
}

/// What `geoip.conf` prints.
#[derive(Serialize)]
pub(super) struct GeoIpView {
    databases: Vec<DatabaseView>,
    auto_reload_minutes: Option<u32>,
    /// Variables that are used and that no database fills.
    empty: Vec<Printed>,
}

#[derive(Serialize)]
struct DatabaseView {
    file: Printed,
    /// Definitions of variables.
    variables: Vec<Printed>,
}

impl GeoIpView {
    pub(super) fn new(globals: &Globals, caps: &Capabilities, used: &UsedVariables) -> Result<Self, RenderError> {
        let mut filled = BTreeSet::new();
        let mut databases = Vec::new();
        for database in globals.databases.iter().filter(|_| caps.has(MODULE)) {
            // Of two editions with the same variables the first fills them.
            let own: Vec<&Variable> = of(database.edition).iter().filter(|(name, _)| filled.insert(*name)).collect();
            if !own.is_empty() {
                let variables = own.into_iter().map(|(name, arguments)| Printed::definition(name, arguments)).collect::<Result<_, _>>()?;
                databases.push(DatabaseView { file: path(&database.file)?, variables });
            }
        }
        let empty = used.places.iter().filter(|name| !filled.contains(*name)).map(|name| Printed::variable(name));
        let minutes = globals.config.geoip2_autoreload_in_minutes;
        Ok(Self { databases, auto_reload_minutes: Some(minutes).filter(|minutes| *minutes > 0), empty: empty.collect::<Result<_, _>>()? })
    }
}
