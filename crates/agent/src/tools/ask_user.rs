//! `ask_user`: a question for whoever the agent works for.

use junto_core::{Action, Choice, Fut, Permit, Question, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::json;

use super::arguments;

/// Asks the user something, and gives the answer in his words.
pub struct AskUser(ToolSpec);

#[derive(Deserialize)]
struct Arguments {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

impl Default for AskUser {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "ask_user",
            "Ask the user, and wait for the answer. Only for what you cannot find out and must not guess.",
            json!({
                "type": "object",
                "properties": {
                    "question": {"type": "string", "description": "One question, with what is needed to answer it"},
                    "choices": {"type": "array", "items": {"type": "string"}, "maxItems": 20, "description": "Answers to choose from; another answer is possible all the same"}
                },
                "required": ["question"]
            }),
        ))
    }
}

fn question(call: &ToolCall) -> Result<Question, ToolError> {
    let Arguments { question, choices } = arguments(call)?;
    if question.trim().is_empty() {
        return Err(ToolError("the question is empty".to_owned()));
    }
    let options = choices.into_iter().map(|label| Choice { label, description: None }).collect();
    Ok(Question { options, ..Question::text(question) })
}

impl Tool for AskUser {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move { question(call).map(|_| Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            match question(permit.call()) {
                Ok(question) => cx.caller.ask(question).await.into(),
                Err(error) => ToolOutcome::error(error.to_string()),
            }
        })
    }
}
