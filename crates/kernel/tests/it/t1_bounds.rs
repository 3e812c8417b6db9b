//! However much a cell says, and whatever it is: all of it arrives, and nobody keeps it.

use std::time::Duration;

use junto_kernel::{Cell, CellEnd, ErrorKind, Output, Piece};

use crate::kernels::{Place, cell, say};

/// Counts what comes and keeps none of it.
#[derive(Default)]
struct Count {
    stdout: usize,
    largest: usize,
    texts: Vec<String>,
}

impl Output for Count {
    fn piece(&mut self, piece: Piece) -> junto_core::Fut<'_, ()> {
        match piece {
            Piece::Stdout(text) => {
                self.stdout += text.len();
                self.largest = self.largest.max(text.len());
            }
            Piece::Result { text } | Piece::Display { text } => self.texts.push(text),
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }
}

/// The most memory that this process has had so far, in KiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn fifty_megabytes_arrive_whole_in_small_pieces() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let before = peak();
    for code in [
        "print('x' * (50 << 20), end='')",
        "import subprocess\nsubprocess.run('head -c 52428800 /dev/zero | tr \"\\\\0\" x', shell=True)",
    ] {
        let mut count = Count::default();
        let ran = kernel.run(Cell::new(code), &mut count).await.unwrap();
        assert_eq!((ran.end, count.stdout), (CellEnd::Done, 50 << 20), "{code}");
        assert!(count.largest <= 1 << 20, "{} bytes in one piece", count.largest);
    }
    assert!(peak() - before < 32 << 10, "{} KiB more", peak() - before);
}

#[tokio::test]
async fn bytes_that_are_no_text_arrive_as_text() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let code = "import os, sys\nsys.stdout.buffer.write(os.urandom(5 << 20))\nos.write(1, bytes(range(256)))\nprint('\\nend')";
    let said = cell(&kernel, code).await;
    // What is written past Python's own stream comes on a way of its own, before the rest or behind it.
    let has = |text: &str| said.stdout.contains(text);
    let (length, end, run) = (said.stdout.len(), has("\nend\n"), has("!\"#$%&'()*+,-./0123456789"));
    assert!(length > 5 << 20 && end && run, "{length} bytes, the end: {end}, the run of bytes: {run}");
}

#[tokio::test]
async fn a_cell_that_never_stops_printing_is_stopped() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let before = peak();
    let endless = Cell::new("x = 1\nwhile True: print('y' * 1000)").within(Duration::from_secs(2));
    let mut count = Count::default();
    let ran = kernel.run(endless, &mut count).await.unwrap();
    assert_eq!((ran.end, ran.state_lost), (CellEnd::TimedOut { killed: false }, false));
    assert!(count.stdout > 1 << 20 && count.largest <= 1 << 20, "{} {}", count.stdout, count.largest);
    assert!(peak() - before < 32 << 10, "{} KiB more", peak() - before);
    let said = cell(&kernel, "print(x)").await;
    assert_eq!(said.stdout, "1\n");
}

#[tokio::test]
async fn whoever_does_not_listen_makes_the_cell_wait() {
    struct Slow(usize);
    impl Output for Slow {
        fn piece(&mut self, piece: Piece) -> junto_core::Fut<'_, ()> {
            if let Piece::Stdout(text) = piece {
                self.0 += text.len();
            }
            // As somebody who writes to a slow disk.
            Box::pin(tokio::time::sleep(Duration::from_millis(2)))
        }
    }
    let place = Place::new();
    let kernel = place.kernel().await;
    let mut slow = Slow(0);
    let code = "for i in range(200_000): print(i)";
    let ran = kernel.run(Cell::new(code), &mut slow).await.unwrap();
    let expected: usize = (0..200_000_usize).map(|i| i.to_string().len() + 1).sum();
    assert_eq!((ran.end, slow.0), (CellEnd::Done, expected));
}

#[tokio::test]
async fn one_thing_that_is_too_large_is_left_out_and_said_so() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let mut count = Count::default();
    let ran = kernel.run(Cell::new("'x' * (60 << 20)"), &mut count).await.unwrap();
    assert_eq!(ran.end, CellEnd::Done);
    assert!(
        count.texts.iter().all(|text| text.len() < 200 && text.contains("left out")),
        "{:?}",
        count.texts.len()
    );
    assert_eq!(count.texts.len(), 1);
    let said = cell(&kernel, "raise ValueError('x' * (60 << 20))").await;
    assert_eq!((said.end(), said.error.as_ref().unwrap().0.as_str()), (&CellEnd::Failed, "ValueError"));
}

#[tokio::test]
async fn what_cannot_be_a_cell_is_refused_with_what_to_do() {
    let place = Place::new();
    let kernel = place.kernel().await;
    for (code, hint) in [("x = '\0'".to_owned(), "\\0"), ("#".repeat(50 << 20), "put data into a file")] {
        let refused = kernel.run(Cell::new(code), &mut Vec::new()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Code);
        assert!(refused.to_string().contains(hint), "{refused}");
    }
    assert_eq!(cell(&kernel, "1").await.result.as_deref(), Some("1"));
}

#[tokio::test]
async fn what_is_said_between_cells_is_not_taken_for_the_next_ones_output() {
    let place = Place::new();
    let kernel = place.kernel().await;
    let code = "
import os, threading, time
def late():
    while not os.path.exists('go'): time.sleep(0.01)
    print('late')
    open('done', 'w').close()
threading.Thread(target=late).start()
print('own')
";
    let said = cell(&kernel, code).await;
    assert_eq!(said.stdout, "own\n");
    std::fs::write(place.work().join("go"), "").unwrap();
    tokio::time::timeout(crate::kernels::HANG, async {
        while !place.work().join("done").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    let said = cell(&kernel, "print('next')").await;
    assert_eq!(said.stdout, "next\n");
    assert_eq!(said.ran.unwrap().strays, "late\n");
}

#[tokio::test]
async fn a_kernel_that_says_nonsense_is_ended_and_its_host_is_not() {
    let place = Place::new();
    let kernel = place.kernel().await;
    // It closes the connection that publishes, and writes what announces more than there is memory.
    let code = "
import os, socket, stat
for number in range(3, 100):
    try: s = socket.socket(fileno=os.dup(number))
    except OSError: continue
    try: name = s.getsockname()
    except OSError: continue
    if isinstance(name, str) and name.endswith('s-2') and s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 0:
        s.setblocking(True)
        s.sendall(b'\\x02' + (1 << 62).to_bytes(8, 'big') + b'x' * 100)
";
    let said = say(&kernel, Cell::new(code).within(Duration::from_mins(1))).await;
    let CellEnd::Died { why, .. } = said.end() else { panic!("{:?}", said.end()) };
    assert!(why.contains("too large"), "{why}");
    assert_eq!(cell(&kernel, "1").await.result.as_deref(), Some("1"));
}
