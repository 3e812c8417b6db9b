//! How commands are confined: what is the same for all of an environment, and what is made for each.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::unistd::geteuid;
use seccompiler::BpfProgram;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::bwrap::{self, Bwrap};
use super::hosts::Hosts;
use super::jail::{Held, Jail};
use super::landlock::Rules;
use super::places::Places;
use super::seccomp::{self, Sockets, Wanted};
use super::{Access, Means, Network, ResourceLimits, Sandbox, door, foreign, proxy};
use crate::local::Launch;
use crate::{Error, Result};

/// How the commands of an environment are confined.
pub(super) struct Confinement {
    places: Arc<Places>,
    walls: Option<Bwrap>,
    /// Of services, for walls to cover.
    fifos: Vec<PathBuf>,
    reach: Reach,
    filter: Arc<BpfProgram>,
    /// The same as bubblewrap reads it.
    filter_bytes: Vec<u8>,
    limits: Vec<OsString>,
}

/// Whom commands reach, and how they are kept from others.
enum Reach {
    Nobody,
    Everybody,
    /// Hosts through a proxy, and a door to it in the walls.
    Door(Arc<Hosts>, Vec<OsString>),
    /// Hosts through a proxy, of whose port Landlock knows.
    Port(Arc<Hosts>),
}

impl Reach {
    fn new(sandbox: &Sandbox, walls: bool) -> Result<Self> {
        Ok(match (&sandbox.network, &sandbox.door) {
            (Network::Off, _) => Self::Nobody,
            (Network::On, _) => Self::Everybody,
            (Network::Hosts(hosts), Some(door)) if walls => {
                Self::Door(Arc::new(Hosts::parse(hosts)?), door.clone())
            }
            (Network::Hosts(hosts), _) => Self::Port(Arc::new(Hosts::parse(hosts)?)),
        })
    }

    fn sockets(&self, walls: bool) -> Sockets {
        match self {
            // In a network of one's own there is nobody but oneself.
            Self::Nobody if !walls => Sockets::None,
            Self::Nobody | Self::Door(..) | Self::Everybody => Sockets::Internet,
            Self::Port(_) => Sockets::Tcp,
        }
    }
}

impl Confinement {
    /// `runtime` is where the user's services have their files.
    pub(super) fn new(
        sandbox: &Sandbox,
        means: &Means,
        places: Arc<Places>,
        runtime: Option<&OsStr>,
    ) -> Result<Self> {
        let walls = means.walls();
        let fifos = match walls {
            Some(_) => foreign::fifos(runtime.map(Path::new), |path| {
                places.writable().any(|dir| path.starts_with(dir))
            }),
            // Landlock keeps everybody from them.
            None => Vec::new(),
        };
        let reach = Reach::new(sandbox, walls.is_some())?;
        let wanted = Wanted {
            sockets: reach.sockets(walls.is_some()),
            unix: !sandbox.sockets.is_empty(),
            netlink: sandbox.network == Network::On,
            keep_modes: walls.is_none() && sandbox.access == Access::ReadOnly,
            shared_ipc: walls.is_none(),
        };
        let filter = seccomp::filter(wanted).map_err(|e| Error::io("sandbox", e))?;
        let limits = limits(sandbox.limits, means.prlimit.clone());
        let filter_bytes = seccomp::bytes(&filter);
        Ok(Self { places, walls, fifos, reach, filter: Arc::new(filter), filter_bytes, limits })
    }

