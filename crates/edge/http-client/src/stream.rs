//! Answers that go on for as long as the connection does, such as server-sent events.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::StatusCode;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;

use crate::{Call, Client, Driver, Error, Link};

/// An answer that is read part by part.
pub struct Stream {
    status: StatusCode,
    body: Incoming,
    /// Drives the body; `None` once it has ended.
    connection: Option<Driver>,
    _sender: SendRequest<Full<Bytes>>,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({})", self.status)
    }
}

impl Client {
    /// Sends a request on a new connection and waits for the head of its answer. The body is read from what is returned.
    ///
    /// # Errors
    /// There is no answer within `limit`.
    pub async fn stream(&self, call: &Call<'_>, limit: Duration) -> Result<Stream, Error> {
        let begin = async {
            let request = self.request(call)?;
            let Link { mut sender, connection } = self.connect().await?;
            let mut connection = Some(connection);
            let response = {
                let mut answer = pin!(sender.send_request(request));
                tokio::select! {
                    biased;
                    answer = &mut answer => answer?,
                    () = driven(&mut connection) => answer.await?,
                }
            };
            Ok(Stream { status: response.status(), body: response.into_body(), connection, _sender: sender })
        };
        tokio::time::timeout(limit, begin).await.unwrap_or(Err(Error::Timeout(limit)))
    }
}

impl Stream {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The next part of the body; `None` at its end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let frame = tokio::select! {
                biased;
                frame = self.body.frame() => frame,
                () = driven(&mut self.connection) => continue,
            };
            match frame.transpose()? {
                None => return Ok(None),
                // Others are trailers.
                Some(frame) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }
}

/// Drives a connection to its end; never returns once that was reached: what it has read is still there.
async fn driven(connection: &mut Option<Driver>) {
    match connection {
        Some(open) => {
            // Its error is that of the body as well.
            let _ = open.await;
            *connection = None;
        }
        None => std::future::pending().await,
    }
}
