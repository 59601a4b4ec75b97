//! The token that clients of the console must have, and the session that a browser gets for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The name of the cookie.
const COOKIE: &str = "narthex-console";
/// Bytes of a token, at least.
const SHORTEST: usize = 16;

/// A file with a token. It is read for each request, so that another token is in effect at once.
#[derive(Debug, Clone)]
pub struct Token(Arc<Path>);

/// The file can't be used.
#[derive(Debug)]
pub enum TokenError {
    /// It can't be read.
    Unreadable(PathBuf, std::io::Error),
    /// It has less than 16 characters.
    Short(PathBuf),
}

impl std::fmt::Display for TokenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(path, error) => write!(f, "the token file {} can't be read: {error}", path.display()),
            Self::Short(path) => write!(f, "the token file {} has less than {SHORTEST} characters", path.display()),
        }
    }
}

impl std::error::Error for TokenError {}

impl Token {
    /// The token in a file.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self(file.into().into())
    }

    /// Whether the file can be used.
    ///
    /// # Errors
    /// It can't be, and no client is let in.
    pub async fn check(&self) -> Result<(), TokenError> {
        self.read().await.map(drop)
    }

    async fn read(&self) -> Result<String, TokenError> {
        let text = tokio::fs::read_to_string(&self.0).await.map_err(|error| TokenError::Unreadable(self.0.to_path_buf(), error))?;
        let token = text.trim();
        if token.len() < SHORTEST { Err(TokenError::Short(self.0.to_path_buf())) } else { Ok(token.to_owned()) }
    }

    /// Whether this is the token.
    ///
    /// # Errors
    /// The file can't be used.
    pub(crate) async fn is(&self, given: &str) -> Result<bool, TokenError> {
        Ok(are_equal(&self.read().await?, given.trim()))
    }

    /// Whether one of the cookies of a header is that of a session.
    ///
    /// # Errors
    /// The file can't be used.
    pub(crate) async fn has_session(&self, cookies: &str) -> Result<bool, TokenError> {
        let session = session(&self.read().await?);
        let values = cookies.split(';').filter_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='));
        Ok(values.into_iter().any(|value| are_equal(value, &session)))
    }

    /// The cookie of a session. It ends with the token, or with the browser.
    ///
    /// # Errors
    /// The file can't be used.
    pub(crate) async fn cookie(&self) -> Result<String, TokenError> {
        Ok(format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", session(&self.read().await?)))
    }
}

/// The cookie that ends a session.
pub(crate) fn no_cookie() -> String {
    format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
}

/// The token can't be derived from it.
fn session(token: &str) -> String {
    const_hex::encode(Sha256::new().chain_update(b"a session of the narthex console\n").chain_update(token).finalize())
}

/// Compares digests, so that the time says nothing about where two texts differ.
fn are_equal(one: &str, other: &str) -> bool {
    let (one, other) = (Sha256::digest(one), Sha256::digest(other));
    one.iter().zip(&other).fold(0, |difference, (one, other)| difference | (one ^ other)) == 0
}
