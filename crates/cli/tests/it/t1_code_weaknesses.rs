//! What an earlier system of this kind got wrong, each as a test that fails if we do. They go through the binary: a
//! model sends cells, and whoever is asked answers.

use std::fs;

use serde_json::json;

use crate::cells::{
    FAULTY, about_a_cell, asked, named, no, sends, serve, stage, staged, unasked, when_up, yes,
};

/// A time that is up in the end, and far longer than anything takes but what never ends, on a busy machine too.
const LONG_ENOUGH: &str = "timeout = \"20s\"\n";

/// Weakness 1: Cells were taken for finished before their output had come.
#[test]
fn w01_no_output_is_lost() {
    let codes: Vec<String> = (0..50).map(|n| format!("print('cell {n}')\n{n}")).collect();
    let stage = stage(&codes.iter().map(String::as_str).collect::<Vec<_>>());
    let seen = unasked(&stage, &["--policy", "full", "--max-rounds", "60"]);
    let said: Vec<String> = seen.cells().into_iter().map(|(_, said)| said).collect();
    assert_eq!(said.len(), codes.len(), "{}", seen.err);
    for (n, said) in said.iter().enumerate() {
        assert!(said.contains(&format!("cell {n}\n{n}")), "cell {n} said {said:?}");
    }
}

/// Weakness 2: A kernel that had crashed came back without its guards.
#[test]
fn w02_after_a_crash_leave_is_asked_for_as_before() {
    let stage = stage(&["!touch before", "import os; os._exit(3)", "!touch after"]);
    let seen = asked(&stage, &[], |_| no());
    assert_eq!(seen.lines(), ["touch before", "touch after"], "{seen:#?}");
    let cells = seen.cells();
    assert!(
        cells[1].0 && cells[1].1.contains("gone"),
        "the model is told that its variables are gone: {cells:?}"
    );
    assert!(cells[0].0 && cells[2].0, "{cells:?}");
    for made in ["before", "after"] {
        assert!(!stage.machine.path("project").join(made).exists(), "{made}");
    }
}

/// Weakness 3: Code could tell the host which program to start as a server.
#[test]
fn w03_code_cannot_choose_what_the_host_starts() {
    let code = r#"
import json, os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["JUNTO_TOOLS_SOCKET"])
lines = s.makefile("rw")
def say(message):
    lines.write(json.dumps(message) + "\n"); lines.flush()
    return json.loads(lines.readline())
say({"v": 1, "token": os.environ["JUNTO_TOOLS_TOKEN"]})
server = {"command": "touch", "args": [os.path.abspath("started")]}
for number, message in enumerate([
    {"op": "call", "name": "mine__x", "server_name": "mine", "server_params": server, "arguments": {}},
    {"op": "call", "name": "named__say", "server_params": server, "arguments": {"text": "hello"}},
    {"op": "call", "name": "named__say", "arguments": {"text": "hello", "server_params": server}},
    {"op": "call", "name": "mcp", "arguments": server},
    {"op": "run", "server_params": server},
    {"op": "module", "name": "mcptools.mine", "server_params": server},
]):
    reply = say(dict(message, id=number))
    print(number, reply["ok"] and not reply.get("is_error"))
"#;
    let stage = stage(&[&format!("{}{code}", when_up("named"))]);
    serve(&stage, &json!({"named": named(&["say"])}));
    let seen = asked(&stage, &[], |_| yes());
    let said = seen.fine(0);
    let done: Vec<&str> = said.lines().filter(|line| line.ends_with("True")).collect();
    // The second is an ordinary call: what stands beside its arguments means nothing.
    assert_eq!(done, ["1 True"], "{said}");
    assert!(!stage.machine.path("project/started").exists(), "{said}");
}

