//! How hard the model shall think: adaptive with a named effort, or a budget of tokens.

use serde_json::{Value, json};

use super::options::{self, Warnings};
use crate::catalog::{ModelInfo, Reasoning};
use crate::{Effort, Request};

/// The answer's limit where neither the request nor the catalog has one.
const DEFAULT_MAX_TOKENS: u64 = 4096;
/// The least budget the API takes.
const MIN_BUDGET: u64 = 1024;
/// What a budget leaves for the answer itself.
const ANSWER_ROOM: u64 = 1024;

/// The budget an effort stands for; what is not listed thinks as `medium`.
const BUDGETS: [(&str, u64); 6] = [
    ("minimal", 1024),
    ("low", 4096),
    ("medium", 12_000),
    ("high", 24_000),
    ("xhigh", 32_000),
    ("max", 48_000),
];
const MEDIUM_BUDGET: u64 = 12_000;

/// What else in the request bears on thinking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances {
    /// A tool call is forced; the API refuses to think then.
    pub(super) forced_call: bool,
    /// Calls without thinking are being answered; a budget is refused then.
    pub(super) continues_without_thinking: bool,
}

/// The fields of a request that decide about thinking.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) max_tokens: u64,
    /// The field `thinking`.
    pub(super) thinking: Option<Value>,
    /// The field `output_config.effort`.
    pub(super) effort: Option<String>,
}

impl Plan {
    /// Whether the model is told to think.
    pub(super) fn thinks(&self) -> bool {
        self.thinking.as_ref().is_some_and(|t| t["type"] != "disabled")
    }
}

/// Decides. `explicit` is the caller's own `thinking` field: with a `type` (or `null`, for none at
/// all) it stands as it is and the effort is said beside it; without one it refines ours.
pub(super) fn plan(
    request: &Request,
    model: Option<&ModelInfo>,
    explicit: Option<Value>,
    circumstances: Circumstances,
    warnings: &mut Warnings,
) -> Plan {
    let max_tokens = request.max_tokens.or(model.map(|m| m.max_output)).unwrap_or(DEFAULT_MAX_TOKENS);
    let effort = request.reasoning_effort.as_ref().map(Effort::as_str);
    let mut plan = Plan { max_tokens, thinking: None, effort: None };
    match explicit {
        Some(explicit) if explicit.is_null() || explicit.get("type").is_some() => {
            plan.thinking = Some(explicit).filter(|e| !e.is_null());
            plan.effort = effort.filter(|e| *e != "none").map(str::to_owned);
        }
        refinement => {
            if let Some(effort) = effort {
                plan.set(effort, model, circumstances, warnings);
            }
            match (&mut plan.thinking, refinement) {
                (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                    for (name, value) in theirs {
                        options::merge(ours, &name, value);
                    }
                }
                (slot @ None, Some(theirs)) => *slot = Some(theirs),
                _ => {}
            }
        }
    }
    plan
}

impl Plan {
    fn set(
        &mut self,
        effort: &str,
        model: Option<&ModelInfo>,
        circumstances: Circumstances,
        warnings: &mut Warnings,
    ) {
        // An unknown model is most likely newer than the catalog.
        let reasoning = model.map_or(Reasoning::Effort, |m| m.reasoning);
        match reasoning {
            Reasoning::None if effort != "none" => {
                warnings.add("reasoning_unsupported", "the model does not reason; the effort was left out");
            }
            Reasoning::None => {}
            _ if effort == "none" => self.thinking = Some(json!({"type": "disabled"})),
            Reasoning::Effort => {
                self.effort = Some(if effort == "minimal" { "low" } else { effort }.to_owned());
                if circumstances.forced_call {
                    warn_forced(warnings);
                } else {
                    self.thinking = Some(json!({"type": "adaptive"}));
                }
            }
            Reasoning::Budget if circumstances.forced_call => warn_forced(warnings),
            Reasoning::Budget if circumstances.continues_without_thinking => warnings.add(
                "thinking_dropped",
                "thinking is off until the open tool calls are answered: they were made without it",
            ),
            Reasoning::Budget => self.set_budget(effort, model.map(|m| m.max_output), warnings),
        }
    }

    /// A budget below `max_tokens`, with room for the answer; a limit too small for any budget is
    /// raised as far as the model allows.
    fn set_budget(&mut self, effort: &str, ceiling: Option<u64>, warnings: &mut Warnings) {
        let wanted = BUDGETS.iter().find(|(name, _)| *name == effort).map_or(MEDIUM_BUDGET, |(_, b)| *b);
        if self.max_tokens < MIN_BUDGET + ANSWER_ROOM {
            let raised = (MIN_BUDGET + ANSWER_ROOM).min(ceiling.unwrap_or(u64::MAX));
            if raised <= MIN_BUDGET {
                warnings.add("thinking_dropped", "the model's answers are too short for a thinking budget");
                return;
            }
            if raised > self.max_tokens {
                warnings.add(
                    "max_tokens_raised",
                    format!(
                        "max_tokens was raised from {} to {raised} to hold a thinking budget",
                        self.max_tokens
                    ),
                );
                self.max_tokens = raised;
            }
        }
        let budget = wanted.min(self.max_tokens.saturating_sub(ANSWER_ROOM)).max(MIN_BUDGET);
        self.thinking = Some(json!({"type": "enabled", "budget_tokens": budget}));
    }
}

