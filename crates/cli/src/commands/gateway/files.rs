//! How many files the gateway may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes as many as the system lets it have. What a process may have at first is usually 1024, for the sake of programs
/// that could not have more; and each answer under way takes two connections, its client's and its provider's.
pub(super) fn take_all() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If it is refused, it serves fewer clients at a time, and says so when there are more.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
