//! What must hold for any bytes. The fuzz targets call these functions with the fuzzer's input; the
//! property tests of the crates call the same ones on every test run.

pub mod gateway;
pub mod llm;
pub mod patch;
pub mod policy;
pub mod runner;
