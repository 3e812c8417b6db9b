//! Answers of a command-line agent that knows what the caller's project says.

use std::path::Path;

use junto_agent::prompt::project_documents;
use junto_env::LocalEnvironment;
use junto_llm::{CallCx, Error, EventStream, Fut, Provider, Request, Response, ToolChoice};
use junto_runner::{CliProvider, Definition, Host};

/// A command-line agent that is asked for answers only. Where the caller names a directory it is told what the
/// documents of the project there say that it does not read by itself, as agents are.
#[derive(Clone, Debug)]
pub struct Answers {
    definition: Definition,
    host: Host,
}

impl Answers {
    /// Answers of a command.
    pub fn new(definition: Definition, host: Host) -> Self {
        Self { definition, host }
    }

    /// The command, told what there is to know for this call.
    async fn instructed(&self, cx: &CallCx) -> CliProvider {
        let Self { definition, mut host } = self.clone();
        // In any other directory it looks at nobody's project.
        let directory = cx.workdir.as_deref().filter(|path| path.is_absolute() && path.is_dir());
        if let Some(documents) = documents(&definition, directory).await {
            host.instructions = Some(match host.instructions {
                Some(said) => format!("{documents}\n\n{said}"),
                None => documents,
            });
        }
        CliProvider::new(definition, host)
    }
}

impl Provider for Answers {
    fn complete<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<Response, Error>> {
        Box::pin(async move { self.instructed(cx).await.complete(request, cx).await })
    }

    fn stream<'a>(&'a self, request: Request, cx: &'a CallCx) -> Fut<'a, Result<EventStream, Error>> {
        Box::pin(async move { self.instructed(cx).await.stream(request, cx).await })
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        matches!(choice, ToolChoice::Auto | ToolChoice::None)
    }
}

/// What the documents of the project in a directory say that a command does not read by itself.
async fn documents(definition: &Definition, directory: Option<&Path>) -> Option<String> {
    let names = &definition.documents;
    let directory = directory.filter(|_| !names.is_empty())?;
    let env = LocalEnvironment::new(directory).ok()?;
    let text = project_documents(&env, names).await.text;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
