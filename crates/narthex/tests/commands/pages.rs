//! The examples of the pages in docs/: manifests are clean by `narthex check`, values by `narthex migrate values`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::kube::mk_certificate;

use crate::narthex::Directory;

/// The ConfigMap of the chart's release on the pages.
const SETTINGS: &str = "--configmap=ingress/narthex-controller";
/// Secrets that pages have made by kubectl, and hosts of theirs.
const SECRETS: [(&str, &str); 2] = [("shop-tls", "tls.crt"), ("clients-ca", "ca.crt")];
const HOSTS: [&str; 2] = ["shop.example.com", "admin.example.com"];
/// What pages don't show: Services are the reader's.
const EXPECTED: [&str; 1] = ["ServiceMissing"];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Fenced blocks of YAML, with the number of their first line.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut open) = (Vec::new(), None);
    for (number, line) in (1..).zip(text.lines()) {
        match (line.trim_end(), &mut open) {
            ("```yaml", None) => open = Some((number + 1, String::new())),
            ("```", Some(_)) => found.extend(open.take()),
            (line, Some((_, block))) => *block += &format!("{line}\n"),
            (_, None) => {}
        }
    }
    found
}

fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<_> = fs::read_dir(docs())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    pages.sort();
    pages
}

/// The Secrets that pages name, with a certificate.
fn secrets() -> String {
    let pair = mk_certificate(&HOSTS).unwrap();
    let object = |(name, key): (&str, &str)| {
        let data = serde_json::json!({ key: pair.certificate_pem, "tls.key": pair.key_pem });
        let metadata = serde_json::json!({ "namespace": "shop", "name": name });
        format!("---\n{}\n", serde_json::json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data }))
    };
    SECRETS.into_iter().map(object).collect()
}

#[test]
fn manifests_of_the_pages_have_no_findings() {
    let secrets = secrets();
    let (mut count, mut complaints) = (0, Vec::new());
    for (name, text) in pages() {
        let objects: Vec<_> = blocks(&text).into_iter().filter(|(_, block)| block.contains("kind: ")).collect();
        if !objects.iter().any(|(_, block)| block.contains("kind: Ingress\n")) {
            continue;
        }
        // At the line that it has on the page.
        let files: Vec<(String, String)> = objects
            .into_iter()
            .map(|(line, block)| (format!("{name}-{line}.yaml"), "\n".repeat(line - 1) + &block))
            .chain([("secrets.yaml".to_owned(), secrets.clone())])
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let output = Directory::of(&files).narthex(&["check", "--format=json"], &["."]);
        let found: Vec<Value> = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{name}: {error}: {}", output.stderr));
        let unexpected = found.into_iter().filter(|found| !EXPECTED.iter().any(|kind| found["kind"] == *kind));
        complaints.extend(unexpected.map(|found| format!("{}:{}: {}", found["file"], found["line"], found["detail"])));
        count += 1;
    }
    assert_eq!(complaints, [""; 0]);
    assert!(count >= 5, "only {count} pages with an Ingress");
}

#[test]
fn values_of_the_pages_are_those_of_the_chart() {
    let mut complaints = Vec::new();
    let mut count = 0;
    for (name, text) in pages() {
        for (line, block) in blocks(&text).into_iter().filter(|(_, block)| block.starts_with("controller:")) {
            let directory = Directory::of(&[("values.yaml", &block)]);
            let output = directory.narthex(&["migrate", "values"], &["values.yaml"]);
            complaints.extend((output.code != Some(0)).then(|| format!("{name}:{line}: {}{}", output.stdout, output.stderr)));
            // Its settings, as the ConfigMap that the chart makes.
            let values: Value = serde_saphyr::from_str(&block).unwrap();
            let data = &values["controller"]["config"];
            if data.is_object() {
                let metadata = serde_json::json!({ "namespace": "ingress", "name": "narthex-controller" });
                let map = serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data }).to_string();
                let output = Directory::of(&[("settings.yaml", &map)]).narthex(&["check", SETTINGS], &["."]);
                complaints.extend((output.code != Some(0)).then(|| format!("{name}:{line}: {}{}", output.stdout, output.stderr)));
            }
            count += 1;
        }
    }
    assert_eq!(complaints, [""; 0]);
    assert!(count >= 5, "only {count} blocks of values");
}

#[test]
fn blocks_are_found_with_their_lines() {
    let text = "a\n```yaml\nkind: Ingress\nx: 1\n```\n```sh\nkind: no\n```\n```yaml\ncontroller:\n```\n";
    assert_eq!(blocks(text), [(3, "kind: Ingress\nx: 1\n".to_owned()), (10, "controller:\n".to_owned())]);
}
