//! What every environment promises, as tests. Behind the feature `suite`.
//!
//! [`env_suite!`](crate::env_suite) makes one test of each check in [`files`] and [`commands`], in the
//! module it stands in. It is given what makes a fresh environment, whose working directory is empty
//! and may be written:
//!
//! ```
//! mod conformance {
//!     use junto_env::LocalEnvironment;
//! #   fn fresh_directory() -> std::path::PathBuf { std::env::temp_dir() }
//!
//!     junto_env::env_suite!(async || LocalEnvironment::new(fresh_directory()).unwrap());
//! }
//! ```
//!
//! An environment without commands says so, and is then held to refusing them:
//! `env_suite!(make, no_commands)`. One that cannot be searched must say that it cannot.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a check fails by panicking"
)]

pub mod commands;
pub mod files;

use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use crate::{ByteRange, ExecutionEnvironment, Expect, RealPath, Stamp};

/// No check waits longer for anything. It is no measure of speed.
const HANG: Duration = Duration::from_mins(1);

/// Tests an environment: one test for each promise. See [`suite`](crate::suite).
#[macro_export]
macro_rules! env_suite {
    ($make:expr) => {
        $crate::env_suite!(@files $make);
        $crate::env_suite!(@tests $make; commands:
            output_and_exit_are_given
            arguments_are_taken_literally
            input_is_given
            variables_and_directory_are_given
            files_and_commands_see_the_same
            a_link_is_not_what_it_leads_to
            what_cannot_start_is_an_error
            dropping_a_process_ends_its_tree
            closing_a_process_asks_it_first
            closing_ends_what_does_not_listen
            a_command_has_its_time_and_no_more
        );
    };
    ($make:expr, no_commands) => {
        $crate::env_suite!(@files $make);
        $crate::env_suite!(@tests $make; commands: commands_are_unsupported);
    };
    (@files $make:expr) => {
        $crate::env_suite!(@tests $make; files:
            paths_are_made_real
            what_is_not_there_is_said
            bytes_come_back_as_they_were_written
            a_range_is_read_and_no_more
            a_new_file_is_new
            a_changed_file_is_not_overwritten
            any_file_is_replaced
            a_stamp_changes_with_the_content
            of_racing_writers_one_wins
            readers_see_the_old_or_the_new
            a_listing_is_sorted_and_as_deep_as_asked
            a_directory_is_no_file
            files_are_removed
            files_are_renamed
            a_text_is_written_as_it_was
            a_search_finds_or_is_unsupported
        );
    };
    (@tests $make:expr; $module:ident: $($check:ident)*) => {
        $(
            #[test]
            fn $check() {
                $crate::suite::run($make, $crate::suite::$module::$check);
            }
        )*
    };
}

/// Runs one check on a fresh environment, on a runtime of its own.
pub fn run<E: ExecutionEnvironment>(
    make: impl AsyncFnOnce() -> E,
    check: impl AsyncFnOnce(&dyn ExecutionEnvironment),
) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let env = make().await;
        tokio::time::timeout(HANG, check(&env)).await.expect("the check hangs");
    });
}

async fn at(env: &dyn ExecutionEnvironment, path: &str) -> RealPath {
    env.resolve(path).await.unwrap()
}

async fn put(env: &dyn ExecutionEnvironment, path: &str, content: &[u8]) -> (RealPath, Stamp) {
    let path = at(env, path).await;
    let stamp = env.write(&path, content, Expect::Any).await.unwrap();
    (path, stamp)
}

async fn get(env: &dyn ExecutionEnvironment, path: &RealPath) -> Vec<u8> {
    range(env, path, ByteRange::ALL).await
}

async fn range(env: &dyn ExecutionEnvironment, path: &RealPath, range: ByteRange) -> Vec<u8> {
    let mut content = Vec::new();
    env.open(path, range).await.unwrap().read_to_end(&mut content).await.unwrap();
    content
}
