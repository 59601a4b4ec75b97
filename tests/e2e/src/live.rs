//! The records of NGINX, read from NGINX itself.

use anyhow::{Context, ensure};
use serde_json::Value;
use testkit::http::{Request, Response};
use testkit::poll;

use crate::{Controller, PATIENCE};

impl Controller {
    async fn ask_nginx(&self, target: &str) -> anyhow::Result<Response> {
        let socket = self.work_dir().join("run/control.sock");
        Request::get(socket, target).host("control").send().await
    }

    /// The record of a key in a table of the live protocol (`b`, `h` or `s`), if NGINX holds one.
    ///
    /// # Errors
    /// NGINX does not answer.
    pub async fn record(&self, table: char, key: &str) -> anyhow::Result<Option<String>> {
        let response = self.ask_nginx(&format!("/record?t={table}&k={key}")).await?;
        match response.status {
            200 => Ok(Some(response.text())),
            404 => Ok(None),
            status => anyhow::bail!("record {table} {key}: {status} {}", response.text()),
        }
    }

    /// The record of a host.
    ///
    /// # Errors
    /// NGINX does not answer, or holds no such record.
    pub async fn host_record(&self, host: &str) -> anyhow::Result<Value> {
        let record = self.record('h', host).await?.with_context(|| format!("NGINX has no record of {host}"))?;
        Ok(serde_json::from_str(&record)?)
    }

    /// The record of the annotations of a host's first Ingress.
    ///
    /// # Errors
    /// The errors of [`Self::host_record`].
    pub async fn policy(&self, host: &str) -> anyhow::Result<Value> {
        Ok(self.host_record(host).await?["policies"][0].take())
    }

    /// Every key that NGINX holds, `<table>\t<key>`, in order.
    ///
    /// # Errors
    /// NGINX does not answer.
    pub async fn keys(&self) -> anyhow::Result<Vec<String>> {
        let response = self.ask_nginx("/keys").await?;
        ensure!(response.status == 200, "keys: {} {}", response.status, response.text());
        let mut keys: Vec<String> = response.text().lines().map(str::to_owned).collect();
        keys.sort();
        Ok(keys)
    }

    /// Free bytes of one of NGINX's shared dictionaries.
    ///
    /// # Errors
    /// NGINX does not answer, or has no such dictionary.
    pub async fn free_bytes(&self, dictionary: &str) -> anyhow::Result<u64> {
        let state: Value = serde_json::from_slice(&self.ask_nginx("/state").await?.body)?;
        state["dicts"][dictionary]["free"].as_u64().with_context(|| format!("no dictionary {dictionary} in {state}"))
    }

    /// Addresses and ports of the endpoints that NGINX has for a backend, `namespace/service:port`, in order.
    ///
    /// # Errors
    /// NGINX does not answer, or has no such backend.
    pub async fn endpoints(&self, backend: &str) -> anyhow::Result<Vec<String>> {
        let record = self.record('b', backend).await?.with_context(|| format!("NGINX has no backend {backend}"))?;
        let record: Value = serde_json::from_str(&record)?;
        let endpoints = record["endpoints"].as_array().context("a backend has endpoints")?;
        let mut endpoints: Vec<String> =
            endpoints.iter().map(|endpoint| format!("{}:{}", endpoint[0].as_str().unwrap_or_default(), endpoint[1])).collect();
        endpoints.sort();
        Ok(endpoints)
    }

    /// Waits until NGINX has these endpoints for a backend, in order.
    ///
    /// # Errors
    /// When it has not within [`PATIENCE`].
    pub async fn until_endpoints(&self, backend: &str, expected: &[String]) -> anyhow::Result<()> {
        poll(PATIENCE, || async {
            let endpoints = self.endpoints(backend).await?;
            ensure!(endpoints == expected, "endpoints of {backend} are {endpoints:?}, expected {expected:?}");
            Ok(())
        })
        .await
    }
}
