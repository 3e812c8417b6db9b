//! How hard the model shall think: levels on newer models, a budget of tokens on older ones.

use serde_json::{Map, Value, json};

use super::field;
use crate::catalog::Reasoning;
use crate::{Effort, Error, ErrorKind, Warning};

/// Budgets for the named levels, as the API's own compatibility layer sets them.
const BUDGETS: [(&str, i64); 7] = [
    ("none", 0),
    ("minimal", 1024),
    ("low", 1024),
    ("medium", 8192),
    ("high", 24576),
    ("xhigh", 24576),
    ("max", 24576),
];

/// The `thinkingConfig` for an effort; none for a model that does not reason.
///
/// # Errors
/// `invalid_request` for a level that has no budget, on a model that takes budgets only.
pub(super) fn to_config(
    effort: &Effort,
    reasoning: Option<Reasoning>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Value>, Error> {
    let name = effort.as_str();
    let mut nearest = |level: &str| {
        warnings.push(Warning::new("effort_translated", format!("effort `{name}` was sent as `{level}`")));
        level.to_owned()
    };
    match reasoning {
        Some(Reasoning::None) => {
            warnings
                .push(Warning::new("effort_dropped", format!("effort `{name}`: the model does not reason")));
            Ok(None)
        }
        Some(Reasoning::Budget) => {
            let Some((_, budget)) = BUDGETS.iter().find(|(level, _)| *level == name) else {
                return Err(Error::new(ErrorKind::InvalidRequest, format!("effort `{name}` is unknown"))
                    .with_hint(
                        "use none, low, medium or high, or set `thinkingBudget` in the provider options",
                    ));
            };
            Ok(Some(match budget {
                0 => json!({"thinkingBudget": 0}),
                _ => json!({"thinkingBudget": budget, "includeThoughts": true}),
            }))
        }
        Some(Reasoning::Effort) | None => {
            let level = match name {
                "none" => nearest("MINIMAL"),
                "xhigh" | "max" => nearest("HIGH"),
                _ => name.to_ascii_uppercase(),
            };
            Ok(Some(json!({"thinkingLevel": level, "includeThoughts": true})))
        }
    }
}

/// The effort that a `thinkingConfig` asks for: its level, else the level nearest to its budget. A
/// negative budget leaves it to the model.
pub(super) fn to_effort(config: &Map<String, Value>) -> Option<Effort> {
    if let Some(level) = field(config, "thinkingLevel").and_then(Value::as_str) {
        return Some(Effort::from(level.to_ascii_lowercase()));
    }
    match field(config, "thinkingBudget").and_then(Value::as_i64)? {
        ..0 => None,
        0 => Some(Effort::Other("none".to_owned())),
        1..=1024 => Some(Effort::Low),
        1025..=8192 => Some(Effort::Medium),
        8193.. => Some(Effort::High),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efforts_become_levels_or_budgets() {
        let check = |effort: &str, reasoning: Option<Reasoning>, expected: Value, warned: usize| {
            let mut warnings = Vec::new();
            let config = to_config(&Effort::from(effort.to_owned()), reasoning, &mut warnings).unwrap();
            assert_eq!(config.unwrap_or(Value::Null), expected, "{effort}");
            assert_eq!(warnings.len(), warned, "{effort}");
        };
        let level = |level: &str| json!({"thinkingLevel": level, "includeThoughts": true});
        let budget = |budget: u32| json!({"thinkingBudget": budget, "includeThoughts": true});
        check("low", None, level("LOW"), 0);
        check("minimal", None, level("MINIMAL"), 0);
        check("high", Some(Reasoning::Effort), level("HIGH"), 0);
        check("none", Some(Reasoning::Effort), level("MINIMAL"), 1);
        check("max", None, level("HIGH"), 1);
        check("medium", Some(Reasoning::Budget), budget(8192), 0);
        check("none", Some(Reasoning::Budget), json!({"thinkingBudget": 0}), 0);
        check("high", Some(Reasoning::None), Value::Null, 1);
        let error = to_config(&Effort::from("odd".to_owned()), Some(Reasoning::Budget), &mut Vec::new());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidRequest);
    }

    #[test]
    fn configs_become_efforts() {
        let check = |config: Value, expected: Option<&str>| {
            let effort = to_effort(config.as_object().unwrap());
            assert_eq!(effort.as_ref().map(Effort::as_str), expected, "{config}");
        };
        check(json!({"thinkingLevel": "HIGH"}), Some("high"));
        check(json!({"thinking_level": "minimal"}), Some("minimal"));
        check(json!({"thinkingBudget": 8192}), Some("medium"));
        check(json!({"thinkingBudget": 0}), Some("none"));
        check(json!({"thinkingBudget": 30000}), Some("high"));
        check(json!({"thinkingBudget": -1}), None);
        check(json!({"includeThoughts": true}), None);
    }
}
