//! Compressed answers.

use ngx_value::Word;
use serde::Serialize;
use settings::Config;

use crate::print::Printed;
use crate::{Capabilities, RenderError};

/// The module that knows brotli.
pub(crate) const BROTLI: &str = "ngx_http_brotli_filter_module";

/// The module that knows zstd.
pub(crate) const ZSTD: &str = "ngx_http_zstd_filter_module";

/// How answers are compressed in one way.
#[derive(Serialize)]
pub(super) struct Compression {
    level: u32,
    min_length: u32,
    types: Printed,
}

impl Compression {
    /// With `gzip`.
    pub(super) fn gzip(config: &Config) -> Result<Option<Self>, RenderError> {
        config.use_gzip.then(|| Self::new(config.gzip_level, config.gzip_min_length, &config.gzip_types)).transpose()
    }

    /// With `brotli`.
    pub(super) fn brotli(config: &Config, caps: &Capabilities) -> Result<Option<Self>, RenderError> {
        let used = config.enable_brotli && caps.has(BROTLI);
        used.then(|| Self::new(config.brotli_level, config.brotli_min_length, &config.brotli_types)).transpose()
    }

    /// With `zstd`.
    pub(super) fn zstd(config: &Config, caps: &Capabilities) -> Result<Option<Self>, RenderError> {
        let used = config.enable_zstd && caps.has(ZSTD);
        used.then(|| Self::new(config.zstd_level, config.zstd_min_length, &config.zstd_types)).transpose()
    }

    fn new(level: u32, min_length: u32, types: &[Word]) -> Result<Self, RenderError> {
        Ok(Self { level, min_length, types: Printed::arguments(types.iter().map(Word::as_str))? })
    }
}

/// The modules that NGINX needs.
pub(super) fn modules(config: &Config) -> impl Iterator<Item = &'static str> {
    [(config.enable_brotli, BROTLI), (config.enable_zstd, ZSTD)].into_iter().filter(|(used, _)| *used).map(|(_, module)| module)
}
