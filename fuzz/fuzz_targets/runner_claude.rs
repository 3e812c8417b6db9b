#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    junto_fuzz::runner::claude(data);
});
