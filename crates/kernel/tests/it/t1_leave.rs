//! Programs that code starts: asked for as they run, and not run if the answer is no.

use junto_core::{Action, Tool, ToolCall, ToolCx};
use junto_kernel::{Cell, CellEnd, SHELL_LEAVE, ShellLeave};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::kernels::{Place, cell, say};
use crate::library::Reading;

/// Runs a cell and compares what it says and what was asked for.
async fn check(reading: &Reading, code: &str, said: &str, lines: &[&str]) {
    reading.library.forget();
    let printed = reading.printed(code).await.replace("\r\n", "\n");
    assert_eq!(printed, said, "{code}");
    assert_eq!(reading.library.lines(), lines, "{code}");
}

#[tokio::test]
async fn what_is_asked_for_is_what_runs() {
    let reading = Reading::new().await;
    let check = async |code: &str, said: &str, lines: &[&str]| check(&reading, code, said, lines).await;
    check("!echo hello", "hello\n", &["echo hello"]).await;
    check("!echo '{\"a\": 1}'", "{\"a\": 1}\n", &["echo '{\"a\": 1}'"]).await;
    check("!find . -maxdepth 0 -exec echo {} \\;", ".\n", &["find . -maxdepth 0 -exec echo {} \\;"]).await;
    check("v = 'a b'\n!echo $v {len(v)} $$HOME_NOT", "a b 3\n", &["echo a b 3 $HOME_NOT"]).await;
    check("x = !echo one; echo two\nx", "['one', 'two']", &["echo one; echo two"]).await;
    check("!!echo {v}", "['a b']", &["echo a b"]).await;
    check("%sx echo $v", "['a b']", &["echo a b"]).await;
    check("def f(w):\n    !echo $w\nf('local')", "local\n", &["echo local"]).await;
    check("get_ipython().system('echo {v}')", "a b\n", &["echo a b"]).await;
    check("%%bash\necho $((1 + 1)) '{v}'\n", "2 {v}\n", &["echo $((1 + 1)) '{v}'\n"]).await;
    check("%%sh\necho sh\n", "sh\n", &["echo sh\n"]).await;
    check("%%script cat\nEND\n", "END\n", &["cat <<'END_'\nEND\nEND_"]).await;
    check("%%bash -s x\necho $1\n", "x\n", &["bash -s x <<'END'\necho $1\nEND"]).await;
    check("%%bash --out kept\necho kept\n", "", &["echo kept\n"]).await;
    check("kept", "'kept\\n'", &[]).await;
    reading.end().await;
}

