//! Defaults of the annotations about errors, answers and limits.

use std::collections::BTreeSet;

use ngx_value::{ErrorStatus, HeaderName};

use super::grammar::{BOOL, Grammar, HEADER_NAMES, usable};
use super::table::settings;

settings! {
    /// Defaults of the annotations about errors, answers and limits.
    AnswerDefaults in answers;

    /// Errors that the default backend answers instead.
    custom_http_errors: BTreeSet<ErrorStatus> = BTreeSet::new(), STATUSES, "404,503", [Text];
    /// Take over only errors that the proxy itself makes, and leave the backend's alone.
    disable_proxy_intercept_errors: bool = false, BOOL, "true", [Text];
    /// Names of the headers that Ingresses may set with `custom-headers`, letter by letter. Empty: none.
    global_allowed_response_headers: Vec<HeaderName> = Vec::new(), HEADER_NAMES, "X-Frame-Options,X-Team", [Ingresses];
}

const STATUSES: Grammar<BTreeSet<ErrorStatus>> = Grammar {
    value: "statuses from 300 to 599 other than 499, between commas",
    read: |text, notes| Ok(usable(text, notes, str::parse).into_iter().collect()),
    print: |statuses| statuses.iter().map(ErrorStatus::to_string).collect::<Vec<_>>().join(","),
};

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn statuses_are_sorted_and_bad_ones_left_out() {
        let left_out = |item: &str| format!("{item:?}: expected a status from 300 to 599 other than 499; it is left out");
        check("custom-http-errors", "503,404,301", "301,404,503", &[]);
        check("custom-http-errors", "404,x,499", "404", &[&left_out("x"), &left_out("499")]);
        check("limit-req-status-code", "429", "429", &[]);
        check("limit-conn-status-code", "200", "503", &["expected a whole number from 400 to 599; the default \"503\" is used"]);
    }

    #[test]
    fn clients_are_counted_by_variables() {
        check("limit-conn-zone-variable", "$http_x_forwarded_for", "$http_x_forwarded_for", &[]);
    }
}
