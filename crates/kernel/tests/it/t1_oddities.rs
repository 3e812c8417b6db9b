//! Cells that say what is hard to say, or take away what they say it with: the kernel lives, and nothing is lost.

use junto_kernel::{CellEnd, Piece};
use serde_json::json;

use crate::kernels::{Place, cell};

#[tokio::test]
async fn what_is_no_text_or_no_number_of_json_is_told_and_kills_no_kernel() {
    let place = Place::new();
    let kernel = place.kernel().await;
    cell(
        &kernel,
        "import os\nfrom IPython.display import JSON, display\nopen(b'\\xff.txt', 'w').close()\nx = 7",
    )
    .await;
    for (code, name, value) in [
        (
            "for n in os.listdir('.'): raise ValueError(f'cannot read {n}')",
            "ValueError",
            r"cannot read \udcff.txt",
        ),
        (r"raise ValueError('\ud800')", "ValueError", r"\ud800"),
    ] {
        let said = cell(&kernel, code).await;
        assert_eq!(said.error, Some((name.to_owned(), value.to_owned())), "{code}");
        assert!(said.traceback.contains(value), "{}", said.traceback);
        assert_eq!((said.end(), said.state_lost()), (&CellEnd::Failed, false), "{code}");
    }
    let said = cell(
        &kernel,
        r"class C:
    def __repr__(self): return 'a\udcffb'
C()",
    )
    .await;
    assert_eq!(said.result.as_deref(), Some(r"a\udcffb"));
    let shown = |said: &crate::kernels::Said| match said.others.as_slice() {
        [Piece::Display { text }] => text.clone(),
        others => panic!("{others:?}"),
    };
    let said = cell(&kernel, r"display({'text/plain': 'a\udcffb'}, raw=True)").await;
    assert_eq!(shown(&said), r"a\udcffb");
    let said = cell(&kernel, "d = []\nfor _ in range(200): d = [d]\ndisplay(JSON(d))").await;
    assert_eq!(shown(&said), format!("{}{}", "[".repeat(201), "]".repeat(201)));
    let said = cell(&kernel, "d = []\nfor _ in range(20000): d = [d]\ndisplay(JSON(d))").await;
    assert!(shown(&said).contains("cannot be shown: RecursionError"), "{said:?}");
    let said = cell(&kernel, "d = {}\nd['a'] = d['b'] = d\ndisplay(JSON(d))").await;
    assert!(shown(&said).contains("cannot be shown: ValueError"), "{said:?}");
    let said = cell(&kernel, "display(JSON({'a': 10**400}))").await;
    assert_eq!(shown(&said), format!("{{\"a\": 1{}}}", "0".repeat(400)));
    let said = cell(&kernel, "display(JSON({'a': 2**70, 'b': -2**70}))").await;
    assert_eq!(shown(&said), r#"{"a": 1180591620717411303424, "b": -1180591620717411303424}"#);
    let said = cell(&kernel, "display(JSON({'a': 2**64 - 1, 'b': -2**63}))").await;
    assert_eq!(said.others[0], Piece::Json(json!({"a": u64::MAX, "b": i64::MIN})));
    // What is said to widgets is nobody's to read, and may be no dictionary.
    for data in ["[10**400]", "[2**70]", "[d200]", "2**70", "{'a': 2**70}"] {
        let code = format!(
            "d200 = []\nfor _ in range(200): d200 = [d200]\nfrom comm import create_comm\n\
             comm = create_comm('t', data={data})\ncomm.send({data})\ncomm.close()\nprint('sent')"
        );
        let said = cell(&kernel, &code).await;
        assert_eq!(
            (said.error.as_ref(), said.stdout.as_str()),
            (None, "sent\n"),
            "{data}: {}",
            said.traceback
        );
        assert_eq!(said.others, [], "{data}");
    }
    assert_eq!(cell(&kernel, "x").await.result.as_deref(), Some("7"));
}

#[tokio::test]
async fn streams_that_a_cell_took_away_are_back() {
    let place = Place::new();
    let kernel = place.kernel().await;
    cell(&kernel, "import io, sys\nx = 7").await;
    for code in [
        "with open('log', 'w') as f:\n    sys.stdout = f\n    print('x')",
        "sys.stdout = None",
        "sys.stdout = sys.stderr = None",
        "sys.stderr = io.StringIO(); sys.stderr.close()",
        "sys.stdout = object()",
        "sys.stdout.close()",
    ] {
        let said = cell(&kernel, code).await;
        assert_eq!((said.end(), said.state_lost()), (&CellEnd::Done, false), "{code}: {said:?}");
        let said = cell(&kernel, "print('out'); print('err', file=sys.stderr); x").await;
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("out\n", "err\n"), "{code}");
        assert_eq!(said.result.as_deref(), Some("7"), "{code}");
    }
    assert_eq!(std::fs::read_to_string(place.work().join("log")).unwrap(), "x\n");
    // What it raises beside is told.
    let said = cell(&kernel, "sys.stdout = None\n1 / 0").await;
    assert_eq!(said.error.as_ref().map(|error| error.0.as_str()), Some("ZeroDivisionError"), "{said:?}");
    // One that works stays where it was put.
    cell(&kernel, "kept = sys.stdout = io.StringIO(); print('there')").await;
    let said = cell(
        &kernel,
        "sys.stdout = sys.__stdout__ if False else get_ipython().kernel.streams[0]; kept.getvalue()",
    );
    assert_eq!(said.await.result.as_deref(), Some("'there\\n'"));
}

