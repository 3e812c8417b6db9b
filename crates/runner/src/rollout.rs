//! What commands write down about a conversation, in files of their own.
//!
//! The output of codex does not say how large its last call was, nor what a turn that failed used. Its rollout
//! does. It may be missing (the thread is not kept), be of many megabytes, or be compressed after a week in
//! which nothing was added; so all that is read from it is a best effort, in bounded memory. The output of gemini
//! tells what all calls of a run used together; how large each was is in the file of the conversation.

mod chat;
mod find;
mod read;
mod turn;

use junto_env::ExecutionEnvironment;
use junto_llm::{Cost, Usage};

use crate::{ModelUse, Used};

/// What is written down about the last turn of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedTurn {
    /// Which turn it is; of gemini, which answer of the model. A turn that was read before another run is not that run's.
    pub id: String,
    /// The model.
    pub model: Option<String>,
    /// How large the turn's last call was: prompt and output. Absent if the turn made none, or its size is
    /// not told.
    pub context: Option<u64>,
    /// What the turn used. Absent in older versions.
    pub usage: Option<Usage>,
    /// What the thread used until now, over all its turns.
    pub total: Option<Usage>,
}

impl RecordedTurn {
    /// Reads the last turn of a thread of codex from where that has its `home` (`CODEX_HOME`, else `~/.codex`).
    /// `None` if there is no rollout, or it tells of no turn, or too much stands after the turn's beginning to
    /// tell which it is.
    pub async fn of_codex(env: &dyn ExecutionEnvironment, home: &str, thread: &str) -> Option<Self> {
        let file = find::rollout(env, home, thread).await?;
        read::last_turn(env, &file).await
    }

    /// Reads the last answer in a session of gemini from where that has its `home` (`GEMINI_CLI_HOME`, else the
    /// user's). `None` if there is no such session, or nothing was answered in it.
    pub async fn of_gemini(env: &dyn ExecutionEnvironment, home: &str, session: &str) -> Option<Self> {
        chat::last(env, home, session).await
    }

    /// This turn, unless it is the one that was the last before.
    pub fn after(self, before: Option<&Self>) -> Option<Self> {
        Some(self).filter(|turn| before.is_none_or(|before| before.id != turn.id))
    }

    /// What the turn used: as it is told, else by what it added to the total; see [`Used::since`].
    pub fn used(&self, before: Option<&Usage>, fresh: bool) -> Option<Vec<ModelUse>> {
        let model = self.model.clone().unwrap_or_default();
        if let Some(usage) = self.usage.clone() {
            return Some(vec![ModelUse { model, usage, cost: Cost::Unknown }]);
        }
        let used = Used::SessionTotal { usage: self.total.clone()?, cost: None }.since(before, fresh)?;
        Some(used.into_iter().map(|used| ModelUse { model: model.clone(), ..used }).collect())
    }
}
