//! MCP servers that others wrote, called from cells; and what a cell saves beside single calls.

use junto::twin::{Play, Step};
use serde_json::{Value, json};

use crate::cells::{cell, configure, named, peer, serve, staged, unasked, when_up};
use crate::stage::Stage;
use crate::t1_run::{events, of_type};
use crate::text;

/// The servers, which may be called without asking.
fn stage(play: Play) -> Stage {
    let stage = staged(play, "");
    let files = text(&stage.machine.path("project"));
    serve(
        &stage,
        &json!({
            "everything": {"command": "node", "args": [peer("JUNTO_PEER_MCP_EVERYTHING"), "stdio"]},
            "files": {"command": "node", "args": [peer("JUNTO_PEER_MCP_FILESYSTEM"), files]},
            "time": {"command": peer("JUNTO_PEER_PYTHON"), "args": ["-m", "mcp_server_time"]},
        }),
    );
    for server in ["everything", "files", "time"] {
        configure(&stage, &format!("[[policy.rule]]\ntool = \"{server}__*\"\ndecision = \"allow\"\n"));
    }
    stage
}

/// The search path of the tests: there is Node.
fn with_node(mut stage: Stage) -> Stage {
    let path = std::env::var("PATH").unwrap();
    stage.machine = stage.machine.with("PATH", &format!("{}:{path}", crate::usual_path()));
    stage
}

#[test]
fn servers_that_others_wrote_are_called_from_one_cell_in_loops_and_side_by_side() {
    let code = r#"
import asyncio, os, concurrent.futures
from mcptools.everything import echo, get_sum
from mcptools.files import read_text_file, write_file
from mcptools.time import convert_time

total = 0
for n in range(10):
    said = str(get_sum.run(a=total, b=n))
    total += n
    assert str(total) in said, said

here = os.getcwd()
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda n: write_file.run(path=f"{here}/{n}.txt", content=f"number {n}"), range(24)))
    read = list(pool.map(lambda n: str(read_text_file.run(path=f"{here}/{n}.txt")), range(24)))
assert all(f"number {n}" in text for n, text in enumerate(read)), read

async def all_at_once():
    return await asyncio.gather(*(echo.run_async(message=f"m{n}") for n in range(24)))
said = await all_at_once()
assert all(f"m{n}" in str(text) for n, text in enumerate(said)), said

zones = ["Asia/Tokyo", "Asia/Kolkata", "America/Lima"]
for zone in zones:
    assert zone in str(convert_time.run(source_timezone="Europe/Berlin", time="12:00", target_timezone=zone))
try:
    read_text_file.run(path="/etc/passwd")
except Exception as error:
    print(type(error).__name__)
print("total", total)
"#;
    let up: String = ["everything", "files", "time"].map(when_up).concat();
    let play = Play::of([cell(&up), cell(code), Step::text("Done.")]);
    let stage = with_node(stage(play));
    let seen = unasked(&stage, &[]);
    let said = seen.fine(1);
    assert!(said.contains("ToolError") && said.contains("total 45"), "{said}");
    let calls = seen.events.iter().filter(|event| event["type"] == "tool_call_end");
    let from_code = calls.filter(|event| event["name"] != "execute_code").count();
    assert_eq!(from_code, 10 + 48 + 24 + 3 + 1, "every call is in the log");
}

/// What the ledger says that a session used.
fn used(stage: &Stage) -> (u64, u64) {
    let cost: Value = serde_json::from_str(&stage.machine.run(&["cost", "--json"]).ok()).unwrap();
    let total = &cost["total"];
    let tokens = total["input"].as_u64().unwrap() + total["output"].as_u64().unwrap();
    (total["calls"].as_u64().unwrap(), tokens)
}

/// The same work as calls, one after another, and as one cell. Both let the model answer with the sum.
#[test]
#[expect(clippy::disallowed_macros, reason = "what was saved is worth to be seen")]
fn a_task_of_ten_calls_is_one_cell_and_takes_fewer_tokens() {
    let furnish = |stage: &Stage| {
        for n in 0..10 {
            stage.machine.write(&format!("project/part-{n}.txt"), format!("{n}\n{}", "filling ".repeat(60)));
        }
    };
    let search = Step::call("tool_search", json!({"query": "read_text_file"}));
    let reads =
        (0..10).map(|n| Step::call("files__read_text_file", json!({"path": format!("part-{n}.txt")})));
    let steps: Vec<Step> = [search].into_iter().chain(reads).chain([Step::text("45")]).collect();
    let single = with_node(stage(Play::of(steps)));
    furnish(&single);
    let out = single.machine.run(&["run", "--json", "--max-rounds", "20", "Add the parts up."]).ok();
    let ends: Vec<Value> = of_type(&events(&out).0, "tool_call_end").into_iter().cloned().collect();
    assert!(ends.iter().all(|end| end["is_error"] == false) && ends.len() == 11, "{ends:#?}");

    let code = r#"
from mcptools.files import read_text_file
print(sum(int(read_text_file(path=f"part-{n}.txt").content.split()[0]) for n in range(10)))
"#;
    let one = with_node(stage(Play::of([cell(&(when_up("files") + code)), Step::text("45")])));
    furnish(&one);
    let seen = unasked(&one, &[]);
    assert!(seen.fine(0).contains("45"), "{seen:#?}");

    let ((calls, tokens), (cell_calls, cell_tokens)) = (used(&single), used(&one));
    println!(
        "ten calls: {calls} model calls, {tokens} tokens; one cell: {cell_calls} model calls, {cell_tokens} \
         tokens; {} saved",
        tokens.saturating_sub(cell_tokens)
    );
    assert_eq!((calls, cell_calls), (12, 2));
    assert!(cell_tokens * 3 < tokens, "{cell_tokens} and {tokens}");
}

/// Pydantic and what it needs, of a Python that the developer's commands keep, in a folder of the machine's own.
fn with_pydantic(stage: &Stage) -> String {
    let find = "import os, pydantic; print(os.path.dirname(os.path.dirname(pydantic.__file__)), end='')";
    let output = std::process::Command::new(peer("JUNTO_PEER_PYTHON")).args(["-c", find]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packages = std::path::PathBuf::from(String::from_utf8(output.stdout).unwrap());
    let folder = stage.machine.path("packages");
    std::fs::create_dir(&folder).unwrap();
    for name in ["pydantic", "pydantic_core", "annotated_types", "typing_inspection", "typing_extensions.py"]
    {
        std::os::unix::fs::symlink(packages.join(name), folder.join(name)).unwrap();
    }
    text(&folder)
}

#[test]
fn types_are_models_of_pydantic_where_the_kernel_has_it_and_else_dataclasses() {
    let look = format!(
        "{}from mcptools.shop import buy\nwanted = buy.Params(text='x')\nimport dataclasses, sys\n\
         print(buy(wanted), 'pydantic' in sys.modules, dataclasses.is_dataclass(wanted))",
        when_up("shop")
    );
    for (has_it, expected) in [(true, "buy: x True False\n"), (false, "buy: x False True\n")] {
        let stage = crate::cells::stage(&[&look]);
        serve(&stage, &json!({"shop": named(&["buy"])}));
        if has_it {
            let packages = with_pydantic(&stage);
            configure(&stage, &format!("env = {{ PYTHONPATH = \"{packages}\" }}\n"));
        }
        assert_eq!(unasked(&stage, &["--policy", "full"]).fine(0), expected);
    }
}
