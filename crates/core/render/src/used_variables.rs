//! Variables of a text that only Lua can set. Each costs every request.

use ngx_value::{refers_to, rename_variable};

use crate::globals::geoip;

/// The variable of NGINX that people mean by the host of a rule, and ours that is it: one server block serves all hosts.
const SERVER_NAME: &str = "server_name";
const OWN_SERVER_NAME: &str = "narthex_server_name";

/// Variables that say which route serves a request.
const ROUTE_VARIABLES: [&str; 5] = ["namespace", "ingress_name", "service_name", "service_port", "location_path"];

/// What reads variables without a trace of their names in the text: code.
const UNSEEN: [&str; 5] = ["_by_lua_file", "ngx.var", "ngx.ctx", "js_", "perl"];

/// How the stream block begins.
const STREAM: &str = "\nstream {\n";

/// How the line of ours ends that includes a file.
const OWN_INCLUDE: &str = "/fastcgi_params\";";

/// The variables that a text uses.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsedVariables {
    /// The host of the rule.
    pub(crate) server_name: bool,
    /// Which of [`ROUTE_VARIABLES`]; `None` for a draft, which does not declare them, so that each occurrence is a use.
    pub(crate) route: Option<Vec<&'static str>>,
    /// Those of databases of places.
    pub(crate) places: Vec<&'static str>,
}

impl UsedVariables {
    /// The variables that a draft uses.
    pub(crate) fn of(draft: &str) -> Self {
        // Of the stream block, which is the last one, nothing reads them.
        let http = draft.rsplit_once(STREAM).map_or(draft, |(http, _)| http);
        let unseen = http.lines().any(|line| includes(line) || UNSEEN.iter().any(|word| line.contains(word)));
        let route = ROUTE_VARIABLES.into_iter().filter(|name| unseen || refers_to(draft, name)).collect();
        let places = geoip::variables().filter(|name| unseen || refers_to(draft, name)).collect();
        Self { server_name: refers_to(draft, SERVER_NAME), route: Some(route), places }
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
    fn what_reads_out_of_sight_is_given_all() {
        check("set_by_lua_block $a { return ngx.var[\"name\" .. \"space\"] }", &ROUTE_VARIABLES);
        check("include /etc/nginx/more.conf;", &ROUTE_VARIABLES);
        check("include \"/etc/nginx/more.conf\";", &ROUTE_VARIABLES);
        check("location /x { include more.conf; }", &ROUTE_VARIABLES);
        check("http {\n}\n\nstream {\n    js_import a from b;\n}\n", &[]);
        check("max-age=1; includeSubDomains", &[]);
        check("            include \"/var/lib/narthex/fastcgi_params\";", &[]);
    }
}
