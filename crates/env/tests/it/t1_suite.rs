//! Every environment keeps the promises of the trait: ours, and one that is not.

use std::sync::Arc;

use junto_env::wrappers::{Layer, Logging, Scoped};
use junto_env::{
    ByteRange, DirEntry, ExecutionEnvironment, Expect, Fut, LocalEnvironment, Reader, RealPath, Result,
    Sandbox, SandboxedEnvironment, Stamp, suite,
};

use crate::cage::{Held, means};
use crate::memory::Memory;
use crate::support::HANG;

/// This machine, in a directory that goes with it. Nothing it started lives on.
struct Local {
    env: LocalEnvironment,
    _dir: tempfile::TempDir,
}

impl Local {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        Self { env: LocalEnvironment::builder(dir.path()).variables(path).build().unwrap(), _dir: dir }
    }
}

impl Layer for Local {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.env
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        assert_eq!(junto_env::survivors::after(&self.env, HANG), []);
    }
}

mod local {
    junto_env::env_suite!(async || super::Local::new());
}

/// This machine in a sandbox, outside the system's directories for temporary files.
struct Sandboxed {
    env: SandboxedEnvironment,
    _dir: tempfile::TempDir,
}

impl Sandboxed {
    fn new(held: Held) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = [("PATH", "/usr/local/bin:/usr/bin:/bin")];
        let local = LocalEnvironment::builder(dir.path()).variables(path);
        let sandbox =
            Sandbox { accept_weaker: held == Held::Kernel, temporary: Some(vec![]), ..Sandbox::workspace() };
        Self { env: SandboxedEnvironment::with_means(local, sandbox, &means(held)).unwrap(), _dir: dir }
    }
}

impl Layer for Sandboxed {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.env
    }
}

impl Drop for Sandboxed {
    fn drop(&mut self) {
        assert_eq!(junto_env::survivors::after(&self.env, HANG), []);
    }
}

mod in_walls {
    use super::*;
    junto_env::env_suite!(async || Sandboxed::new(Held::Walls));
}

mod held_by_the_kernel {
    use super::*;
    junto_env::env_suite!(async || Sandboxed::new(Held::Kernel));
}

mod shared {
    use super::*;
    junto_env::env_suite!(async || Arc::new(Local::new()) as Arc<dyn ExecutionEnvironment>);
}

mod logging {
    use super::*;
    junto_env::env_suite!(async || Logging::tracing(Local::new()));
}

mod scoped {
    use super::*;
    junto_env::env_suite!(async || {
        let local = Local::new();
        std::fs::create_dir(local.env.facts().cwd.as_path().join("scope")).unwrap();
        Scoped::new(local, "scope").await.unwrap()
    });
}

mod memory {
    use super::*;
    junto_env::env_suite!(async || Memory::new(), no_commands);
}

mod scoped_memory {
    use super::*;
    junto_env::env_suite!(async || Scoped::new(Memory::new(), ".").await.unwrap(), no_commands);
}

/// A map that breaks a promise about files.
#[derive(Clone, Copy, Debug)]
enum Broken {
    OverwritesWhatChanged,
    ReadsPastTheRange,
    ListsOneLevel,
    WritesInPieces,
}

struct Faulty(Broken, Memory);

impl Layer for Faulty {
    fn inner(&self) -> &dyn ExecutionEnvironment {
        &self.1
    }

    fn open<'a>(&'a self, path: &'a RealPath, range: ByteRange) -> Fut<'a, Result<Reader>> {
        let length = if matches!(self.0, Broken::ReadsPastTheRange) { None } else { range.length };
        self.1.open(path, ByteRange { length, ..range })
    }

    fn write<'a>(&'a self, path: &'a RealPath, data: &'a [u8], expect: Expect) -> Fut<'a, Result<Stamp>> {
        match self.0 {
            Broken::OverwritesWhatChanged => self.1.write(path, data, Expect::Any),
            Broken::WritesInPieces => Box::pin(async move {
                self.1.write(path, &data[..data.len() / 2], expect).await?;
                tokio::task::yield_now().await;
                self.1.write(path, data, Expect::Any).await
            }),
            _ => self.1.write(path, data, expect),
        }
    }

    fn list<'a>(&'a self, path: &'a RealPath, depth: u32) -> Fut<'a, Result<Vec<DirEntry>>> {
        let depth = if matches!(self.0, Broken::ListsOneLevel) { depth.min(1) } else { depth };
        self.1.list(path, depth)
    }
}

#[test]
fn a_broken_promise_is_noticed() {
    let fails = |broken, check: fn()| {
        assert!(std::panic::catch_unwind(check).is_err(), "{broken:?} was not noticed");
    };
    macro_rules! broken {
        ($($fault:ident $check:ident)*) => {$(
            fails(Broken::$fault, || suite::run(async || Faulty(Broken::$fault, Memory::new()), suite::files::$check));
        )*};
    }
    broken! {
        OverwritesWhatChanged a_new_file_is_new
        OverwritesWhatChanged a_changed_file_is_not_overwritten
        OverwritesWhatChanged of_racing_writers_one_wins
        ReadsPastTheRange a_range_is_read_and_no_more
        ListsOneLevel a_listing_is_sorted_and_as_deep_as_asked
        WritesInPieces readers_see_the_old_or_the_new
    }
}
