//! Cells that want to break out or break everything.

use junto_kernel::{Cell, CellEnd, Kernel, Piece};
use tokio_util::sync::CancellationToken;

use crate::host::stand;
use crate::kernels::{Place, cell};
use crate::t1_ends::begin;

/// Whoever has no token, another kernel's, or only part of its own is turned away, and gets no answer to what it sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_is_let_in_by_its_own_token_only() {
    let (place, first, second) = (Place::new(), stand(), stand());
    let mut setup = place.setup().await;
    for (name, value) in second.socket.environment() {
        setup.variables.insert(name.to_owned(), value.to_string_lossy().into_owned());
    }
    let kernel = Kernel::start(setup).await.unwrap();
    let code = |path: &str, token: &str| {
        format!(
            r#"
import json, os, socket
path, token = os.environ["JUNTO_TOOLS_SOCKET"], os.environ["JUNTO_TOOLS_TOKEN"]
tries = [({path}, {token}), ({path}, None), ({path}, ""), ({path}, token[:-1]), ({path}, [token]), ({path}, token.upper())]
def let_in(path, token):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(path)
    answers = s.makefile()
    if token is not None:
        s.sendall(json.dumps({{"v": 1, "token": token}}).encode() + b"\n")
        if "error" in answers.readline():
            return False
    s.sendall(json.dumps({{"id": 1, "op": "list"}}).encode() + b"\n")
    return '"tools"' in answers.readline()
print([let_in(*each) for each in tries], let_in(path, token))
"#
        )
    };
    let kept = "[False, False, False, False, False, False]";
    let theirs = format!("{:?}", first.socket.token());
    let said = cell(&kernel, &code("path", &theirs)).await;
    assert_eq!(said.stdout, format!("{kept} True\n"), "another's token at its own socket");
    let said = cell(&kernel, &code(&format!("{:?}", first.socket.path()), "token")).await;
    assert_eq!(said.stdout, format!("{kept} True\n"), "its own token at another's socket");
    kernel.close().await;
    assert_eq!(place.left().await, (Vec::new(), 0));
}

/// Processes that multiply, leave their session, and go on as another at every moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_ends_with_its_kernel() {
    let bomb = "
import os, time
def flee():
    for _ in range(1000):
        if os.fork():
            os._exit(0)
        time.sleep(0.01)
    os._exit(0)
for _ in range(40):
    if os.fork() == 0:
        os.setsid()
        for _ in range(3):
            if os.fork() == 0:
                break
        time.sleep(600)
        os._exit(0)
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        flee()
print('lit', flush=True)
time.sleep(600)
";
    let place = Place::new();
    let kernel = place.kernel().await;
    let cancel = CancellationToken::new();
    let task = begin(&kernel, Cell { cancel: cancel.clone(), ..Cell::new(bomb) }).await;
    cancel.cancel();
    let ran = task.await.unwrap().unwrap();
    assert!(matches!(ran.end, CellEnd::Interrupted { .. }), "{ran:?}");
    kernel.reset().await.unwrap();
    let said = cell(&kernel, "print(6 * 7)").await;
    assert_eq!((said.stdout.as_str(), said.end()), ("42\n", &CellEnd::Done));
    kernel.close().await;
    assert_eq!(place.left().await, (Vec::new(), 0));
}

/// The kernel dies in every way there is; each is noticed, and the next cell works.
#[tokio::test(flavor = "multi_thread")]
async fn every_death_is_noticed() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let deaths = [
        "import os; os._exit(0)",
        "import os; os._exit(7)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import ctypes; ctypes.string_at(0)",
        "import os; os.abort()",
        "import os, threading; threading.Thread(target=os._exit, args=(1,)).start(); import time; time.sleep(600)",
    ];
    for code in deaths {
        assert_eq!(cell(&kernel, "here = 1").await.end(), &CellEnd::Done, "before {code}");
        let before = kernel.generation();
        let said = cell(&kernel, code).await;
        let dead = matches!(said.end(), CellEnd::Died { .. } | CellEnd::OutOfMemory);
        assert!(dead && said.state_lost(), "{code}: {said:?}");
        let said = cell(&kernel, "print('here' in globals())").await;
        assert_eq!(said.stdout, "False\n", "{code}");
        assert_ne!(kernel.generation(), before, "{code}");
    }
    kernel.close().await;
    assert_eq!(place.left().await, (Vec::new(), 0));
}

/// It is run or refused, and the next one is run.
#[tokio::test(flavor = "multi_thread")]
async fn a_cell_of_fifty_megabytes_breaks_nothing() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let huge = format!("x = '{}'\nprint(len(x))", "y".repeat(50 << 20));
    let mut pieces: Vec<Piece> = Vec::new();
    match kernel.run(Cell::new(huge), &mut pieces).await {
        Ok(ran) => {
            assert_eq!(ran.end, CellEnd::Done);
            assert_eq!(pieces, [Piece::Stdout("52428800\n".to_owned())]);
        }
        Err(refused) => assert!(refused.to_string().contains("bytes"), "{refused}"),
    }
    let said = cell(&kernel, "print(6 * 7)").await;
    assert_eq!((said.stdout.as_str(), said.state_lost()), ("42\n", false));
    kernel.close().await;
    assert_eq!(place.left().await, (Vec::new(), 0));
}
