//! Objects that the API server would refuse, which a directory refuses too, with the line of the field.

use manifests::{Content, File, Loaded, read};

fn load(text: &str) -> Loaded {
    read([File { path: "f.yaml".into(), content: Content::Bytes(text.as_bytes().to_vec()) }], None)
}

/// The Problems of a text, each as `LINE: FIELD: DETAIL`, without the consequence.
fn found(text: &str) -> Vec<String> {
    let loaded = load(text);
    let one = |problem| {
        let place = loaded.locate(problem).expect("the place of a Problem of the files is known");
        let detail = problem.detail.split("; ").next().unwrap_or_default();
        format!("{}: {}: {detail}", place.line, problem.field)
    };
    loaded.problems().iter().map(one).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(found(text), expected);
}

/// An Ingress with one rule: lines 1 to 9, `rest` of the path from line 8.
fn rule(host: &str, rest: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: a}}\nspec:\n  rules:\n  - host: {host}\n    http: {{paths: [{{\n      {rest}\n    }}]}}\n"
    )
}

const BACKEND: &str = "backend: {service: {name: s, port: {number: 80}}}";

#[test]
fn ingress_paths_and_hosts() {
    for good in ["a.example", "\"*.example\"", "\"\"", "null"] {
        check(&rule(good, &format!("path: /a, pathType: Exact, {BACKEND}")), &[]);
    }
    for (path, type_) in [("/", "Prefix"), ("/a.b/", "Exact"), ("/(a|b)//x", "ImplementationSpecific")] {
        check(&rule("a", &format!("path: {path:?}, pathType: {type_}, {BACKEND}")), &[]);
    }
    check(&rule("a", &format!("pathType: ImplementationSpecific, {BACKEND}")), &[]);

    let host = "is not a host: expected a DNS name in lower case, or \"*.\" and such a name, without port";
    for bad in ["A.example", "10.0.0.1", "a.example:80", "\"*\"", "a_b"] {
        check(
            &rule(bad, &format!("path: /a, pathType: Exact, {BACKEND}")),
            &[&format!("6: spec.rules[0].host: {:?} {host}", bad.trim_matches('"'))],
        );
    }
    let field = "spec.rules[0].http.paths[0]";
    for (rest, line, sub, detail) in [
        // What is not given is missed at the path, which begins on line 7.
        ("path: /a", 7, ".pathType", "not given: expected Exact, Prefix or ImplementationSpecific"),
        ("path: /a, pathType: Regex", 8, ".pathType", "\"Regex\" is none of Exact, Prefix and ImplementationSpecific"),
        ("path: a, pathType: Prefix", 8, ".path", "\"a\" does not begin with \"/\", as pathType Prefix demands"),
        ("pathType: Exact", 7, ".path", "\"\" does not begin with \"/\", as pathType Exact demands"),
        ("path: /a//b, pathType: Exact", 8, ".path", "\"/a//b\" holds \"//\", which pathType Exact forbids"),
        ("path: /a/.., pathType: Prefix", 8, ".path", "\"/a/..\" holds \"/..\", which pathType Prefix forbids"),
        ("path: a, pathType: ImplementationSpecific", 8, ".path", "\"a\" does not begin with \"/\""),
    ] {
        check(&rule("a", &format!("{rest}, {BACKEND}")), &[&format!("{line}: {field}{sub}: {detail}")]);
    }
}

