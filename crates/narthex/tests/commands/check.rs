//! `narthex check`: every finding, with file, line and Ingress.

use crate::narthex::{Directory, REST, ingress};

/// The last line of the output and the exit code.
fn summary(ingresses: &[String]) -> (String, Option<i32>) {
    let directory = Directory::of(&[("all.yaml", &(ingresses.concat() + REST))]);
    let output = directory.narthex(&["check"], &["."]);
    (output.stdout.lines().last().unwrap_or_default().to_owned(), output.code)
}

/// The findings about one file.
fn findings(text: &str) -> Vec<String> {
    let directory = Directory::of(&[("a.yaml", text)]);
    let output = directory.narthex(&["check"], &["."]);
    let mut lines: Vec<String> = output.stdout.lines().map(str::to_owned).collect();
    assert_eq!(output.code, Some(i32::from(lines.len() > 1)), "{}", output.stderr);
    lines.pop();
    lines
}

#[test]
fn ingresses_and_problems_are_counted_refused_ones_too() {
    let good = ingress("good", "limit-rps", "5");
    let refused = ingress("refused", "limit-rps", "nonsense");
    let surprising = ingress("surprising", "rewrite-target", "/$nobody");
    assert_eq!(summary(std::slice::from_ref(&good)), ("1 Ingress checked, no problems".to_owned(), Some(0)));
    assert_eq!(summary(&[good.clone(), refused.clone()]), ("2 Ingresses checked, 1 problem".to_owned(), Some(1)));
    assert_eq!(summary(&[good, refused, surprising]), ("3 Ingresses checked, 2 problems".to_owned(), Some(1)));
    assert_eq!(summary(&[]), ("0 Ingresses checked, no problems".to_owned(), Some(0)));
}

#[test]
fn the_examples_are_clean() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let output = Directory::of(&[]).narthex(&["check"], &[examples]);
    assert_eq!((output.stdout.as_str(), output.code), ("4 Ingresses checked, no problems\n", Some(0)));
}

#[test]
fn a_class_that_does_not_exist_is_reported_with_the_one_that_may_be_meant() {
    let with = |class: &str| ingress("shop", "limit-rps", "5").replace("ingressClassName: nginx", class) + REST;
    for (class, expected) in [
        (
            "ingressClassName: ngnix",
            "a.yaml:9: Unclaimed: Ingress shop/shop: spec.ingressClassName: \"ngnix\": there is no such IngressClass, did you mean nginx?; the Ingress is not served",
        ),
        (
            "ingressClassName: other",
            "a.yaml:9: Unclaimed: Ingress shop/shop: spec.ingressClassName: \"other\": there is no such IngressClass; the Ingress is not served",
        ),
        (
            "x: y",
            "a.yaml:8: Unclaimed: Ingress shop/shop: spec.ingressClassName: no class is named, and no IngressClass is the default; the Ingress is not served",
        ),
    ] {
        let found = findings(&with(class));
        assert!(found.contains(&expected.to_owned()), "{class}: {found:#?}");
    }
    let old = with("x: y").replace("annotations: {", "annotations: {kubernetes.io/ingress.class: nginy, ");
    assert!(findings(&old).iter().any(|line| line.contains("\"nginy\": there is no such IngressClass, did you mean nginx?")), "{old}");
}

#[test]
fn an_ingress_of_another_controller_or_of_the_default_class_is_no_finding() {
    let other =
        "---\n{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: other}, spec: {controller: example.com/other}}\n";
    let ingress = ingress("shop", "limit-rps", "5");
    assert_eq!(findings(&(ingress.replace("ingressClassName: nginx", "ingressClassName: other") + REST + other)), [""; 0]);
    let default = REST
        .replace("metadata: {name: nginx}", "metadata: {name: nginx, annotations: {ingressclass.kubernetes.io/is-default-class: 'true'}}");
    // It is one of ours then, with all its findings.
    let without = ingress.replace("  ingressClassName: nginx\n", "").replace("limit-rps: \"5\"", "limit-rps: \"x\"");
    let found = findings(&(without + &default));
    assert!(found.len() == 1 && found[0].contains("limit-rps"), "{found:#?}");
}

#[test]
fn a_missing_service_is_reported_where_an_ingress_names_it() {
    let text = ingress("shop", "limit-rps", "5").replace("name: s,", "name: absent,") + REST;
    assert_eq!(
        findings(&text),
        [
            "a.yaml:10: ServiceMissing: Ingress shop/shop: spec.rules[0].http.paths[0].backend.service.name: the Service shop/absent does not exist; requests for shop/absent:80 get 503"
        ]
    );
}

#[test]
fn one_bad_path_hides_no_other_finding() {
    let text = ingress("shop", "rewrite-targt", "/x").replace(
        "paths: [",
        "paths: [{path: cart, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}, {path: /c, pathType: Prefix, backend: {service: {name: absent, port: {number: 80}}}}, ",
    ) + REST;
    let found = findings(&text);
    let has = |part: &str| found.iter().filter(|line| line.contains(part)).count();
    assert_eq!(
        (has("\"cart\" does not begin with"), has("did you mean rewrite-target?"), has("shop/absent does not exist")),
        (1, 1, 1),
        "{found:#?}"
    );
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn without_ages_no_ingress_is_called_the_older_one() {
    let two = ingress("one", "limit-rps", "5") + &ingress("two", "limit-rps", "5").replace("two.example", "one.example") + REST;
    let found = findings(&two);
    assert!(
        found.len() == 1 && found[0].contains("already defined by Ingress shop/two (without ages, the greater name comes first)"),
        "{found:#?}"
    );
}
