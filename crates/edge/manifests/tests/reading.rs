//! Files in, objects and Problems out: no file system.

use std::sync::Arc;

use manifests::{Content, File, Loaded, Place, read};
use model::{ObjectKey, ObjectRef, Problem, ProblemKind};

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: shop}\nspec:\n  ports: [{port: 80}]\n";

fn ingress(name: &str, host: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {name}\nspec:\n  rules:\n  - host: {host}\n    http:\n      paths:\n      - path: /\n        pathType: Prefix\n        backend: {{service: {{name: shop, port: {{number: 80}}}}}}\n"
    )
}

/// Reads files of these contents, in any order.
fn load<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>, previous: Option<&Loaded>) -> Loaded {
    let file = |(path, text): (&str, &str)| File { path: path.into(), content: Content::Bytes(text.as_bytes().to_vec()) };
    read(files.into_iter().map(file), previous)
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn host(loaded: &Loaded, name: &str) -> Option<String> {
    Some(loaded.snapshot.ingresses.get(&key(name))?.rules[0].host.to_string())
}

fn shown(loaded: &Loaded) -> Vec<String> {
    loaded.problems().iter().map(ToString::to_string).collect()
}

fn places(loaded: &Loaded) -> Vec<String> {
    loaded
        .problems()
        .iter()
        .map(|problem| loaded.locate(problem).expect("the place of a Problem of the files is known").to_string())
        .collect()
}

#[test]
fn every_form_of_file_gives_objects() {
    let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}", ingress("listed", "l.example").replace('\n', "\n  "));
    let typed = "apiVersion: networking.k8s.io/v1\nkind: IngressClassList\nitems:\n- metadata: {name: nginx}\n  spec: {controller: k8s.io/ingress-nginx}\n";
    let json = r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "j1"}, "spec": {"ports": [{"port": 80}]}}
                  {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j2", "namespace": "other"}, "data": {"a": "b"}}"#;
    let rest = "kind: Namespace\napiVersion: v1\nmetadata: {name: other}\n---\n# nothing\n---\nkind: Deployment\napiVersion: apps/v1\nspec: {x: [1]}\n---\n\
                apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: e}\naddressType: IPv4\nendpoints: [{addresses: [127.0.0.1]}]\nports: [{port: 1}]\n";
    let two = format!("{SERVICE}---\n{}", ingress("shop", "a.example"));
    let loaded = load([("a.yaml", &*two), ("b/c/list.yml", &*list), ("class.yaml", typed), ("j.json", json), ("rest.yaml", rest)], None);
    assert_eq!(shown(&loaded), [""; 0]);
    let snapshot = &loaded.snapshot;
    assert_eq!(snapshot.ingresses.keys().map(|key| &*key.name).collect::<Vec<_>>(), ["listed", "shop"]);
    assert_eq!(snapshot.services.keys().map(|key| &*key.name).collect::<Vec<_>>(), ["j1", "shop"]);
    assert_eq!(snapshot.ingress_classes.as_ref().unwrap().len(), 1);
    assert_eq!((snapshot.endpoint_slices.len(), snapshot.namespaces.len()), (1, 1));
    assert!(snapshot.config_maps.contains_key(&ObjectKey::new("other", "j2")));
    let of = |reference: &ObjectRef| loaded.position(reference).unwrap().to_string();
    assert_eq!(of(&ObjectRef::ingress(&key("shop"))), "a.yaml, document 2, line 7");
    assert_eq!(of(&ObjectRef::ingress(&key("listed"))), "b/c/list.yml, document 1, line 4");
    assert_eq!(of(&ObjectRef::namespaced("ConfigMap", &ObjectKey::new("other", "j2"))), "j.json, document 2, line 2");
    assert_eq!(loaded.positions().count(), 8);
}

#[test]
fn objects_are_as_the_api_server_stores_them() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  managedFields: [{manager: kubectl}]\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: x, a: b}\n\
                  data:\n  a: YQ==\n  wrapped: |\n    YWJj\n    ZGVm\nstringData: {a: over, b: \"yes\"}\n";
    let class = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: c, namespace: x}\nspec: {controller: a/b}\n";
    let loaded = load([("s.yaml", secret), ("c.yaml", class)], None);
    assert_eq!(shown(&loaded), [""; 0]);
    let secret = &loaded.snapshot.secrets[&key("s")];
    let data: Vec<_> = secret.data.as_ref().unwrap().iter().map(|(key, value)| (key.as_str(), value.0.as_slice())).collect();
    assert_eq!(data, [("a", b"over".as_slice()), ("b", b"yes"), ("wrapped", b"abcdef")]);
    assert_eq!(secret.metadata.namespace.as_deref(), Some("default"));
    assert_eq!(secret.metadata.annotations.as_ref().unwrap().len(), 1);
    assert!(secret.metadata.managed_fields.is_none() && secret.string_data.is_none());
    assert_eq!(loaded.snapshot.ingress_classes.as_ref().unwrap()["c"].metadata.namespace, None);
}

