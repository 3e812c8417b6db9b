//! Sessions as people and other programs get them.

use junto_core::{
    AgentId, BlobId, Body, EndReason, Event, Journal, Payload, Plan, PlanStep, Seq, StepStatus, Via,
};
use junto_llm::{Cost, ToolCall, Usage, Usd};
use junto_store::Format;
use junto_store::files::Faulty;
use serde_json::{Value, json};

use crate::life::{body_call, body_input, body_start};
use crate::support::{append, event, naming, session, store};

/// What the tool of these sessions said.
const OUTPUT: &str = "```\n<b>& 3 files</b>\n```\n";

/// A session with one of everything, and a call that was cut off.
fn events() -> Vec<Event> {
    let call = |id: &str| ToolCall::function(id, "shell", json!({"command": "ls <dir>"}).to_string());
    let start = |id: &str| Body::ToolCallStart { call: call(id), via: Via::Loop };
    let step = |step: &str, status| PlanStep { step: step.into(), status };
    let plan = Plan {
        explanation: Some("In order.".into()),
        steps: vec![step("look", StepStatus::Completed), step("write", StepStatus::InProgress)],
    };
    let child = AgentId("c".into());
    let bodies = vec![
        body_start(Some("claude-opus-5-5"), "/home/me/<project>"),
        body_input("Look <here> & tell."),
        Body::ReasoningEnd { of: Seq(3), text: "Hm.\n\nYes.".into() },
        body_call(Usage::new(100, 20), Cost::Estimated(Usd(5_000_000))),
        start("1"),
        Body::ToolCallEnd {
            of: Some(Seq(5)),
            call_id: "1".into(),
            name: "shell".into(),
            call: None,
            output: OUTPUT.into(),
            is_error: false,
            seen: None,
            via: Via::Loop,
        },
        Body::Plan { plan },
        Body::Child {
            agent: child.clone(),
            name: "scout".into(),
            kind: "native".into(),
            task: "Scout.".into(),
        },
        body_input("Scout."),
        Body::AssistantTextEnd { of: Seq(9), text: "I was there.".into() },
        Body::AssistantTextEnd { of: Seq(9), text: "Three *files*.".into() },
        start("2"),
        Body::InputEnd { reason: EndReason::Interrupted, text: "".into() },
    ];
    let mut events: Vec<Event> = (1..).zip(bodies).map(|(seq, body)| event(seq, body)).collect();
    for of_child in &mut events[8..10] {
        of_child.parent = Some(of_child.agent.clone());
        of_child.agent = child.clone();
    }
    events
}

async fn exported(format: Format) -> String {
    let store = store(&Faulty::default());
    let opened = store.create(&session()).unwrap();
    append(&*opened.journal, events()).await;
    let mut out = Vec::new();
    assert!(store.export(&session(), format, &mut out).unwrap().is_clean());
    String::from_utf8(out).unwrap()
}

#[tokio::test]
async fn markdown() {
    let id = session();
    let expected = format!(
        "# Session {id}\n\nBegun 1970-01-01T00:00:00Z.\n\n- agent: `junto`\n- model: `claude-opus-5-5`\n\
         - folder: `/home/me/<project>`\n\n## 1. You\n\nLook <here> & tell.\n\n### Reasoning\n\n> Hm.\n>\n> Yes.\n\n\
         ### Tool `shell`\n\n```\n{{\n  \"command\": \"ls <dir>\"\n}}\n```\n\nResult:\n\n````\n{OUTPUT}````\n\n\
         ### Plan\n\nIn order.\n\n- [x] look\n- [ ] write (under way)\n\n\
         ### Child `scout` of kind `native`\n\n> Scout.\n\n### Task (scout)\n\n> Scout.\n\n\
         ### Answer (scout)\n\nI was there.\n\n### Answer\n\nThree *files*.\n\n*end*: The turn was interrupted.\n\n\
         ### Tool `shell`, failed\n\n```\n{{\n  \"command\": \"ls <dir>\"\n}}\n```\n\nIt was cut off.\n\n\
         ---\n\nModel calls: 1. Tokens: 100 in, 20 out. about $0.005000\n"
    );
    assert_eq!(exported(Format::Markdown).await, expected);
}

#[tokio::test]
async fn a_page_has_everything_and_nothing_that_was_said_is_markup() {
    let page = exported(Format::Html).await;
    for part in [
        "Look &lt;here&gt; &amp; tell.",
        "&lt;b&gt;&amp; 3 files&lt;/b&gt;",
        "/home/me/&lt;project&gt;",
        "<li class=\"done\">look</li>",
        "Three *files*.",
        "I was there.",
        "It was cut off.",
        "Model calls: 1.",
        "default-src 'none'",
    ] {
        assert!(page.contains(part), "{part} is missing in\n{page}");
    }
    assert!(!page.contains("<b>") && !page.contains("<here>") && !page.contains("<script"));
    // What is opened is closed.
    for tag in ["section", "details", "div", "pre", "dl", "ol", "main", "footer", "body", "html"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[tokio::test]
async fn json_has_every_event_and_whole_texts() {
    let value: Value = serde_json::from_str(&exported(Format::Json).await).unwrap();
    assert_eq!((&value["format"], &value["v"]), (&json!("junto-session"), &json!(1)));
    assert_eq!(value["session"], json!(session().0));
    let read: Vec<Event> = serde_json::from_value(value["events"].clone()).unwrap();
    assert_eq!(read, events());
    assert_eq!(value["damaged"], json!([]));
}

#[tokio::test]
async fn texts_beside_the_journal_are_in_the_export() {
    let store = store(&Faulty::default());
    let opened = store.create(&session()).unwrap();
    let blob = BlobId("b1".into());
    opened.journal.extend_blob(&blob, "a whole ".into()).await.unwrap();
    opened.journal.extend_blob(&blob, "text z".into()).await.unwrap();
    append(&*opened.journal, [naming(1, &blob, 14), naming(2, &BlobId("gone".into()), 14)]).await;
    let mut out = Vec::new();
    let recovery = store.export(&session(), Format::Json, &mut out).unwrap();
    let value: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(value["events"][0]["text"], json!("a whole text z"));
    let lost = ["a long text of event 2 is lost but for its ends: gone: it is gone"];
    assert_eq!(value["damaged"], json!(lost));
    assert_eq!(recovery.to_string(), lost[0]);
    // What is not there cannot be shown; its ends can.
    let ends: Payload = serde_json::from_value(value["events"][1]["text"].clone()).unwrap();
    assert!(matches!(ends, Payload::Spilled { bytes: 14, .. }));
}

#[tokio::test]
async fn what_is_damaged_is_told() {
    let files = Faulty::default();
    let opened = store(&files).create(&session()).unwrap();
    append(&*opened.journal, events()).await;
    let mut bytes = files.bytes(&crate::support::journal_path()).unwrap();
    let at = bytes.windows(4).position(|w| w == b"Hm.\\").unwrap();
    bytes[at] = b'X';
    let files = crate::support::with_journal(&bytes);
    let mut out = Vec::new();
    let recovery = store(&files).export(&session(), Format::Markdown, &mut out).unwrap();
    assert_eq!(recovery.damaged.len(), 1);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("**Damaged:**") && text.contains("event 3 is lost"), "{text}");
    assert!(text.contains("Three *files*."));
}
