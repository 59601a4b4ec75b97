//! The end of a controller: signals to it, and its exit code.

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;
use testkit::poll;

use crate::{Controller, PATIENCE};

impl Controller {
    /// Sends a signal to the controller, not to its NGINX.
    ///
    /// # Errors
    /// When it is not running.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let child = self.child.as_ref().context("the controller is not running")?;
        Ok(kill(Pid::from_raw(child.id().cast_signed()), signal)?)
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// When it can't be found out.
    pub fn runs(&mut self) -> anyhow::Result<bool> {
        self.child.as_mut().map_or(Ok(false), |child| Ok(child.try_wait()?.is_none()))
    }

    /// Waits for its end: the exit code.
    ///
    /// # Errors
    /// When it does not end within [`PATIENCE`]: the error holds its log.
    pub async fn ended(&mut self) -> anyhow::Result<Option<i32>> {
        let child = Mutex::new(self.child.as_mut().context("the controller is not running")?);
        let status = poll(PATIENCE, || async { child.lock().try_wait()?.context("it runs") }).await;
        let status = status.with_context(|| format!("the controller did not end:\n{}", self.log()))?;
        self.child = None;
        Ok(status.code())
    }
}
