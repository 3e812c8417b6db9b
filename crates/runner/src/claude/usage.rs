//! What a run used and cost.
//!
//! The usage on assistant lines is a placeholder and repeats, and `result.usage` leaves out
//! subagents and compaction and is all zeros at a spent budget; so both are left alone wherever the
//! totals by model are there. Those totals add up over a whole session, in newer clients even across
//! resumes; what is new since the last result stands in a field of its own, and where it does not,
//! what came before in this process is subtracted.

use std::collections::BTreeMap;

use junto_llm::{Cost, Usage, Usd};
use serde_json::{Map, Value};

use crate::ModelUse;
use crate::fields::number;

/// What was reported so far in a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    models: BTreeMap<String, Sums>,
    dollars: f64,
}

/// Tokens and dollars as the client counts them, each token in one class.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    reasoning: Option<u64>,
    /// Absent if the client does not know the model's price.
    dollars: Option<f64>,
}

impl Accounts {
    /// What a result adds. `model` is whom the use belongs to where the result does not say.
    pub(super) fn take(&mut self, result: &Value, model: &str) -> Vec<ModelUse> {
        let totals = models(&result["modelUsage"]);
        let used = match result["model_usage_since_last_result"].as_object() {
            Some(since) => uses(since.iter().map(|(model, raw)| (model, raw, Sums::of_model(raw)))),
            None => uses(totals.iter().map(|(model, raw)| {
                let before = self.models.get(*model).copied().unwrap_or_default();
                (*model, *raw, Sums::of_model(raw).less(before))
            })),
        };
        let dollars = result["total_cost_usd"].as_f64();
        let alone = if totals.is_empty() { self.unnamed(&result["usage"], model, dollars) } else { None };
        self.models.extend(totals.iter().map(|(model, raw)| ((*model).clone(), Sums::of_model(raw))));
        self.dollars = dollars.unwrap_or(self.dollars);
        if used.is_empty() { alone.into_iter().collect() } else { used }
    }

    /// The use in a result that does not tell models apart.
    fn unnamed(&self, raw: &Value, model: &str, dollars: Option<f64>) -> Option<ModelUse> {
        let mut sums = Sums {
            input: number(raw, "input_tokens"),
            output: number(raw, "output_tokens"),
            cache_read: number(raw, "cache_read_input_tokens"),
            cache_write: number(raw, "cache_creation_input_tokens"),
            ..Sums::default()
        };
        sums.dollars = dollars.map(|dollars| dollars - self.dollars);
        sums.is_something().then(|| sums.into_use(model, raw))
    }
}

fn models(totals: &Value) -> Vec<(&String, &Value)> {
    totals.as_object().map(Map::iter).into_iter().flatten().collect()
}

fn uses<'a>(sums: impl Iterator<Item = (&'a String, &'a Value, Sums)>) -> Vec<ModelUse> {
    sums.filter(|(_, _, sums)| sums.is_something())
        .map(|(model, raw, sums)| sums.into_use(model, raw))
        .collect()
}

impl Sums {
    fn of_model(raw: &Value) -> Self {
        let priced = raw["costBasis"] != "unknown";
        Self {
            input: number(raw, "inputTokens"),
            output: number(raw, "outputTokens"),
            cache_read: number(raw, "cacheReadInputTokens"),
            cache_write: number(raw, "cacheCreationInputTokens"),
            reasoning: raw["thinkingTokens"].as_u64(),
            dollars: raw["costUSD"].as_f64().filter(|_| priced),
        }
    }

    fn less(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cache_read: self.cache_read.saturating_sub(before.cache_read),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            reasoning: self.reasoning.map(|now| now.saturating_sub(before.reasoning.unwrap_or(0))),
            dollars: self.dollars.map(|now| now - before.dollars.unwrap_or(0.0)),
        }
    }

    fn is_something(&self) -> bool {
        self.input | self.output | self.cache_read | self.cache_write != 0
            || self.dollars.is_some_and(|dollars| dollars > 0.0)
    }

    fn into_use(self, model: &str, raw: &Value) -> ModelUse {
        let input = self.input.saturating_add(self.cache_read).saturating_add(self.cache_write);
        let usage = Usage {
            reasoning: self.reasoning,
            cache_read: Some(self.cache_read),
            cache_write: Some(self.cache_write),
            raw: Some(raw.clone()),
            ..Usage::new(input, self.output)
        };
        let cost = match self.dollars {
            Some(dollars) => Cost::Reported(Usd::from_dollars(dollars.max(0.0))),
            None => Cost::Unknown,
        };
        ModelUse { model: model.to_owned(), usage, cost }
    }
}
