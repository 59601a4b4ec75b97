use std::time::{SystemTime, UNIX_EPOCH};

use testkit::ocsp::{Authority, Signer};

use super::*;

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

fn authority(serial: &str) -> (Authority, Target) {
    let authority = Authority::new().unwrap();
    let certificate = authority.issue(&["a.example.com"], "http://ocsp.example.com/", serial).unwrap();
    let target = Target::of_chain(&certificate.certificate_pem).unwrap();
    (authority, target)
}

#[test]
fn a_response_by_the_issuer_or_its_delegate_counts() {
    // With the first bit set an INTEGER has a zero before it.
    for serial in ["1001", "F00D1122334455667788"] {
        let (authority, target) = authority(serial);
        for signer in [Signer::Authority, Signer::Delegate] {
            let answer = authority.answer(&target.request(), signer).unwrap();
            let validity = check(&answer, &target, now()).unwrap();
            assert_eq!(validity.until - validity.since, 300, "{signer:?}");
            assert!((now() - validity.since).abs() < 60);
        }
    }
}

#[test]
fn one_by_anybody_else_does_not() {
    let (authority, target) = authority("1001");
    for (signer, fault) in [(Signer::Server, Fault::Signer), (Signer::Stranger, Fault::Signature)] {
        let answer = authority.answer(&target.request(), signer).unwrap();
        let found = check(&answer, &target, now()).unwrap_err();
        // The name of the stranger is that of the issuer, its key is not.
        assert!(found == fault || found == Fault::Signer, "{signer:?}: {found:?}");
    }
    let mut answer = authority.answer(&target.request(), Signer::Authority).unwrap();
    // In what is signed: certificates follow that.
    let at = 100;
    for bit in 0..8 {
        answer[at] ^= 1 << bit;
        assert!(check(&answer, &target, now()).is_err(), "bit {bit} at {at}");
        answer[at] ^= 1 << bit;
    }
}

#[test]
fn one_about_another_certificate_or_another_time_does_not() {
    let (authority, target) = authority("1001");
    let answer = authority.answer(&target.request(), Signer::Authority).unwrap();
    let other = authority.issue(&["b.example.com"], "http://ocsp.example.com/", "2002").unwrap();
    let other = Target::of_chain(&other.certificate_pem).unwrap();
    assert_eq!(check(&answer, &other, now()), Err(Fault::Other));
    for (shift, expected) in [(-3600, Err(Fault::Time)), (301, Err(Fault::Time)), (100, Ok(()))] {
        assert_eq!(check(&answer, &target, now() + shift).map(drop), expected, "{shift}");
    }
}

#[test]
fn a_certificate_that_is_revoked_or_unknown_gets_none() {
    let (authority, target) = authority("1001");
    authority.revoke().unwrap();
    let answer = authority.answer(&target.request(), Signer::Authority).unwrap();
    assert_eq!(check(&answer, &target, now()), Err(Fault::Revoked));
    std::fs::write(authority.directory().join("index.txt"), "").unwrap();
    let answer = authority.answer(&target.request(), Signer::Authority).unwrap();
    assert_eq!(check(&answer, &target, now()), Err(Fault::Unknown));
}

#[test]
fn what_is_no_response_is_unreadable() {
    let (authority, target) = authority("1001");
    let answer = authority.answer(&target.request(), Signer::Delegate).unwrap();
    for length in 0..answer.len() {
        assert!(check(&answer[..length], &target, now()).is_err(), "{length}");
    }
    assert_eq!(check(b"<html>", &target, now()), Err(Fault::Unreadable));
    // tryLater
    assert_eq!(check(&[0x30, 0x03, 0x0a, 0x01, 0x03], &target, now()), Err(Fault::Refused));
}

#[test]
fn a_chain_without_its_issuer_is_no_target() {
    let alone = rcgen::generate_simple_self_signed(["a.example.com".to_owned()]).unwrap();
    let lacks = "its tls.crt lacks the certificate of its issuer";
    assert_eq!(Target::of_chain(&alone.cert.pem()), Err(lacks));
    assert_eq!(Target::of_chain(""), Err("its tls.crt can't be read"));
}
