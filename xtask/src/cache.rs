//! The cache folder: things that are costly to make, kept by name and version.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::Outcome;

/// The folder, shared by all clones on this machine.
pub(crate) struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Opens `JUNTO_DEV_CACHE`, else `junto-dev` in the user's cache directory.
    pub(crate) fn open() -> Outcome<Self> {
        let set = |name| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let dir = set("JUNTO_DEV_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|d| d.join("junto-dev")))
            .or_else(|| set("HOME").map(|d| d.join(".cache/junto-dev")))
            .ok_or("no place for the cache folder\nhint: set JUNTO_DEV_CACHE")?;
        fs::create_dir_all(&dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
        Ok(Self { dir })
    }

    /// The folder `NAME-KEY`, which `make` fills if it is not there. It gets its name only when it
    /// is complete, so a set-up that broke off is never taken for a good one; of two set-ups at the
    /// same time one waits for the other.
    pub(crate) fn ensure(
        &self,
        name: &str,
        key: &str,
        make: impl FnOnce(&Path) -> Outcome,
    ) -> Outcome<PathBuf> {
        let ready = self.dir.join(format!("{name}-{key}"));
        if ready.is_dir() {
            return Ok(ready);
        }
        let failed = |what: &str, path: &Path, e| format!("cannot {what} {}: {e}", path.display());
        let lock_path = self.dir.join(format!("{name}.lock"));
        let lock = File::create(&lock_path).map_err(|e| failed("make", &lock_path, e))?;
        lock.lock().map_err(|e| failed("lock", &lock_path, e))?;
        if ready.is_dir() {
            return Ok(ready);
        }
        let partial = self.dir.join(format!("{name}-{key}.partial"));
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(|e| failed("remove", &partial, e))?;
        }
        fs::create_dir(&partial).map_err(|e| failed("make", &partial, e))?;
        make(&partial)?;
        fs::rename(&partial, &ready).map_err(|e| failed("rename", &partial, e))?;
        Ok(ready)
    }
}

/// A short key for what a thing is made from.
pub(crate) fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let first = hash.finalize().iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{first:016x}")
}
