#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bidloop_fuzz::files(data));
