//! How a session hears what is said to it: commands are spelled out, files are included, hooks have their say.
//!
//! All of it happens before the input is accepted, so that the event of the input, which is what the model saw, has
//! everything that came with it.

use std::sync::Arc;

use junto_core::{AgentError, AgentErrorKind, Body, EventLog, Input, JournalError, Via};
use junto_llm::ToolCall;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::hooks::SessionHooks;
use crate::reach::{Reach, References};
use crate::references::{find, include};
use crate::said::Said;
use crate::slash::{Piece, Spelled};
use crate::toolbox::Toolbox;
use crate::tools::said_by_command;

/// The tool that runs the shell lines of commands.
const SHELL: &str = "shell";

/// What a session hears with.
pub(crate) struct Ear {
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) hooks: Arc<SessionHooks>,
    pub(crate) log: EventLog,
    pub(crate) reach: Reach,
    /// Ends what is going on when the session ends.
    pub(crate) session: CancellationToken,
}

impl Ear {
    /// Makes an input ready for the model.
    ///
    /// # Errors
    /// `invalid` if it says nothing, a picture of it cannot be read, it misspells a command, or a hook refuses it;
    /// `journal` if the log cannot be written.
    pub(crate) async fn hear(&self, mut input: Input) -> Result<Said, AgentError> {
        let env = self.toolbox.env();
        let invalid = |message: String| AgentError::new(AgentErrorKind::Invalid, message);
        let said = self.hooks.hear(&input.text, &env, &self.session).await?;
        let context = said.map_err(|reason| invalid(format!("a hook refused the input: {reason}")))?;
        let Spelled { pieces, includes } =
            self.reach.commands.expand(&input.text, &self.reach.skills).map_err(invalid)?;
        let mut text = String::new();
        let typed = find(&input.text);
        let mut references = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(piece) => {
                    // What commands print names no files: nobody has looked at it.
                    references
                        .extend(find(&piece).into_iter().filter_map(|found| found.held(&typed, &includes)));
                    text.push_str(&piece);
                }
                Piece::Shell(line) => text.push_str(&self.output_of(&line).await?),
            }
        }
        // A file that is named twice is included once, and what the user names is included.
        references.sort_by_key(|reference| reference.within.is_some());
        if self.reach.references == References::Included {
            let included = include(&references, &*env, self.toolbox.gate()).await;
            text.push_str(&included.text);
            input.images.extend(included.images);
            for (path, stamp) in included.seen {
                self.toolbox.note_seen(&path, stamp);
            }
            for message in included.refused {
                self.log.emit(Body::Warning { code: "not_included".to_owned(), message }).await?;
            }
        }
        if let Some(context) = context {
            for part in ["\n\n<context>\n", &context, "\n</context>"] {
                text.push_str(part);
            }
        }
        input.text = text;
        Said::read(input, &*env).await
    }

    /// What a shell line of a command prints. It goes the way of every tool call, but nobody is asked about it: what
    /// needs leave is not run, and the model reads that.
    async fn output_of(&self, line: &str) -> Result<String, JournalError> {
        let arguments = json!({"command": line}).to_string();
        let call = ToolCall::function(format!("command_{}", self.log.last().next()), SHELL, arguments);
        let prepared = self.toolbox.prepare(call, &self.session).await;
        if self.toolbox.would_ask(&prepared) {
            let message = format!("`{line}` of a command is not run: it needs leave");
            self.log.emit(Body::Warning { code: "not_run".to_owned(), message }).await?;
            return Ok(format!("[`{line}` was not run: it needs leave]"));
        }
        let turn = self.toolbox.queue(&prepared);
        let ran = self.toolbox.execute(prepared, turn, Via::Cell, &self.session, &self.session).await?;
        Ok(said_by_command(&ran.result.output.to_text()).to_owned())
    }
}
