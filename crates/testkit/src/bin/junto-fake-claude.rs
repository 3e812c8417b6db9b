//! The fake `claude` as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    junto_testkit::fake_claude::main()
}
