//! The network namespace of a Pod with containers.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use anyhow::Context;
use nix::sched::{CloneFlags, unshare};

use crate::ip::ip;

/// A network namespace with one address, joined to the bed's by a pair of devices. Without processes it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Network(File);

impl Network {
    /// Makes one. The Pod reaches every address of the bed; the bed reaches the Pod from the address of its Node, as a kubelet's probes do.
    ///
    /// # Errors
    /// The kernel or `ip` refuses something.
    pub(super) fn create(address: Ipv4Addr, node: Ipv4Addr) -> anyhow::Result<Self> {
        let device = format!("pod{:08x}", u32::from(address));
        let inside = device.clone();
        // A thread of its own: it leaves the namespace of the bed for good.
        let namespace = std::thread::spawn(move || make(address, &inside)).join();
        let namespace = namespace.map_err(|_| anyhow::anyhow!("the thread that makes a network namespace panicked"))??;
        ip(&["link", "set", &device, "up"])?;
        // All addresses of the bed are local but this one, and so is its source.
        ip(&["route", "add", &format!("{address}/32"), "dev", &device, "src", &node.to_string(), "table", "local"])?;
        Ok(Self(namespace))
    }

    /// A path that names it.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()))
    }
}

/// In a thread of its own: leaves the bed's namespace for a new one and joins both by a pair of devices.
fn make(address: Ipv4Addr, device: &str) -> anyhow::Result<File> {
    unshare(CloneFlags::CLONE_NEWNET).context("cannot make a network namespace")?;
    let bed = format!("/proc/{}/ns/net", std::process::id());
    ip(&["link", "set", "lo", "up"])?;
    ip(&["link", "add", "eth0", "type", "veth", "peer", "name", device, "netns", &bed])?;
    ip(&["addr", "add", &format!("{address}/32"), "dev", "eth0"])?;
    ip(&["link", "set", "eth0", "up"])?;
    ip(&["route", "add", "default", "dev", "eth0"])?;
    File::open("/proc/thread-self/ns/net").context("a new network namespace")
}
