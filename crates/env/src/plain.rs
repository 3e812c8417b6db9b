//! What is done most often with an environment, in one call each, with paths as they are written.
//!
//! Searching is one call already: [`ExecutionEnvironment::search`] with
//! [`Search::grep`](crate::Search::grep) or [`Search::glob`](crate::Search::glob).
//!
//! ```
//! # async fn example(env: &dyn junto_env::ExecutionEnvironment) -> junto_env::Result<()> {
//! use std::time::Duration;
//! use junto_env::plain;
//!
//! plain::write_file(env, "notes.txt", "one\ntwo\nthree\n").await?;
//! assert!(plain::file_exists(env, "notes.txt").await?);
//! assert_eq!(plain::read_file(env, "notes.txt", 2, 1).await?, "two\n");
//! let result = plain::exec_command(env, "wc -l notes.txt", Duration::from_secs(10)).await?;
//! assert!(result.exit.success());
//! # Ok(())
//! # }
//! ```

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::text::{Content, TextFile};
use crate::{
    CommandSpec, DirEntry, Error, ErrorKind, ExecResult, ExecutionEnvironment, Expect, Result, Stamp, exec,
};

/// The longest file that [`read_file`] reads.
pub const READ_LIMIT: u64 = 10 << 20;

/// The text of a file from line `offset` on, counted from 1, at most `limit` lines, with their ends.
///
/// # Errors
/// `WrongKind` if it is no text, `TooLarge` above [`READ_LIMIT`], and what the environment says.
pub async fn read_file(
    env: &dyn ExecutionEnvironment,
    path: &str,
    offset: usize,
    limit: usize,
) -> Result<String> {
    let real = env.resolve(path).await?;
    let refuse = |kind, message| Err(Error::new(kind, path, message));
    match TextFile::read(env, &real, READ_LIMIT).await? {
        Content::Text(file) => {
            Ok(file.text.split_inclusive('\n').skip(offset.saturating_sub(1)).take(limit).collect())
        }
        Content::Image { media_type, .. } => {
            refuse(ErrorKind::WrongKind, format!("it is a picture ({media_type})"))
        }
        Content::Binary { what, .. } => refuse(ErrorKind::WrongKind, format!("it is no text but {what}")),
        Content::TooLarge { size, .. } => {
            refuse(ErrorKind::TooLarge, format!("it has {size} bytes, and at most {READ_LIMIT} are read"))
        }
    }
}

/// Writes a file, whatever was there; makes the directories it needs.
///
/// # Errors
/// What the environment says.
pub async fn write_file(env: &dyn ExecutionEnvironment, path: &str, content: &str) -> Result<Stamp> {
    env.write(&env.resolve(path).await?, content.as_bytes(), Expect::Any).await
}

/// Whether there is something at a path, file or not.
///
/// # Errors
/// What the environment says, except that it is not there.
pub async fn file_exists(env: &dyn ExecutionEnvironment, path: &str) -> Result<bool> {
    match env.stamp(&env.resolve(path).await?).await {
        Err(e) if e.kind() == ErrorKind::WrongKind => Ok(true),
        found => Ok(found?.is_some()),
    }
}

/// What is in a directory, `depth` levels deep.
///
/// # Errors
/// What the environment says.
pub async fn list_directory(env: &dyn ExecutionEnvironment, path: &str, depth: u32) -> Result<Vec<DirEntry>> {
    env.list(&env.resolve(path).await?, depth).await
}

/// Runs a line of the shell in the working directory to its end. For another directory, variables,
/// or to see output as it comes: [`exec()`].
///
/// # Errors
/// If it cannot be started. That it failed or took too long is a result.
pub async fn exec_command(
    env: &dyn ExecutionEnvironment,
    line: &str,
    timeout: Duration,
) -> Result<ExecResult> {
    exec(env, CommandSpec::shell(line), timeout, &CancellationToken::new(), &mut |_| {}).await
}
