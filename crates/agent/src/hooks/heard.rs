//! What a hook says.

use junto_env::ExecResult;
use serde::Deserialize;

use super::{Hook, HookEvent};

/// How many characters of what a hook says reach the model.
const MOST: usize = 10_000;

/// What a hook wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// What is about to happen shall not, for this reason.
    pub(super) block: Option<String>,
    /// The agent shall stop altogether, for this reason.
    pub(super) stop: Option<String>,
    /// What it says of the permission of a call.
    pub(super) permission: Option<Permission>,
    /// What the model shall know.
    pub(super) context: Vec<String>,
    /// What the user shall know.
    pub(super) messages: Vec<String>,
}

/// What a hook says of the permission of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// Nobody need be asked.
    Allow,
    /// Somebody must be asked.
    Ask(String),
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Answer {
    r#continue: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Specific,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    additional_context: Option<String>,
}

impl Heard {
    /// What a hook said that ended like this.
    pub(super) fn of(hook: &Hook, result: &ExecResult) -> Self {
        let text = |output: &junto_env::HeadTail| {
            cut(output.text(|left_out| format!("\n[{left_out} bytes left out]\n")).trim())
        };
        let (said, complained) = (text(&result.stdout), text(&result.stderr));
        let mut heard = Self::default();
        if result.timed_out {
            let time = hook.patience().as_secs_f64();
            heard.messages.push(format!("the hook {hook} was ended after {time} seconds, and did not count"));
        } else if result.exit.code == Some(2) {
            let none = format!("the hook {hook} said no, and not why");
            heard.block = Some(if complained.is_empty() { none } else { complained });
        } else if !result.exit.success() && !result.cancelled {
            let why = complained.lines().next().unwrap_or_default();
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            heard.messages.push(format!("the hook {hook} failed ({}){why}", result.exit));
        } else if result.exit.success() {
            heard.take(hook, &said);
        }
        heard
    }

