//! Whether anything outlived its owner. For tests; every test that starts a process ends with it.
//!
//! ```no_run
//! # fn main() -> junto_env::Result<()> {
//! # use std::time::Duration;
//! let env = junto_env::LocalEnvironment::new("/tmp")?;
//! // … start processes, end them, drop them …
//! assert_eq!(junto_env::survivors::after(&env, Duration::from_secs(60)), []);
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use crate::{LocalEnvironment, SandboxedEnvironment};

/// An environment that knows what it started.
pub trait Started {
    /// The processes that it started, or that these started, and that live.
    fn survivors(&self) -> Vec<Survivor>;
}

impl Started for LocalEnvironment {
    fn survivors(&self) -> Vec<Survivor> {
        self.survivors()
    }
}

impl Started for SandboxedEnvironment {
    fn survivors(&self) -> Vec<Survivor> {
        self.survivors()
    }
}

impl<E: Started + ?Sized> Started for Arc<E> {
    fn survivors(&self) -> Vec<Survivor> {
        (**self).survivors()
    }
}

/// A process that lives although its owner does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// Its id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
}

const PAUSE: Duration = Duration::from_millis(2);

/// What an environment started and what still lives, given `patience`: a process that was killed
/// takes a moment to die, and the kernel tells only its parent. Blocks the thread; needs no runtime.
pub fn after(env: &impl Started, patience: Duration) -> Vec<Survivor> {
    let mut waited = Duration::ZERO;
    loop {
        let found = env.survivors();
        if found.is_empty() || waited >= patience {
            return found;
        }
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}
