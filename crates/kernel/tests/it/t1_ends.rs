//! How cells and kernels end: time, interrupts, death, memory, reset, close.

use std::time::{Duration, Instant};

use junto_kernel::{Cell, CellEnd, Clock, ErrorKind, Kernel, KernelSetup, Output, Piece};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::kernels::{HANG, Place, cell, say};

/// Tells of each piece as it comes.
struct Heard(mpsc::Sender<Piece>);

impl Output for Heard {
    fn piece(&mut self, piece: Piece) -> junto_core::Fut<'_, ()> {
        // The test may have heard enough.
        Box::pin(async move { drop(self.0.send(piece).await) })
    }
}

/// Starts a cell and waits until it has said something.
pub(crate) async fn begin(
    kernel: &Kernel,
    cell: Cell,
) -> tokio::task::JoinHandle<Result<junto_kernel::Ran, junto_kernel::Error>> {
    let (sender, mut heard) = mpsc::channel(1000);
    let kernel = kernel.clone();
    let task = tokio::spawn(async move { kernel.run(cell, &mut Heard(sender)).await });
    let first = timeout(HANG, heard.recv()).await.unwrap();
    assert!(matches!(first, Some(Piece::Stdout(_))), "{first:?}");
    task
}

#[tokio::test]
async fn a_cell_whose_time_is_up_is_interrupted_and_its_state_stays() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let code = "import time\nx = 7\nprint('begun', flush=True)\ntime.sleep(3600)";
    let clock = Clock::default();
    let hold = clock.hold();
    let limited = Cell { clock, ..Cell::new(code) }.within(Duration::from_millis(100));
    let task = begin(&kernel, limited).await;
    drop(hold);
    let ran = timeout(HANG, task).await.unwrap().unwrap().unwrap();
    assert_eq!((ran.end, ran.state_lost), (CellEnd::TimedOut { killed: false }, false));
    let said = say(&kernel, Cell::new("while True: pass").within(Duration::from_millis(300))).await;
    assert_eq!(said.error.unwrap().0, "KeyboardInterrupt");
    assert_eq!(cell(&kernel, "x").await.result.as_deref(), Some("7"));
    // Also one that waits without a thread: asynchronously, or for a process.
    for code in [
        "import asyncio\nawait asyncio.sleep(3600)",
        "import subprocess\nsubprocess.run(['sleep', '3600'])",
        "!sleep 3600",
    ] {
        let said = say(&kernel, Cell::new(code).within(Duration::from_millis(300))).await;
        assert_eq!((said.end(), said.state_lost()), (&CellEnd::TimedOut { killed: false }, false), "{code}");
    }
    assert_eq!(cell(&kernel, "x").await.result.as_deref(), Some("7"));
}

/// A kernel that is not told twice within a test: a cell that heeds only the second interrupt hangs.
async fn told_once(place: &Place) -> Kernel {
    Kernel::start(KernelSetup { grace: 60 * HANG, ..place.setup().await }).await.unwrap()
}

/// What cells are doing when they are interrupted: in Python, in a call of the system, in a loop, in a process.
const ENDLESS: [&str; 8] = [
    "while True: pass",
    "import time; time.sleep(3600)",
    "import asyncio\nawait asyncio.sleep(3600)",
    "import asyncio\nawait asyncio.sleep(0)\nwhile True: pass",
    "import threading; threading.Event().wait()",
    "import os; os.read(os.pipe()[0], 1)",
    "import subprocess; subprocess.run(['sleep', '3600'])",
    "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\nwhile True: a += 1",
];

