//! Memory that is not needed any more.

/// Gives free memory back to the system, from wherever it lies. The C library does so only at the end of its heaps, and
/// after thousands of streams at a time a few bytes that live on keep twenty times as much.
///
/// Other threads that want memory meanwhile wait for it, so it is for quiet moments.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a foreign function; it takes no pointer, and touches nothing that is in use")]
pub(super) fn give_back() {
    // SAFETY: may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other libraries do it by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn give_back() {}
