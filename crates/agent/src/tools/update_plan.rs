//! `update_plan`: what the agent means to do.

use junto_core::{Action, Fut, Permit, Plan, PlanStep, StepStatus, Tool, ToolCx, ToolError, ToolOutcome};
use junto_llm::{ToolCall, ToolSpec};
use serde_json::json;

use super::arguments;

/// How many steps a plan may have.
const STEPS: usize = 100;

/// Notes the agent's plan for people to see. Each call gives the whole.
pub struct UpdatePlan(ToolSpec);

impl Default for UpdatePlan {
    fn default() -> Self {
        Self(ToolSpec::foreign(
            "update_plan",
            "Say what you mean to do and how far you are, for work of several steps. Give all steps each \
             time; at most one is in progress.",
            json!({
                "type": "object",
                "properties": {
                    "explanation": {"type": "string", "description": "Why the plan is new or has changed"},
                    "steps": {
                        "type": "array",
                        "maxItems": STEPS,
                        "description": "All steps, in order",
                        "items": {
                            "type": "object",
                            "properties": {
                                "step": {"type": "string", "description": "What is to be done, in a few words"},
                                "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}
                            },
                            "required": ["step", "status"]
                        }
                    }
                },
                "required": ["steps"]
            }),
        ))
    }
}

fn plan(call: &ToolCall) -> Result<Plan, ToolError> {
    let plan: Plan = arguments(call)?;
    if plan.steps.len() > STEPS {
        return Err(ToolError(format!("a plan of more than {STEPS} steps is no plan")));
    }
    if plan.steps.iter().any(|step| step.step.trim().is_empty()) {
        return Err(ToolError("a step is empty".to_owned()));
    }
    let under_way: Vec<&str> = in_progress(&plan).map(|step| step.step.as_str()).collect();
    if under_way.len() > 1 {
        let under_way = under_way.join("; ");
        return Err(ToolError(format!(
            "at most one step can be in progress, and there are several: {under_way}"
        )));
    }
    Ok(plan)
}

fn in_progress(plan: &Plan) -> impl Iterator<Item = &PlanStep> {
    plan.steps.iter().filter(|step| step.status == StepStatus::InProgress)
}

/// What the model is told: enough to know that it was understood.
fn confirm(plan: &Plan) -> String {
    let done = plan.steps.iter().filter(|step| step.status == StepStatus::Completed).count();
    let now = in_progress(plan).next().map(|step| format!("; now: {}", step.step));
    format!("noted: {done} of {} steps done{}", plan.steps.len(), now.unwrap_or_default())
}

impl Tool for UpdatePlan {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn actions<'a>(&'a self, call: &'a ToolCall, _cx: &'a ToolCx) -> Fut<'a, Result<Vec<Action>, ToolError>> {
        Box::pin(async move { plan(call).map(|_| Vec::new()) })
    }

    fn run<'a>(&'a self, permit: Permit, cx: &'a ToolCx) -> Fut<'a, ToolOutcome> {
        Box::pin(async move {
            let noted = async {
                let plan = plan(permit.call())?;
                let confirmation = confirm(&plan);
                cx.caller.plan(plan).await?;
                Ok::<_, ToolError>(confirmation)
            };
            noted.await.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(steps: &[(&str, &str)], expected: Result<&str, &str>) {
        let steps: Vec<_> =
            steps.iter().map(|(step, status)| json!({"step": step, "status": status})).collect();
        let call = ToolCall::function("c", "update_plan", json!({"steps": steps}).to_string());
        match (plan(&call), expected) {
            (Ok(plan), Ok(expected)) => assert_eq!(confirm(&plan), expected),
            (Err(error), Err(expected)) => assert!(error.0.contains(expected), "{error}"),
            (got, _) => panic!("{got:?}"),
        }
    }

    #[test]
    fn plans() {
        check(&[], Ok("noted: 0 of 0 steps done"));
        check(
            &[("look", "completed"), ("mend", "in_progress"), ("test", "pending")],
            Ok("noted: 1 of 3 steps done; now: mend"),
        );
        check(&[("a", "in_progress"), ("b", "in_progress")], Err("several: a; b"));
        check(&[(" ", "pending")], Err("empty"));
        check(&[("a", "someday")], Err("someday"));
        check(&[("a", "pending"); 101], Err("more than 100"));
    }
}