#[test]
fn a_broken_document_leaves_the_others_alone() {
    let text = format!("{}---\nkind: Ingress\nspec: [\n---\n{SERVICE}", ingress("a", "a.example"));
    let loaded = load([("x/f.yaml", &*text), ("other.json", "{\"kind\": ")], None);
    assert!(host(&loaded, "a").is_some() && loaded.snapshot.services.contains_key(&key("shop")));
    assert_eq!(
        shown(&loaded),
        [
            "File other.json: document 1, line 1, column 9: EOF while parsing a value; nothing new is taken from it",
            "File x/f.yaml: document 2, line 15, column 7: unclosed bracket '['; nothing new is taken from it",
        ]
    );
    assert_eq!(places(&loaded), ["other.json:1", "x/f.yaml:15"]);
    assert!(loaded.problems().iter().all(|problem| problem.kind == ProblemKind::Unreadable));
}

#[test]
fn last_good_objects_stay_while_their_text_is_broken() {
    let good = format!("{}---\n{}---\n{}", ingress("a", "a1"), ingress("b", "b1"), ingress("c", "c1"));
    let first = load([("f.yaml", &*good)], None);

    // The text says which object is broken: only that one stays, the others follow, a removed one goes.
    let named = format!("{}---\n{}", ingress("a", "a2"), ingress("b", "Bad_Host"));
    let second = load([("f.yaml", &*named)], Some(&first));
    assert_eq!([host(&second, "a"), host(&second, "b"), host(&second, "c")], [Some("a2".into()), Some("b1".into()), None]);
    assert_eq!(
        shown(&second),
        [
            "Ingress default/b: spec.rules[0].host: \"Bad_Host\" is not a host: expected a DNS name in lower case, or \"*.\" and such a name, without port; \
          no address; its last good version stays (f.yaml, document 2, line 20)"
        ]
    );
    assert_eq!(places(&second), ["f.yaml:20"]);

    // The objects of the broken text are unknown: everything that is not there any more stays.
    let unnamed = format!("{}---\n: [\n", ingress("a", "a3"));
    let third = load([("f.yaml", &*unnamed)], Some(&second));
    assert_eq!([host(&third, "a"), host(&third, "b")], [Some("a3".into()), Some("b1".into())]);
    assert!(shown(&third)[0].ends_with("the last good version of 1 object stays"), "{:?}", shown(&third));

    // A whole file can't be read.
    for content in [Content::Unreadable("permission denied".into()), Content::Bytes(vec![b'a', b'\n', 0xff])] {
        let fourth = read([File { path: "f.yaml".into(), content }], Some(&third));
        assert_eq!([host(&fourth, "a"), host(&fourth, "b")], [Some("a3".into()), Some("b1".into())]);
        assert_eq!(fourth.problems().len(), 1);
        // And read again, it is as if nothing had been.
        let fifth = load([("f.yaml", &*ingress("a", "a4"))], Some(&fourth));
        assert_eq!((host(&fifth, "a"), host(&fifth, "b"), fifth.problems()), (Some("a4".into()), None, &[][..]));
    }
    assert_eq!(load([], Some(&third)).snapshot.ingresses.len(), 0);
}

#[test]
fn an_object_that_moved_is_taken_from_its_new_file() {
    let first = load([("a.yaml", &*ingress("x", "old"))], None);
    let second = load([("a.yaml", "[1"), ("b.yaml", &*ingress("x", "new"))], Some(&first));
    assert_eq!(host(&second, "x").as_deref(), Some("new"));
    assert_eq!(second.problems().len(), 1);
}

