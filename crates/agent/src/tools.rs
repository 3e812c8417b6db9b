//! The tools that come with a session. They reach files and processes through the environment only,
//! and say beforehand what they would do.

mod apply_patch;
mod ask_user;
mod close_agent;
mod edit_file;
mod glob;
mod grep;
mod guard;
mod image;
mod jobs;
mod list_dir;
mod near;
pub mod notebook;
mod numbered;
mod read_file;
mod read_many_files;
mod send_input;
mod shell;
mod spawn_agent;
pub(crate) mod typed;
mod update_plan;
mod utf8;
mod wait;
mod web_fetch;
mod web_search;
mod write_file;

use std::sync::Arc;

use junto_core::{Permit, Tool, ToolCx, ToolError};
use junto_env::{ExecutionEnvironment, Hits, RealPath, Search};
use junto_llm::ToolCall;
use serde::Deserialize;

use crate::family::Family;
use crate::function::arguments;
use crate::toolbox::INTERRUPTED;

pub use apply_patch::ApplyPatch;
pub use ask_user::AskUser;
pub use edit_file::EditFile;
pub use glob::Glob;
pub use grep::Grep;
pub(crate) use grep::lines as ripgrep_lines;
pub use jobs::{ShellInput, ShellKill, ShellOutput};
pub use list_dir::ListDir;
pub use read_file::ReadFile;
pub use read_many_files::ReadManyFiles;
pub(crate) use shell::said as said_by_command;
pub use shell::{Shell, Timeouts};
pub use update_plan::UpdatePlan;
pub use web_fetch::{Reach, WebFetch};
pub use web_search::WebSearch;
pub use write_file::WriteFile;

/// The tools every session has use for: files, commands, searching, and the plan. What reaches beyond
/// the environment, or needs somebody to be there, is added by the host: [`WebFetch`], [`WebSearch`] and
/// [`AskUser`].
pub fn standard() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile::default()),
        Arc::new(WriteFile::default()),
        Arc::new(EditFile::default()),
        Arc::new(Shell::default()),
        Arc::new(ShellOutput::default()),
        Arc::new(ShellInput::default()),
        Arc::new(ShellKill::default()),
        Arc::new(Grep::default()),
        Arc::new(Glob::default()),
        Arc::new(UpdatePlan::default()),
    ]
}

/// The names of the tools by which a session has children.
pub(crate) const FAMILY: &[&str] = &["spawn_agent", "send_input", "wait", "close_agent"];

/// The tools by which a session of this kind has children.
pub(crate) fn family(family: &Arc<Family>, kind: &str) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(spawn_agent::SpawnAgent::new(Arc::clone(family), kind.to_owned())),
        Arc::new(send_input::SendInput::new(Arc::clone(family))),
        Arc::new(wait::Wait::new(Arc::clone(family))),
        Arc::new(close_agent::CloseAgent::new(Arc::clone(family))),
    ]
}

/// Makes a tool.
type Make = fn() -> Arc<dyn Tool>;

/// Every tool that needs nothing to be made, by name.
const TOOLS: &[(&str, Make)] = &[
    ("apply_patch", || Arc::new(ApplyPatch::default())),
    ("ask_user", || Arc::new(AskUser::default())),
    ("edit_file", || Arc::new(EditFile::default())),
    ("glob", || Arc::new(Glob::default())),
    ("grep", || Arc::new(Grep::default())),
    ("list_dir", || Arc::new(ListDir::default())),
    ("read_file", || Arc::new(ReadFile::default())),
    ("read_many_files", || Arc::new(ReadManyFiles::default())),
    ("shell", || Arc::new(Shell::default())),
    ("shell_input", || Arc::new(ShellInput::default())),
    ("shell_kill", || Arc::new(ShellKill::default())),
    ("shell_output", || Arc::new(ShellOutput::default())),
    ("update_plan", || Arc::new(UpdatePlan::default())),
    ("web_fetch", || Arc::new(WebFetch::default())),
    ("write_file", || Arc::new(WriteFile::default())),
];

/// The tool of this name, as it is without anybody's settings; none if there is no such tool.
pub fn named(name: &str) -> Option<Arc<dyn Tool>> {
    TOOLS.iter().find(|(known, _)| *known == name).map(|(_, make)| make())
}

/// Every tool that [`named`] knows, sorted by name. A session wants some of them, not all.
pub fn all() -> Vec<Arc<dyn Tool>> {
    TOOLS.iter().map(|(_, make)| make()).collect()
}

/// The file that an argument names.
pub(crate) async fn resolve(env: &dyn ExecutionEnvironment, path: &str) -> Result<RealPath, ToolError> {
    if path.is_empty() {
        return Err(ToolError("the path is empty".to_owned()));
    }
    Ok(env.resolve(path).await?)
}

/// Where to search: what an argument names, or the working directory.
pub(crate) async fn place(env: &dyn ExecutionEnvironment, path: Option<&str>) -> Result<RealPath, ToolError> {
    match path {
        Some(path) => resolve(env, path).await,
        None => Ok(env.facts().cwd.clone()),
    }
}

/// Where a search was judged to begin.
fn root(permit: &Permit) -> Result<RealPath, ToolError> {
    permit.reads().next().cloned().ok_or_else(|| ToolError("no place was named".to_owned()))
}

/// Searches until it is done or the call is cancelled.
pub(crate) async fn search(cx: &ToolCx, query: Search) -> Result<Hits, ToolError> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(ToolError(INTERRUPTED.to_owned())),
        hits = cx.env.search(query, &cx.cancel) => Ok(hits?),
    }
}

/// A path as the model sees it: relative to the working directory if it is below that.
pub(crate) fn below(path: &RealPath, cwd: &RealPath) -> String {
    let path = path.as_path();
    match path.strip_prefix(cwd) {
        Ok(inner) if !inner.as_os_str().is_empty() => inner.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// What a model is told that would replace a file which is not what it saw.
pub(crate) fn outdated(path: &RealPath) -> ToolError {
    ToolError(format!(
        "{path} was changed since you last read or wrote it, so it was left alone; read it again and decide \
         anew"
    ))
}

/// The arguments that name a file and nothing else of interest.
#[derive(Deserialize)]
struct FileArgument {
    file_path: String,
}

/// The file that a call is about.
async fn file_of(call: &ToolCall, env: &dyn ExecutionEnvironment) -> Result<RealPath, ToolError> {
    let FileArgument { file_path } = arguments(call)?;
    resolve(env, &file_path).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use junto_llm::ToolSpec;

    #[test]
    fn our_specs_are_what_we_demand_of_others() {
        for tool in all().into_iter().chain(standard()) {
            let spec = tool.spec();
            let parameters = spec.parameters().expect("a function").clone();
            assert!(ToolSpec::new(&spec.name, &spec.description, parameters).is_ok(), "{}", spec.name);
        }
    }

    #[test]
    fn tools_are_found_by_their_names() {
        assert!(TOOLS.is_sorted_by(|(a, _), (b, _)| a < b));
        for (name, make) in TOOLS {
            assert_eq!(make().spec().name, *name);
        }
        assert!(standard().iter().all(|tool| named(&tool.spec().name).is_some()));
        assert!(named("fly").is_none());
    }
}