/// Weakness 4: Rules were matched against lines as texts, so that a harmless beginning let everything through.
#[test]
fn w04_lines_are_judged_by_what_they_do() {
    let lines = [
        "cat a > /etc/cron.d/junto-never",
        "ls $(rm -rf z)",
        "ls & rm -rf z",
        "cat .env",
        "git diff --output=/usr/local/share/junto-never",
        "cat ~/.ssh/id_rsa",
        "cat ../../../../../../etc/shadow > stolen",
    ];
    let bangs: Vec<String> = lines
        .iter()
        .map(|line| format!("get_ipython().system({line:?})"))
        .chain(["!ls".to_owned()])
        .collect();
    let stage = stage(&bangs.iter().map(String::as_str).collect::<Vec<_>>());
    for (path, content) in [("project/a", "a"), ("project/z/kept", ""), ("project/.env", "KEY=sesame")] {
        stage.machine.write(path, content);
    }
    stage.machine.write(".ssh/id_rsa", "sesame");
    let seen = asked(&stage, &[], |_| no());
    let cells = seen.cells();
    assert_eq!(cells.len(), bangs.len(), "{seen:#?}");
    for (line, (failed, said)) in lines.iter().zip(&cells) {
        assert!(*failed && !said.contains("sesame"), "{line} ran: {said}");
    }
    let (failed, said) = &cells[lines.len()];
    assert!(!failed && said.contains('z'), "what only looks needs no leave: {said}");
    assert!(!seen.lines().contains(&"ls".to_owned()), "{:?}", seen.lines());
    assert!(stage.machine.path("project/z/kept").exists());
}

/// 4, for tools that are called from code: a path is what it leads to.
#[test]
fn w04_paths_are_judged_by_where_they_lead() {
    let code = r#"
import os
from mcptools.junto import read_file
os.symlink(os.path.expanduser("~/.ssh"), "link")
for path in ["~/.ssh/id_rsa", os.path.expanduser("~/.ssh/id_rsa"), "../.ssh/id_rsa", "link/id_rsa", ".env"]:
    try:
        print("READ", path, read_file(file_path=path))
    except Exception as error:
        print(type(error).__name__, path)
print(read_file(file_path="notes"))
"#;
    let stage = stage(&[code]);
    for (path, content) in
        [(".ssh/id_rsa", "sesame"), ("project/.env", "sesame"), ("project/notes", "public")]
    {
        stage.machine.write(path, content);
    }
    let seen = asked(&stage, &[], |_| no());
    let said = seen.fine(0);
    assert!(said.contains("public") && !said.contains("READ") && !said.contains("sesame"), "{said}");
    assert_eq!(said.matches("id_rsa").count() + said.matches(".env").count(), 5, "{said}");
}

/// Weakness 5: A line was shown before variables were put in, and run after.
#[test]
fn w05_what_is_shown_is_what_runs() {
    let stage = stage(&["v = 'a b'\n!echo $v {len(v)} > said", "%%bash\necho \"$((1 + 1))\" >> said"]);
    let seen = asked(&stage, &[], |_| yes());
    let lines = seen.lines();
    assert_eq!(lines[0], "echo a b 3 > said", "{seen:#?}");
    assert!(lines[1].contains("echo \"$((1 + 1))\" >> said"), "{lines:?}");
    assert_eq!(fs::read_to_string(stage.machine.path("project/said")).unwrap(), "a b 3\n2\n");
}