#[test]
fn of_several_definitions_the_first_by_path_is_used() {
    let both = format!("{}---\n{}", ingress("x", "second"), ingress("x", "third"));
    let loaded = load([("b.yaml", &*both), ("a.yaml", &*ingress("x", "first"))], None);
    assert_eq!(host(&loaded, "x").as_deref(), Some("first"));
    assert_eq!(
        shown(&loaded),
        [
            "Ingress default/x: defined at a.yaml, document 1, line 1 and again at b.yaml, document 1, line 1; the first is used",
            "Ingress default/x: defined at a.yaml, document 1, line 1 and again at b.yaml, document 2, line 14; the first is used",
        ]
    );
    assert_eq!(places(&loaded), ["b.yaml:1", "b.yaml:14"]);
    let without = load([("b.yaml", &*both)], Some(&loaded));
    assert_eq!((host(&without, "x").as_deref(), without.problems().len()), (Some("second"), 1));
}

#[test]
fn unchanged_objects_are_shared() {
    let text = format!("{}---\n{}", ingress("a", "a1"), ingress("b", "b1"));
    let first = load([("f.yaml", &*text), ("s.yaml", SERVICE)], None);
    let changed = format!("# a comment more\n{}---\n# here too\n{}", ingress("a", "a2"), ingress("b", "b1"));
    let second = load([("f.yaml", &*changed), ("s.yaml", SERVICE)], Some(&first));
    assert!(!Arc::ptr_eq(&first.snapshot.ingresses[&key("a")], &second.snapshot.ingresses[&key("a")]));
    assert!(Arc::ptr_eq(&first.snapshot.ingresses[&key("b")], &second.snapshot.ingresses[&key("b")]));
    assert!(first.snapshot.services.ptr_eq(&second.snapshot.services));
    assert!(Arc::ptr_eq(&first.snapshot.problems, &second.snapshot.problems));
    assert_eq!(second.position(&ObjectRef::ingress(&key("b"))).unwrap().line, 16);
    // Moved to another file, it is still the same.
    let third = load([("a.yaml", &*ingress("b", "b1"))], Some(&second));
    assert!(Arc::ptr_eq(&first.snapshot.ingresses[&key("b")], &third.snapshot.ingresses[&key("b")]));
}

#[test]
fn the_result_does_not_depend_on_the_way_to_it() {
    let states: Vec<Vec<(&str, String)>> = vec![
        vec![("a.yaml", ingress("x", "a")), ("b.yaml", ingress("x", "b"))],
        vec![("b.yaml", format!("{}---\n{SERVICE}", ingress("x", "b")))],
        vec![("a.yaml", "kind: Other\nspec: 1\n".into()), ("c.yaml", ingress("z", "c")), ("b.yaml", ingress("x", "b"))],
        vec![("a.yaml", ingress("x", "a")), ("c.yaml", SERVICE.into())],
    ];
    let mut loaded: Option<Loaded> = None;
    for state in states.iter().chain(states.iter().rev()) {
        let files = || state.iter().map(|(path, text)| (*path, text.as_str()));
        let step = load(files(), loaded.as_ref());
        let fresh = load(files(), None);
        assert_eq!(shown(&step), shown(&fresh));
        assert_eq!(step.snapshot.ingresses, fresh.snapshot.ingresses);
        assert_eq!(step.snapshot.services, fresh.snapshot.services);
        assert_eq!(step.positions().collect::<Vec<_>>(), fresh.positions().collect::<Vec<_>>());
        loaded = Some(step);
    }
}

#[test]
fn problems_of_the_model_are_located_too() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: x\n  auth: z\n";
    let text = format!("# head\n{}---\n{secret}", ingress("a", "a1"));
    let loaded = load([("f.yaml", &*text)], None);
    let locate = |object: ObjectRef, field: &str| {
        loaded.locate(&Problem { object, field: field.into(), kind: ProblemKind::ServiceMissing, detail: String::new() })
    };
    let line = |field| locate(ObjectRef::ingress(&key("a")), field).unwrap().line;
    assert_eq!([line(""), line("spec.rules[0].http.paths[0].backend"), line("spec.rules[0].http.paths[3]"), line("odd[")], [2, 13, 10, 2]);
    assert_eq!(locate(ObjectRef::namespaced("Secret", &key("s")), "data[\"auth\"]"), Some(Place { file: "f.yaml".into(), line: 20 }));
    assert_eq!(locate(ObjectRef::ingress(&key("none")), ""), None);
}

#[test]
fn a_file_that_is_too_big_is_refused() {
    let loaded = read([File { path: "big.yaml".into(), content: Content::Bytes(vec![b'#'; (16 << 20) + 1]) }], None);
    assert_eq!(shown(&loaded), ["File big.yaml: can't be read (it has 16777217 bytes, more than 16777216); nothing new is taken from it"]);
}
