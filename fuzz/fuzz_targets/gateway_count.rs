#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for path in junto_fuzz::gateway::COUNTS {
        junto_fuzz::gateway::body(path, data);
    }
});
