//! The inspection API of a running controller, and the web page that shows it. Reads only; nothing here can change what is served.
//!
//! The API is answered twice: on the controller's unix socket, for the command line ([`api`]), and on a port of its own beside the page ([`serve`]). What
//! an answer says is the [`Source`]'s business; what is here is HTTP, and who may ask. `docs/console.md` describes both.

mod answers;
mod diff;
mod guard;
mod page;
mod question;
mod stream;
mod token;

use std::convert::Infallible;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use inspect::{Events, Workers};
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use answers::{Refusal, api, json};
pub use diff::unified;
pub use question::{Asked, Question};
pub use token::{Token, TokenError};

/// The running controller, as far as it answers.
pub trait Source: Send + Sync + 'static {
    /// The answer as JSON ([`json`]). Called on a thread that may take its time, at most a few at once.
    ///
    /// # Errors
    /// There is no answer; why not is for the operator.
    fn answer(&self, question: &Question) -> Result<Vec<u8>, Refusal>;

    /// The processes of NGINX and its shared dictionaries.
    fn workers(&self) -> Pin<Box<dyn Future<Output = Result<Workers, Refusal>> + Send + '_>>;

    /// Events after this one; without one the newest.
    fn events(&self, since: Option<u64>) -> Events;

    /// The number of the newest event; notified of each.
    fn newest(&self) -> watch::Receiver<u64>;
}

/// The page and the API on a port.
pub struct Console {
    /// What is shown.
    pub source: Arc<dyn Source>,
    /// The file with the token that clients must have. `None`: all clients that can connect may read.
    pub token_file: Option<PathBuf>,
}

/// Serves the page and the API for ever, to a bounded number of connections.
pub async fn serve(listener: TcpListener, console: Console) -> Infallible {
    ops::serve_bounded(listener, router(console), "console").await
}

fn router(Console { source, token_file }: Console) -> Router {
    guard::guarded(answers::api(source), token_file.map(Token::new))
}

#[cfg(test)]
mod tests;
