//! The fake `claude` of the test kit, built here because cargo builds no programs of dependencies.

use std::process::ExitCode;

fn main() -> ExitCode {
    junto_testkit::fake_claude::main()
}