#[test]
fn ingress_backends() {
    let field = "spec.rules[0].http.paths[0].backend";
    for (backend, sub, detail) in [
        ("{}", "", "neither service nor resource is given"),
        ("{service: {name: a}, resource: {kind: a, name: b}}", "", "both service and resource are given: expected one of them"),
        ("{service: {name: a, port: {}}}", ".service.port", "the port's name or number is required"),
        (
            "{service: {name: a, port: {name: x, number: 1}}}",
            ".service.port",
            "both name \"x\" and number 1 are given: expected one of them",
        ),
        ("{service: {name: a, port: {number: 65536}}}", ".service.port.number", "65536 is not between 1 and 65535"),
        ("{service: {name: a, port: {name: HTTP}}}", ".service.port.name", "\"HTTP\" is not the name of a port"),
        ("{service: {port: {number: 1}}}", ".service.name", "the Service's name is required"),
        (
            "{service: {name: a, port: {number: \"80\"}}}",
            ".service.port.number",
            "expected a 32-bit integer, found \"80\" (a string): write a number, without quotes",
        ),
    ] {
        check(&rule("a", &format!("path: /, pathType: Prefix,\n      backend: {backend}")), &[&format!("9: {field}{sub}: {detail}")]);
    }
    check(&rule("a", "path: /, pathType: Prefix, backend: {resource: {kind: a, name: b}}"), &[]);
    let head = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec:\n";
    check(&format!("{head}  ingressClassName: x\n"), &["4: spec: neither rules nor defaultBackend is given"]);
    check(
        &format!("{head}  defaultBackend: {{service: {{name: a}}}}\n"),
        &["5: spec.defaultBackend.service.port: the port's name or number is required"],
    );
    check(&format!("{head}  rules: [{{http: {{paths: []}}}}]\n"), &["5: spec.rules[0].http.paths: at least one path is required"]);
    check(
        &format!("{head}  rules: [{{}}]\n  ingressClassName: A\n  tls:\n  - hosts: [a, B]\n    secretName: a/b\n"),
        &[
            "6: spec.ingressClassName: \"A\" is not a DNS name in lower case",
            "8: spec.tls[0].hosts[1]: \"B\" is not a host: expected a DNS name in lower case, or \"*.\" and such a name, without port",
            "9: spec.tls[0].secretName: \"a/b\" is not the name of a Secret: expected a DNS name in lower case",
        ],
    );
}

#[test]
fn names_and_annotations() {
    let object = |metadata: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  {metadata}\n");
    check(&object("name: A"), &["4: metadata.name: \"A\" is not a DNS name in lower case"]);
    check(&object("name: a\n  namespace: a.b"), &["5: metadata.namespace: \"a.b\" is not a DNS label (a-z, 0-9 and -, at most 63)"]);
    check(&object("name: 12"), &["4: document 1, line 4, metadata.name: expected a string, found \"12\" (a number): write it in quotes"]);
    check(
        &object("generateName: a-"),
        &["4: document 1, line 4, metadata.name: this ConfigMap has no name (generateName needs an API server)"],
    );
    check(&object("{}"), &["4: document 1, line 4, metadata.name: this ConfigMap has no name"]);
    check(
        &object("name: a\n  annotations:\n    x/on: on"),
        &["6: metadata.annotations[\"x/on\"]: expected a string, found \"on\" (a boolean): write it in quotes"],
    );
    check(&object("name: a\n  annotations: {x: \"on\", y: 'true', z: off-road}"), &[]);
    check(
        &object("name: a\n  annotations: {a/b/c: x}"),
        &[
            "5: metadata.annotations[\"a/b/c\"]: \"a/b/c\" is not a key: expected NAME or PREFIX/NAME with at most 63 letters, digits, -, _ and . in NAME",
        ],
    );
    check(&object("name: a\n  name: b"), &["5: metadata.name: this key is there twice"]);
}

#[test]
fn kinds_and_versions() {
    check(
        "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n",
        &["1: apiVersion: Ingress is read from apiVersion \"networking.k8s.io/v1\", found \"extensions/v1beta1\""],
    );
    check("kind: Secret\nmetadata: {name: a}\n", &["1: apiVersion: Secret is read from apiVersion \"v1\", found \"\""]);
    check("replicas: 2\n", &["1: document 1, line 1, column 1: expected a Kubernetes object, found a mapping without \"kind\""]);
    check("\n- a\n", &["2: document 1, line 2, column 1: expected a Kubernetes object, found a list"]);
    check("apiVersion: v1\nkind: List\nitems: {}\n", &["3: document 1, line 3, column 8: expected items to be a list, found a mapping"]);
    check(
        "apiVersion: v1\nkind: 5\n",
        &["2: document 1, line 2, column 7: expected apiVersion and kind to be strings, found \"5\" (a number)"],
    );
    check("apiVersion: serving.knative.dev/v1\nkind: Service\nspec: [1]\n---\napiVersion: v1\nkind: Pod\nspec: {a: 1, a: 2}\n", &[]);
}

