//! Variables of a text that only Lua can set. Each costs every request.

use ngx_value::{refers_to, rename_variable};

use crate::globals::geoip;

/// The variable of NGINX that people mean by the host of a rule, and ours that is it: one server block serves all hosts.
const SERVER_NAME: &str = "server_name";
const OWN_SERVER_NAME: &str = "narthex_server_name";

/// Variables that say which route serves a request.
const ROUTE_VARIABLES: [&str; 5] = ["namespace", "ingress_name", "service_name", "service_port", "location_path"];

/// The variable that says why no endpoint answers a request.
const REASON: &str = "narthex_reason";

/// Variables of the context of a trace.
const TRACES: [&str; 3] = ["opentelemetry_trace_id", "opentelemetry_span_id", "narthex_trace_flags"];

/// What reads variables without a trace of their names in the text: code.
const UNSEEN: [&str; 5] = ["_by_lua_file", "ngx.var", "ngx.ctx", "js_", "perl"];

/// How the stream block begins.
const STREAM: &str = "\nstream {\n";

/// How a line begins that loads a module, whose name alone reads nothing.
const MODULE: &str = "load_module ";

/// How the line of ours ends that includes a file.
const OWN_INCLUDE: &str = "/fastcgi_params\";";

/// The variables that a text uses.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsedVariables {
    /// The host of the rule.
    pub(crate) server_name: bool,
    /// Which of [`ROUTE_VARIABLES`]; `None` for a draft, which does not declare them, so that each occurrence is a use.
    pub(crate) route: Option<Vec<&'static str>>,
    /// [`REASON`].
    pub(crate) reason: bool,
    /// One of [`TRACES`].
    pub(crate) traces: bool,
    /// Those of databases of places.
    pub(crate) places: Vec<&'static str>,
}

impl UsedVariables {
    /// The variables that a draft uses.
    pub(crate) fn of(draft: &str) -> Self {
        // Of the stream block, which is the last one, nothing reads them.
        let http = draft.rsplit_once(STREAM).map_or(draft, |(http, _)| http);
        let is_code = |line: &str| UNSEEN.iter().any(|word| line.contains(word)) && !line.starts_with(MODULE);
        let unseen = http.lines().any(|line| includes(line) || is_code(line));
        let route = ROUTE_VARIABLES.into_iter().filter(|name| unseen || refers_to(draft, name)).collect();
        let places = geoip::variables().filter(|name| unseen || refers_to(draft, name)).collect();
        let (reason, traces) = (unseen || refers_to(draft, REASON), unseen || TRACES.iter().any(|name| refers_to(draft, name)));
        Self { server_name: refers_to(draft, SERVER_NAME), route: Some(route), reason, traces, places }
    }

    /// The text with our variable in the place of NGINX's.
    pub(crate) fn renamed(&self, text: String) -> String {
        if self.server_name { rename_variable(&text, SERVER_NAME, OWN_SERVER_NAME) } else { text }
    }
}

/// Whether a line reads a file of the operator's.
fn includes(line: &str) -> bool {
    let mut words = line.split_whitespace().map(|word| word.trim_start_matches(['{', '}', ';']));
    !line.ends_with(OWN_INCLUDE) && words.any(|word| word == "include")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(draft: &str, expected: &[&str]) {
        assert_eq!(UsedVariables::of(draft).route.unwrap_or_default(), expected, "{draft}");
    }

    #[test]
    fn a_variable_of_the_route_is_asked_for_where_the_text_reads_it() {
        check("log_format a \"$remote_addr [$proxy_upstream_name]\";", &[]);
        check("log_format a \"${namespace} $service_port\";", &["namespace", "service_port"]);
        check("add_header X $location_path_of;", &[]);
    }

    #[test]
    fn reasons_and_traces_are_declared_and_read_where_a_log_has_them() {
        let of = |draft: &str| UsedVariables::of(draft);
        assert!(!of("log_format a \"$status $narthex_reasons\";").reason && !of("log_format a \"$status\";").traces);
        assert!(of("log_format a \"${narthex_reason}\";").reason && of("include more.conf;").reason);
        for name in TRACES {
            assert!(of(&format!("log_format a \"${name}\";")).traces, "{name}");
        }
    }

    #[test]
    fn what_reads_out_of_sight_is_given_all() {
        check("set_by_lua_block $a { return ngx.var[\"name\" .. \"space\"] }", &ROUTE_VARIABLES);
        check("include /etc/nginx/more.conf;", &ROUTE_VARIABLES);
        check("include \"/etc/nginx/more.conf\";", &ROUTE_VARIABLES);
        check("location /x { include more.conf; }", &ROUTE_VARIABLES);
        check("http {\n}\n\nstream {\n    js_import a from b;\n}\n", &[]);
        check("load_module \"/usr/lib/nginx/modules/ngx_stream_js_module.so\";", &[]);
        check("load_module a_perl.so;\nperl_set $a b;", &ROUTE_VARIABLES);
        check("max-age=1; includeSubDomains", &[]);
        check("            include \"/var/lib/narthex/fastcgi_params\";", &[]);
    }
}
