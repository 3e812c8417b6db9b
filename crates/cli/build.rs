//! How the program is linked.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a part of the build, which is told so"
)]

use std::env;
use std::process::Command;

/// The first version of the GNU C library that reads packed relocations.
const READS_PACKED: (u32, u32) = (2, 36);

/// Packs the relocations, of which there are seventy thousand: a program reads all of them when it starts, and packed they
/// take some kilobytes instead of nearly two megabytes. Where the C library here reads them; one that was built on such a
/// system runs on none with an older one, unless it is built with `JUNTO_PORTABLE=1`.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=JUNTO_PORTABLE");
    if env::var_os("JUNTO_PORTABLE").is_some() {
        return;
    }
    let set = |name: &str| env::var(name).unwrap_or_default();
    let is_gnu = set("CARGO_CFG_TARGET_OS") == "linux" && set("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_gnu && set("HOST") == set("TARGET") && c_library().is_some_and(|version| version >= READS_PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library, of `glibc 2.36`.
fn c_library() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
