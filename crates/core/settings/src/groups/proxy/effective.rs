//! What the annotations of one Ingress and the ConfigMap amount to together.

use ngx_value::{Invalid, LocationPart, NextUpstream, Size};

use super::Proxy;
use crate::config::Config;
use crate::effective::Effective;
use crate::table::{Draft, OnInvalid};

/// The buffers for an answer. They fit together, so NGINX takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffers {
    /// How many, at least 3.
    pub number: u32,
    /// How large each is, and the one for the first part of the answer.
    pub size: Size,
    /// How much may be on its way to the client. `None`: two buffers.
    pub busy: Option<Size>,
    /// How much may be put into a file: 0 (nothing) or at least one buffer.
    pub max_temp_file: Size,
}

impl Buffers {
    /// The smallest and the largest [`Buffers::busy`], bytes.
    fn busy_range(&self) -> (u64, u64) {
        (self.size.bytes, self.size.bytes.saturating_mul(u64::from(self.number.saturating_sub(1))))
    }

    fn fits_busy(&self, busy: Size) -> bool {
        let (least, most) = self.busy_range();
        (least..=most).contains(&busy.bytes)
    }

    fn fits_file(&self, file: Size) -> bool {
        file.bytes == 0 || file.bytes >= self.size.bytes
    }
}

/// What happens to the headers `Location` and `Refresh` of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LocationRewrite<'a> {
    /// Nothing.
    Off,
    /// The endpoint's own address becomes the one that the client used.
    Default,
    /// One beginning takes the place of another.
    Replace {
        /// What is replaced; behind `~` a regular expression.
        from: &'a LocationPart,
        /// What takes its place.
        to: &'a LocationPart,
    },
}

/// How an endpoint that knows no better than NGINX itself would call its own address.
const OWN_ADDRESS: &str = "http://upstream_balancer/";

impl<'a> LocationRewrite<'a> {
    /// What is replaced, and by what; for off twice nothing, which changes nothing.
    pub fn pair(self) -> [&'a str; 2] {
        match self {
            Self::Off => [""; 2],
            Self::Default => [OWN_ADDRESS, "/"],
            Self::Replace { from, to } => [from.as_str(), to.as_str()],
        }
    }
}

impl Proxy {
    /// The buffers for answers: an annotation that does not fit gives way to the ConfigMap, and that to what always fits.
    pub fn buffers(&self, config: &Config) -> Buffers {
        let number = *Effective::new(&self.proxy_buffers_number, &config.proxy.proxy_buffers_number).value();
        let size = *Effective::new(&self.proxy_buffer_size, &config.proxy.proxy_buffer_size).value();
        let mut buffers = Buffers { number, size, busy: None, max_temp_file: size };
        let busy = [self.proxy_busy_buffers_size, config.proxy.proxy_busy_buffers_size];
        buffers.busy = busy.into_iter().flatten().find(|busy| buffers.fits_busy(*busy));
        let file = [self.proxy_max_temp_file_size, Some(config.proxy.proxy_max_temp_file_size)];
        buffers.max_temp_file = file.into_iter().flatten().find(|file| buffers.fits_file(*file)).unwrap_or(size);
        buffers
    }

    /// When a request goes on to another endpoint.
    pub fn next_upstream(&self, config: &Config) -> NextUpstream {
        let conditions = Effective::new(&self.proxy_next_upstream, &config.proxy.proxy_next_upstream).value();
        if config.retry_non_idempotent { conditions.with_non_idempotent() } else { conditions.clone() }
    }

    /// What happens to the endpoint's redirects.
    pub fn location_rewrite<'a>(&'a self, config: &'a Config) -> LocationRewrite<'a> {
        let from = Effective::new(&self.proxy_redirect_from, &config.proxy.proxy_redirect_from).value();
        let to = Effective::new(&self.proxy_redirect_to, &config.proxy.proxy_redirect_to).value();
        match (from.as_str(), to.as_str()) {
            ("off", _) => LocationRewrite::Off,
            ("default", _) | (_, "off") => LocationRewrite::Default,
            _ => LocationRewrite::Replace { from, to },
        }
    }
}

/// Sizes of the ConfigMap that do not fit the other buffers: key and what to say about it.
pub(crate) fn misfits(config: &Config) -> Vec<(&'static str, String)> {
    let buffers = Proxy::default().buffers(config);
    let mut found = Vec::new();
    if let Some(busy) = config.proxy.proxy_busy_buffers_size.filter(|busy| buffers.busy != Some(*busy)) {
        let detail = format!("{busy} is not between proxy-buffer-size and that times one less than proxy-buffers-number; it is ignored");
        found.push(("proxy-busy-buffers-size", detail));
    }
    let file = config.proxy.proxy_max_temp_file_size;
    if buffers.max_temp_file != file {
        let detail = format!("{file} is less than proxy-buffer-size, {}, which is used instead", buffers.max_temp_file);
        found.push(("proxy-max-temp-file-size", detail));
    }
    found
}

/// Drops sizes that do not fit the buffers, and says so.
pub(super) fn settle(draft: &mut Draft, config: &Config) {
    let buffers = draft.spec.proxy.buffers(config);
    if draft.spec.proxy.proxy_busy_buffers_size.take_if(|busy| !buffers.fits_busy(*busy)).is_some() {
        let (least, most) = buffers.busy_range();
        let expected = format!(
            "a size from {} to {}, as there are {} buffers of {}",
            Size { bytes: least },
            Size { bytes: most },
            buffers.number,
            buffers.size
        );
        draft.fault_on("proxy-busy-buffers-size", OnInvalid::Ignore, &Invalid::because(expected));
    }
    if draft.spec.proxy.proxy_max_temp_file_size.take_if(|file| !buffers.fits_file(*file)).is_some() {
        let expected = format!("0, or at least {}, the size of a buffer", buffers.size);
        draft.fault_on("proxy-max-temp-file-size", OnInvalid::Ignore, &Invalid::because(expected));
    }
}
