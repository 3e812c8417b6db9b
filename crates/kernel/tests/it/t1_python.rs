//! Real Python as the other process.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::host::{MEETING, Stand, stand, stand_within};

/// Python that runs a script with the socket in its environment, and nothing else of ours.
fn python(stand: &Stand, script: &str) -> Command {
    let mut command = Command::new("python3");
    command
        .args(["-c", script])
        .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .envs(stand.socket.environment())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

async fn finished(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// What a script prints as JSON.
async fn printed(stand: &Stand, script: &str) -> Value {
    let output = finished(python(stand, script)).await;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn tools_are_functions() {
    let stand = stand();
    let script = r#"
import json, junto_tools
tools = junto_tools.connect()
said = {
    "names": list(tools), "doc": tools.echo.__doc__, "dir": "echo" in dir(tools),
    "named": tools.echo(text="ö\n", n=1), "placed": tools.echo("a", 2), "mixed": tools.echo("a", n=2),
    "odd": tools["odd-name"](), "free": tools.free("as it is"),
    "image": len(tools.invoke("see").images),
}
def refused(call):
    try: call()
    except Exception as error: return [type(error).__name__, str(error)]
said["fail"] = refused(lambda: tools.fail())
said["unknown"] = refused(lambda: tools.unknown())
said["asked anyway"] = refused(lambda: tools.call("unknown"))
said["too many"] = refused(lambda: tools.echo(1, 2, 3))
said["twice"] = refused(lambda: tools.echo("a", text="b"))
said["not taken"] = refused(lambda: tools.call("echo", [1]))
print(json.dumps(said))
"#;
    let expected = json!({
        "names": ["echo", "odd-name", "fail", "see", "big", "meet", "block", "free"],
        "doc": "The tool echo.", "dir": true,
        "named": r#"{"text":"ö\n","n":1}"#, "placed": r#"{"text":"a","n":2}"#, "mixed": r#"{"text":"a","n":2}"#,
        "odd": "{}", "free": "as it is", "image": 1,
        "fail": ["ToolError", "no luck"],
        "unknown": ["AttributeError", "there is no tool named 'unknown'"],
        "asked anyway": ["ToolError", "there is no tool named `unknown`"],
        "too many": ["TypeError", "echo takes at most 2 arguments"],
        "twice": ["TypeError", "echo got text twice"],
        "not taken": ["ToolsUnavailable", "`arguments` must be an object, or a text"],
    });
    assert_eq!(printed(&stand, script).await, expected);
}

#[tokio::test]
async fn threads_call_side_by_side() {
    let stand = stand();
    let script = format!(
        r"
import json, junto_tools
from concurrent.futures import ThreadPoolExecutor
tools = junto_tools.connect()
with ThreadPoolExecutor({MEETING}) as pool:
    met = list(pool.map(lambda _: tools.meet(), range({MEETING})))
with ThreadPoolExecutor(40) as pool:
    big = list(pool.map(lambda n: len(tools.big(n=n)), [100_000] * 40))
print(json.dumps([met, sum(big)]))
"
    );
    assert_eq!(printed(&stand, &script).await, json!([vec!["met"; MEETING], 4_000_000]));
}

#[tokio::test]
async fn a_forked_process_has_a_connection_of_its_own() {
    let stand = stand();
    let script = r#"
import json, os, junto_tools
tools = junto_tools.connect()
tools.echo(n=0)
child = os.fork()
if child == 0:
    os._exit(0 if tools.echo(n=1) == '{"n":1}' else 1)
status = os.waitpid(child, 0)[1]
print(json.dumps([status, tools.echo(n=2)]))
"#;
    assert_eq!(printed(&stand, script).await, json!([0, "{\"n\":2}"]));
}

#[tokio::test]
async fn a_wrong_token_and_a_missing_socket_are_told() {
    let stand = stand();
    let script = r#"
import json, os, junto_tools
def refused(**door):
    try: junto_tools.connect(**door)
    except junto_tools.ToolsUnavailable as error: return str(error)
said = [refused(token="wrong"), refused(path=os.environ["JUNTO_TOOLS_SOCKET"] + "x")]
del os.environ["JUNTO_TOOLS_TOKEN"]
said.append(refused())
print(json.dumps(said))
"#;
    let said = printed(&stand, script).await;
    assert_eq!(said[0], "the token is wrong");
    assert!(said[1].as_str().unwrap().contains("cannot be reached"), "{said}");
    assert!(said[2].as_str().unwrap().contains("are not set"), "{said}");
}

#[tokio::test]
async fn a_call_that_is_too_long_is_told_and_nothing_breaks() {
    let stand = stand_within(junto_kernel::Limits { line: 1000, ..junto_kernel::Limits::default() });
    let script = r#"
import json, junto_tools
tools = junto_tools.connect()
try: tools.echo(text="x" * 1000)
except junto_tools.ToolsUnavailable as error: said = str(error)
print(json.dumps([said, tools.echo()]))
"#;
    let said = printed(&stand, script).await;
    assert!(said[0].as_str().unwrap().contains("at most 1000"), "{said}");
    assert_eq!(said[1], "{}");
}

#[tokio::test]
async fn an_interrupt_ends_the_call_and_not_the_process() {
    let stand = stand();
    let script = r#"
import json, junto_tools
tools = junto_tools.connect()
try: tools.block()
except KeyboardInterrupt: said = "interrupted"
print(json.dumps([said, tools.echo()]))
"#;
    let child = python(&stand, script).spawn().unwrap();
    stand.host.started(1).await;
    let mut kill = Command::new("kill");
    kill.args(["-INT", &child.id().to_string()]);
    assert!(finished(kill).await.status.success());
    stand.host.dropped(1).await;
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), json!(["interrupted", "{}"]));
}

#[tokio::test]
async fn a_process_that_is_killed_ends_its_calls() {
    let stand = stand();
    let script = r"
import junto_tools, threading
tools = junto_tools.connect()
threading.Thread(target=tools.block).start()
tools.block()
";
    let mut child = python(&stand, script).spawn().unwrap();
    stand.host.started(2).await;
    child.kill().unwrap();
    stand.host.dropped(2).await;
    tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
    assert_eq!(stand.client().await.list().await.unwrap().len(), 8, "others are served as before");
}

#[tokio::test]
async fn a_socket_that_goes_away_is_told_to_who_waits() {
    let stand = stand();
    let script = r"
import json, junto_tools
tools = junto_tools.connect()
said = []
for _ in range(2):
    try: tools.block()
    except junto_tools.ToolsUnavailable as error: said.append(str(error))
print(json.dumps(said))
";
    let child = python(&stand, script).spawn().unwrap();
    stand.host.started(1).await;
    drop(stand.socket);
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said[0], "the tool socket closed the connection");
    // The next call looks for it anew.
    assert!(said[1].as_str().unwrap().contains("cannot be reached"), "{said}");
}

