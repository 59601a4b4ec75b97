//! Profiles that are always there, so that what many Ingresses ask for needs no reload the first time.

use ngx_value::HttpVersion;
use settings::Config;
use settings::groups::BackendProtocol;

use super::external_auth::AuthLocation;
use super::{Directives, Profile, Transport};

/// The default one, and those of a single annotation with few values. The rest comes with its first use.
pub(crate) fn prebuilt(config: &Config) -> impl Iterator<Item = Profile> {
    let protocols =
        [BackendProtocol::Https, BackendProtocol::AutoHttp, BackendProtocol::Grpc, BackendProtocol::Grpcs, BackendProtocol::Fcgi];
    let transports = protocols.map(|protocol| Profile { transport: Transport { protocol, ..Transport::default() }, ..Profile::default() });
    let proxy = &config.proxy;
    let versions = [HttpVersion::V1_0, HttpVersion::V1_1].into_iter().filter(|version| *version != proxy.proxy_http_version);
    let directives = [
        Directives { proxy_buffering: Some(!proxy.proxy_buffering), ..Directives::default() },
        Directives { proxy_request_buffering: Some(!proxy.proxy_request_buffering), ..Directives::default() },
    ]
    .into_iter()
    .chain(versions.map(|version| Directives { proxy_http_version: Some(version), ..Directives::default() }))
    .map(|directives| Profile { directives, ..Profile::default() });
    let mirrors = [Profile { mirror: Some(true), ..Profile::default() }, Profile { mirror: Some(false), ..Profile::default() }];
    let asking = [false, true].map(|signin| {
        let location = AuthLocation { signin, ..AuthLocation::default() };
        Profile { external_auth: Some(location), ..Profile::default() }
    });
    [Profile::default()].into_iter().chain(transports).chain(directives.collect::<Vec<_>>()).chain(mirrors).chain(asking)
}