/// Weakness 6: Braces in a line broke it.
#[test]
fn w06_braces_and_quotes_arrive_as_they_were_written() {
    let stage = stage(&[
        r#"!echo '{"a": 1}'"#,
        r"!find . -name 'one.txt' -exec echo found {} \;",
        "!echo \"it's\" 'so \"quoted\"' | tr a-z A-Z",
    ]);
    stage.machine.write("project/one.txt", "");
    let seen = asked(&stage, &[], |_| yes());
    assert!(seen.fine(0).contains(r#"{"a": 1}"#), "{seen:#?}");
    assert!(seen.fine(1).contains("found ./one.txt"), "{seen:#?}");
    assert!(seen.fine(2).contains(r#"IT'S SO "QUOTED""#), "{seen:#?}");
}

/// Weakness 7: After a refusal that the code had caught no further question came through, and everything stood still.
#[test]
fn w07_a_refusal_that_is_caught_is_no_end() {
    let code = r#"
from mcptools.junto import write_file
for path in ["one.txt", "two.txt", "three.txt"]:
    try:
        write_file(file_path=path, content="x")
    except BaseException as error:
        print("caught", type(error).__name__, path)
print("went on")
"#;
    let stage = stage(&[code, "print('and the next')"]);
    let mut answers = [no(), yes(), no()].into_iter();
    let seen = asked(&stage, &[], |_| answers.next().unwrap());
    let said = seen.fine(0);
    assert_eq!(said.matches("caught ToolRejected").count(), 2, "{said}");
    assert!(said.contains("went on") && seen.fine(1).contains("and the next"), "{seen:#?}");
    let inner = seen.asks.iter().filter(|ask| !about_a_cell(ask));
    assert!(inner.clone().all(|ask| ask["request"]["via"] == "cell") && inner.count() == 3, "{seen:#?}");
    let made = |name: &str| stage.machine.path("project").join(name).exists();
    assert_eq!([made("one.txt"), made("two.txt"), made("three.txt")], [false, true, false]);
}

/// Weakness 8: Of a cell that failed the model saw the error, and nothing of what had been printed before.
#[test]
fn w08_what_was_said_before_an_error_is_told() {
    let said_before = "print('half of it is done')\n1 / 0";
    let slow = "import time\nprint('before the sleep', flush=True)\ntime.sleep(600)";
    let stage = staged(sends(&[said_before, slow]), LONG_ENOUGH);
    let seen = unasked(&stage, &["--policy", "full"]);
    let cells = seen.cells();
    let (failed, said) = &cells[0];
    assert!(*failed && said.contains("half of it is done") && said.contains("ZeroDivisionError"), "{said}");
    let (failed, said) = &cells[1];
    assert!(*failed && said.contains("before the sleep"), "{said}");
}

/// Weakness 9: Code that does not heed interrupts kept the kernel for ever.
#[test]
fn w09_code_that_swallows_interrupts_is_ended() {
    let stubborn = "
import time
kept = 'here'
while True:
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        print('no')
";
    let stage = staged(sends(&[stubborn, "print('kept' in globals(), 6 * 7)"]), LONG_ENOUGH);
    let seen = unasked(&stage, &["--policy", "full"]);
    let (failed, said) = &seen.cells()[0];
    assert!(*failed && said.contains("are gone"), "{said}");
    assert!(seen.fine(1).contains("False 42"), "{seen:#?}");
}

/// Weakness 10: Ways to start a process that nobody had thought of went unasked.
#[test]
fn w10_no_way_to_start_a_process_goes_unasked() {
    let ways = [
        "import posix; posix.system('touch made')",
        "import os; os.system('touch made')",
        "import subprocess; subprocess.run(['touch', 'made'], check=True)",
        "import subprocess; subprocess.run('touch made', shell=True, check=True)",
        "import os; os.popen('touch made').read()",
        "import os; os.waitpid(os.posix_spawn('/usr/bin/touch', ['touch', 'made'], {}), 0)",
        "import os; os.spawnlp(os.P_WAIT, 'touch', 'touch', 'made')",
        "import _posixsubprocess, subprocess; subprocess.Popen(['touch', 'made']).wait()",
        "import asyncio\np = await asyncio.create_subprocess_shell('touch made')\nawait p.wait()",
        "import pty; pty.spawn(['touch', 'made'])",
        "import os\nif os.fork() == 0:\n try: os.execlp('touch', 'touch', 'made')\n finally: os._exit(1)\nos.wait()",
        "!touch made",
        "!!touch made",
        "x = !touch made",
        "%system touch made",
        "%sx touch made",
        "%%bash\ntouch made",
        "%%sh\ntouch made",
        "%%script bash\ntouch made",
        "get_ipython().getoutput('touch made')",
    ];
    let stage = stage(&ways);
    let seen = asked(&stage, &["--max-rounds", "40"], |_| no());
    assert_eq!(seen.cells().len(), ways.len(), "{seen:#?}");
    let asked = seen.asks.iter().filter(|ask| !about_a_cell(ask)).count();
    assert!(asked >= ways.len(), "{:?} for {:#?}", seen.lines(), seen.cells());
    assert!(seen.lines().iter().all(|line| line.contains("touch")), "{:?}", seen.lines());
    assert!(!stage.machine.path("project/made").exists(), "{:#?}", seen.cells());
}

/// Weakness 11: Files were looked for where the host happened to run, and not where the agent works.
#[test]
fn w11_tools_work_where_the_session_works() {
    let code = "
import os
from mcptools.junto import read_file
print(os.path.basename(os.getcwd()), read_file(file_path='notes'))
os.chdir('/')
print(read_file(file_path='notes'))
";
    let stage = stage(&[code]);
    stage.machine.write("project/notes", "of the host");
    stage.machine.write("project/elsewhere/notes", "of the session");
    let seen = asked(&stage, &["-C", "elsewhere"], |_| yes());
    let said = seen.fine(0);
    assert!(said.starts_with("elsewhere"), "{said}");
    assert_eq!(said.matches("of the session").count(), 2, "{said}");
    assert!(!said.contains("of the host"), "{said}");
}

/// Weakness 12: Tools whose names became the same overwrote each other, and some names could not be imported at all.
#[test]
fn w12_every_name_can_be_imported_and_none_is_taken_twice() {
    let tools = ["a.b", "a-b", "a_b", "A_b", "import", "class", "2nd", "None", "run", "print"];
    let code = "
import importlib, inspect
module = importlib.import_module('mcptools.my_server')
said = set()
for name in module.__all__:
    assert name.isidentifier(), name
    scope = {}
    exec(f'from mcptools.my_server import {name}', scope)
    said.add(str(scope[name].run(text='x')))
for line in sorted(said):
    print(line)
";
    let stage = stage(&[&format!("{}{code}", when_up("my_server"))]);
    serve(&stage, &json!({"my-server": named(&tools)}));
    let seen = asked(&stage, &[], |_| yes());
    let said = seen.fine(0);
    for tool in tools {
        assert!(said.lines().any(|line| line == format!("{tool}: x")), "no {tool} in {said}");
    }
}

/// Weakness 13: A server that was slow kept everything from starting.
#[test]
fn w13_a_server_that_is_slow_holds_nothing_up() {
    let late = format!("{}from mcptools.late import echo\nprint(echo.run(text='there'))", when_up("late"));
    let stage = stage(&["print('at once')", &late]);
    let faulty = |mode: &str| json!({"command": "python3", "args": [FAULTY, mode]});
    serve(&stage, &json!({"never": faulty("mute"), "late": faulty("slow=2")}));
    let seen = asked(&stage, &[], |_| yes());
    assert!(seen.fine(0).contains("at once"), "{seen:#?}");
    assert!(seen.fine(1).contains("echo says: there"), "{seen:#?}");
}

/// Weakness 14: The first line or call of a kernel loaded packages for seconds. Ours needs only the standard library; with what
/// IPython itself runs a line is IPython's.
#[test]
fn w14_the_first_call_and_the_first_line_load_no_packages() {
    let code = "
import sys
before = set(sys.modules)
from mcptools.junto import read_file
read_file.run(file_path='notes')
get_ipython().system('true')
loaded = {name.split('.')[0] for name in set(sys.modules) - before}
print('loaded:', sorted(loaded - set(sys.stdlib_module_names) - {'mcptools', 'junto_tools', 'pexpect', 'ptyprocess'}))
";
    let stage = stage(&[code]);
    stage.machine.write("project/notes", "public");
    let seen = asked(&stage, &[], |_| yes());
    let said = seen.fine(0);
    assert!(said.contains("loaded: []"), "{said}");
}

/// A policy that lets nothing be asked holds for cells as well.
#[test]
fn where_nobody_can_be_asked_a_cell_that_needs_leave_is_not_run() {
    let stage = stage(&["open('made', 'w').close()"]);
    let seen = unasked(&stage, &["--policy", "ask"]);
    assert!(seen.cells()[0].0, "{seen:#?}");
    assert!(!stage.machine.path("project/made").exists());
}
