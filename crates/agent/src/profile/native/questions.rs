//! Several questions in one call.

use junto_core::{Action, Choice, Fut, Permit, Question, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::{ToolCall, ToolSpec};
use serde_json::Value;

use super::arguments::{flag, list, text};

/// How many questions one call may have.
const MOST: usize = 4;

/// A question, and the answer to it.
pub(crate) struct Answered<'a> {
    /// As the model asked it.
    pub(crate) asked: &'a Value,
    pub(crate) answer: String,
}

/// What the model is told of the answers.
pub(crate) type Tell = fn(&[Answered<'_>]) -> String;

/// Asks the user some questions, one after another. All vendors give them as a list `questions` of
/// objects with `question`, `options` of `label` and `description`, and maybe `multiSelect`.
pub(super) struct Questions {
    pub(super) spec: ToolSpec,
    pub(super) tell: Tell,
}

/// The questions of a call, each beside what the model wrote.
fn questions(args: &Value) -> Result<Vec<(&Value, Question)>, ToolError> {
    let asked = list(args, "questions");
    if asked.is_empty() || asked.len() > MOST {
        return Err(ToolError(format!("give 1 to {MOST} questions")));
    }
    asked.iter().map(|asked| Ok((asked, question(asked)?))).collect()
}

fn question(asked: &Value) -> Result<Question, ToolError> {
    let words = text(asked, "question").unwrap_or_default();
    if words.trim().is_empty() {
        return Err(ToolError("a question is empty".to_owned()));
    }
    let choice = |option: &Value| {
        let label = text(option, "label")?.to_owned();
        Some(Choice { label, description: text(option, "description").map(str::to_owned) })
    };
    let mut options: Vec<Choice> = list(asked, "options").iter().filter_map(choice).collect();
    if options.is_empty() && text(asked, "type") == Some("yesno") {
        options = ["Yes", "No"].map(|label| Choice { label: label.to_owned(), description: None }).into();
    }
    Ok(Question { text: words.to_owned(), options, several: flag(asked, "multiSelect") })
}

impl Questions {
    async fn ask(&self, args: &Value, cx: &ToolCx) -> Result<String, ToolError> {
        let mut answered = Vec::new();
        for (asked, question) in questions(args)? {
            answered.push(Answered { asked, answer: cx.caller.ask(question).await? });
        }
        Ok((self.tell)(&answered))
    }
}

impl Tool for Questions {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move { questions(&call.arguments).map(|_| Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move { self.ask(&permit.call().arguments, cx).await.into() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn questions_keep_what_the_model_says_of_them() {
        let check = |asked: Value, options: &[&str], several: bool| {
            let question = question(&asked).unwrap();
            let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
            assert_eq!((labels.as_slice(), question.several), (options, several), "{asked}");
        };
        let options = json!([{"label": "a", "description": "the first"}, {"label": "b"}]);
        check(json!({"question": "?", "options": options, "multiSelect": true}), &["a", "b"], true);
        check(json!({"question": "?", "type": "yesno"}), &["Yes", "No"], false);
        check(json!({"question": "?", "type": "text"}), &[], false);
        assert!(question(&json!({"question": " "})).is_err());
        let many = json!({"questions": vec![json!({"question": "?"}); 5]});
        assert!(questions(&many).is_err() && questions(&json!({})).is_err());
    }
}
