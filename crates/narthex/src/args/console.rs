//! Flags about the console.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

/// The web page that shows what the controller does.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Console")]
pub(crate) struct ConsoleArgs {
    /// Port of the console, a web page that shows what is served and why, and only reads (10244 is free); 0: none
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub(crate) console_port: u16,
    /// Address of the console; one that other machines reach needs --console-token-file
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    pub(crate) console_address: IpAddr,
    /// File with a token of at least 16 characters that clients of the console must give; a changed one is in effect at once
    #[arg(long, value_name = "FILE")]
    pub(crate) console_token_file: Option<PathBuf>,
}

impl ConsoleArgs {
    /// The address and port, where there is a console.
    ///
    /// # Errors
    /// Other machines could read without a token.
    pub(crate) fn address(&self) -> anyhow::Result<Option<SocketAddr>> {
        if self.console_port == 0 {
            return Ok(None);
        }
        let address = SocketAddr::new(self.console_address, self.console_port);
        anyhow::ensure!(
            address.ip().is_loopback() || self.console_token_file.is_some(),
            "--console-address {} can be reached by other machines: expected --console-token-file beside it",
            address.ip()
        );
        Ok(Some(address))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        console: ConsoleArgs,
    }

    #[test]
    fn a_console_for_other_machines_needs_a_token() {
        let address = |flags: &[&str]| Line::try_parse_from(["x"].iter().chain(flags)).unwrap().console.address();
        assert_eq!(address(&[]).unwrap(), None);
        assert_eq!(address(&["--console-port=10244"]).unwrap(), Some("127.0.0.1:10244".parse().unwrap()));
        assert_eq!(address(&["--console-port=1", "--console-address=::1"]).unwrap(), Some("[::1]:1".parse().unwrap()));
        let open = ["--console-port=1", "--console-address=0.0.0.0"];
        assert!(address(&open).unwrap_err().to_string().contains("--console-token-file"));
        let with_token = [&open[..], &["--console-token-file=t"]].concat();
        assert_eq!(address(&with_token).unwrap(), Some("0.0.0.0:1".parse().unwrap()));
    }
}
