//! Memory that is not needed any more.

use std::fs;

/// How many bytes more than after it was last given back there must be in use for it to be worth the while: what is given
/// back has to be had again when the next calls come, page by page, and they wait for it.
const MUCH: u64 = 8 << 20;

/// Gives free memory back to the system when it gets quiet.
#[derive(Default)]
pub(super) struct Memory {
    /// What was in use when it was last given back; less with each time that nothing is, since some of it may have been
    /// needed then and not be now.
    kept: u64,
}

impl Memory {
    /// Gives back what there is, if it is much.
    pub(super) fn when_quiet(&mut self) {
        if in_use().is_none_or(|now| now >= self.kept.saturating_add(MUCH)) {
            give_back();
            self.kept = in_use().unwrap_or(0);
        } else {
            self.kept = self.kept.saturating_sub(MUCH);
        }
    }
}

/// How many bytes this process has in memory, where the system tells it.
fn in_use() -> Option<u64> {
    let pages: u64 = fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    Some(pages * page)
}

/// Gives free memory back to the system, from wherever it lies. The C library does so only at the end of its heaps, and
/// after thousands of streams at a time a few bytes that live on keep twenty times as much.
///
/// Other threads that want memory meanwhile wait for it, so it is for quiet moments.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a foreign function; it takes no pointer, and touches nothing that is in use")]
fn give_back() {
    // SAFETY: may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other libraries do it by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    /// Pieces that the C library takes from its heap.
    fn pieces() -> Vec<Vec<u8>> {
        (0..64 * 16).map(|_| vec![1; 64 << 10]).collect()
    }

    #[test]
    fn what_is_much_is_given_back_and_what_is_little_is_kept() {
        let mut memory = Memory::default();
        memory.when_quiet();
        let before = in_use().unwrap();
        let mut pieces = pieces();
        // The last one keeps what is below it.
        pieces.drain(..pieces.len() - 1);
        assert!(in_use().unwrap() > before + 2 * MUCH, "it is still there");
        memory.when_quiet();
        assert!(in_use().unwrap() < before + MUCH, "it is given back");
        let kept = memory.kept;
        memory.when_quiet();
        assert!(memory.kept < kept, "there was nothing more, and the next time it is looked at again");
    }

    #[test]
    fn what_was_needed_at_first_is_given_back_later() {
        let mut memory = Memory::default();
        let before = in_use().unwrap();
        let mut pieces = pieces();
        memory.when_quiet();
        assert!(memory.kept > before + 2 * MUCH, "it is needed");
        pieces.drain(..pieces.len() - 1);
        for _ in 0..100 {
            memory.when_quiet();
        }
        assert!(in_use().unwrap() < before + MUCH, "it is given back");
    }
}