#[tokio::test]
async fn exit_ends_the_cell_and_not_the_kernel() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let generation = kernel.generation();
    cell(&kernel, "x = 7").await;
    for (code, value) in [("exit()", "None"), ("quit(3)", "3"), ("import sys; sys.exit(4)", "4")] {
        let said = cell(&kernel, &format!("print('before')\n{code}")).await;
        assert_eq!(said.end(), &CellEnd::Failed, "{code}: {said:?}");
        let error = said.error.unwrap();
        assert!(error.0 == "SystemExit" && (error.1 == value || error.1.is_empty()), "{code}: {error:?}");
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("before\n", ""), "{code}");
        // The kernel would have ended a tenth of a second later.
        let said = cell(&kernel, "import time; time.sleep(0.3); x").await;
        assert_eq!((said.result.as_deref(), said.state_lost()), (Some("7"), false), "{code}");
    }
    assert_eq!(kernel.generation(), generation);
}

/// Signals come at every moment: also while what the cell says is on its way.
#[tokio::test]
async fn what_signal_handlers_and_finalizers_say_loses_and_crosses_nothing() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let code = "import os, signal, sys
def say(text):
    os.write(1, b'raw %d\\n' % say.count)
    sys.stdout.write(f'{text} {say.count}\\n')
    say.count += 1
say.count = 0
def tick(*_):
    os.write(1, b'tick\\n')
    sys.stdout.write('tock\\n')
class Thing:
    def __del__(self):
        sys.stdout.write('gone\\n')
before = signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
try:
    for _ in range(20000):
        say('said')
        thing = Thing()
        thing.itself = thing
finally:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)";
    let said = cell(&kernel, code).await;
    assert_eq!((said.error.as_ref(), said.stderr.as_str()), (None, ""), "{}", said.traceback);
    let (of_handlers, of_cell): (Vec<&str>, Vec<&str>) =
        said.stdout.lines().filter(|line| *line != "gone").partition(|line| ["tick", "tock"].contains(line));
    let expected: Vec<String> = (0..20000).flat_map(|n| [format!("raw {n}"), format!("said {n}")]).collect();
    assert!(of_cell == expected, "{} lines of {}", of_cell.len(), expected.len());
    assert!(of_handlers.len() > 2, "the handler was called");
    // A handler may be called within itself.
    let mut open = 0;
    for line in &of_handlers {
        open += if *line == "tick" { 1 } else { -1 };
        assert!(open >= 0, "{of_handlers:?}");
    }
    assert_eq!(open, 0, "{of_handlers:?}");
    // A handler that has everything sent, and one that ends the kernel, while it is printed.
    let code = "signal.signal(signal.SIGALRM, lambda *_: print('x', flush=True))
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
for _ in range(50000): print('y' * 4)
signal.setitimer(signal.ITIMER_REAL, 0)";
    let said = cell(&kernel, code).await;
    assert_eq!((said.end(), said.stderr.as_str()), (&CellEnd::Done, ""), "{}", said.traceback);
    assert_eq!(said.stdout.matches('y').count(), 200_000);
    let code = "import os, signal
def leave(*_):
    print('bye')
    os._exit(5)
signal.signal(signal.SIGALRM, leave)
signal.setitimer(signal.ITIMER_REAL, 0.2)
while True: print('x' * 10)";
    for _ in 0..3 {
        let said = cell(&kernel, code).await;
        assert!(said.stdout.ends_with("bye\n"), "{said:?}");
        assert!(matches!(said.end(), CellEnd::Died { .. }), "{said:?}");
    }
}

#[tokio::test]
async fn what_was_printed_before_code_ended_the_kernel_is_told() {
    let place = Place::new();
    let kernel = place.kernel().await;
    for code in [
        "import os; os._exit(7)",
        "import os; os.abort()",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    ] {
        let said = cell(&kernel, &format!("print('before')\n{code}")).await;
        assert_eq!(said.stdout, "before\n", "{code}");
        assert!(matches!(said.end(), CellEnd::Died { .. }), "{code}: {said:?}");
    }
}

#[tokio::test]
async fn too_little_memory_to_begin_with_is_told_with_what_to_do() {
    let place = Place::new();
    let mut setup = place.setup().await;
    setup.memory = Some(60 << 20);
    let told = junto_kernel::Kernel::start(setup).await.err().unwrap().to_string();
    assert!(told.contains("raise the limit (`code.memory`)"), "{told}");
}