#[test]
fn unknown_fields_are_ignored_but_reported() {
    let loaded = load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\nDATA: {a: b}\n");
    assert_eq!(loaded.snapshot.config_maps.len(), 1);
    assert_eq!(
        loaded.problems()[0].to_string(),
        "ConfigMap default/a: DATA: ConfigMap has no such field; it is ignored (f.yaml, document 1, line 5)"
    );
}

#[test]
fn services_and_endpoints() {
    let service = |spec: &str| format!("apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec:\n  {spec}\n");
    check(&service("clusterIP: None"), &[]);
    check(&service("type: ExternalName\n  externalName: www.example.com."), &[]);
    check(&service("ports: [{port: 80, name: a, targetPort: http}, {port: 81, name: b, targetPort: 8081, protocol: UDP}]"), &[]);
    check(&service("selector: {a: b}"), &["4: spec.ports: at least one port is required"]);
    check(&service("type: ExternalName"), &["4: spec.externalName: \"\" is not a DNS name in lower case"]);
    check(
        &service("type: Some\n  ports: [{port: 80}]"),
        &["5: spec.type: \"Some\" is none of ClusterIP, NodePort, LoadBalancer and ExternalName"],
    );
    check(
        &service("ports:\n  - port: 0\n  - port: 1\n    name: a\n  - port: 2\n    name: a\n    protocol: X\n    targetPort: \"80\""),
        &[
            "6: spec.ports[0].port: 0 is not between 1 and 65535",
            "6: spec.ports[0].name: every port of several needs a name",
            "10: spec.ports[2].name: \"a\" is the name of another port too",
            "11: spec.ports[2].protocol: \"X\" is none of TCP, UDP and SCTP",
            "12: spec.ports[2].targetPort: \"80\" is not the name of a port: write a number without quotes",
        ],
    );
    let slice = |rest: &str| format!("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: a}}\n{rest}\n");
    check(&slice("addressType: IPv6\nendpoints: [{addresses: [\"::1\"]}]\nports: [{port: 80, name: \"\"}]"), &[]);
    check(&slice("endpoints: []"), &["1: addressType: not given: expected IPv4, IPv6 or FQDN"]);
    check(
        &slice("addressType: IPv4\nendpoints:\n- addresses: [10.0.0.1, \"::1\"]\n- addresses: []\nports: [{port: 70000}]"),
        &[
            "6: endpoints[0].addresses[1]: \"::1\" is not an address of type IPv4",
            "7: endpoints[1].addresses: at least one address is required",
            "8: ports[0].port: 70000 is not between 1 and 65535",
        ],
    );
}

#[test]
fn secrets_are_not_repeated_in_messages() {
    let secret = |rest: &str| format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\n{rest}\n");
    for rest in ["stringData: {password: 31337}", "data: {password: 31337}", "data: {password: \"?31337?\"}", "data: [31337]"] {
        let problems = load(&secret(rest)).problems().to_vec();
        assert_eq!(problems.len(), 1, "{rest}");
        assert!(!format!("{problems:?}").contains("31337"), "{problems:?}");
    }
    check(&secret("data: {a: 5}"), &["4: data.a: expected a base64-encoded string, found a number"]);
    check(
        &secret("type: kubernetes.io/tls\ndata: {tls.crt: YQ==}"),
        &["5: data[\"tls.key\"]: a Secret of type kubernetes.io/tls needs this key"],
    );
    check(&secret("data: {a/b: YQ==}"), &["4: data[\"a/b\"]: \"a/b\" is not a key: expected letters, digits, -, _ and ."]);
}
