//! Every file tool, called by a model, on every wire.

use std::sync::Arc;

use junto_agent::tools;
use junto_core::EndReason;
use junto_twin::{Call, Options, Step};
use serde_json::json;

use crate::stand::{Stand, on_each_wire};

const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\0IEND\xaeB`\x82";

#[tokio::test]
async fn a_model_uses_each_file_tool() {
    on_each_wire(async |wire| {
        let patch = "*** Begin Patch\n*** Update File: src/a.txt\n*** Move to: src/b.txt\n@@\n-two\n+2\n\
                     *** Delete File: gone\n*** End Patch";
        let steps = [
            Step::calls([
                Call::new("write_file", json!({"file_path": "src/a.txt", "content": "one\ntwo\n"})),
                Call::new("write_file", json!({"file_path": "gone", "content": "x"})),
                Call::new("list_dir", json!({"depth": 1})),
            ]),
            Step::calls([Call::new(
                "edit_file",
                json!({"file_path": "src/a.txt", "old_string": "one", "new_string": "1"}),
            )]),
            Step::calls([Call::new("apply_patch", json!({ "patch": patch }))]),
            Step::calls([
                Call::new("read_file", json!({"file_path": "src/b.txt"})),
                Call::new("read_file", json!({"file_path": "src/a.txt"})),
                Call::new("read_file", json!({"file_path": "dot.png"})),
                Call::new("read_file", json!({"file_path": "note.ipynb"})),
                Call::new("read_many_files", json!({"paths": ["src/*.txt", "nowhere"]})),
            ]),
            Step::text("Done."),
        ];
        let mut stand = Stand::with(wire, steps, Options::default(), |mut config| {
            config.tools.extend(
                ["apply_patch", "list_dir", "read_many_files"].map(|name| tools::named(name).unwrap()),
            );
            config
        })
        .await;
        stand.scene.write("dot.png", PNG);
        let notebook = json!({"cells": [{"cell_type": "code", "source": "x = 1", "outputs": []}]});
        stand.scene.write("note.ipynb", notebook.to_string());
        assert_eq!(stand.scene.ask("Work").await, (EndReason::Done, "Done.".into()), "{wire:?}");
        assert_eq!(stand.scene.read("src/b.txt"), "1\n2\n");
        assert!(!stand.scene.path("gone").exists() && !stand.scene.path("src/a.txt").exists());
        let encoded = junto_llm::Media::bytes(PNG).base64().unwrap();
        let body = stand.last_body();
        assert!(body.contains(&encoded), "{wire:?}: the model sees the picture: {body}");
        let record = stand.end(&[]).await;
        let ends = record.tool_ends();
        let said = |name: &str, part: &str| {
            let says = ends.iter().any(|(tool, output, _)| tool == name && output.contains(part));
            assert!(says, "{wire:?}, {name}: {part}: {ends:#?}");
        };
        said("write_file", "(8 bytes)");
        said("list_dir", "dot.png (");
        said("edit_file", "replaced once");
        said("apply_patch", "R src/a.txt -> src/b.txt\nD gone\n");
        said("read_file", "  1 | 1\n  2 | 2\n");
        said("read_file", "near it: b.txt");
        said("read_file", "[image/png, 1 x 1 pixels");
        said("read_file", "  2 | x = 1");
        said("read_many_files", "==> src/b.txt <==\n  1 | 1\n");
        assert_eq!(ends.iter().filter(|(_, _, failed)| *failed).count(), 1, "{ends:#?}");
    })
    .await;
}

#[tokio::test]
async fn writes_to_one_file_in_a_round_go_one_after_another() {
    // Each patch fits only what the one before it left.
    let patches = (0..8).map(|n| {
        let patch = format!("*** Begin Patch\n*** Update File: a\n@@\n-{n}\n+{}\n*** End Patch", n + 1);
        Call::new("apply_patch", json!({ "patch": patch }))
    });
    let steps = [Step::calls(patches.collect::<Vec<_>>()), Step::text("Done.")];
    let mut stand = Stand::with(junto_llm::Wire::Anthropic, steps, Options::default(), |mut config| {
        config.tools.register(Arc::new(tools::ApplyPatch::default()));
        config
    })
    .await;
    stand.scene.write("a", "0\n");
    assert_eq!(stand.scene.ask("Work").await.0, EndReason::Done);
    assert_eq!(stand.scene.read("a"), "8\n");
    assert!(stand.end(&[]).await.tool_ends().iter().all(|(_, _, failed)| !failed));
}
