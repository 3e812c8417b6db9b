//! 9.5: what the model sees of long outputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use junto_agent::profile::Family;
use junto_agent::{SessionConfig, tool};
use junto_core::{EndReason, Tool, ToolCx};
use junto_twin::{Call, Step};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::model::{last, on_each_profile, read, shell, stand, stand_with};

const MIDDLE: &str = " characters were removed from the middle. The full output is available in the event \
    stream. If you need to see specific parts, re-run the tool with more targeted parameters.]\n\n";
const START: &str = "[WARNING: Tool output was truncated. ";

#[tokio::test]
async fn dod_characters_are_counted_first() {
    on_each_profile(async |family| {
        // One endless line: counting lines would let it through.
        let flood = shell("head -c 900000 /dev/zero | tr '\\0' x");
        let mut stand = stand(family, [Step::calls([flood]), Step::text("Long.")]).await;
        assert_eq!(stand.scene.ask("Run").await, (EndReason::Done, "Long.".into()), "{family:?}");
        let told = &last(&stand).results[0];
        assert!(told.contains(START) && !told.contains("lines omitted"), "{family:?}");
        assert!((29_000..30_001).contains(&told.matches('x').count()), "{family:?}");
        assert!(told.chars().count() < 30_000 + 300, "{family:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A tool that says this, whatever it is called.
fn says(name: &'static str, output: &str) -> Arc<dyn Tool> {
    let output: Arc<str> = output.into();
    Arc::new(tool(name, "Says something.", move |_: Nothing, _: ToolCx| {
        let output = output.to_string();
        async move { output }
    }))
}

/// What the model is told by tools of these names that all say the same.
async fn told(
    family: Family,
    names: &[&'static str],
    output: &str,
    change: impl FnOnce(SessionConfig) -> SessionConfig,
) -> Vec<String> {
    let calls: Vec<Call> = names.iter().map(|name| Call::new(*name, json!({}))).collect();
    let mut stand = stand_with(family, [Step::calls(calls), Step::text("I see.")], |mut config| {
        config.tools.extend(names.iter().map(|name| says(name, output)));
        change(config)
    })
    .await;
    assert_eq!(stand.scene.ask("Look").await, (EndReason::Done, "I see.".into()), "{family:?}");
    let told = last(&stand).results;
    assert!(stand.end(&[]).await.tool_ends().iter().all(|(_, whole, failed)| whole == output && !failed));
    told
}

fn numbers(count: usize) -> String {
    (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn dod_lines_are_counted_second() {
    on_each_profile(async |family| {
        let names = ["shell", "grep", "glob", "read_file", "edit_file"];
        let told = told(family, &names, &numbers(1000), |config| config).await;
        let kept = told.iter().map(|text| text.lines().filter(|line| line.parse::<u32>().is_ok()).count());
        assert_eq!(kept.collect::<Vec<_>>(), [256, 200, 500, 1000, 1000], "{family:?}");
        assert!(told[0].contains("128\n[... 744 lines omitted ...]\n873\n"), "{family:?}: {}", told[0]);
    })
    .await;
    // Both at once: first 30,000 characters are kept, and of these 256 lines.
    let long = numbers(10_000).lines().map(|line| format!("{line:>9}\n")).collect::<Vec<_>>().concat();
    let told = told(Family::OpenAi, &["shell"], &long, |config| config).await;
    assert!(told[0].contains(START) && told[0].contains("lines omitted"), "{}", told[0]);
}

#[tokio::test]
async fn dod_what_was_removed_is_said() {
    on_each_profile(async |family| {
        let mut stand = stand(family, [Step::calls([read("big.txt")]), Step::text("Long.")]).await;
        stand.scene.write("big.txt", "y".repeat(60_000) + "\n");
        assert_eq!(stand.scene.ask("Read").await, (EndReason::Done, "Long.".into()), "{family:?}");
        // With the number of the line before it and the line's end after it there are 60,007.
        let expected =
            format!("  1 | {}\n\n{START}10007{MIDDLE}{}\n", "y".repeat(24_994), "y".repeat(24_999));
        assert!(last(&stand).results[0] == expected, "{family:?}");
        stand.end(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn dod_the_whole_output_is_in_the_event() {
    on_each_profile(async |family| {
        let mut stand = stand(family, [Step::calls([shell("seq 20000")]), Step::text("Long.")]).await;
        assert_eq!(stand.scene.ask("Run").await, (EndReason::Done, "Long.".into()), "{family:?}");
        assert!(last(&stand).results[0].contains(START), "{family:?}");
        let whole = &stand.end(&[]).await.tool_ends()[0].1;
        assert!(whole.starts_with(&(numbers(20_000) + "\n[exit code 0")), "{family:?}");
    })
    .await;
}

#[tokio::test]
async fn dod_the_limits_are_those_of_the_table() {
    let table = [
        ("read_file", 50_000, "middle"),
        ("shell", 30_000, "middle"),
        ("grep", 20_000, "First"),
        ("glob", 20_000, "First"),
        ("edit_file", 10_000, "First"),
        ("apply_patch", 10_000, "First"),
        ("write_file", 1_000, "First"),
        ("spawn_agent", 20_000, "middle"),
    ];
    on_each_profile(async |family| {
        let names = table.map(|(name, _, _)| name);
        let told = told(family, &names, &"#".repeat(60_000), |config| config).await;
        for ((name, chars, removed), told) in table.iter().zip(&told) {
            assert_eq!(told.matches('#').count(), *chars, "{family:?}: {name}");
            assert!(told.contains(START) && told.contains(removed), "{family:?}: {name}");
        }
    })
    .await;
}

#[tokio::test]
async fn dod_the_limits_can_be_set() {
    on_each_profile(async |family| {
        let change = |config| SessionConfig {
            tool_output_limits: BTreeMap::from([("shell".to_owned(), 400), ("mine".to_owned(), 300)]),
            tool_line_limits: BTreeMap::from([("grep".to_owned(), 10), ("mine".to_owned(), 6)]),
            ..config
        };
        let told = told(family, &["shell", "grep", "mine"], &numbers(1000), change).await;
        let lines = |text: &str| text.lines().filter(|line| line.parse::<u32>().is_ok()).count();
        assert!(told[0].contains(START) && told[0].chars().count() < 400 + 300, "{family:?}: {}", told[0]);
        assert_eq!(lines(&told[1]), 10, "{family:?}");
        assert!(told[2].contains(START) && lines(&told[2]) <= 6, "{family:?}: {}", told[2]);
    })
    .await;
}
