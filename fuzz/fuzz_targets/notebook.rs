#![no_main]

#[path = "../src/notebook.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    property::notebook(data);
});