#[tokio::test]
async fn every_way_of_starting_a_program_is_asked_for_once() {
    let reading = Reading::new().await;
    let check = async |code: &str, said: &str, lines: &[&str]| check(&reading, code, said, lines).await;
    check("import os, posix, pty, subprocess, sys, asyncio, threading", "", &[]).await;
    check(
        "subprocess.run(['echo', 'a b', '$x'], capture_output=True).stdout",
        "b'a b $x\\n'",
        &["echo 'a b' '$x'"],
    )
    .await;
    check("subprocess.check_output('echo $((2*2))', shell=True)", "b'4\\n'", &["echo $((2*2))"]).await;
    check("subprocess.run('true').returncode", "0", &["true"]).await;
    check(
        "subprocess.run(['ls', '-d'], executable='/bin/echo', capture_output=True).stdout",
        "b'-d\\n'",
        &["/bin/echo -d"],
    )
    .await;
    check("subprocess.run([b'echo', b'x'], capture_output=True).stdout", "b'x\\n'", &["echo x"]).await;
    check(
        "subprocess.run(['pwd'], cwd='/', close_fds=False, capture_output=True).stdout",
        "b'/\\n'",
        &["pwd"],
    )
    .await;
    assert_eq!(reading.library.calls.lock().unwrap()[0].arguments["cwd"], "/");
    check("os.system('true')", "0", &["true"]).await;
    check("posix.system('exit 3') >> 8", "3", &["exit 3"]).await;
    check("os.popen('echo popen').read()", "'popen\\n'", &["echo popen"]).await;
    check("os.spawnv(os.P_WAIT, '/bin/true', ['true'])", "0", &["/bin/true"]).await;
    check("os.spawnlp(os.P_WAIT, 'sh', 'sh', '-c', 'exit 4')", "4", &["exit 4"]).await;
    check("os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)[1]", "0", &["/bin/true"]).await;
    check("os.waitpid(os.posix_spawnp('true', ['true'], {}), 0)[1]", "0", &["true"]).await;
    check("pty.spawn(['/bin/sh', '-c', 'exit 5'], lambda fd: os.read(fd, 99)) >> 8", "5", &["exit 5"]).await;
    check("import pexpect; pexpect.run('echo pexpect')", "b'pexpect\\r\\n'", &["/usr/bin/echo pexpect"])
        .await;
    let exec = "child = os.fork()\nif child == 0:\n    os.execvp('sh', ['sh', '-c', 'exit 6'])\nos.waitpid(child, 0)[1] >> 8";
    check(exec, "6", &["exit 6"]).await;
    let shell =
        "p = await asyncio.create_subprocess_shell('echo async', stdout=-1)\n(await p.communicate())[0]";
    check(shell, "b'async\\n'", &["echo async"]).await;
    let again = "for _ in range(2): subprocess.run(['true'])\nos.system('true')";
    check(again, "0", &["true", "true", "true"]).await;
    let threads = "ts = [threading.Thread(target=subprocess.run, args=(['true', str(n)],)) for n in range(8)]\n\
                   [t.start() for t in ts]; [t.join() for t in ts]; None";
    reading.library.forget();
    assert_eq!(reading.printed(threads).await, "");
    let mut lines = reading.library.lines();
    lines.sort();
    assert_eq!(lines, (0..8).map(|n| format!("true {n}")).collect::<Vec<_>>());
    // Code without a program asks for nothing.
    check("sum(range(10)), open('x', 'w').write('y'), os.fork and 1", "(45, 1, 1)", &[]).await;
    reading.end().await;
}

#[tokio::test]
async fn what_is_only_called_like_a_program_is_shown_by_its_path() {
    let reading = Reading::new().await;
    let check = async |code: &str, said: &str, lines: &[&str]| check(&reading, code, said, lines).await;
    let work = reading.place.work().canonicalize().unwrap();
    let here = work.display();
    let fakes = "import os, posix, subprocess\nfor name in ('sh', 'ls'):\n    \
                 open(name, 'w').write('#!/bin/sh\\nexit 7\\n'); os.chmod(name, 0o755)";
    check(fakes, "", &[]).await;
    let spawned = "os.waitpid(os.posix_spawn('sh', ['sh', '-c', 'ls'], os.environ), 0)[1] >> 8";
    check(spawned, "7", &["./sh -c ls"]).await;
    let searched = "os.waitpid(posix.posix_spawnp('sh', ['sh', '-c', 'exit 3'], os.environ), 0)[1] >> 8";
    check(searched, "3", &["exit 3"]).await;
    check("os.spawnl(os.P_WAIT, 'sh', 'sh', '-c', 'ls')", "7", &["./sh -c ls"]).await;
    let exec = "child = os.fork()\nif child == 0:\n    os.execv('sh', ['sh', '-c', 'ls'])\nos.waitpid(child, 0)[1] >> 8";
    check(exec, "7", &["./sh -c ls"]).await;
    let own = "own = {'PATH': os.getcwd()}\nsubprocess.run(['ls'], env=own).returncode";
    check(own, "7", &[&format!("export PATH={here}; {here}/ls")]).await;
    let shell = "subprocess.run(['sh', '-c', 'ls'], env=own).returncode";
    check(shell, "7", &[&format!("export PATH={here}; {here}/sh -c ls")]).await;
    check("subprocess.run('ls', shell=True, env=own).returncode", "7", &[&format!("export PATH={here}; ls")])
        .await;
    check("subprocess.run(['true'], env={**os.environ, 'X': '1'}).returncode", "0", &["true"]).await;
    check("subprocess.run(['true'], env={}).returncode", "0", &["true"]).await;
    check("os.environ['PATH'] += ':/opt'; os.system('exit 3') >> 8", "3", &["exit 3"]).await;
    let changed = "before = os.environ['PATH']; os.environ['PATH'] = '.:' + before\nos.system('ls') >> 8";
    check(changed, "7", &["export PATH=.:/usr/bin:/bin:/opt; ls"]).await;
    let path = "export PATH=.:/usr/bin:/bin:/opt; ";
    check("subprocess.run(['ls']).returncode", "7", &[&format!("{path}./ls")]).await;
    for argv in ["env ls", "nice ls", "bash -c ls x"] {
        let code = format!("subprocess.run('{argv}'.split()).returncode");
        check(&code, "7", &[&format!("{path}{argv}")]).await;
    }
    check("%%bash\nls || echo $?", "7\n", &[&format!("{path}ls || echo $?\n")]).await;
    let script = "%%bash -s x\nls; echo $?";
    check(script, "7\n", &[&format!("{path}bash -s x <<'END'\nls; echo $?\nEND")]).await;
    check("os.environ['PATH'] = before", "", &[]).await;
    check("subprocess.run(['ls', '-d', '.'], capture_output=True).returncode", "0", &["ls -d ."]).await;
    // Beside `os.environ`, too.
    check("os.putenv('PATH', '.'); os.system('ls') >> 8", "7", &["export PATH=.; ls"]).await;
    let searched = "os.waitpid(posix.posix_spawnp('ls', ['ls'], {}), 0)[1] >> 8";
    check(searched, "7", &["./ls"]).await;
    check("os.unsetenv('PATH'); os.environ['PATH'] = before; os.system('exit 3') >> 8", "3", &["exit 3"])
        .await;
    reading.end().await;
}

