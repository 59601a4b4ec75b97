//! The templates, compiled in.

macro_rules! templates {
    ($($name:literal,)*) => {
        /// Name and text of every template.
        pub(crate) const ALL: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../../templates/", $name))),)*];
    };
}

templates! {
    "main.conf",
    "http.conf",
    "real_ip.conf",
    "log.conf",
    "log_json.conf",
    "maps.conf",
    "geoip.conf",
    "tls.conf",
    "proxy.conf",
    "headers.conf",
    "server.conf",
    "hooks.conf",
    "listen.conf",
    "variables.conf",
    "mirror.conf",
    "profile.conf",
    "proxying.conf",
    "pass.conf",
    "backend_tls.conf",
    "firewall.conf",
    "stream.conf",
    "stream_snippet.conf",
    "stream_end.conf",
    "stream_map.conf",
    "stream_service.conf",
    "stream_tls.conf",
    "passthrough.conf",
    "auth.conf",
    "client_refused.conf",
    "clients.conf",
    "auth_upstream.conf",
    "sign_in.conf",
    "server_end.conf",
    "control.conf",
    "http_end.conf",
}
