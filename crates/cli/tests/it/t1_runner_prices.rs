//! What command-line agents cost that do not tell it themselves.

use serde_json::json;

use crate::t1_session_cost::cost;
use crate::{Machine, text, usual_path};

/// A price that nobody else has.
const PRICED: &str = "[[models]]\nid = \"gpt-5.5\"\nprovider = \"openai\"\nname = \"Mine\"\ncontext_window = 9_000\n\
                      max_output = 900\nreleased = \"2026-01-01\"\nprice = { input = 1000, output = 0 }\n";

/// Codex, as far as one answer of 1000 tokens goes.
const CODEX: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo codex-cli 0.166.0; exit 0; fi
while [ $# -gt 0 ]; do if [ "$1" = --output-last-message ]; then printf Hello. > "$2"; fi; shift; done
cat > /dev/null
echo '{"type":"thread.started","thread_id":"01a1dcb5-61b1-7d82-a018-db38b61aba13"}'
echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hello."}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1000,"output_tokens":50}}'
"#;

#[test]
fn a_price_of_the_configuration_is_the_price() {
    for args in [
        &["run", "--kind", "codex", "--model", "gpt-5.5", "Hi."][..],
        &["agent", "background", "--agent", "codex", "--model", "gpt-5.5", "Hi."],
    ] {
        let machine = Machine::configured(PRICED);
        machine.program("bin/codex", CODEX);
        let path = format!("{}:{}", text(&machine.path("bin")), usual_path());
        let machine = machine.with("PATH", &path);
        machine.run(args).ok();
        let all = cost(&machine, &["--by", "model"]);
        assert_eq!(all["total"]["cost"]["usd"], json!(1.0), "{args:?}: {all}");
    }
}
