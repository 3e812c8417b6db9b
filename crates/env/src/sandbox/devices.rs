//! Devices of the system, kept as they are from root.
//!
//! A device can be used through a mount that cannot be written; only what is said of it, its mode and owner and times,
//! cannot be changed there. Bubblewrap binds devices of the system as they are mounted, and has no way to bind one so:
//! what it makes read-only opens no device. So they are mounted so for the thread that starts it.

use std::io;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};

const ALL: &str = "/dev";
/// Those that bubblewrap gives to a command.
const GIVEN: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Keeps them so for this thread and whatever it starts. Only root may, and only root needs it: they are not others'.
pub(super) fn keep() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    close(Path::new(ALL))?;
    for device in GIVEN.iter().map(Path::new).filter(|device| device.exists()) {
        // In some containers each is a mount, and in some none is.
        if !is_closed(device)? && !close(device)? {
            let nothing = None::<&Path>;
            // Or it would be seen by all.
            mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
            mount(Some(device), device, nothing, MsFlags::MS_BIND, nothing)?;
            close(device)?;
        }
    }
    Ok(())
}

/// Makes a mount one that cannot be written; says whether it is one.
fn close(mounted: &Path) -> io::Result<bool> {
    let nothing = None::<&Path>;
    let own = statvfs(mounted)?.flags();
    let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID;
    // In a container it may not be for its root to open what was closed before.
    flags.set(MsFlags::MS_NODEV, own.contains(FsFlags::ST_NODEV));
    flags.set(MsFlags::MS_NOEXEC, own.contains(FsFlags::ST_NOEXEC));
    match mount(nothing, mounted, nothing, flags, nothing) {
        Ok(()) => Ok(true),
        Err(Errno::EINVAL) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

fn is_closed(device: &Path) -> io::Result<bool> {
    Ok(statvfs(device)?.flags().contains(FsFlags::ST_RDONLY))
}
