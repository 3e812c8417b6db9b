//! `junto doctor`: what this machine has, what each mode of policy would enforce with it, whether there is a kernel for
//! code, and which command-line agents there are.

mod agents;
mod kernel;

use std::fmt::Write as _;

use junto::env::{Gap, Means, Network, Sandbox};
use serde_json::{Value, json};

use super::sandbox::door;
use crate::args::DoctorArgs;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// A mode, and the sandbox that commands are in; in none, if people or nobody watch over them.
struct Mode {
    name: &'static str,
    says: &'static str,
    sandbox: Option<Sandbox>,
}

fn modes() -> [Mode; 5] {
    let hosts = Network::Hosts(vec!["example.org".to_owned()]);
    let workspace = Sandbox { door: door(), ..Sandbox::workspace() };
    [
        Mode {
            name: "read-only",
            says: "commands change no files, read no secrets and reach nobody",
            sandbox: Some(Sandbox::read_only()),
        },
        Mode {
            name: "workspace",
            says: "commands change this folder and temporary files, read no secrets and reach nobody",
            sandbox: Some(workspace.clone()),
        },
        Mode {
            name: "workspace, named hosts",
            says: "the same, and commands reach hosts that were named",
            sandbox: Some(Sandbox { network: hosts, ..workspace }),
        },
        Mode { name: "ask", says: "you are asked before anything is changed or run", sandbox: None },
        Mode { name: "full", says: "everything is allowed that no rule forbids", sandbox: None },
    ]
}

/// Runs the command.
pub(crate) async fn run(
    args: &DoctorArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let means = Means::find(environment.path("PATH").as_deref().map(AsRef::as_ref));
    // What is wrong with the configuration is said after what does not depend on it.
    let found = match Config::load(environment, &[]) {
        Ok(config) => match kernel::look(&config, environment).await {
            Ok(kernel) => agents::look(&config, environment).await.map(|agents| (kernel, agents)),
            Err(failure) => Err(failure),
        },
        Err(failure) => Err(failure),
    };
    if args.json {
        let mut all = to_json(&means);
        if let Ok((kernel, (agents, faulty))) = &found {
            all["code"] = kernel::to_json(kernel);
            all["agents"] = agents::to_json(agents);
            if let Some(agents) = all["agents"].as_array_mut() {
                agents.extend(agents::faults_to_json(faulty));
            }
        }
        output.exact(&format!("{all:#}\n"))?;
    } else {
        let rest = match &found {
            Ok((kernel, (agents, faulty))) => {
                kernel::to_text(kernel) + &agents::to_text(agents) + &agents::faults_to_text(faulty)
            }
            Err(_) => String::new(),
        };
        output.data(&(to_text(&means) + &rest))?;
    }
    let (_, (_, faulty)) = found?;
    agents::faults(faulty).map_or(Ok(Exit::Done), Err)
}

fn to_json(means: &Means) -> Value {
    let modes: Vec<Value> = modes()
        .iter()
        .map(|mode| {
            let gaps: Vec<Value> = gaps(means, mode)
                .iter()
                .map(|gap| json!({"gap": gap, "commands_can": gap.to_string(), "needs": gap.needs()}))
                .collect();
            json!({
                "mode": mode.name,
                "means": mode.says,
                "sandboxed": mode.sandbox.is_some(),
                "enforced": mode.sandbox.is_some() && gaps.is_empty(),
                "gaps": gaps,
            })
        })
        .collect();
    json!({"sandbox": means, "modes": modes})
}

fn gaps(means: &Means, mode: &Mode) -> Vec<Gap> {
    mode.sandbox.as_ref().map(|sandbox| means.gaps(sandbox)).unwrap_or_default()
}

fn to_text(means: &Means) -> String {
    let mut text = String::from("Sandbox\n");
    let mut line = |name: &str, value: String| {
        // A string takes everything.
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    line("Landlock", means.landlock.map_or("not in this kernel".to_owned(), |abi| format!("version {abi}")));
    line("seccomp", if means.seccomp { "yes" } else { "not in this kernel" }.to_owned());
    line(
        "bubblewrap",
        match (&means.bwrap, &means.bwrap_fails) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(why)) => format!("does not work: {why}"),
            (None, None) => "not found (the program bwrap; Debian: bubblewrap)".to_owned(),
        },
    );
    line("prlimit", means.prlimit.as_ref().map_or("not found".to_owned(), |path| path.display().to_string()));
    text.push_str("\nModes\n");
    for mode in modes() {
        let gaps = gaps(means, &mode);
        let verdict = match (&mode.sandbox, gaps.is_empty()) {
            (None, _) => "not sandboxed",
            (Some(_), true) => "enforced",
            (Some(_), false) => "NOT enforced whole",
        };
        let _ = writeln!(text, "  {}: {verdict}\n    {}", mode.name, mode.says);
        for gap in gaps {
            let _ = writeln!(text, "    but commands can {gap}; needed: {}", gap.needs());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let none = Means::default();
        let text = to_text(&none);
        for words in ["bubblewrap   not found", "NOT enforced whole", "read and change any file", "needed: "]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        let all = Means {
            landlock: Some(7),
            seccomp: true,
            bwrap: Some("/usr/bin/bwrap".into()),
            ..Means::default()
        };
        let text = to_text(&all);
        assert!(!text.contains("NOT") && text.contains("version 7"), "{text}");
        assert_eq!(to_json(&all)["modes"][0]["enforced"], true);
        assert_eq!(to_json(&none)["modes"][0]["gaps"][0]["gap"], "files");
    }
}
