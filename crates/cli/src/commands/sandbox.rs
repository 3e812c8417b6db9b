//! `junto sandbox`: a command that cannot leave.

use std::ffi::OsString;

use junto::env::variables::Inherit;
use junto::env::{
    Access, CommandSpec, Error, ErrorKind, Exit as Ending, GRACE, Gap, LocalEnvironment, Means, Network,
    ResourceLimits, Sandbox, SandboxedEnvironment, sandbox,
};

use crate::args::{DoorArgs, SandboxArgs};
use crate::environment::Environment;
use crate::failure::{Exit, Failure};
use crate::guard::is_in_reach;
use crate::interrupts::{Interrupt, Interrupts};
use crate::output::Output;
use crate::saved;

/// The command by which this program opens the door of a sandbox.
pub(crate) const DOOR: &str = "sandbox-door";

const MIB: u64 = 1 << 20;

/// Runs the command.
pub(crate) async fn run(
    args: SandboxArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Exit, Failure> {
    let local =
        LocalEnvironment::builder(environment.directory()).variables(environment.all()).inherit(Inherit::All);
    let wanted = described(&args, environment);
    let means = Means::find(environment.path("PATH").as_deref().map(AsRef::as_ref));
    let home = environment.path("HOME").filter(|home| home.is_absolute());
    wanted.check_named(environment.directory(), home.as_deref()).map_err(refused)?;
    let open = means.gaps(&wanted);
    let sandboxed =
        SandboxedEnvironment::with_means(local, wanted, &means).map_err(|error| match error.kind() {
            ErrorKind::Unsupported => unheld(&error, &open),
            _ => refused(error),
        })?;
    for gap in sandboxed.gaps().iter().copied().chain(means.gap_beside()) {
        output.warning(&format!("this machine cannot keep it from this: it can {gap}"));
    }
    let mut interrupts = Interrupts::listen()?;
    let mut process = sandboxed.spawn_attached(CommandSpec::argv(args.command)).map_err(refused)?;
    loop {
        tokio::select! {
            ended = process.wait() => {
                let ended = ended.map_err(refused)?;
                // With what it has left running.
                process.close(GRACE).await.map_err(refused)?;
                return Ok(Exit::Of(code(ended)));
            }
            // From the keyboard it has heard itself.
            who = interrupts.who() => if who == Interrupt::Terminate {
                process.close(GRACE).await.map_err(refused)?;
                return Err(Failure::interrupted());
            }
        }
    }
}

fn described(args: &SandboxArgs, environment: &Environment) -> Sandbox {
    let network = match args.network.as_str() {
        "off" => Network::Off,
        "on" => Network::On,
        hosts => Network::Hosts(hosts.split(',').map(|host| host.trim().to_owned()).collect()),
    };
    Sandbox {
        access: if args.read_only { Access::ReadOnly } else { Access::Workspace },
        network,
        writable: args.writable.iter().map(|path| environment.directory().join(path)).collect(),
        // Not made absolute: some begin with `~`.
        hidden: args.hide.clone(),
        unread: saved::private(environment),
        limits: ResourceLimits {
            processes: args.max_processes,
            memory: args.max_memory.map(|size| size.saturating_mul(MIB)),
            file_size: args.max_file.map(|size| size.saturating_mul(MIB)),
        },
        door: door(),
        accept_weaker: args.weaker,
        ..Sandbox::default()
    }
}

/// How this program opens the door of a sandbox for named hosts.
pub(crate) fn door() -> Option<Vec<OsString>> {
    Some(vec![std::env::current_exe().ok()?.into(), DOOR.into()])
}

/// Opens the door, and becomes the command.
pub(crate) fn open_door(args: DoorArgs) -> Result<Exit, Failure> {
    let error = sandbox::door::open(args.arguments);
    Err(Failure::new(
        Exit::Failed,
        format!("the sandbox has no door: {error}"),
        "this command is for sandboxes only",
    ))
}

/// As a shell says it.
fn code(ended: Ending) -> u8 {
    let code = ended.code.or_else(|| ended.signal.map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(1)
}

/// What this machine does not hold as it is wanted, with what would help; `open` is what its means leave open.
fn unheld(error: &Error, open: &[Gap]) -> Failure {
    let needs = |means: &str| open.iter().any(|gap| gap.needs().contains(means));
    let hint = if is_in_reach(error) {
        "work in a folder that this program is not in, and name no such folder with --writable"
    } else if needs("bwrap") {
        "install bubblewrap (`junto doctor` tells what is missing), or accept less with --weaker"
    } else if open.contains(&Gap::Limits) {
        "install what is needed, or leave the limits out"
    } else if open.contains(&Gap::Processes) {
        "run it as another user, leave --max-processes out, or accept less with --weaker"
    } else {
        "see to what is needed, or accept less with --weaker"
    };
    Failure::usage(error.to_string(), hint)
}

fn refused(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Invalid => Failure::usage(error.to_string(), "see `junto sandbox --help`"),
        ErrorKind::NotFound | ErrorKind::WrongKind => Failure::usage(
            error.to_string(),
            "check the command, its standard streams, and the paths that are named",
        ),
        _ => Failure::new(
            Exit::Failed,
            error.to_string(),
            "`junto doctor` tells what this machine can enforce",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        let ended = |code, signal| Ending { code, signal };
        for (ending, expected) in
            [(ended(Some(0), None), 0), (ended(Some(255), None), 255), (ended(None, Some(9)), 137)]
        {
            assert_eq!(code(ending), expected);
        }
    }
}
