//! `@path` in an input.

use junto::twin::{Play, Step};

use crate::stage::{Stage, on_every_wire};

/// A picture of one pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63,
    0xf8, 0xcf, 0xc0, 0xf0, 0x1f, 0, 5, 0, 1, 0xff, 0x89, 0x99, 0x3d, 0x1d, 0, 0, 0, 0, b'I', b'E', b'N',
    b'D', 0xae, 0x42, 0x60, 0x82,
];

fn plays() -> Play {
    Play::of([Step { times: Some(9), ..Step::text("Done.") }])
}

fn fill(stage: &Stage) {
    stage.machine.write("project/src/a.rs", "fn a() {}\n");
    stage.machine.write("project/my notes.md", "note well\n");
    stage.machine.write("project/.env", "TOKEN=hunter2\n");
    stage.machine.write("project/dot.png", PIXEL);
    stage.machine.write("project/app.bin", [0u8, 1, 2, 3, 0, 0]);
}

#[test]
fn files_go_with_the_input_on_every_wire() {
    on_every_wire(plays, |setup, stage| {
        fill(stage);
        let task = "Look at @src/a.rs, @\"my notes.md\" and @src. Ask me@src/a.rs or @nobody.";
        let run = stage.machine.run(&["run", task]);
        assert_eq!(run.code, Some(0), "{run:#?}");
        let body = stage.requests()[0].body.to_string();
        for part in [
            "Ask me@src/a.rs or @nobody.",
            r#"<included path=\"src/a.rs\">\nfn a() {}\n</included>"#,
            r#"<included path=\"my notes.md\">\nnote well\n</included>"#,
            r#"<included path=\"src\">\na.rs\n</included>"#,
        ] {
            assert!(body.contains(part), "{}: no {part} in {body}", setup.provider);
        }
        assert_eq!(body.matches("fn a() {}").count(), 1, "{body}");
    });
}

#[test]
fn pictures_go_as_pictures_and_keys_not_at_all() {
    let stage = Stage::on_any_wire(plays());
    fill(&stage);
    let run = stage.machine.run(&["run", "See @dot.png, @.env and @app.bin"]);
    let body = stage.requests()[0].body.to_string();
    assert!(body.contains("\"image/png\""), "{body}");
    assert!(!body.contains("hunter2"), "{body}");
    assert!(body.contains(r#"<included path=\".env\">\n[not included: "#), "{body}");
    assert!(
        run.err.contains("@.env is not included") && run.err.contains("@app.bin is not included"),
        "{run:#?}"
    );
}

/// A session that goes on has what the files were like then.
#[test]
fn what_was_included_is_in_the_journal() {
    let stage = Stage::on_any_wire(plays());
    fill(&stage);
    stage.machine.run(&["run", "Look at @src/a.rs"]).ok();
    stage.machine.write("project/src/a.rs", "fn b() {}\n");
    stage.machine.run(&["resume", "latest", "Go on."]).ok();
    let last = stage.requests().last().unwrap().body.to_string();
    assert!(last.contains("fn a() {}") && !last.contains("fn b() {}"), "{last}");
    // What was seen with the input need not be read again before it is changed, unless it has changed.
    let large = "x".repeat(100_000);
    stage.machine.write("project/large.txt", &large);
    stage.machine.run(&["run", "Look at @large.txt"]).ok();
    let body = stage.requests().last().unwrap().body.to_string();
    assert!(body.contains("large.txt goes on; this is its first 65536 bytes"));
    assert!(body.len() < 120_000 + stage.requests()[0].body.to_string().len());
}