#[tokio::test]
async fn variables_that_have_something_else_run_are_shown() {
    let reading = Reading::with(&[("LD_LIBRARY_PATH", "/opt/given")]).await;
    let check = async |code: &str, said: &str, lines: &[&str]| check(&reading, code, said, lines).await;
    check("import os, subprocess\nown = lambda **more: {**os.environ, **more}", "", &[]).await;
    check("open('other', 'w').write('exit 7')", "6", &[]).await;
    check(
        "subprocess.run('true', shell=True, executable='/bin/bash', env=own(**{'BASH_FUNC_true%%': '() { exit 7; }'})).returncode",
        "7",
        &["export 'BASH_FUNC_true%%=() { exit 7; }'; true"],
    )
    .await;
    check(
        "subprocess.run(['bash', '-c', 'true'], env=own(BASH_ENV='other')).returncode",
        "7",
        &["export BASH_ENV=other; true"],
    )
    .await;
    check(
        "subprocess.run(['true'], env=own(LD_PRELOAD='', LD_LIBRARY_PATH='a b')).returncode",
        "0",
        &["export LD_LIBRARY_PATH='a b'; export LD_PRELOAD=''; true"],
    )
    .await;
    check("subprocess.run(['true'], env={b'ENV': b'other'}).returncode", "0", &["export ENV=other; true"])
        .await;
    check("os.environ['BASH_ENV'] = 'other'\nos.system('true')", "0", &["export BASH_ENV=other; true"]).await;
    check(
        "os.putenv('ENV', 'x'); del os.environ['BASH_ENV']; os.system('true')",
        "0",
        &["export ENV=x; true"],
    )
    .await;
    // As they were when the kernel started they are nothing of the code's.
    check("os.unsetenv('ENV'); subprocess.run(['true'], env=own(X='1')).returncode", "0", &["true"]).await;
    reading.end().await;
}