    /// What a hook said that ended well.
    fn take(&mut self, hook: &Hook, said: &str) {
        if !said.starts_with('{') {
            // Others run tools for what they print, and nobody reads that.
            if matches!(hook.event, HookEvent::SessionStart | HookEvent::UserPromptSubmit) && !said.is_empty()
            {
                self.context.push(said.to_owned());
            }
            return;
        }
        let answer: Answer = match serde_json::from_str(said) {
            Ok(answer) => answer,
            Err(error) => {
                self.messages.push(format!("what the hook {hook} said is no JSON: {error}"));
                return;
            }
        };
        let Specific { permission_decision, permission_decision_reason, additional_context } =
            answer.hook_specific_output;
        let reason = permission_decision_reason.or(answer.reason);
        let why = || reason.clone().unwrap_or_else(|| format!("the hook {hook} says so"));
        match permission_decision.as_deref().or(answer.decision.as_deref()) {
            Some("deny" | "block") => self.block = Some(why()),
            Some("ask") => self.permission = Some(Permission::Ask(why())),
            Some("allow" | "approve") => self.permission = Some(Permission::Allow),
            _ => {}
        }
        if answer.r#continue == Some(false) {
            self.stop = Some(answer.stop_reason.unwrap_or_else(why));
        }
        self.context.extend(additional_context.filter(|text| !text.trim().is_empty()));
        self.messages.extend(answer.system_message.filter(|text| !text.trim().is_empty()));
    }

    /// What several hooks want together: a no before a question, and a question before a yes.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.block = match (self.block, other.block) {
            (Some(one), Some(other)) if one != other => Some(format!("{one}\n{other}")),
            (one, other) => one.or(other),
        };
        self.stop = self.stop.or(other.stop);
        self.permission = match (self.permission, other.permission) {
            (Some(Permission::Ask(why)), _) | (_, Some(Permission::Ask(why))) => Some(Permission::Ask(why)),
            (one, other) => one.or(other),
        };
        self.context.extend(other.context);
        self.messages.extend(other.messages);
        self
    }

    /// What the model shall know, in one; none if there is nothing.
    pub(super) fn told(&self) -> Option<String> {
        let told = cut(&self.context.join("\n"));
        (!told.is_empty()).then_some(told)
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}\n[cut after {MOST} characters]", text.split_at(at).0),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use junto_core::Leash;
    use junto_env::{Exit, HeadTail};

    use super::*;
    use crate::hooks::HookFile;

    fn heard(event: &str, code: i32, stdout: &str, stderr: &str) -> Heard {
        let text = format!("{{\"hooks\": {{\"{event}\": [{{\"hooks\": [{{\"command\": \"x\"}}]}}]}}}}");
        let file = HookFile::read(Path::new("h.json"), &text, Leash::Kept);
        let said = |text: &str| {
            let mut said = HeadTail::new(1 << 16, 1 << 16);
            said.push(text.as_bytes());
            said
        };
        let result = ExecResult {
            exit: Exit { code: Some(code), signal: None },
            timed_out: false,
            cancelled: false,
            duration: Duration::ZERO,
            stdout: said(stdout),
            stderr: said(stderr),
            both: said(""),
        };
        Heard::of(&file.hooks[0], &result)
    }

    fn blocked(reason: &str) -> Heard {
        Heard { block: Some(reason.to_owned()), ..Heard::default() }
    }

    #[test]
    fn a_hook_speaks_by_its_code_and_its_words() {
        let check = |event: &str, code: i32, out: &str, err: &str, expected: Heard| {
            assert_eq!(heard(event, code, out, err), expected, "{event} {code} {out} {err}");
        };
        check("PreToolUse", 0, "ok", "", Heard::default());
        check("PreToolUse", 2, "{\"decision\": \"approve\"}", "not there\n", blocked("not there"));
        check("PreToolUse", 2, "", "", blocked("the hook h.json:1 said no, and not why"));
        let failed =
            Heard { messages: vec!["the hook h.json:1 failed (exit 1): oh".into()], ..Heard::default() };
        check("PreToolUse", 1, "", "oh\nno", failed);
        let deny = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}}"#;
        check("PreToolUse", 0, deny, "", blocked("no"));
        check("PreToolUse", 0, r#"{"decision": "block", "reason": "old"}"#, "", blocked("old"));
        let allow = Heard { permission: Some(Permission::Allow), ..Heard::default() };
        check("PreToolUse", 0, r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#, "", allow);
        check("Stop", 0, r#"{"decision": "block", "reason": "test first"}"#, "", blocked("test first"));
        for event in ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"] {
            let enough = Heard { stop: Some("enough".into()), ..Heard::default() };
            check(event, 0, r#"{"continue": false, "stopReason": "enough"}"#, "", enough);
        }
        let more = Heard { context: vec!["more".into()], messages: vec!["hi".into()], ..Heard::default() };
        let said = r#"{"systemMessage": "hi", "hookSpecificOutput": {"additionalContext": "more"}}"#;
        check("PostToolUse", 0, said, "", more);
        check(
            "UserPromptSubmit",
            0,
            "it is late",
            "",
            Heard { context: vec!["it is late".into()], ..Heard::default() },
        );
        check("SessionStart", 0, "", "", Heard::default());
        assert!(heard("Stop", 0, "{ not json", "").messages[0].contains("is no JSON"));
        let long = heard("SessionStart", 0, &"é".repeat(20_000), "").told().unwrap();
        assert!(long.chars().count() < MOST + 100, "{}", long.len());
    }

    #[test]
    fn a_no_counts_more_than_a_question_and_that_more_than_a_yes() {
        let permission = |permission| Heard { permission: Some(permission), ..Heard::default() };
        let (yes, ask) = (permission(Permission::Allow), permission(Permission::Ask("why".into())));
        assert_eq!(yes.clone().and(ask.clone()), ask);
        assert_eq!(ask.clone().and(yes.clone()), ask);
        assert_eq!(Heard::default().and(yes.clone()), yes);
        let both = blocked("a").and(blocked("b")).and(yes);
        assert_eq!(both.block.as_deref(), Some("a\nb"));
    }
}