#[tokio::test]
async fn the_first_interrupt_is_heeded_whatever_the_cell_is_doing() {
    let place = Place::new();
    let kernel = told_once(&place).await;
    cell(&kernel, "kept = 7").await;
    for code in ENDLESS {
        let said = say(&kernel, Cell::new(code).within(Duration::from_millis(300))).await;
        assert_eq!((said.end(), said.state_lost()), (&CellEnd::TimedOut { killed: false }, false), "{code}");
    }
    assert_eq!(cell(&kernel, "kept").await.result.as_deref(), Some("7"));
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

/// At every moment of its first milliseconds: before it was read, before its code began, as the code goes to sleep.
#[tokio::test]
async fn a_cell_that_is_interrupted_as_it_begins_ends_like_any_other() {
    let place = Place::new();
    let kernel = told_once(&place).await;
    cell(&kernel, "kept = 7").await;
    // One that hits the clean-up of what a process left is swallowed by Python itself.
    let sleepers = ENDLESS.iter().filter(|code| !code.contains("subprocess"));
    for round in 0..25_u64 {
        for code in sleepers.clone() {
            let within = Duration::from_micros(200 * round);
            let said = say(&kernel, Cell::new(*code).within(within)).await;
            assert_eq!(
                (said.end(), said.state_lost()),
                (&CellEnd::TimedOut { killed: false }, false),
                "{code} after {within:?}"
            );
        }
    }
    // None of them was for a later cell.
    assert_eq!(cell(&kernel, "kept").await.result.as_deref(), Some("7"));
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

#[tokio::test]
async fn code_that_swallows_interrupts_is_killed_and_the_next_cell_starts_anew() {
    let place = Place::new();
    let mut setup = place.setup().await;
    setup.grace = Duration::from_millis(300);
    setup.start_up = vec!["begun = True".to_owned()];
    let kernel = Kernel::start(setup).await.unwrap();
    let generation = kernel.generation();
    cell(&kernel, "x = 1").await;
    let code = "import time\nwhile True:\n    try:\n        while True: time.sleep(0.01)\n    except KeyboardInterrupt: n = 0";
    let said = say(&kernel, Cell::new(code).within(Duration::from_millis(200))).await;
    assert_eq!((said.end(), said.state_lost()), (&CellEnd::TimedOut { killed: true }, true));
    let said = cell(&kernel, "print('x' in globals(), begun)").await;
    assert_eq!((said.stdout.as_str(), said.state_lost()), ("False True\n", false));
    assert_eq!(kernel.generation(), generation + 1);
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

#[tokio::test]
async fn a_cell_whose_clock_is_held_has_all_the_time_in_the_world() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let clock = Clock::default();
    let hold = clock.hold();
    let limited = Cell { clock: clock.clone(), ..Cell::new("import time; print(1); time.sleep(1)") };
    let task = begin(&kernel, limited.within(Duration::from_millis(500))).await;
    let ran = timeout(HANG, task).await.unwrap().unwrap().unwrap();
    assert_eq!(ran.end, CellEnd::Done);
    drop(hold);
    let limited = Cell { clock, ..Cell::new("import time; time.sleep(3600)") };
    let said = say(&kernel, limited.within(Duration::from_millis(100))).await;
    assert_eq!(said.end(), &CellEnd::TimedOut { killed: false });
}

#[tokio::test]
async fn a_cell_that_is_cancelled_is_interrupted_also_while_it_waits_for_its_turn() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let cancel = CancellationToken::new();
    let first =
        Cell { cancel: cancel.clone(), ..Cell::new("print(1, flush=True)\nimport time; time.sleep(3600)") };
    let first = begin(&kernel, first).await;
    let waiting = CancellationToken::new();
    let second = Cell { cancel: waiting.clone(), ..Cell::new("print('second')") };
    let other = kernel.clone();
    let second = tokio::spawn(async move { other.run(second, &mut Vec::new()).await });
    waiting.cancel();
    let second = timeout(HANG, second).await.unwrap().unwrap().unwrap();
    assert_eq!(second.end, CellEnd::Interrupted { killed: false });
    cancel.cancel();
    let first = timeout(HANG, first).await.unwrap().unwrap().unwrap();
    assert_eq!((first.end, first.state_lost), (CellEnd::Interrupted { killed: false }, false));
}

#[tokio::test]
async fn death_is_noticed_at_once_and_told_and_the_start_up_code_is_run_again() {
    let place = Place::new();
    let mut setup = place.setup().await;
    setup.start_up = vec!["started = 'again'".to_owned()];
    let kernel = Kernel::start(setup).await.unwrap();
    for (code, expected) in [
        ("import os; os._exit(7)", "exit 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "signal 15"),
        // With something that lives on and holds what it was given.
        ("import os, time\nif os.fork() == 0: time.sleep(3600)\nos._exit(8)", "exit 8"),
    ] {
        let said = cell(&kernel, &format!("print('last words', flush=True)\n{code}")).await;
        let CellEnd::Died { status, .. } = said.end() else { panic!("{:?}", said.end()) };
        assert_eq!((status.to_string().as_str(), said.state_lost()), (expected, true));
        let said = cell(&kernel, "print(started)").await;
        assert_eq!((said.stdout.as_str(), said.state_lost()), ("again\n", false));
    }
    // What the interpreter says as it crashes is told.
    let said = cell(&kernel, "import ctypes; ctypes.string_at(0)").await;
    let CellEnd::Died { why, .. } = said.end() else { panic!("{:?}", said.end()) };
    assert!(why.contains("Segmentation fault"), "{why}");
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

#[tokio::test]
async fn a_kernel_that_died_between_cells_is_told_with_the_next() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let code = "import os, threading\nx = 1\nthreading.Timer(0.3, lambda: os._exit(1)).start()";
    cell(&kernel, code).await;
    assert!(place.is_dead().await);
    let said = cell(&kernel, "print('x' in globals())").await;
    assert_eq!((said.stdout.as_str(), said.state_lost(), said.end()), ("False\n", true, &CellEnd::Done));
    assert!(!cell(&kernel, "1").await.state_lost());
}

#[tokio::test]
async fn more_memory_than_allowed_ends_the_cell_and_not_the_kernel() {
    let place = Place::new();
    let mut setup = place.setup().await;
    setup.memory = Some(1 << 30);
    let kernel = Kernel::start(setup).await.unwrap();
    let said = cell(&kernel, "x = 1\nlarge = bytearray(2 << 30)").await;
    assert_eq!((said.end(), said.state_lost()), (&CellEnd::OutOfMemory, false), "{said:?}");
    assert_eq!(cell(&kernel, "x").await.result.as_deref(), Some("1"));
    // The limit is a hard one, for what cells start too.
    let said = cell(&kernel, "import resource\nresource.getrlimit(resource.RLIMIT_DATA)").await;
    assert_eq!(said.result.as_deref(), Some("(1073741824, 1073741824)"));
    let said =
        cell(&kernel, "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'bytearray(2 << 30)'])")
            .await;
    assert!(said.stderr.contains("MemoryError"), "{said:?}");
}

#[tokio::test]
async fn a_reset_forgets_everything_and_ends_what_runs() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let generation = kernel.generation();
    let task = begin(&kernel, Cell::new("x = 1\nprint(1, flush=True)\nimport time; time.sleep(3600)")).await;
    timeout(HANG, kernel.reset()).await.unwrap().unwrap();
    let ran = task.await.unwrap().unwrap();
    assert_eq!((ran.end, ran.state_lost), (CellEnd::Interrupted { killed: true }, true));
    assert_ne!(kernel.generation(), generation);
    let said = cell(&kernel, "print('x' in globals())").await;
    assert_eq!((said.stdout.as_str(), said.state_lost()), ("False\n", false));
}

#[tokio::test]
async fn closing_ends_what_runs_and_everything_that_cells_left() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let code = "import subprocess\nsubprocess.Popen(['sleep', '3600'])\nsubprocess.Popen(['setsid', 'sleep', '3600'])\n\
                subprocess.Popen('nohup sleep 3600 &', shell=True).wait()";
    cell(&kernel, code).await;
    let task = begin(&kernel, Cell::new("print(1, flush=True)\nimport time; time.sleep(3600)")).await;
    timeout(HANG, kernel.close()).await.unwrap();
    assert_eq!(place.left().await, (vec![], 0));
    assert_eq!(task.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    let refused = kernel.run(Cell::new("1"), &mut Vec::new()).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(kernel.reset().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_kernel_that_is_dropped_is_killed_with_all_it_started() {
    let place = Place::new();
    let kernel = place.kernel().await;
    cell(&kernel, "import subprocess\nsubprocess.Popen(['sleep', '3600'])").await;
    drop(kernel);
    assert_eq!(place.left().await, (vec![], 0));
}

#[tokio::test]
async fn a_cell_nobody_waits_for_is_interrupted_before_the_next() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let task = begin(&kernel, Cell::new("x = 5\nprint(1, flush=True)\nimport time; time.sleep(3600)")).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    let said = cell(&kernel, "print('own')\nx").await;
    assert_eq!(
        (said.stdout.as_str(), said.result.as_deref(), said.state_lost()),
        ("own\n", Some("5"), false)
    );
}

#[tokio::test]
async fn twenty_kernels_run_side_by_side() {
    let place = Place::new();
    let setup = place.setup().await;
    let each = (0..20).map(|number| {
        let setup = setup.clone();
        tokio::spawn(async move {
            let kernel = Kernel::start(setup).await.unwrap();
            cell(&kernel, &format!("x = {number}")).await;
            for round in 0..5 {
                let said = cell(&kernel, &format!("print(x, {round})\nx")).await;
                assert_eq!(said.stdout, format!("{number} {round}\n"));
                assert_eq!(said.result, Some(number.to_string()));
            }
            kernel
        })
    });
    let mut kernels = Vec::new();
    for task in each.collect::<Vec<_>>() {
        kernels.push(task.await.unwrap());
    }
    for kernel in &kernels {
        kernel.close().await;
    }
    assert_eq!(place.left().await, (vec![], 0));
}

/// The kernel ends by `os._exit`, which waits until what was printed is heard, as fast as by what waits for nothing.
#[tokio::test]
async fn death_without_a_word_is_not_waited_for() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..4 {
        for (fastest, code) in fastest.iter_mut().zip(["posix._exit(1)", "os._exit(1)"]) {
            cell(&kernel, "import os, posix").await;
            let start = Instant::now();
            let said = cell(&kernel, code).await;
            *fastest = start.elapsed().min(*fastest);
            assert!(matches!(said.end(), CellEnd::Died { .. }), "{code}: {said:?}");
        }
    }
    let [bare, ours] = fastest;
    assert!(ours < bare + Duration::from_millis(50), "{ours:?}, and {bare:?} without waiting");
}