#[tokio::test]
async fn a_refusal_raises_and_nothing_runs() {
    let reading = Reading::new().await;
    reading.printed("import os, posix, pty, subprocess, asyncio").await;
    for code in [
        "!touch forbidden",
        "x = !touch forbidden",
        "!!touch forbidden",
        "%sx touch forbidden",
        "%%bash\ntouch forbidden\n",
        "%%script sh\ntouch forbidden\n",
        "subprocess.run(['touch', 'forbidden'])",
        "subprocess.run('touch forbidden', shell=True)",
        "os.system('touch forbidden')",
        "posix.system('touch forbidden')",
        "os.popen('touch forbidden')",
        "os.spawnvp(os.P_WAIT, 'touch', ['touch', 'forbidden'])",
        "os.posix_spawnp('touch', ['touch', 'forbidden'], os.environ)",
        "os.execvp('touch', ['touch', 'forbidden'])",
        "pty.spawn(['touch', 'forbidden'])",
        "await asyncio.create_subprocess_exec('touch', 'forbidden')",
    ] {
        assert_eq!(reading.raised(code).await, ("ToolRejected".into(), "the user refused".into()), "{code}");
    }
    // In a child that only starts a program it is what exec says; the child does not run on.
    let (name, _) = reading.raised("import pexpect; pexpect.spawn('touch', ['forbidden'])").await;
    assert!(name.contains("Error"), "{name}");
    let fork = "child = os.fork()\nif child == 0:\n    try: os.execvp('touch', ['touch', 'forbidden'])\n    \
                except PermissionError: os._exit(9)\nos.waitpid(child, 0)[1] >> 8";
    assert_eq!(reading.printed(fork).await, "9");
    let undecodable = "import os; os.system(b'touch \\xff')";
    assert_eq!(reading.raised(undecodable).await.0, "ToolRejected");
    // A program that is not there is told as ever.
    assert_eq!(reading.raised("subprocess.run(['nowhere-to-be-found'])").await.0, "FileNotFoundError");
    assert_eq!(reading.printed("os.listdir('.'), 1 + 1").await, "([], 2)");
    reading.end().await;
}

#[tokio::test]
async fn an_interrupt_while_leave_is_waited_for_takes_the_question_back() {
    let reading = Reading::new().await;
    reading.printed("import subprocess\nfrom mcptools.junto import block, echo").await;
    for (count, code) in ["!echo wait", "subprocess.run(['echo', 'wait'])", "%%bash\necho wait\n", "block()"]
        .into_iter()
        .enumerate()
    {
        let cancel = CancellationToken::new();
        let cell = Cell { cancel: cancel.clone(), ..Cell::new(code) };
        let interrupt = async {
            reading.library.waiting(count + 1).await;
            cancel.cancel();
        };
        let (said, ()) = tokio::join!(say(&reading.kernel, cell), interrupt);
        assert_eq!(said.end(), &CellEnd::Interrupted { killed: false }, "{code}");
        assert_eq!(said.stdout, "", "{code}");
        reading.library.dropped(count + 1).await;
        assert_eq!(reading.printed("echo(n=1)").await, "'echo {\"n\":1}'", "{code}");
    }
    reading.end().await;
}

#[tokio::test]
async fn leave_is_asked_for_after_a_restart_too() {
    let reading = Reading::new().await;
    assert!(cell(&reading.kernel, "import os; os._exit(1)").await.state_lost());
    check(&reading, "!echo again", "again\n", &["echo again"]).await;
    reading.kernel.reset().await.unwrap();
    check(&reading, "!echo again", "again\n", &["echo again"]).await;
    assert_eq!(reading.raised("!echo forbidden").await.0, "ToolRejected");
    reading.end().await;
}

#[tokio::test]
async fn a_socket_that_is_gone_allows_nothing() {
    let Reading { kernel, socket, place, .. } = Reading::new().await;
    socket.close().await;
    let said = cell(&kernel, "!echo x").await;
    assert_eq!(said.error.unwrap().0, "ToolsUnavailable");
    assert_eq!(said.stdout, "");
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

#[tokio::test]
async fn leave_is_for_the_line_in_its_place() {
    let place = Place::new();
    let cx = ToolCx::alone(place.env.clone());
    let call = json!({"line": "ls {} $x", "cwd": place.work().join("..")});
    let call = ToolCall::function("c", SHELL_LEAVE, call.to_string());
    let actions = ShellLeave::default().actions(&call, &cx).await.unwrap();
    match actions.as_slice() {
        [Action::Shell { line, cwd }] => {
            assert_eq!(line, "ls {} $x");
            assert_eq!(cwd.as_path(), place.dir.path().canonicalize().unwrap());
        }
        other => panic!("{other:?}"),
    }
}
