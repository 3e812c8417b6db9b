//! Random cells say on a kernel what they say in an IPython without one: nothing is lost, nothing crosses.

use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::kernels::{Place, Said, cell, interpreter};
use crate::library::Reading;

const SEED: u64 = 0x6a75_6e74_6f00_0012;
/// So many kernels side by side, each with so many cells: 2,000 in all.
const KERNELS: u64 = 4;
const CELLS: u64 = 500;
const BY_HAND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/by_hand.py");

/// The same numbers every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Cells, with a tag of each one's own for `T`, a number up to ten for `N` and one up to 100,000 for `L`. Those that
/// begin with `unordered` say lines in any order.
const KINDS: &[&str] = &[
    "for i in range(N): print('T', i)",
    "for i in range(N): print('T', i, end=' ', flush=i % 2 == 0)",
    "print('T ä€😀', 'x', sep='\\t')\nprint('T'[::-1], end='')",
    "import sys\nfor i in range(N):\n    print('T out', i)\n    print('T err', i, file=sys.stderr, flush=True)",
    "import sys\nsys.stdout.write('T')\nsys.stdout.writelines(['a', 'b\\n'] * N)\nsys.stderr.write('T\\r')",
    "print('x' * L + 'T')",
    "for i in range(L // 100): print('T', i)",
    "import sys\nprint('e' * L, 'T', file=sys.stderr)",
    "import sys\nsys.stdout.buffer.write(bytes(range(256)) * N + b'T')\nsys.stdout.flush()\nprint('T after')",
    "import os\nos.write(1, b'T raw \\xff\\xc3\\xa4\\n' * N)\nos.write(2, b'T raw err\\n')\nprint('T then')",
    "import os\nfor i in range(N):\n    print('T py', i)\n    os.system(f'echo T sh {i}; echo T err {i} >&2')",
    "import subprocess\nprint('T first')\nsubprocess.run(['printf', 'T %s\\\\n', 'a', 'b'])\nprint('T last')",
    "import subprocess\nsubprocess.run('head -c L /dev/zero | tr \"\\\\0\" y; echo T', shell=True)",
    "import subprocess\nsubprocess.run(['sh', '-c', 'printf \"\\\\303\"; sleep 0.01; printf \"\\\\244 T\"'])",
    "import subprocess\nsubprocess.check_output(['echo', 'T'], text=True)",
    "!echo T $((N + 1))",
    "%%bash\necho T\necho T err >&2\necho T again",
    "import threading\nthreads = [threading.Thread(target=print, args=('T', i)) for i in range(N)]\nfor t in threads:\n    t.start()\n    t.join()",
    "# unordered\nimport threading\ndef say(i):\n    for k in range(20): print(f'T {i} {k}\\n', end='')\nthreads = [threading.Thread(target=say, args=(i,)) for i in range(N)]\nfor t in threads: t.start()\nfor t in threads: t.join()",
    "import os\nprint('T before')\npid = os.fork()\nif pid == 0:\n    print('T child')\n    os._exit(0)\nos.waitpid(pid, 0)\nprint('T after')",
    "# unordered\nimport multiprocessing\ncontext = multiprocessing.get_context('fork')\nchildren = [context.Process(target=print, args=(f'T {i}\\n',), kwargs={'end': ''}) for i in range(3)]\nfor c in children: c.start()\nfor c in children: c.join()",
    "import asyncio\nasync def say(i):\n    await asyncio.sleep(0.001 * i)\n    print('T', i)\n    return i\nawait asyncio.gather(*[say(i) for i in range(N)])",
    "async def numbers():\n    for i in range(N): yield i\nasync for i in numbers(): print('T', i)",
    "print('T before')\nraise ValueError('T €')",
    "import sys\nprint('T', file=sys.stderr)\nnot_there_N",
    "print('T never'\n",
    "def outer():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise KeyError('T') from e\nprint('T')\nouter()",
    "assert N > 100, 'T'",
    "print('T \\ud800')",
    "import sys\nprint('T \\ud800', file=sys.stderr)",
    "total = globals().get('total', 0) + N\nprint('T', total)\ntotal",
    "{'T': list(range(N)), 'nested': ['x' * 30] * N}",
    "'T' * N",
    "'T'\nNone",
    "class Thing:\n    def __repr__(self): return 'T\\nthing'\nThing()",
    "print('T')\nlast = 'T N'\nlast",
    "last",
    "_",
    "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as kept: print('T hidden')\nprint('T', len(kept.getvalue()))",
    "import logging\nlogging.getLogger('T').warning('T %d', N)",
    "%%capture kept\nprint('T kept')",
    "kept_lines = [str(i) for i in range(N)]\nprint(*kept_lines, 'T', sep='\\n')",
    "",
    "# only a comment T",
    "print('T', end='');",
    "(N, 'T');",
];

