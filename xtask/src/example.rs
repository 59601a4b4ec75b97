//! The certificate of `examples/shop.yaml`, made anew for each `make run`.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes the TLS Secret `shop-tls` into `dir`.
pub(crate) fn write(dir: &Path) -> Result<()> {
    let made = rcgen::generate_simple_self_signed(["shop.example.com".to_owned()])?;
    let mut text = String::from("apiVersion: v1\nkind: Secret\nmetadata:\n  name: shop-tls\ntype: kubernetes.io/tls\nstringData:\n");
    for (key, pem) in [("tls.crt", made.cert.pem()), ("tls.key", made.signing_key.serialize_pem())] {
        writeln!(text, "  {key}: |")?;
        for line in pem.lines() {
            writeln!(text, "    {line}")?;
        }
    }
    std::fs::create_dir_all(dir).with_context(|| format!("can't make {}", dir.display()))?;
    let path = dir.join("shop-tls.yaml");
    std::fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))
}