/// Python writes JSON that is more than is taken here: the call fails, and no other.
#[tokio::test]
async fn an_odd_argument_fails_its_own_call_and_no_other() {
    let stand = stand();
    let script = r"
import json, math, threading, junto_tools
tools = junto_tools.connect()
deep = []
for _ in range(300): deep = [deep]
said = []
other = threading.Thread(target=lambda: said.append(tools.meet()))
other.start()
for odd in [deep, math.factorial(171)]:
    try: tools.echo(text=odd)
    except junto_tools.ToolsUnavailable as error: said.append(str(error))
    said.append(tools.echo(n=1))
threads = [threading.Thread(target=tools.meet) for _ in range(MEETING - 1)]
for thread in threads: thread.start()
for thread in threads + [other]: thread.join()
print(json.dumps(said))
"
    .replace("MEETING", &MEETING.to_string());
    let said = printed(&stand, &script).await;
    assert!(said[0].as_str().unwrap().contains("nested less than 128 deep"), "{said}");
    assert!(said[2].as_str().unwrap().contains("does not fit into 64 bits"), "{said}");
    assert_eq!((&said[1], &said[3], &said[4]), (&json!("{\"n\":1}"), &json!("{\"n\":1}"), &json!("met")));
}

/// A connection that the socket ends, whatever for, is not the last.
#[tokio::test]
async fn after_a_connection_is_over_the_next_call_makes_another() {
    let stand = stand();
    let script = r#"
import json, threading, junto_tools
tools = junto_tools.connect()
heard = []
def said(call):
    try: heard.append(call())
    except junto_tools.ToolsUnavailable as error: heard.append(str(error))
# Under way when the socket ends the connection; later it would be a call of the next one, and never end.
waits = threading.Thread(target=said, args=(tools.block,))
waits.start()
while not tools._connection._waiting: pass
# Nothing that this client would say.
tools._connection._send(b"nonsense\n")
waits.join()
said(tools.echo)
print(json.dumps(heard))
"#;
    let said = printed(&stand, script).await;
    assert!(said[0].as_str().unwrap().contains("not JSON"), "{said}");
    assert_eq!(said[1], "{}");
}

