//! A cell can be stopped also while it waits for its kernel: to come up, to be free, to take it.

use std::time::Duration;

use junto_kernel::{Cell, CellEnd, Kernel, KernelSetup, Piece, Ran};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::kernels::{HANG, Place, cell, say};
use crate::t1_ends::begin;

/// Runs a cell that is cancelled as soon as it waits for something.
async fn cancelled(kernel: &Kernel) -> Ran {
    let cancel = CancellationToken::new();
    let waits = Cell { cancel: cancel.clone(), ..Cell::new("1") };
    let mut said: Vec<Piece> = Vec::new();
    let both = async { tokio::join!(biased; kernel.run(waits, &mut said), async { cancel.cancel() }) };
    let (ran, ()) = timeout(HANG, both).await.expect("no hang");
    assert_eq!(said, []);
    ran.unwrap()
}

const NOT_BEGUN: (CellEnd, bool) = (CellEnd::Interrupted { killed: false }, false);

#[tokio::test]
async fn a_cell_that_waits_for_another_to_heed_its_interrupt_is_cancelled() {
    let place = Place::new();
    let setup = KernelSetup { grace: 60 * HANG, ..place.setup().await };
    let kernel = Kernel::start(setup).await.unwrap();
    let stubborn = "import os, time\nkept = 7\nprint('begun', flush=True)\n\
                    while not os.path.exists('go'):\n    try: time.sleep(0.01)\n    except KeyboardInterrupt: pass";
    let task = begin(&kernel, Cell::new(stubborn)).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    let ran = cancelled(&kernel).await;
    assert_eq!((ran.end, ran.state_lost), NOT_BEGUN);
    // The kernel is the same.
    std::fs::write(place.work().join("go"), "").unwrap();
    assert_eq!(cell(&kernel, "kept").await.result.as_deref(), Some("7"));
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

#[tokio::test]
async fn a_cell_that_waits_for_a_kernel_to_start_is_cancelled() {
    let place = Place::new();
    let waits = "import os, time\nwhile os.path.exists('hold'): time.sleep(0.01)";
    let setup = KernelSetup { start_up: vec![waits.to_owned()], ..place.setup().await };
    let kernel = Kernel::start(setup).await.unwrap();
    std::fs::write(place.work().join("hold"), "").unwrap();
    assert!(cell(&kernel, "os._exit(3)").await.state_lost());
    let ran = cancelled(&kernel).await;
    assert_eq!((ran.end, ran.state_lost), NOT_BEGUN);
    std::fs::remove_file(place.work().join("hold")).unwrap();
    assert_eq!(cell(&kernel, "6 * 7").await.result.as_deref(), Some("42"));
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

/// More than fits on the way to a kernel that reads nothing.
#[tokio::test]
async fn a_kernel_that_does_not_take_a_cell_is_ended() {
    let place = Place::new();
    let setup = KernelSetup { grace: Duration::from_millis(100), ..place.setup().await };
    let kernel = Kernel::start(setup).await.unwrap();
    let large = format!("#{}\n1", "x".repeat(3 << 20));
    let pid = cell(&kernel, "import os; os.getpid()").await.result.unwrap();
    stop(&pid).await;
    let said = say(&kernel, Cell::new(&large).within(Duration::from_millis(100))).await;
    assert_eq!((said.end(), said.state_lost()), (&CellEnd::TimedOut { killed: true }, true));
    // One that nobody waits for was sent in part: the kernel cannot be used any more.
    let pid = cell(&kernel, "import os; os.getpid()").await.result.unwrap();
    stop(&pid).await;
    let mut said: Vec<Piece> = Vec::new();
    let unsent = kernel.run(Cell::new(&large), &mut said);
    tokio::select! {
        biased;
        ran = unsent => panic!("{ran:?}"),
        () = tokio::task::yield_now() => {}
    }
    let said = cell(&kernel, "6 * 7").await;
    assert_eq!((said.result.as_deref(), said.state_lost()), (Some("42"), true));
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
}

/// Stops a process, which then reads nothing, and waits until that is so.
async fn stop(pid: &str) {
    let mut kill = std::process::Command::new("kill");
    kill.args(["-STOP", pid]);
    let stopped = tokio::task::spawn_blocking(move || kill.status().unwrap().success());
    assert!(stopped.await.unwrap());
}
