//! `narthex conf HOST PATH`: the location that a path leads to.

use crate::narthex::Directory;

#[test]
fn a_path_below_a_rule_s_path_leads_to_the_location_of_that_rule() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let output = Directory::of(&[]).narthex(&["conf", "--manifests", examples], &["shop.example.com", "/cart/5"]);
    let locations: Vec<&str> = output.stdout.lines().map(str::trim).filter(|line| line.starts_with("location ")).collect();
    assert_eq!((output.code, locations), (Some(0), vec!["location \"/cart/\" {"]), "{}", output.stderr);
    assert!(output.stdout.contains("$service_name \"cart\""), "{}", output.stdout);
}