/// Whoever waits is woken also if an answer cannot be read for want of memory.
#[tokio::test]
async fn an_answer_that_there_is_no_memory_for_wakes_who_waits() {
    let stand = stand();
    let script = r#"
import json, threading, junto_tools
tools = junto_tools.connect()
loads, dumps = json.loads, json.dumps
def said(call, into):
    try: into.append(call())
    except junto_tools.ToolsUnavailable as error: into.append(str(error))
for error in [MemoryError(), RecursionError("deep")]:
    def fail(line):
        raise error
    heard = []
    threads = [threading.Thread(target=said, args=(tools.block, heard)) for _ in range(3)]
    for thread in threads: thread.start()
    while len(tools._connection._waiting) < 3: pass
    threading.excepthook = lambda _: None
    json.loads = fail
    said(tools.echo, heard)
    for thread in threads: thread.join()
    json.loads = loads
    print(dumps(sorted(set(heard))))
    said(tools.echo, heard)
    assert heard[-1] == "{}", heard
"#;
    let output = finished(python(&stand, script)).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let expected = [
        "[\"there was no memory left for an answer of a tool\"]",
        "[\"the tool socket closed the connection\"]",
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
}

/// What is pickled is copied as a whole, so that what is too large is not begun with, wherever it is.
#[tokio::test]
async fn what_is_too_large_to_be_kept_is_not_copied() {
    let stand = stand();
    let script = r#"
import array, json, junto_snapshot
class Large(array.array):
    copied = 0
    def __reduce_ex__(self, protocol):
        Large.copied += 1
        return Large, ("b", self.tobytes())
def kept(value):
    try: return len(junto_snapshot._pickled(value, 1000)) > 0
    except OverflowError: return False
large = Large("b", bytes(1001))
said = [kept(value) for value in [large, {"a": [large]}, "x" * 1001, bytes(1001), bytearray(1001), list(range(1001))]]
said.append(Large.copied)
print(json.dumps([said, kept(Large("b", bytes(500))), kept({"a": [1, "b", None]})]))
"#;
    let large = json!([false, false, false, false, false, false, 0]);
    assert_eq!(printed(&stand, script).await, json!([large, true, true]));
}

/// What a snapshot has of these variables: what was kept together, and what is left.
async fn snapshot(variables: &str) -> Value {
    let script = r#"
import json, sys, types, junto_snapshot
shell = types.SimpleNamespace(user_ns={}, user_ns_hidden=())
said = []
junto_snapshot._shell, junto_snapshot._tell = lambda: shell, said.append
Before = set(globals())
exec(sys.argv[1])
shell.user_ns.update((name, value) for name, value in globals().items() if name not in Before and name[0].islower())
junto_snapshot.save(1 << 20)
together = sorted(sorted(each["names"]) for each in said[0]["values"])
print(json.dumps([together, sorted(said[0]["left"])]))
"#;
    let mut command = python(&stand(), script);
    command.arg(variables);
    let output = finished(command).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn what_can_change_is_kept_with_whatever_shares_it_and_constants_by_themselves() {
    let changing = r#"
from collections import deque as Deque
from array import array as Array
from io import BytesIO as Bytes
class Point:
    __slots__ = ("x",)
class Text(str):
    __slots__ = ("note",)
class Hashed:
    __slots__ = ("x",)
    def __hash__(self): return 7
for n, made in enumerate([Deque([1]), Array("i", [1]), Bytes(b"x"), Point(), Text("x"), Hashed(), [1], bytearray(1)]):
    globals()[f"a{n}"], globals()[f"b{n}"] = made, {"kept": made}
del n, made
"#;
    let pairs: Vec<[String; 2]> = (0..8).map(|n| [format!("a{n}"), format!("b{n}")]).collect();
    assert_eq!(snapshot(changing).await, json!([pairs, []]));
    let constant = r#"
import datetime as Dates, decimal as Decimals, re as Patterns
from collections import namedtuple as Named
Pair = Named("Pair", "a b")
made = [None, ..., True, 7, 2.5, 1j, "text", b"bytes", (1, "x"), frozenset([1]), range(3), slice(3), Pair(1, 2),
    Dates.timezone.utc, Decimals.Decimal("1.5"), Patterns.compile("x"), len, Decimals.Decimal]
one, other = tuple(made), tuple(made)
del made
"#;
    assert_eq!(snapshot(constant).await, json!([[["one"], ["other"]], []]));
}

#[tokio::test]
async fn a_variable_that_cannot_be_brought_back_costs_no_other() {
    let odd = r"
class Leaving:
    def __getstate__(self): return {'a': 1}
    def __setstate__(self, state): raise SystemExit
class Once:
    left = 3
    def __init__(self): self.a = 1
    def __setstate__(self, state):
        Once.left -= 1
        if Once.left == 0: raise SystemExit
s, y = Leaving(), 5
shared = Once()
one, other = [shared], [shared]
del shared
";
    assert_eq!(snapshot(odd).await, json!([[["y"]], ["one", "other", "s"]]));
}
