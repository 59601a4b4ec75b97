//! Flags about the ports for people on the machine itself, which ingress-nginx has on the loopback address.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::{ArgAction, Args};

use super::values::boolean;

/// The default of `--status-port` in a Pod.
const STATUS_PORT: u16 = 10246;

/// The ports with the state of NGINX and of the process.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Ports of the loopback address")]
pub(crate) struct LoopbackArgs {
    /// Port of 127.0.0.1 with the state of NGINX: /nginx_status, /configuration/backends and others, which only read; 0: none [default: 10246 in a Pod, else none]
    #[arg(long, value_name = "PORT")]
    pub(crate) status_port: Option<u16>,
    /// Port with figures about the controller's process: /debug/pprof/; 0: none
    #[arg(long, default_value_t = 10245, value_name = "PORT")]
    pub(crate) profiler_port: u16,
    /// Address of that port
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub(crate) profiler_address: IpAddr,
    /// Serve those figures [default: true in a Pod, else false]
    #[arg(long, num_args = 0..=1, default_missing_value = "true", require_equals = true, action = ArgAction::Set, value_parser = boolean())]
    pub(crate) profiling: Option<bool>,
}

/// A port to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    /// The flag that sets the port.
    pub(crate) flag: &'static str,
    /// It was asked for, and not only not declined.
    pub(crate) is_given: bool,
}

impl LoopbackArgs {
    /// The port with the state of NGINX.
    pub(crate) fn status(&self, in_pod: bool) -> Option<Listening> {
        let port = self.status_port.unwrap_or(if in_pod { STATUS_PORT } else { 0 });
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        (port > 0).then_some(Listening { address, flag: "--status-port", is_given: self.status_port.is_some() })
    }

    /// The port with figures about the process.
    pub(crate) fn profiler(&self, in_pod: bool) -> Option<Listening> {
        let address = SocketAddr::from((self.profiler_address, self.profiler_port));
        let is_on = self.profiling.unwrap_or(in_pod) && self.profiler_port > 0;
        is_on.then_some(Listening { address, flag: "--profiler-port", is_given: self.profiling == Some(true) })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        loopback: LoopbackArgs,
    }

    fn line(flags: &[&str]) -> LoopbackArgs {
        Line::try_parse_from(["x"].iter().chain(flags)).unwrap().loopback
    }

    #[test]
    fn the_ports_are_open_in_a_pod_or_where_they_are_asked_for() {
        let addresses = |args: &LoopbackArgs, in_pod| {
            let text = |listening: Option<Listening>| listening.map(|listening| (listening.address.to_string(), listening.is_given));
            (text(args.status(in_pod)), text(args.profiler(in_pod)))
        };
        let open = |address: &str, is_given| Some((address.to_owned(), is_given));
        assert_eq!(addresses(&line(&[]), false), (None, None));
        assert_eq!(addresses(&line(&[]), true), (open("127.0.0.1:10246", false), open("127.0.0.1:10245", false)));
        let given = line(&["--status-port=7", "--profiling", "--profiler-port=8", "--profiler-address=::1"]);
        assert_eq!(addresses(&given, false), (open("127.0.0.1:7", true), open("[::1]:8", true)));
        assert_eq!(addresses(&line(&["--status-port=0", "--profiling=false"]), true), (None, None));
        assert_eq!(addresses(&line(&["--profiler-port=0"]), true).1, None);
    }
}
