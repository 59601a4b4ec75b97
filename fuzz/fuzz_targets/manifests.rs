#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| harness::manifests(input));
