use model::der::element;
use testkit::kube::{Authority, mk_authority};

use super::*;

const URL: &str = "http://ca.example.com/ca.der";

fn now() -> i64 {
    crate::keeper::unix_time()
}

/// A root, a CA below it, and a certificate (DER) by that.
fn chain() -> (Authority, Authority, Vec<u8>) {
    let root = mk_authority("root").unwrap();
    let ca = root.certify("ca", URL).unwrap();
    let der = ca.sign_at(&["a.example.com"], URL).unwrap().der;
    (root, ca, der)
}

/// An element of DER with two bytes of length.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x82, high, low], content].concat()
}

/// A CMS message with certificates and nothing else.
fn message_of(certificates: &[&[u8]]) -> Vec<u8> {
    let data = [
        der(INTEGER, &[1]),
        der(SET, &[]),
        der(SEQUENCE, &[0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]),
        der(CONTEXT_0, &certificates.concat()),
        der(SET, &[]),
    ];
    let data = der(CONTEXT_0, &der(SEQUENCE, &data.concat()));
    der(SEQUENCE, &[der(OBJECT_IDENTIFIER, &SIGNED_DATA), data].concat())
}

#[test]
fn the_issuer_is_found_in_every_form() {
    let (root, ca, certificate) = chain();
    let pem = format!("\n{}{}", root.certificate_pem, ca.certificate_pem);
    for answer in [ca.der.clone(), pem.into_bytes(), message_of(&[&root.der, &ca.der])] {
        let issuer = issuer_of(&certificate, &answer, now()).unwrap();
        assert_eq!((issuer.certificate, issuer.is_root, issuer.url.as_deref()), (ca.der.clone(), false, Some(URL)));
    }
    let above = issuer_of(&ca.der, &root.der, now()).unwrap();
    assert_eq!((above.certificate, above.is_root, above.url), (root.der, true, None));
}

#[test]
fn what_did_not_sign_it_is_no_issuer() {
    let (root, ca, certificate) = chain();
    let namesake = root.certify("ca", URL).unwrap();
    for other in [&root, &namesake] {
        assert_eq!(issuer_of(&certificate, &other.der, now()), Err(Fault::Signature));
    }
    let mut changed = certificate.clone();
    let end = changed.len() - 1;
    changed[end] ^= 1;
    assert_eq!(issuer_of(&changed, &ca.der, now()), Err(Fault::Signature));
}

#[test]
fn one_that_is_no_ca_is_no_issuer() {
    let usages = [("server", "CA:FALSE", "digitalSignature"), ("usage", "CA:TRUE", "digitalSignature"), ("ca", "CA:TRUE", "keyCertSign")];
    for (name, basic, usage) in usages {
        let directory = tempfile::tempdir().unwrap();
        let script = r#"
            set -e
            key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$1.key"; }
            key ca; key leaf
            openssl req -x509 -new -key ca.key -subj "/CN=ca" -days 30 -out ca.pem -addext "basicConstraints=critical,$1" -addext "keyUsage=$2"
            openssl req -new -key leaf.key -subj "/CN=leaf" -out leaf.csr
            openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -set_serial 2 -days 20 -outform DER -out leaf.der
        "#;
        let mut command = std::process::Command::new("sh");
        let output = command.args(["-c", script, "sh", basic, usage]).current_dir(&directory).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |name: &str| std::fs::read(directory.path().join(name)).unwrap();
        let found = issuer_of(&read("leaf.der"), &read("ca.pem"), now()).map(|issuer| issuer.is_root);
        assert_eq!(found, if name == "ca" { Ok(true) } else { Err(Fault::Authority) }, "{name}");
    }
}

#[test]
fn one_that_has_ended_or_is_not_yet_valid_is_no_issuer() {
    let (_, ca, certificate) = chain();
    let until = issuer_of(&certificate, &ca.der, now()).unwrap().until;
    for (time, expected) in [(until - 1, Ok(until)), (until + 1, Err(Fault::Time)), (0, Err(Fault::Time)), (i64::MAX, Err(Fault::Time))] {
        assert_eq!(issuer_of(&certificate, &ca.der, time).map(|issuer| issuer.until), expected, "{time}");
    }
}

#[test]
fn what_is_no_certificate_is_unreadable() {
    let (_, ca, certificate) = chain();
    for answer in [&b""[..], b"<html>", b"-----BEGIN CERTIFICATE-----\n", &message_of(&[]), &ca.certificate_pem.as_bytes()[..100]] {
        assert_eq!(issuer_of(&certificate, answer, now()), Err(Fault::Unreadable));
    }
    let message = message_of(&[&ca.der]);
    for length in 0..message.len() {
        // What follows the certificates is not read.
        if let Ok(issuer) = issuer_of(&certificate, &message[..length], now()) {
            assert!(element(&message[..length]).is_some() && issuer.certificate == ca.der, "{length}");
        }
    }
}
