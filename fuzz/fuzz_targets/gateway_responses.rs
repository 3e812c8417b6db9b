#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    junto_fuzz::gateway::body(junto_fuzz::gateway::SURFACES[1].0, data);
});
