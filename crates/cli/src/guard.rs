//! What agents may do, as flags and configuration say.

use std::path::Path;
use std::sync::Arc;

use junto::core::{OnReject, Unread};
use junto::env::variables::Inherit;
use junto::env::{ErrorKind, LocalBuilder, LocalEnvironment, Means, Network, Sandbox};
use junto::policy::Mode;
use junto::{Enforcement, Guard, Held};

use crate::commands;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::saved;

/// The mode where nobody has chosen one.
const USUAL: Mode = Mode::Workspace;

/// The mode in force.
pub(crate) fn mode(config: &Config) -> Mode {
    config.text("policy.mode").and_then(|(name, _)| name.parse().ok()).unwrap_or(USUAL)
}

/// The guard that the configuration asks for. Looks for what this machine can enforce.
pub(crate) fn guard(config: &Config, environment: &Environment) -> Guard {
    let enforcement = match config.text("policy.sandbox") {
        Some(("off", _)) => Enforcement::Off,
        Some(("whole", _)) => Enforcement::Whole,
        _ => Enforcement::Auto,
    };
    let hosts = config.texts("policy.network").unwrap_or_default();
    let network = match hosts {
        [] => Network::Off,
        hosts if hosts.iter().any(|host| host == "*") => Network::On,
        hosts => Network::Hosts(hosts.to_vec()),
    };
    let mode = mode(config);
    let wants_sandbox = matches!(mode, Mode::ReadOnly | Mode::Workspace);
    let needs_means = match enforcement {
        Enforcement::Auto => wants_sandbox,
        // Kernels for code are in it in every mode.
        Enforcement::Whole => true,
        Enforcement::Off => false,
    };
    let path = environment.path("PATH");
    Guard {
        rules: config.rules.clone(),
        enforcement,
        sandbox: Sandbox {
            network,
            unread: saved::private(environment),
            door: commands::sandbox_door(),
            ..Sandbox::default()
        },
        means: needs_means.then(|| Means::find(path.as_deref().map(Path::as_os_str))),
        ..Guard::new(mode)
    }
}

/// The environment in a directory, with the process's variables to choose from.
pub(crate) fn local(directory: &Path, environment: &Environment, inherit: &Inherit) -> LocalBuilder {
    LocalEnvironment::builder(directory).variables(environment.all()).inherit(inherit.clone())
}

/// Which variables commands inherit.
pub(crate) fn inherit(config: &Config) -> Inherit {
    match config.text("env_policy") {
        Some(("all", _)) => Inherit::All,
        Some(("none", _)) => Inherit::None,
        _ => Inherit::Core,
    }
}

/// What a refusal does: as it is configured, else as it is usual where this can be said.
pub(crate) fn on_reject(config: &Config, usual: OnReject) -> OnReject {
    match config.text("policy.on_reject") {
        Some(("end_turn", _)) => OnReject::EndTurn,
        Some(("end_unless_told", _)) => OnReject::EndUnlessTold,
        Some(("tell_model", _)) => OnReject::TellModel,
        _ => usual,
    }
}

/// Whether files may be changed that were never read.
pub(crate) fn unread(config: &Config) -> Unread {
    if config.flag("policy.read_before_write") { Unread::Refused } else { Unread::Allowed }
}

/// What is in force, for the first line of a run.
pub(crate) fn words(guard: &Guard, held: &Held) -> String {
    let mode = guard.mode;
    if !held.is_confined {
        return match (mode, guard.enforcement) {
            (Mode::Full | Mode::Ask, _) => format!("policy {mode}"),
            _ => format!("policy {mode}, not enforced"),
        };
    }
    let network = match &guard.sandbox.network {
        Network::Off => "no network".to_owned(),
        Network::Hosts(hosts) => format!("network only to {}", hosts.join(", ")),
        Network::On => "with network".to_owned(),
    };
    let kernel = if held.gaps.is_empty() { "enforced by the kernel" } else { "enforced in part (see below)" };
    format!("policy {mode}, {kernel}, {network}")
}

/// What is open although the mode says otherwise; none if nothing is.
pub(crate) fn gaps(held: &Held) -> Option<String> {
    let open: Vec<String> = held.gaps.iter().map(ToString::to_string).collect();
    (!open.is_empty()).then(|| {
        format!("not enforced here: commands can {}; `junto doctor` says what would help", open.join("; "))
    })
}

/// A guard that cannot be had on this machine.
pub(crate) fn cannot_hold(error: &junto::env::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::Unsupported if is_in_reach(error) => {
            "work in a folder that this program is not in, and let the file of --sandbox-config name no such folder; \
             --sandbox off goes on without, and asks about what cannot be judged"
        }
        ErrorKind::Unsupported => {
            "`junto doctor` says what is missing; --sandbox off goes on without, and asks about what cannot be judged"
        }
        ErrorKind::Invalid => {
            "name another folder with -C, or see to policy.network and to the file of --sandbox-config"
        }
        _ => "name a folder that exists with -C",
    };
    Failure::usage(error.to_string(), hint)
}

/// Whether the machine has what it takes, and commands could change it: then the error is about that program.
pub(crate) fn is_in_reach(error: &junto::env::Error) -> bool {
    error.kind() == ErrorKind::Unsupported && error.subject() != "sandbox"
}

/// Holds the environment of a directory only to judge what would be done there: where commands cannot be
/// held, they are judged without.
///
/// # Errors
/// If there is no such directory.
pub(crate) fn to_judge(
    config: &Config,
    environment: &Environment,
    directory: &Path,
) -> Result<(Guard, Held), Failure> {
    let mut guard = guard(config, environment);
    let local = || local(directory, environment, &inherit(config));
    let held = match guard.hold(local()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            guard.enforcement = Enforcement::Off;
            guard.hold(local())
        }
        held => held,
    };
    held.map(|held| (guard, held)).map_err(|error| cannot_hold(&error))
}

/// Makes environments for directories, as [`junto::Workshop::guarded`] wants it.
pub(crate) fn locals(
    environment: &Environment,
    inherit: Inherit,
) -> impl Fn(&Path) -> LocalBuilder + Send + Sync + 'static {
    let variables: Arc<Vec<_>> =
        Arc::new(environment.all().map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
    move |directory| {
        LocalEnvironment::builder(directory).variables(variables.iter().cloned()).inherit(inherit.clone())
    }
}
