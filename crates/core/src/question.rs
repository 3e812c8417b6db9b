//! What an agent asks the one it works for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::waiting::Waiting;
use crate::{AgentError, AskId, Body, EventLog, Seq, ToolError};

/// Something the model wants to know. It is answered with a text, unlike an
/// [`ApprovalRequest`](crate::ApprovalRequest), which is answered with a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// What it asks.
    pub text: String,
    /// Answers it proposes; any other text is an answer too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Whether several of the options may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
}

impl Question {
    /// A question without options.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// An answer that a question proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// The answer itself.
    pub label: String,
    /// What it would mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// An answer in words: an option's label, or anything else.
    Said {
        /// The words.
        text: String,
    },
    /// There is no answer.
    Declined {
        /// Why, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// Puts questions into the log and waits for the answers.
pub struct Questions {
    log: EventLog,
    waiting: Waiting<Reply>,
}

impl Questions {
    /// Questions that are asked through this log.
    pub fn new(log: EventLog) -> Self {
        Self { log, waiting: Waiting::default() }
    }

    /// Asks for the tool call that started here, and waits for the answer. Dropping the wait withdraws the
    /// question.
    ///
    /// # Errors
    /// Why there is no answer, for the model.
    pub async fn ask(
        &self,
        of: Seq,
        question: Question,
        cancel: &CancellationToken,
    ) -> Result<String, ToolError> {
        if question.text.trim().is_empty() {
            return Err(ToolError("the question is empty".to_owned()));
        }
        let ask = AskId::fresh();
        let mut open = self.waiting.ask(ask.clone());
        self.commit(Body::Question { of, ask: ask.clone(), question }).await?;
        let Some(reply) = open.answer(cancel).await else {
            return Err(ToolError("interrupted before the question was answered".to_owned()));
        };
        self.commit(Body::Replied { ask, reply: reply.clone() }).await?;
        match reply {
            Reply::Said { text } => Ok(text),
            Reply::Declined { reason: Some(reason) } => {
                Err(ToolError(format!("the question was not answered: {reason}")))
            }
            Reply::Declined { reason: None } => Err(ToolError("the question was not answered".to_owned())),
        }
    }

    async fn commit(&self, body: Body) -> Result<(), ToolError> {
        self.log.commit(body).await.map(drop).map_err(|error| ToolError(error.to_string()))
    }

    /// Gives the answer to a question.
    ///
    /// # Errors
    /// `invalid` if nobody waits for it (any more).
    pub fn reply(&self, ask: &AskId, reply: Reply) -> Result<(), AgentError> {
        self.waiting.answer(ask, reply)
    }
}
