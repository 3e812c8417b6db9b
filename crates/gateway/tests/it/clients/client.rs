//! How each client is pointed at a gateway, started and read: as its user would, and nothing else.

use std::collections::BTreeMap;
use std::path::Path;

use junto_testkit::cast::{Who, search_path};
use serde_json::Value;

/// What a client said in one run.
#[derive(Debug)]
pub(crate) struct Said {
    /// The answer, as it was told at the end.
    pub(crate) answer: String,
    /// What goes on with the conversation.
    pub(crate) session: String,
    /// What was read and written, as the client was told; of a conversation that goes on, all of it where the
    /// client counts so.
    pub(crate) tokens: (u64, u64),
    /// Everything it printed, line by line.
    pub(crate) lines: Vec<Value>,
}

/// What lies in the client's home before it first runs, and where; the last is the file's text.
pub(crate) fn files(who: Who, url: &str, work: &Path) -> (&'static str, String) {
    let work = work.display();
    match who {
        // Who has used it before is not asked for a colour scheme, nor whether the folder is trusted.
        Who::Claude => (
            ".claude.json",
            format!(
                r#"{{"hasCompletedOnboarding": true, "projects": {{"{work}": {{"hasTrustDialogAccepted": true}}}}}}"#
            ),
        ),
        Who::Codex => (
            ".codex/config.toml",
            format!(
                r#"
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "GATEWAY_KEY"
"#
            ),
        ),
        Who::Gemini => (
            ".gemini/settings.json",
            r#"{
  "general": {"maxAttempts": 3, "enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false},
  "telemetry": {"enabled": false},
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}}
}"#
            .to_owned(),
        ),
        Who::Native => panic!("our own loop is no client of others"),
    }
}

/// The variables that a client gets, and no others.
pub(crate) fn variables(who: Who, url: &str, key: &str, home: &Path) -> BTreeMap<String, String> {
    let own: &[(&str, &str)] = match who {
        Who::Claude => &[
            ("ANTHROPIC_BASE_URL", url),
            ("ANTHROPIC_AUTH_TOKEN", key),
            // Without it the client refuses root the mode in which it asks nobody.
            ("IS_SANDBOX", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            // What is wrong is told now, and not after minutes.
            ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ],
        Who::Codex => &[("GATEWAY_KEY", key)],
        Who::Gemini => &[
            ("GOOGLE_GEMINI_BASE_URL", url),
            ("GEMINI_API_KEY", key),
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
            ("GEMINI_TELEMETRY_ENABLED", "false"),
        ],
        Who::Native => panic!("our own loop is no client of others"),
    };
    let common =
        [("LANG", "C.UTF-8".to_owned()), ("PATH", search_path()), ("HOME", home.display().to_string())];
    let own = own.iter().map(|(name, value)| (*name, (*value).to_owned()));
    common.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The command line for one prompt, which follows on standard input; it goes on with a session if one is given.
pub(crate) fn command(who: Who, session: Option<&str>) -> Vec<String> {
    let options: &[&str] = match who {
        Who::Claude => &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            "--permission-mode",
            "bypassPermissions",
        ],
        // Without a network it would look for plugins for seconds after its answer.
        Who::Codex => &[
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--disable",
            "plugins",
            "--sandbox",
            "danger-full-access",
        ],
        Who::Gemini => &["--approval-mode", "yolo", "--output-format", "stream-json"],
        Who::Native => panic!("our own loop is no client of others"),
    };
    let mut command = vec![who.program()];
    command.extend(options.iter().map(|option| (*option).to_owned()));
    command.extend(["--model".to_owned(), who.model().to_owned()]);
    if let Some(session) = session {
        let resume = if who == Who::Codex { "resume" } else { "--resume" };
        command.extend([resume.to_owned(), session.to_owned()]);
    }
    if who == Who::Codex {
        command.push("-".to_owned());
    }
    command
}

/// The command line for a person at a terminal, who is asked before anything is changed.
pub(crate) fn screen(who: Who) -> Vec<String> {
    let command = [&*who.program(), "--model", who.model(), "--permission-mode", "default"];
    command.map(str::to_owned).to_vec()
}

/// Reads what a client printed, if it ended as it does when all is well.
pub(crate) fn read(who: Who, output: &str) -> Option<Said> {
    let lines: Vec<Value> = output.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
    let last = |kind: &str| lines.iter().rfind(|line| line["type"] == kind);
    let text = |value: &Value| Some(value.as_str()?.to_owned());
    let (answer, session, tokens) = match who {
        Who::Claude => {
            let result = last("result").filter(|result| result["is_error"] == false)?;
            let parts = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
            let usage = &result["usage"];
            let input = parts.iter().map(|part| usage[*part].as_u64()).sum::<Option<u64>>()?;
            let answer = result["result"].as_str().unwrap_or_default().to_owned();
            (answer, text(&result["session_id"])?, (input, usage["output_tokens"].as_u64()?))
        }
        Who::Codex => {
            let usage = &last("turn.completed")?["usage"];
            let items =
                lines.iter().filter(|line| line["type"] == "item.completed").map(|line| &line["item"]);
            let answer = items.rev().find(|item| item["type"] == "agent_message")?;
            let tokens = (usage["input_tokens"].as_u64()?, usage["output_tokens"].as_u64()?);
            (text(&answer["text"])?, text(&last("thread.started")?["thread_id"])?, tokens)
        }
        Who::Gemini => {
            let result = last("result").filter(|result| result["status"] == "success")?;
            let called = |line: &Value| line["type"] == "tool_result";
            let after = lines.iter().rposition(called).map_or(0, |at| at + 1);
            let said = lines[after..].iter().filter(|line| line["role"] == "assistant");
            let answer = said.filter_map(|line| line["content"].as_str()).collect();
            let stats = &result["stats"];
            // What it calls output leaves the thoughts out.
            let (input, total) = (stats["input_tokens"].as_u64()?, stats["total_tokens"].as_u64()?);
            let tokens = (input, total - input);
            (answer, text(&last("init")?["session_id"])?, tokens)
        }
        Who::Native => return None,
    };
    Some(Said { answer, session, tokens, lines })
}
