//! What the model is told of the tools: codex's names and parameters, in our words.

use junto_llm::ToolKind;
use serde_json::{Value, json};

use super::super::function;

type Told = (&'static str, ToolKind);

/// The format of patches, for providers that hold a model to it.
const PATCH: &str = r#"start: "*** Begin Patch" LF operation+ "*** End Patch" LF?
operation: added | deleted | updated
added: "*** Add File: " PATH LF (ADDED LF)+
deleted: "*** Delete File: " PATH LF
updated: "*** Update File: " PATH LF moved? lines? hunk*
moved: "*** Move to: " PATH LF
hunk: (PLACE LF)+ lines
lines: (LINE LF)+ ("*** End of File" LF)?
PATH: /[^\n]+/
PLACE: /@@( [^\n]+)?/
ADDED: /\+[^\n]*/
LINE: /[ +\-][^\n]*/
LF: "\n"
"#;

fn yield_time(usual: &str) -> Value {
    json!({"type": "number", "description": format!("How long to wait for it, in milliseconds; {usual}")})
}

fn most_tokens() -> Value {
    json!({"type": "number", "description": "How much of its output to show, in tokens; what is in the middle is left out"})
}

pub(super) fn exec_command() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {
            "cmd": {"type": "string", "description": "The command line"},
            "workdir": {"type": "string", "description": "Where it runs; the working directory by default"},
            "shell": {"type": "string", "description": "The shell that runs it; the user's by default"},
            "login": {"type": "boolean", "description": "Accepted, and without effect: no shell reads login files"},
            "tty": {"type": "boolean", "description": "Whether it gets a terminal, which can be written to; false by default"},
            "yield_time_ms": yield_time("10000 by default, 250 to 30000"),
            "max_output_tokens": most_tokens(),
            "sandbox_permissions": {"type": "string", "enum": ["use_default", "require_escalated"], "description": "Whether it needs more than it may do; the user is asked where the rules say so"},
            "justification": {"type": "string", "description": "Why it needs that"},
            "prefix_rule": {"type": "array", "items": {"type": "string"}, "description": "How commands begin that may run the same way"}
        },
        "required": ["cmd"],
        "additionalProperties": false
    });
    let description = "Run a command line. If it has not ended when the time to wait is over it runs on, and \
                       you get a session id for write_stdin.";
    (description, function(parameters))
}

pub(super) fn write_stdin() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {
            "session_id": {"type": "number", "description": "The command's session id, from exec_command"},
            "chars": {"type": "string", "description": "What to write; nothing, to see what it says meanwhile; \\u0003 to interrupt it"},
            "yield_time_ms": yield_time("250 by default, 30000 at most; 5000 to 300000 if nothing is written"),
            "max_output_tokens": most_tokens()
        },
        "required": ["session_id"],
        "additionalProperties": false
    });
    let description = "Write to a command that runs on, and see what it says. Only commands with a tty can be \
                       written to; all can be waited for and interrupted.";
    (description, function(parameters))
}

pub(super) fn apply_patch() -> Told {
    let format = json!({"type": "grammar", "syntax": "lark", "definition": PATCH});
    let description = "Change files with a patch, which is the whole input and no JSON: from \"*** Begin Patch\" \
                       to \"*** End Patch\", with \"*** Add File: \", \"*** Update File: \" or \"*** Delete \
                       File: \" before each file. If a part of it does not fit, nothing is changed.";
    (description, ToolKind::Custom { format: Some(format) })
}

pub(super) fn update_plan() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {
            "explanation": {"type": "string", "description": "Why the plan is new or has changed"},
            "plan": {
                "type": "array",
                "description": "All steps, in order",
                "items": {
                    "type": "object",
                    "properties": {
                        "step": {"type": "string", "description": "What is to be done"},
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}
                    },
                    "required": ["step", "status"],
                    "additionalProperties": false
                }
            }
        },
        "required": ["plan"],
        "additionalProperties": false
    });
    ("Say what you mean to do and how far you are. At most one step is in progress.", function(parameters))
}

