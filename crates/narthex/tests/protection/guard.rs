//! Ways to protect a host, and what shows that each is in force.

use testkit::http::{Request, basic};
use testkit::kube::Certificate;

use crate::backend::INVITED;

pub(crate) const USER: (&str, &str) = ("user", "secret");

/// The protection of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Not at all.
    Open,
    /// Another service is asked.
    External,
    /// A password.
    Password,
    /// A password, or the consent of a service.
    Either,
    /// A list of addresses that ours is not in.
    Addresses,
    /// A certificate of the client.
    Certificate,
    /// Something that can't be used.
    Refused,
    /// A service, beside an annotation that refuses the Ingress.
    BesideRefused,
}

impl Guard {
    pub(crate) const PROTECTING: [Self; 7] =
        [Self::External, Self::Password, Self::Either, Self::Addresses, Self::Certificate, Self::Refused, Self::BesideRefused];

    /// The annotations, without their prefix.
    pub(crate) fn annotations(self, service: &str) -> Vec<(&'static str, String)> {
        let plain = |pairs: &[(&'static str, &str)]| pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect::<Vec<_>>();
        let password = plain(&[("auth-type", "basic"), ("auth-secret", "users")]);
        let asked = plain(&[("auth-url", service)]);
        let mut found = match self {
            Self::Open => Vec::new(),
            Self::External => asked,
            Self::Password => password,
            Self::Either => [password, asked, plain(&[("satisfy", "any")])].concat(),
            Self::Addresses => plain(&[("whitelist-source-range", "192.0.2.1")]),
            Self::Certificate => plain(&[("auth-tls-secret", "default/tls")]),
            Self::Refused => plain(&[("auth-url", "javascript:nothing")]),
            Self::BesideRefused => [asked, plain(&[("limit-rps", "many")])].concat(),
        };
        if self != Self::Certificate {
            // Plain HTTP is served as well.
            found.extend(plain(&[("ssl-redirect", "false")]));
        }
        found
    }

    /// Gives a request to the host what lets it pass, and says with which status. `None`: nothing does, or it depends on what was before.
    pub(crate) fn invite(self, request: Request, client: &Certificate) -> Option<(Request, u16)> {
        let request = request.header(INVITED, "1");
        match self {
            Self::Open => Some((request, 200)),
            Self::External | Self::Password | Self::Either => Some((request.header("Authorization", basic(USER.0, USER.1)), 200)),
            Self::Certificate => Some((request.identity(&client.certificate_pem, &client.key_pem), 200)),
            Self::Addresses => Some((request, 403)),
            Self::Refused => Some((request, 503)),
            Self::BesideRefused => None,
        }
    }
}
