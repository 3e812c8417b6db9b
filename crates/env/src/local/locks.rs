//! One writer per path, in this process.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Paths share these by their hash: nothing grows with the number of paths, and two environments
/// over the same files exclude each other.
static STRIPES: [Mutex<()>; 256] = [const { Mutex::new(()) }; 256];

/// Held while a path is changed.
pub(super) type Turn = MutexGuard<'static, ()>;

/// Waits until nobody else changes the path.
pub(super) fn lock(path: &Path) -> Turn {
    take(stripe(path))
}

/// Waits until nobody else changes either path.
pub(super) fn lock_both(one: &Path, other: &Path) -> (Turn, Option<Turn>) {
    // Always in the same order, or two of these could wait for each other.
    let (one, other) = (stripe(one), stripe(other));
    (take(one.min(other)), (one != other).then(|| take(one.max(other))))
}

fn stripe(path: &Path) -> usize {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    usize::from(hasher.finish().to_le_bytes()[0])
}

fn take(stripe: usize) -> Turn {
    STRIPES[stripe].lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_itself_does_not_block() {
        let path = Path::new("/a");
        drop(lock_both(path, path));
        drop(lock(path));
    }
}