pub(super) fn view_image() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The picture's file"},
            "detail": {"type": "string", "enum": ["high", "original"], "description": "How fine you need it"}
        },
        "required": ["path"],
        "additionalProperties": false
    });
    ("Look at a picture (PNG, JPEG, GIF, WebP).", function(parameters))
}

pub(super) fn request_user_input() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "description": "Names the question in the answers"},
                        "header": {"type": "string", "description": "A word or two"},
                        "question": {"type": "string", "description": "The question"},
                        "options": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "label": {"type": "string", "description": "The answer"},
                                    "description": {"type": "string", "description": "What it would mean"}
                                },
                                "required": ["label", "description"],
                                "additionalProperties": false
                            }
                        }
                    },
                    "required": ["id", "header", "question"],
                    "additionalProperties": false
                }
            }
        },
        "required": ["questions"],
        "additionalProperties": false
    });
    (
        "Ask the user what you cannot find out and must not guess, and wait for the answers.",
        function(parameters),
    )
}

fn target() -> Value {
    json!({"type": "string", "description": "The agent's id, from spawn_agent"})
}

pub(super) fn spawn_agent() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "The task, with everything the agent must know"},
            "agent_type": {"type": "string", "description": "The kind of agent; your own by default"},
            "model": {"type": "string", "description": "The model; your own by default"},
            "fork_context": {"type": "boolean", "enum": [false], "description": "It begins with the task alone"},
            "reasoning_effort": {"type": "string", "description": "Accepted; it thinks as hard as its kind does"}
        },
        "required": ["message"],
        "additionalProperties": false
    });
    let description = "Start an agent that works on a task beside you, with a conversation of its own. You get \
                       its id at once; wait_agent gives its answer.";
    (description, function(parameters))
}

pub(super) fn send_input() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {
            "target": target(),
            "message": {"type": "string", "description": "What to tell it"},
            "interrupt": {"type": "boolean", "description": "Whether it breaks off what it does; false by default"}
        },
        "required": ["target", "message"],
        "additionalProperties": false
    });
    ("Tell an agent something more, or give it its next task.", function(parameters))
}

pub(super) fn wait_agent() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {
            "targets": {"type": "array", "items": {"type": "string"}, "description": "The agents' ids, from spawn_agent"},
            "timeout_ms": {"type": "number", "description": "How long to wait, in milliseconds; 30000 by default, 10000 to 3600000"}
        },
        "required": ["targets"],
        "additionalProperties": false
    });
    ("Wait until the first of these agents is done, and see how all of them stand.", function(parameters))
}

pub(super) fn close_agent() -> Told {
    let parameters = json!({
        "type": "object",
        "properties": {"target": target()},
        "required": ["target"],
        "additionalProperties": false
    });
    ("End an agent that you need no more, and everything it started.", function(parameters))
}

fn run_to_end(command: Value) -> ToolKind {
    function(json!({
        "type": "object",
        "properties": {
            "command": command,
            "workdir": {"type": "string", "description": "Where it runs; the working directory by default"},
            "timeout_ms": {"type": "number", "description": "How long to wait for its end, in milliseconds"},
            "login": {"type": "boolean", "description": "Accepted, and without effect"},
            "sandbox_permissions": {"type": "string", "description": "Accepted, and without effect"},
            "justification": {"type": "string", "description": "Why it is run"}
        },
        "required": ["command"],
        "additionalProperties": false
    }))
}

pub(super) fn shell() -> Told {
    let command = json!({"type": ["array", "string"], "items": {"type": "string"}, "description": "A program and its arguments, or a command line"});
    ("Run a program.", run_to_end(command))
}

pub(super) fn shell_command() -> Told {
    ("Run a command line.", run_to_end(json!({"type": "string", "description": "The command line"})))
}
