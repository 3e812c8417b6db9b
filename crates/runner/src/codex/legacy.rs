//! The events of older versions, each wrapped in `msg`.

use junto_core::{Plan, PlanStep, StepStatus};
use serde_json::{Value, json};

use super::items::{command, mcp, mcp_name, tool_call};
use super::{CodexParser, failed, session, usage};
use crate::fields::{list, text};
use crate::partial::{Shape, replace};
use crate::{CliEvent, Used, Verdict};

impl CodexParser {
    pub(super) fn legacy(&mut self, msg: &Value, events: &mut Vec<CliEvent>) {
        match text(msg, "type") {
            "session_configured" => session(msg, "session_id", events),
            "task_started" | "turn_started" => self.begin(events),
            "agent_message_delta" => {
                self.more(Shape::Text, text(msg, "delta"), events);
            }
            "agent_reasoning_delta" | "agent_reasoning_raw_content_delta" => {
                self.more(Shape::Reasoning, text(msg, "delta"), events);
            }
            "agent_message" => self.whole(Shape::Text, text(msg, "message"), events),
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.whole(Shape::Reasoning, text(msg, "text"), events);
            }
            "plan_update" => self.plan(plan(msg), events),
            "token_count" => self.count(&msg["info"], events),
            "background_event" => events.push(CliEvent::Progress(text(msg, "message").to_owned())),
            "stream_error" => self.trouble(text(msg, "message"), events),
            // The end of the turn follows all the same.
            "error" => self.failure = Some(text(msg, "message").to_owned()),
            "turn_aborted" => self.over(Verdict::Interrupted, events),
            "task_complete" | "turn_complete" => {
                if let Some(words) = msg["last_agent_message"].as_str() {
                    replace(&mut self.answer, words);
                }
                let verdict = self.failure.take().map_or(Verdict::Done, |words| failed(&words));
                self.over(verdict, events);
            }
            kind => self.legacy_tool(kind, msg, events),
        }
    }

    fn legacy_tool(&mut self, kind: &str, msg: &Value, events: &mut Vec<CliEvent>) {
        let id = text(msg, "call_id");
        match kind {
            "exec_command_begin" => {
                let line = msg["command"].as_str().map(str::to_owned);
                let line = line.unwrap_or_else(|| words(list(msg, "command")));
                self.tool_start(id, "command_execution".to_owned(), &json!({"command": line}), events);
            }
            "patch_apply_begin" => {
                let arguments = json!({"changes": msg["changes"]});
                self.tool_start(id, "file_change".to_owned(), &arguments, events);
            }
            "mcp_tool_call_begin" => {
                let invocation = &msg["invocation"];
                self.tool_start(id, mcp_name(invocation), &invocation["arguments"], events);
            }
            "web_search_begin" => {
                self.tool_start(id, "web_search".to_owned(), &Value::Null, events);
            }
            "exec_command_end" => {
                let printed = match msg["aggregated_output"].as_str() {
                    Some(printed) => printed.to_owned(),
                    None => format!("{}{}", text(msg, "stdout"), text(msg, "stderr")),
                };
                let (output, is_error) = command(&printed, &msg["exit_code"], false);
                self.tool_end(id, output, is_error, events);
            }
            "patch_apply_end" => {
                let failed = msg["success"] == false;
                let printed = text(msg, if failed { "stderr" } else { "stdout" });
                self.tool_end(id, printed.to_owned(), failed, events);
            }
            "mcp_tool_call_end" => {
                let (output, is_error) = mcp(&msg["result"]["Ok"], &msg["result"]["Err"], false);
                self.tool_end(id, output, is_error, events);
            }
            "web_search_end" => self.tool_end(id, text(msg, "query").to_owned(), false, events),
            _ => {}
        }
    }

    fn tool_start(&mut self, id: &str, name: String, arguments: &Value, events: &mut Vec<CliEvent>) {
        self.rounds.model(events);
        self.running.start(tool_call(id, name, arguments), events);
    }

    /// More of a text, the whole of which comes when it has ended.
    fn more(&mut self, shape: Shape, more: &str, events: &mut Vec<CliEvent>) {
        self.rounds.model(events);
        self.partial.more(shape, more, events);
    }

    fn whole(&mut self, shape: Shape, words: &str, events: &mut Vec<CliEvent>) {
        self.rounds.model(events);
        self.partial.whole(shape, "", words, events);
        if shape == Shape::Text {
            replace(&mut self.answer, words);
        }
    }

    /// Some versions tell what was used after each call.
    fn count(&mut self, info: &Value, events: &mut Vec<CliEvent>) {
        self.total = usage::usage(&info["total_token_usage"]).or(self.total.take());
        events.extend(usage::counted(info).map(CliEvent::Context));
    }

    fn over(&mut self, verdict: Verdict, events: &mut Vec<CliEvent>) {
        let used = match &self.total {
            Some(usage) => Used::SessionTotal { usage: usage.clone(), cost: None },
            None => Used::Untold,
        };
        self.report(verdict, used, events);
    }
}

fn words(words: &[Value]) -> String {
    words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

fn plan(msg: &Value) -> Plan {
    let steps = list(msg, "plan").iter().map(|step| PlanStep {
        step: text(step, "step").to_owned(),
        status: match text(step, "status") {
            "completed" => StepStatus::Completed,
            "in_progress" => StepStatus::InProgress,
            _ => StepStatus::Pending,
        },
    });
    Plan { explanation: msg["explanation"].as_str().map(str::to_owned), steps: steps.collect() }
}
