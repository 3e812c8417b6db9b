#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    junto_fuzz::llm::stream(junto_llm::Wire::Gemini, data);
});
