//! The tools that come with a session. They reach files and processes through the environment only,
//! and say beforehand what they would do.

mod apply_patch;
mod edit_file;
mod image;
mod list_dir;
mod near;
pub mod notebook;
mod numbered;
mod read_file;
mod read_many_files;
mod shell;
mod spawn_agent;
mod utf8;
mod write_file;

use std::path::Path;
use std::sync::Arc;

use junto_core::{Tool, ToolCx, ToolError};
use junto_env::{ExecutionEnvironment, RealPath};
use junto_llm::ToolCall;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use apply_patch::ApplyPatch;
pub use edit_file::EditFile;
pub use list_dir::ListDir;
pub use read_file::ReadFile;
pub use read_many_files::ReadManyFiles;
pub use shell::{Shell, Timeouts};
pub(crate) use spawn_agent::SpawnAgent;
pub use write_file::WriteFile;

/// The four tools every session has use for: `read_file`, `write_file`, `edit_file` and `shell`.
pub fn standard() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile::default()),
        Arc::new(WriteFile::default()),
        Arc::new(EditFile::default()),
        Arc::new(Shell::default()),
    ]
}

/// The arguments of a call. The loop has checked them against the schema; somebody else may not have.
fn arguments<T: DeserializeOwned>(call: &ToolCall) -> Result<T, ToolError> {
    T::deserialize(&call.arguments).map_err(|error| ToolError(format!("bad arguments: {error}")))
}

/// The file that an argument names.
async fn resolve(env: &dyn ExecutionEnvironment, path: &str) -> Result<RealPath, ToolError> {
    if path.is_empty() {
        return Err(ToolError("the path is empty".to_owned()));
    }
    Ok(env.resolve(path).await?)
}

/// How a file is named to the model: below the working directory by what is below it.
fn shown_name(path: &Path, cx: &ToolCx) -> String {
    let below = path.strip_prefix(&cx.env.facts().cwd).ok().filter(|below| *below != Path::new(""));
    below.unwrap_or(path).display().to_string()
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
        for tool in standard() {
            let spec = tool.spec();
            let parameters = spec.parameters().expect("a function").clone();
            assert!(ToolSpec::new(&spec.name, &spec.description, parameters).is_ok(), "{}", spec.name);
        }
    }
}
