//! What a thread, and every process that it then starts, may reach of files, ports and processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

use super::places::Places;

/// The newest version whose rights are known here. An older kernel has fewer; what that leaves open is
/// for [`Means`](super::Means) to say before.
const NEWEST: ABI = ABI::V6;

/// Devices that every program may write to; the others it does not even read.
const DEVICES: &[&str] = &["/dev/full", "/dev/null", "/dev/ptmx", "/dev/tty", "/dev/zero", "/dev/fd"];
const READ_DEVICES: &[&str] = &["/dev/random", "/dev/urandom"];

/// What one command is kept from by Landlock.
pub(super) struct Rules {
    files: Option<Files>,
    ports: Option<Vec<u16>>,
}

struct Files {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

impl Rules {
    /// No signals to processes outside, and no sockets of theirs; and TCP to these ports only, if any
    /// are said. Files are left to others.
    pub(super) fn scopes(ports: Option<Vec<u16>>) -> Self {
        Self { files: None, ports }
    }

    /// The same, and files; and TCP to these ports only, if any are said.
    pub(super) fn whole(places: &Places, ports: Option<Vec<u16>>) -> Self {
        let masked = places.masked();
        let mut read = Vec::new();
        around(Path::new("/"), &masked, &mut read);
        let write = places.writable().map(Path::to_owned).collect();
        Self { files: Some(Files { read, write }), ports }
    }

    /// Restricts this thread and whatever it starts from now on. Of terminals only this one can be opened by its
    /// name: on others somebody else types.
    pub(super) fn enter(&self, terminal: Option<&Path>) -> io::Result<()> {
        let ruleset = self.ruleset(terminal).map_err(io::Error::other)?;
        ruleset.restrict_self().map(drop).map_err(io::Error::other)
    }

    fn ruleset(&self, terminal: Option<&Path>) -> Result<RulesetCreated, landlock::RulesetError> {
        let mut ruleset =
            Ruleset::default().set_compatibility(CompatLevel::BestEffort).scope(Scope::from_all(NEWEST))?;
        if self.files.is_some() {
            ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?;
        }
        if self.ports.is_some() {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
        }
        let mut created = ruleset.create()?;
        for port in self.ports.iter().flatten() {
            created = created.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
        match &self.files {
            Some(files) => files.add_to(created, terminal),
            None => Ok(created),
        }
    }
}

impl Files {
    fn add_to(
        &self,
        created: RulesetCreated,
        terminal: Option<&Path>,
    ) -> Result<RulesetCreated, landlock::RulesetError> {
        let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev;
        // A device made here would be any device.
        let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let root = [(Path::new("/"), AccessFs::ReadDir.into())];
        let all = root
            .into_iter()
            .chain(self.read.iter().map(|path| (path.as_path(), read)))
            .chain(READ_DEVICES.iter().map(|path| (Path::new(path), read)))
            .chain(DEVICES.iter().map(|path| (Path::new(path), device)))
            .chain(terminal.map(|path| (path, device)))
            .chain(self.write.iter().map(|path| (path.as_path(), write)));
        let mut created = created;
        for (path, access) in all {
            created = add(created, path, access)?;
        }
        Ok(created)
    }
}

/// Lets something be done with a path and what is below it; what is not there needs no rule.
fn add(
    created: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(file) = PathFd::new(path) else { return Ok(created) };
    let is_dir = fs::metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let access = if is_dir { access } else { access & AccessFs::from_file(NEWEST) };
    created.add_rule(PathBeneath::new(file, access))
}

/// What may be read below a directory: itself, or, if something below it may not, whatever else is
/// in it. Rules only ever add to each other, so there is no other way to leave something out.
fn around(dir: &Path, masked: &[PathBuf], read: &mut Vec<PathBuf>) {
    if masked.iter().any(|path| path == dir) || dir == Path::new("/dev") {
        return;
    }
    let split = dir == Path::new("/") || masked.iter().any(|path| path.starts_with(dir));
    if !split {
        read.push(dir.to_owned());
        return;
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        // A link gives no right to what it leads to, which has a rule of its own.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            around(&entry.path(), masked, read);
        }
    }
}

/// The version that the kernel has.
pub(super) fn version() -> Option<u32> {
    let restrict = || {
        let ruleset = Ruleset::default().handle_access(AccessFs::Execute).ok()?;
        let everything = PathBeneath::new(PathFd::new("/").ok()?, AccessFs::Execute);
        ruleset.create().ok()?.add_rule(everything).ok()?.restrict_self().ok()
    };
    // Only a thread that restricts itself is told; so it is one that does nothing else.
    let status = thread::Builder::new().spawn(restrict).ok()?.join().ok()??;
    match status.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            u32::try_from(kernel_abi.unwrap_or(effective_abi as i32)).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_something_hidden() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for path in ["a/x", "a/secret/key", "a/y/z", "b/c"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "").unwrap();
        }
        std::os::unix::fs::symlink("secret/key", root.join("a/link")).unwrap();
        let mut read = Vec::new();
        around(root, &[root.join("a/secret")], &mut read);
        read.sort();
        assert_eq!(read, ["a/x", "a/y", "b"].map(|path| root.join(path)));
        read.clear();
        around(root, &[], &mut read);
        assert_eq!(read, [root]);
    }
}
