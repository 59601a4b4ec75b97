//! An authority with an OCSP responder: both are `openssl`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::kube::Certificate;

/// What responses are signed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signer {
    /// The authority itself.
    Authority,
    /// One that the authority certified for this.
    Delegate,
    /// One that the authority certified, but not for this.
    Server,
    /// One that has certified itself.
    Stranger,
}

impl Signer {
    const fn name(self) -> &'static str {
        match self {
            Self::Authority => "ca",
            Self::Delegate => "delegate",
            Self::Server => "server",
            Self::Stranger => "stranger",
        }
    }
}

/// The authority, in a directory of its own.
pub struct Authority {
    directory: tempfile::TempDir,
}

/// Makes keys and certificates: `ca`, and those that sign responses.
const SETUP: &str = r#"
set -e
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$1.key"; }
sign() { openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -set_serial "$2" -days 30 -extfile "$1.ext" -out "$1.pem"; }
key ca
openssl req -x509 -new -key ca.key -subj "/CN=Test authority" -days 30 -out ca.pem -addext basicConstraints=critical,CA:TRUE
for signer in delegate:OCSPSigning:0x11 server:serverAuth:0x12; do
    IFS=: read -r name usage serial <<X
$signer
X
    key $name
    openssl req -new -key $name.key -subj "/CN=$name" -out $name.csr
    printf 'extendedKeyUsage=%s\n' $usage >$name.ext
    sign $name $serial
done
key stranger
openssl req -x509 -new -key stranger.key -subj "/CN=Test authority" -days 30 -out stranger.pem
: >index.txt
"#;

/// Issues a certificate: names, URL of the responder, serial number.
const ISSUE: &str = r#"
set -e
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out leaf.key
openssl req -new -key leaf.key -subj "/CN=leaf" -out leaf.csr
printf 'subjectAltName=%s\nauthorityInfoAccess=OCSP;URI:%s\n' "$1" "$2" >leaf.ext
openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -set_serial "0x$3" -days 20 -extfile leaf.ext -out leaf.pem
printf 'V\t491231235959Z\t\t%s\tunknown\t/CN=leaf\n' "$3" >>index.txt
"#;

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// `openssl` is missing or fails.
    pub fn new() -> anyhow::Result<Self> {
        let authority = Self { directory: tempfile::tempdir()? };
        authority.sh(SETUP, &[])?;
        Ok(authority)
    }

    fn sh(&self, script: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let output = Command::new("sh").args(["-c", script, "sh"]).args(arguments).current_dir(&self.directory).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn read(&self, name: &str) -> anyhow::Result<String> {
        std::fs::read_to_string(self.path(name)).with_context(|| name.to_owned())
    }

    /// A certificate for names, with the authority's behind it. `url`: where the responder is; `serial`: hexadecimal digits, an even number of them.
    ///
    /// # Errors
    /// `openssl` fails.
    pub fn issue(&self, names: &[&str], url: &str, serial: &str) -> anyhow::Result<Certificate> {
        let names: Vec<String> = names.iter().map(|name| format!("DNS:{name}")).collect();
        self.sh(ISSUE, &[&names.join(","), url, serial])?;
        let leaf = self.read("leaf.pem")?;
        let der = CertificateDer::from_pem_slice(leaf.as_bytes()).context("a certificate")?.to_vec();
        Ok(Certificate { certificate_pem: leaf + &self.read("ca.pem")?, der, key_pem: self.read("leaf.key")? })
    }

    /// Revokes every certificate.
    ///
    /// # Errors
    /// The list can't be written.
    pub fn revoke(&self) -> anyhow::Result<()> {
        let list = self.read("index.txt")?.replace("V\t491231235959Z\t\t", "R\t491231235959Z\t251101000000Z\t");
        Ok(std::fs::write(self.path("index.txt"), list)?)
    }

    /// What the responder answers to a request (DER).
    ///
    /// # Errors
    /// `openssl` fails.
    pub fn answer(&self, request: &[u8], signer: Signer) -> anyhow::Result<Vec<u8>> {
        std::fs::write(self.path("request"), request)?;
        let mut arguments = responder(signer);
        arguments.extend(["-reqin".to_owned(), "request".to_owned(), "-respout".to_owned(), "response".to_owned()]);
        let output = Command::new("openssl").args(arguments).current_dir(&self.directory).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(std::fs::read(self.path("response"))?)
    }

    /// Starts the responder on a port of all addresses.
    ///
    /// # Errors
    /// `openssl` can't be run.
    pub fn serve(&self, port: u16, signer: Signer) -> anyhow::Result<Responder> {
        let mut arguments = responder(signer);
        arguments.extend(["-port".to_owned(), port.to_string()]);
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Responder(command.spawn()?))
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// Responses end after five minutes.
fn responder(signer: Signer) -> Vec<String> {
    let name = signer.name();
    let text = format!("ocsp -index index.txt -CA ca.pem -rsigner {name}.pem -rkey {name}.key -nmin 5");
    text.split(' ').map(str::to_owned).collect()
}

/// A running responder. Dropping it ends it.
pub struct Responder(Child);

impl Drop for Responder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
