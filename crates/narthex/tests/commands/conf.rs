//! `narthex conf HOST PATH`: what serves a path.

use serde_json::Value;

use crate::narthex::Directory;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

#[test]
fn a_path_below_a_rule_s_path_leads_to_the_route_of_that_rule() {
    let output = Directory::of(&[]).narthex(&["conf", "--manifests", EXAMPLES], &["shop.example.com", "/cart/5", "--format", "json"]);
    let served: Value = serde_json::from_str(&output.stdout).expect(&output.stderr);
    let services: Vec<&str> =
        served["record"]["locations"].as_array().unwrap().iter().filter_map(|route| route["service"].as_str()).collect();
    assert_eq!((output.code, services), (Some(0), vec!["cart"]), "{}", output.stdout);
}

#[test]
fn without_a_host_it_is_the_text_that_nginx_runs() {
    let conf = |of: &str| Directory::of(&[]).narthex(&[of, "--manifests", EXAMPLES], &["--format", "json"]).stdout;
    let (conf, rendered): (Value, Value) = (serde_json::from_str(&conf("conf")).unwrap(), serde_json::from_str(&conf("render")).unwrap());
    // Each makes a certificate of its own, which the revision is about.
    let text = |output: &Value| output["nginx.conf"].as_str().unwrap().replace(output["revision"].as_str().unwrap(), "REVISION");
    assert_eq!(text(&conf), text(&rendered));
}
