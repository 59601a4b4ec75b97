//! Whether NGINX could open a port now.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

use model::{Protocol, StreamPort};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt};

/// Whether no other process has a port on these addresses, or on any where there is none. Nothing listens meanwhile: no client connects.
pub(super) fn is_free<'a>(addresses: impl IntoIterator<Item = &'a IpAddr>, port: StreamPort) -> bool {
    let mut addresses: Vec<IpAddr> = addresses.into_iter().copied().collect();
    if addresses.is_empty() {
        addresses = vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    }
    // What else is wrong with an address, NGINX finds out.
    addresses.iter().all(|address| !matches!(open(*address, port), Err(Errno::EADDRINUSE | Errno::EACCES)))
}

/// As NGINX does, but that several sockets for datagrams could share a port then.
fn open(address: IpAddr, StreamPort { protocol, number }: StreamPort) -> nix::Result<()> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let is_tcp = protocol == Protocol::Tcp;
    let socket = socket(family, if is_tcp { SockType::Stream } else { SockType::Datagram }, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, sockopt::ReuseAddr, &is_tcp)?;
    if address.is_ipv6() {
        setsockopt(&socket, sockopt::Ipv6V6Only, &true)?;
    }
    bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(address, number)))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn a_port_is_free_once_no_socket_listens() {
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let ports = [(Protocol::Tcp, tcp.local_addr().unwrap().port()), (Protocol::Udp, udp.local_addr().unwrap().port())];
        let ports = ports.map(|(protocol, number)| StreamPort { protocol, number });
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert_eq!(ports.map(|port| (is_free([], port), is_free([&loopback], port))), [(false, false); 2]);
        drop((tcp, udp));
        assert_eq!(ports.map(|port| is_free([], port)), [true; 2]);
    }
}
