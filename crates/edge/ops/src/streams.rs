//! Metrics of TCP and UDP services: what NGINX logged, added up.

use std::collections::BTreeMap;

use crate::exposition::{Exposition, Family, labels};

/// A connection or session that has ended, as a line of the log says it: protocol, port, status, bytes from the client, bytes to it, seconds.
struct Line<'a> {
    protocol: &'a str,
    port: u16,
    status: &'a str,
    received: u64,
    sent: u64,
    seconds: f64,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut fields = text.split(' ');
        let mut next = || fields.next();
        Some(Self {
            protocol: next()?,
            port: next()?.parse().ok()?,
            status: next()?,
            received: next()?.parse().ok()?,
            sent: next()?.parse().ok()?,
            seconds: next()?.parse().ok()?,
        })
    }
}

/// The sums of a service and a status.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    connections: u64,
    received: u64,
    sent: u64,
    seconds: f64,
}

/// A value of a family.
type Value = fn(&Sums) -> f64;

/// The sums since the controller started. Memory: the number of services, and of statuses that NGINX has.
#[derive(Debug, Default)]
pub struct StreamMetrics(BTreeMap<(String, String), Sums>);

impl StreamMetrics {
    /// Adds lines of the log. `service`: the labels of that on a port, by `TCP` or `UDP` and the number; lines of others are not counted.
    pub fn add(&mut self, lines: &str, service: impl Fn(&str, u16) -> Option<String>) {
        for line in lines.lines().filter_map(Line::parse) {
            let Some(service) = service(line.protocol, line.port) else { continue };
            let sums = self.0.entry((service, line.status.to_owned())).or_default();
            sums.connections += 1;
            sums.received += line.received;
            sums.sent += line.sent;
            sums.seconds += line.seconds;
        }
    }

    /// Forgets services that are gone, by their labels.
    pub fn retain(&mut self, is_known: impl Fn(&str) -> bool) {
        self.0.retain(|(service, _), _| is_known(service));
    }

    /// Appends the families.
    pub fn write(&self, constant: &str, out: &mut Exposition) {
        let families: [(Family, Value); 4] = [
            (
                Family::counter("stream_connections_total", "Connections to TCP services and sessions of UDP services that have ended."),
                |sums| sums.connections as f64,
            ),
            (Family::counter("stream_seconds_total", "Seconds that they took."), |sums| sums.seconds),
            (Family::counter("stream_received_bytes_total", "Bytes that came from clients."), |sums| sums.received as f64),
            (Family::counter("stream_sent_bytes_total", "Bytes that went to clients."), |sums| sums.sent as f64),
        ];
        for (family, value) in families {
            let of = |((service, status), sums): (&(String, String), &Sums)| {
                (format!("{constant},{service},{}", labels(&[("status", status)])), value(sums))
            };
            let values: Vec<(String, f64)> = self.0.iter().map(of).collect();
            if !values.is_empty() {
                family.write(&values, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposition::tests::text_of;

    #[test]
    fn connections_are_added_up_by_service_and_status() {
        let mut metrics = StreamMetrics::default();
        assert_eq!(text_of(|out| metrics.write("a=\"b\"", out)), "");
        let service = |protocol: &str, port: u16| (port == 80).then(|| labels(&[("protocol", protocol)]));
        metrics
            .add("TCP 80 200 10 20 1.500\nTCP 80 200 1 2 0.250\nTCP 81 200 1 1 1\nUDP 80 502 3 0 0.000\nTCP 80 20\nTCP  - - -\n", service);
        let text = text_of(|out| metrics.write("a=\"b\"", out));
        for expected in [
            "connections_total{a=\"b\",protocol=\"TCP\",status=\"200\"} 2\n",
            "seconds_total{a=\"b\",protocol=\"TCP\",status=\"200\"} 1.75\n",
            "received_bytes_total{a=\"b\",protocol=\"TCP\",status=\"200\"} 11\n",
            "sent_bytes_total{a=\"b\",protocol=\"TCP\",status=\"200\"} 22\n",
            "connections_total{a=\"b\",protocol=\"UDP\",status=\"502\"} 1\n",
        ] {
            assert!(text.contains(&format!("nginx_ingress_controller_stream_{expected}")), "{expected}{text}");
        }
        metrics.retain(|service| service.contains("UDP"));
        let text = text_of(|out| metrics.write("a=\"b\"", out));
        assert!(!text.contains("=\"TCP\"") && text.contains("=\"UDP\""), "{text}");
    }
}