    /// Makes a command one that is confined. Needs a runtime, for the proxy.
    pub(super) fn confine(&self, launch: Launch, terminal: bool) -> io::Result<Launch> {
        launch.check_program()?;
        let mut launch = before(&self.limits, launch);
        let mut ports = match self.reach {
            Reach::Everybody => None,
            _ => Some(Vec::new()),
        };
        let mut held = Held::default();
        match &self.reach {
            Reach::Nobody | Reach::Everybody => {}
            Reach::Port(hosts) => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let port = listener.local_addr()?.port();
                ports = Some(vec![port]);
                launch = through_proxy(launch, port);
                held.proxy = Some(serve(hosts, move || Ok(listener)));
            }
            Reach::Door(hosts, program) => {
                let (ours, theirs) = door::pair()?;
                launch.descriptors.push((theirs, 0));
                bwrap::number(&mut launch.descriptors);
                let number = launch.descriptors.last().map_or(0, |(_, number)| *number);
                let door: Vec<OsString> =
                    program.iter().cloned().chain([number.to_string().into()]).collect();
                launch = before(&door, through_proxy(launch, door::PORT));
                held.proxy = Some(serve(hosts, move || door::receive(ours)));
            }
        }
        let Some(walls) = &self.walls else {
            let rules = Rules::whole(&self.places, ports);
            let jail = Jail::new(rules, Some(Arc::clone(&self.filter)), held).without_powers();
            return Ok(Launch { jail: Some(jail), ..launch });
        };
        let own_network = matches!(self.reach, Reach::Nobody | Reach::Door(..));
        let (launch, plan, told) =
            bwrap::wrap(walls, &self.places, &self.fifos, own_network, &self.filter_bytes, terminal, launch)?;
        held.plan = Some(plan);
        held.told = Some(told);
        let jail = Jail::new(Rules::scopes(ports.filter(|_| !own_network)), None, held);
        // In a namespace of users it has no right to do so.
        let is_roots = !walls.user && geteuid().is_root();
        let jail = if is_roots { jail.with_kept_devices() } else { jail };
        Ok(Launch { jail: Some(jail), ..launch })
    }
}

/// The command, started by a program that then becomes it.
fn before(program: &[OsString], launch: Launch) -> Launch {
    let Some((first, rest)) = program.split_first() else { return launch };
    let arguments = rest.iter().cloned().chain([launch.program]).chain(launch.arguments).collect();
    Launch { program: first.clone(), arguments, ..launch }
}

/// The command, told of the proxy in every way that programs know.
fn through_proxy(mut launch: Launch, port: u16) -> Launch {
    let address = format!("http://127.0.0.1:{port}");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        launch.variables.insert(name.into(), address.clone().into());
    }
    for name in ["ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"] {
        launch.variables.remove(std::ffi::OsStr::new(name));
    }
    launch
}

/// Has a proxy serve, once there is something to listen with, until the guard is dropped.
fn serve(
    hosts: &Arc<Hosts>,
    listener: impl FnOnce() -> io::Result<TcpListener> + Send + 'static,
) -> DropGuard {
    let stop = CancellationToken::new();
    let (hosts, stopped) = (Arc::clone(hosts), stop.clone());
    tokio::spawn(async move {
        let listener = tokio::task::spawn_blocking(listener).await.map_err(io::Error::other);
        let listener = listener.flatten().and_then(|listener| {
            listener.set_nonblocking(true)?;
            tokio::net::TcpListener::from_std(listener)
        });
        // If there is none, the command has never begun.
        if let Ok(listener) = listener {
            proxy::serve(listener, hosts, stopped).await;
        }
    });
    stop.drop_guard()
}

/// What stands before a command to limit it. Set by a program that then becomes the command: nothing
/// of the command has run before.
fn limits(limits: ResourceLimits, prlimit: Option<PathBuf>) -> Vec<OsString> {
    let wanted = [
        ("--nproc", limits.processes),
        // Not of addresses, of which some runtimes take many and use few.
        ("--data", limits.memory),
        ("--fsize", limits.file_size),
    ];
    let options: Vec<OsString> =
        wanted.iter().filter_map(|(option, limit)| Some(format!("{option}={}", (*limit)?).into())).collect();
    match prlimit {
        Some(prlimit) if !options.is_empty() => [prlimit.into()].into_iter().chain(options).collect(),
        _ => Vec::new(),
    }
}