fn cells(numbers: &mut Numbers, kernel: u64) -> Vec<String> {
    let cells = (0..CELLS).map(|index| {
        let kinds = KINDS.len() as u64;
        let kind = KINDS[usize::try_from(numbers.below(kinds)).unwrap()];
        let (few, many) = (numbers.below(10) + 1, numbers.below(100_000));
        // Letters stand for values only where they are words, or in quotes before a word.
        let tag = format!("{kernel}.{index}");
        let mut code = String::new();
        let mut before = ' ';
        let mut rest = kind.chars().peekable();
        while let Some(letter) = rest.next() {
            let alone = !before.is_alphanumeric() && !rest.peek().is_some_and(|next| next.is_alphanumeric());
            match letter {
                'T' if alone => code += &tag,
                'N' if alone || before == '_' => code += &few.to_string(),
                'L' if alone => code += &many.to_string(),
                _ => code.push(letter),
            }
            before = letter;
        }
        code
    });
    cells.collect()
}

/// What a cell said without a kernel.
#[derive(Debug, Deserialize)]
struct ByHand {
    stdout: String,
    stderr: String,
    result: Option<String>,
    error: Option<(String, String)>,
}

fn by_hand(cells: &[String]) -> Vec<ByHand> {
    let dir = tempfile::tempdir().unwrap();
    let (given, said) = (dir.path().join("cells"), dir.path().join("said"));
    std::fs::write(&given, serde_json::to_vec(cells).unwrap()).unwrap();
    let output = Command::new(interpreter())
        .args([BY_HAND.as_ref(), given.as_os_str(), said.as_os_str()])
        .current_dir(dir.path())
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin"), ("HOME", dir.path().to_str().unwrap())])
        .env("IPYTHONDIR", dir.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&std::fs::read(said).unwrap()).unwrap()
}

/// What is different, if anything is.
fn difference(code: &str, ours: &Said, theirs: &ByHand) -> Option<String> {
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if code.starts_with("# unordered") {
            lines.sort();
        }
        (lines, text.len())
    };
    // That of a syntax error names a file, which is not the same.
    let error = |error: &Option<(String, String)>| {
        let (name, value) = error.clone()?;
        Some(if name.contains("SyntaxError") { (name, String::new()) } else { (name, value) })
    };
    let same = lines(&ours.stdout) == lines(&theirs.stdout)
        && ours.stderr == theirs.stderr
        && ours.result == theirs.result
        && error(&ours.error) == error(&theirs.error)
        && ours.ran.as_ref().is_some_and(|ran| ran.strays.is_empty() && !ran.state_lost);
    (!same).then(|| format!("{code}\n--- kernel: {}\n--- by hand: {}", brief(ours), brief(theirs)))
}

fn brief(said: &impl std::fmt::Debug) -> String {
    format!("{said:?}").chars().take(600).collect()
}

/// What cells say on a kernel.
async fn ours(cells: &[String]) -> Vec<Said> {
    let place = Place::new();
    let kernel = place.kernel().await;
    let mut ours = Vec::new();
    for code in cells {
        ours.push(cell(&kernel, code).await);
    }
    kernel.close().await;
    assert_eq!(place.left().await, (vec![], 0));
    ours
}

/// The same on one with tools, whose programs are asked for; the answer is yes.
async fn ours_with_tools(cells: &[String]) -> Vec<Said> {
    let reading = Reading::new().await;
    let mut ours = Vec::new();
    for code in cells {
        ours.push(cell(&reading.kernel, code).await);
    }
    assert!(reading.library.lines().len() > cells.len() / 10, "programs are asked for");
    reading.end().await;
    ours
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_cells_say_what_they_say_without_a_kernel() {
    let mut numbers = Numbers(SEED);
    let tasks: Vec<_> = (0..KERNELS)
        .map(|kernel| {
            let cells = cells(&mut numbers, kernel);
            let with_tools = kernel % 2 == 1;
            tokio::spawn(async move {
                let theirs = tokio::task::spawn_blocking({
                    let cells = cells.clone();
                    move || by_hand(&cells)
                });
                let ours = if with_tools { ours_with_tools(&cells).await } else { ours(&cells).await };
                let theirs = theirs.await.unwrap();
                assert_eq!(theirs.len(), cells.len());
                let each = cells.iter().zip(&ours).zip(&theirs);
                each.filter_map(|((code, ours), theirs)| difference(code, ours, theirs))
                    .collect::<Vec<String>>()
            })
        })
        .collect();
    let mut wrong = Vec::new();
    for task in tasks {
        wrong.extend(task.await.unwrap());
    }
    let shown = wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(wrong.is_empty(), "{} of {} cells are different:\n{shown}", wrong.len(), KERNELS * CELLS);
}
