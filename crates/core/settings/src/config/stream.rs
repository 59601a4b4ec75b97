//! TCP and UDP services.

use ngx_value::Time;

use super::grammar::{BOOL, COUNT, own};
use super::table::settings;

settings! {
    /// TCP and UDP services.
    StreamDefaults in stream;

    /// How long a connection or a session of a TCP or UDP service may be silent before it is closed.
    proxy_stream_timeout: Time = Time::from_secs(600), own("a time such as 600s"), "1h", [Text];
    /// Whether a connection goes to another endpoint of its TCP service when the first does not accept it.
    proxy_stream_next_upstream: bool = true, BOOL, "false", [Text];
    /// For how long other endpoints are tried; 0 = no limit.
    proxy_stream_next_upstream_timeout: Time = Time::from_secs(600), own("a time such as 600s"), "10s", [Text];
    /// How many endpoints a connection may try; 0 = no limit. At most 7 are tried.
    proxy_stream_next_upstream_tries: u32 = 3, COUNT, "5", [Text];
    /// How many datagrams answer one of a client of a UDP service: the session ends after them, and the next datagram begins another one, to the same endpoint. 0 = none is expected.
    proxy_stream_responses: u32 = 1, COUNT, "2", [Text];
}
