//! The commands that are not part of every change: benchmarks, fuzzing, the real providers.

use std::env;
use std::fs;
use std::process::Command;

use clap::ValueEnum;

use crate::Outcome;
use crate::bench_council;
use crate::bench_gateway;
use crate::bench_kernel;
use crate::bench_loop;
use crate::bench_runner;
use crate::bench_tools;
use crate::command::{cargo, root, run};
use crate::setup;
use crate::test::BWRAP;

/// A set of benchmarks.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Suite {
    /// The LLM client.
    Llm,
    /// A council whose members agree, beside one of them; and an evaluation of the tasks that are shipped.
    Council,
    /// The gateway under load, beside bare proxies and the gateways of others.
    Gateway,
    /// Cells and tool calls from code, beside ipybox.
    Kernel,
    /// A run of the command.
    Loop,
    /// Command-line agents through our layer, beside the same run bare.
    Runner,
    /// Verdicts.
    Policy,
    /// The tools, beside the programs that do the same.
    Tools,
    /// What a sandbox adds to a command.
    Sandbox,
    /// Sessions on disk.
    Store,
}

/// Runs a set of benchmarks; they print their own tables.
pub(crate) fn bench(suite: Suite) -> Outcome {
    match suite {
        Suite::Llm => run(cargo().args(["bench", "--workspace", "--bench", "llm"])),
        Suite::Council => bench_council::run_all(),
        Suite::Gateway => bench_gateway::run_all(),
        Suite::Kernel => bench_kernel::run_all(),
        Suite::Loop => bench_loop::run_all(),
        Suite::Runner => bench_runner::run_all(),
        Suite::Policy => run(cargo().args(["bench", "--package", "junto-policy"])),
        Suite::Tools => bench_tools::run_all(),
        Suite::Sandbox => {
            let example = ["run", "--release", "--package", "junto-env", "--example", "sandbox"];
            run(cargo().args(example).env(BWRAP, setup::bwrap()?))
        }
        Suite::Store => run(cargo().args(["bench", "--package", "junto-store", "--bench", "store"])),
    }
}

/// Runs one fuzz target, or all, for some seconds each.
pub(crate) fn fuzz(target: Option<&str>, seconds: u32) -> Outcome {
    let known = fuzz_targets()?;
    let targets: Vec<&String> = known.iter().filter(|name| target.is_none_or(|t| t == *name)).collect();
    if targets.is_empty() {
        return Err(format!("there is no such fuzz target\nhint: one of {}", known.join(", ")));
    }
    let path = setup::cargo_fuzz()?;
    for target in targets {
        let found = root().join("fuzz/corpus").join(target);
        fs::create_dir_all(&found).map_err(|e| format!("cannot make {}: {e}", found.display()))?;
        // Through rustup, and not the cargo that runs us, because the sanitizers need a nightly.
        run(Command::new("rustup")
            .args(["run", "nightly", "cargo", "fuzz", "run", target])
            // The first folder takes what the fuzzer finds, the second has what it starts from.
            .args([format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"), "--".to_owned()])
            .arg(format!("-max_total_time={seconds}"))
            .env_remove("CARGO")
            .env_remove("RUSTUP_TOOLCHAIN")
            .env("PATH", &path)
            .current_dir(root()))?;
    }
    Ok(())
}

/// The targets are the files.
fn fuzz_targets() -> Outcome<Vec<String>> {
    let dir = root().join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// Runs the client's matrix and the agent's script against the real providers whose keys are set; content
/// without any.
pub(crate) fn live() -> Outcome {
    const KEYS: [&str; 3] = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"];
    if !KEYS.iter().any(|key| env::var_os(key).is_some_and(|value| !value.is_empty())) {
        println!("no provider has a key: nothing to run\nhint: set one of {}", KEYS.join(", "));
        return Ok(());
    }
    let client = run(cargo().args(["run", "--package", "junto-llm", "--example", "live"]));
    let agent = run(cargo().args(["run", "--package", "junto-testkit", "--example", "live_agent"]));
    client.and(agent)
}
