//! Chromium without a window, driven through chromedriver: WebDriver, which is JSON over HTTP.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testkit::http::Request;
use testkit::poll;
use testkit::ports::Ports;
use tokio::process::{Child, Command};

use crate::PATIENCE;

/// Longest time of a command: a check of a whole page takes seconds on a busy machine.
const COMMAND: Duration = Duration::from_secs(60);
/// Longest wait for the browser to end.
const END: Duration = Duration::from_secs(5);

/// Flags of the browser: it runs as root, in namespaces of the bed, without a screen.
const FLAGS: [&str; 6] =
    ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking"];

/// The size and the theme that a page is shown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// CSS pixels.
    pub width: u32,
    /// CSS pixels.
    pub height: u32,
    /// Whether the system prefers a dark theme.
    pub dark: bool,
}

/// A browser with one page. Dropping it ends it.
pub struct Browser {
    _driver: Child,
    address: SocketAddr,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts it.
    ///
    /// # Errors
    /// Chromium or chromedriver is missing, or does not start.
    pub async fn start() -> anyhow::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, Ports::one()?));
        let mut command = Command::new("chromedriver");
        command.arg(format!("--port={}", address.port())).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = command.kill_on_drop(true).spawn().context("chromedriver is missing: scripts/setup.sh browser installs it")?;
        poll(PATIENCE, || async {
            let status: Value = call(address, "GET", "/status", None).await?;
            ensure!(status["ready"] == true, "chromedriver is not ready: {status}");
            Ok(())
        })
        .await?;
        let profile = tempfile::Builder::new().prefix("chromium-").tempdir()?;
        let own = format!("--user-data-dir={}", profile.path().display());
        let flags: Vec<&str> = FLAGS.into_iter().chain([own.as_str()]).collect();
        let wanted = json!({"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": {"args": flags}});
        let opened: Value = call(address, "POST", "/session", Some(json!({"capabilities": {"alwaysMatch": wanted}}))).await?;
        let session = opened["sessionId"].as_str().context("chromedriver names no session")?.to_owned();
        Ok(Self { _driver: driver, address, session, _profile: profile })
    }

    /// Shows pages like this from now on.
    ///
    /// # Errors
    /// The browser refuses it.
    pub async fn show_as(&self, screen: Screen) -> anyhow::Result<()> {
        let Screen { width, height, dark } = screen;
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await?;
        let theme = json!({"features": [{"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }}]});
        self.devtools("Emulation.setEmulatedMedia", theme).await
    }

    /// Loads a page as from a link in a new window.
    ///
    /// # Errors
    /// It can't be loaded.
    pub async fn open(&self, url: &str) -> anyhow::Result<()> {
        // Another hash alone would be no load.
        for url in ["about:blank", url] {
            self.command::<Value>("POST", "/url", Some(json!({"url": url}))).await?;
        }
        Ok(())
    }

    /// The value that a script returns, or that its promise becomes. `arguments` are those of the script.
    ///
    /// # Errors
    /// The script throws, or the value is another.
    pub async fn run<T: DeserializeOwned>(&self, script: &str, arguments: Value) -> anyhow::Result<T> {
        let body = json!({"script": script, "args": arguments});
        self.command("POST", "/execute/sync", Some(body)).await.with_context(|| format!("in the browser: {script:.200}"))
    }

    /// What the page wrote to the console since the last call, at the level of an error or a warning.
    ///
    /// # Errors
    /// The browser does not say.
    pub async fn complaints(&self) -> anyhow::Result<Vec<String>> {
        #[derive(Deserialize)]
        struct Entry {
            level: String,
            message: String,
        }
        let entries: Vec<Entry> = self.command("POST", "/se/log", Some(json!({"type": "browser"}))).await?;
        let bad = entries.into_iter().filter(|entry| matches!(entry.level.as_str(), "SEVERE" | "WARNING"));
        Ok(bad.map(|entry| entry.message).collect())
    }

    async fn devtools(&self, command: &str, parameters: Value) -> anyhow::Result<()> {
        self.command::<Value>("POST", "/goog/cdp/execute", Some(json!({"cmd": command, "params": parameters}))).await?;
        Ok(())
    }

    async fn command<T: DeserializeOwned>(&self, method: &str, path: &str, body: Option<Value>) -> anyhow::Result<T> {
        call(self.address, method, &format!("/session/{}{path}", self.session), body).await
    }
}

async fn call<T: DeserializeOwned>(address: SocketAddr, method: &str, path: &str, body: Option<Value>) -> anyhow::Result<T> {
    #[derive(Deserialize)]
    struct Answer {
        value: Value,
    }
    let request = Request::new(method, address, path).host(address.to_string()).timeout(COMMAND);
    let request = match body {
        Some(body) => request.header("Content-Type", "application/json").body(body.to_string()),
        None => request,
    };
    let response = request.send().await?;
    let Answer { value } = serde_json::from_slice(&response.body).with_context(|| response.text())?;
    if response.status != 200 {
        bail!("{}: {}", value["error"].as_str().unwrap_or("no error"), value["message"].as_str().unwrap_or_default());
    }
    Ok(serde_json::from_value(value)?)
}

impl Drop for Browser {
    /// chromedriver ends the browser with its session only, not when it is killed.
    fn drop(&mut self) {
        let end = || -> std::io::Result<()> {
            let mut connection = TcpStream::connect_timeout(&self.address, END)?;
            connection.set_read_timeout(Some(END))?;
            write!(connection, "DELETE /session/{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.session, self.address)?;
            connection.read_to_end(&mut Vec::new()).map(drop)
        };
        // Without an answer there is nothing left that could be ended.
        let _ = end();
    }
}