fn warn_forced(warnings: &mut Warnings) {
    warnings.add("thinking_dropped", "thinking is off because a tool call is forced");
}

#[cfg(test)]
mod tests {
    use super::super::testing::model;
    use super::*;

    const FREE: Circumstances = Circumstances { forced_call: false, continues_without_thinking: false };

    fn planned(
        effort: &str,
        max_tokens: Option<u64>,
        model: Option<&ModelInfo>,
        explicit: Option<Value>,
        circumstances: Circumstances,
    ) -> (Plan, Vec<String>) {
        let mut request = Request::prompt("x");
        request.max_tokens = max_tokens;
        request.reasoning_effort = (!effort.is_empty()).then(|| Effort::from(effort.to_owned()));
        let mut warnings = Warnings::default();
        let plan = plan(&request, model, explicit, circumstances, &mut warnings);
        (plan, warnings.into_vec().into_iter().map(|w| w.code).collect())
    }

    #[test]
    fn effort_by_model() {
        let adaptive = model(Reasoning::Effort, true);
        let budget = model(Reasoning::Budget, true);
        let none = model(Reasoning::None, true);
        let check =
            |effort, max, model, max_tokens: u64, thinking: Value, said: Option<&str>, warned: &[&str]| {
                let (plan, warnings) = planned(effort, max, model, None, FREE);
                let expected = Plan {
                    max_tokens,
                    thinking: Some(thinking).filter(|t| !t.is_null()),
                    effort: said.map(str::to_owned),
                };
                assert_eq!(plan, expected, "{effort} {max:?}");
                assert_eq!(warnings, warned, "{effort} {max:?}");
            };
        let on = || json!({"type": "adaptive"});
        let off = || json!({"type": "disabled"});
        let budgeted = |n: u64| json!({"type": "enabled", "budget_tokens": n});
        check("", None, None, 4096, Value::Null, None, &[]);
        check("", None, Some(&adaptive), 32_000, Value::Null, None, &[]);
        check("high", Some(9), None, 9, on(), Some("high"), &[]);
        check("xhigh", None, Some(&adaptive), 32_000, on(), Some("xhigh"), &[]);
        check("minimal", None, Some(&adaptive), 32_000, on(), Some("low"), &[]);
        check("none", None, Some(&adaptive), 32_000, off(), None, &[]);
        check("low", None, Some(&budget), 32_000, budgeted(4096), None, &[]);
        check("medium", None, Some(&budget), 32_000, budgeted(12_000), None, &[]);
        check("high", Some(20_000), Some(&budget), 20_000, budgeted(18_976), None, &[]);
        check("max", None, Some(&budget), 32_000, budgeted(30_976), None, &[]);
        check("low", Some(100), Some(&budget), 2048, budgeted(1024), None, &["max_tokens_raised"]);
        check("none", None, Some(&budget), 32_000, off(), None, &[]);
        check("high", None, Some(&none), 32_000, Value::Null, None, &["reasoning_unsupported"]);
        check("none", None, Some(&none), 32_000, Value::Null, None, &[]);

        let tight = ModelInfo { max_output: 1500, ..budget.clone() };
        check("low", None, Some(&tight), 1500, budgeted(1024), None, &[]);
        let tiny = ModelInfo { max_output: 1000, ..budget.clone() };
        check("low", None, Some(&tiny), 1000, Value::Null, None, &["thinking_dropped"]);
    }

    #[test]
    fn circumstances_turn_it_off() {
        let budget = model(Reasoning::Budget, true);
        let forced = Circumstances { forced_call: true, ..FREE };
        let open = Circumstances { continues_without_thinking: true, ..FREE };
        assert_eq!(planned("low", None, Some(&budget), None, forced).1, ["thinking_dropped"]);
        assert_eq!(planned("low", None, Some(&budget), None, open).1, ["thinking_dropped"]);
        let (plan, warnings) = planned("low", None, None, None, forced);
        assert_eq!((plan.thinking, plan.effort.as_deref()), (None, Some("low")));
        assert_eq!(warnings, ["thinking_dropped"]);
        assert!(planned("low", None, None, None, open).0.thinks());
    }

    #[test]
    fn an_explicit_field_wins() {
        let budget = model(Reasoning::Budget, true);
        let given = json!({"type": "enabled", "budget_tokens": 5000});
        let (plan, _) = planned("high", None, Some(&budget), Some(given.clone()), FREE);
        assert_eq!((plan.thinking, plan.effort.as_deref()), (Some(given), Some("high")));
        let (plan, _) = planned("high", None, None, Some(Value::Null), FREE);
        assert_eq!((plan.thinking, plan.effort.as_deref()), (None, Some("high")));
        let (plan, _) = planned("high", None, None, Some(json!({"display": "omitted"})), FREE);
        assert_eq!(plan.thinking, Some(json!({"type": "adaptive", "display": "omitted"})));
    }
}
