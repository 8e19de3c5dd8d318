#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| holdpoint_fuzz::tools_file(data));
