//! Kernels in the sandbox: they run, call tools, and reach nothing else.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use junto_core::{Fut, ToolCall, ToolHost, ToolOutcome, ToolSpec, Via};
use junto_env::{Access, LocalEnvironment, Sandbox, SandboxedEnvironment, survivors};
use junto_kernel::{Kernel, KernelSetup, PYTHON_CLIENT, Python, ToolSocket, sandbox_for_kernels};
use tempfile::TempDir;

use crate::kernels::{HANG, cell, interpreter};

struct Echo;

impl ToolHost for Echo {
    fn specs(&self) -> Vec<ToolSpec> {
        vec![ToolSpec::foreign("echo", "Says the same.", serde_json::json!({"type": "object"}))]
    }

    fn call(&self, call: ToolCall, _: Via) -> Fut<'_, ToolOutcome> {
        Box::pin(async move { ToolOutcome::ok(call.raw_arguments) })
    }
}

fn bwrap() -> PathBuf {
    PathBuf::from(std::env::var_os("JUNTO_PEER_BWRAP").expect("`cargo xtask test` sets it"))
}

/// A working directory, a folder for sockets and one outside, none of them where everybody may write.
struct Caged {
    dir: TempDir,
    env: Arc<SandboxedEnvironment>,
    tools: ToolSocket,
}

impl Caged {
    fn new(sandbox: Sandbox) -> Self {
        Self::built_by(sandbox, bwrap().parent().unwrap())
    }

    /// One whose `bwrap` is in a folder.
    fn built_by(sandbox: Sandbox, folder: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["work", "run", "outside", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("work/.env"), "SECRET").unwrap();
        let path = format!("{}:/usr/bin:/bin", folder.display());
        let local = LocalEnvironment::builder(dir.path().join("work"))
            .variables([("PATH", path.as_str()), ("HOME", dir.path().to_str().unwrap())]);
        let sandbox = Sandbox { temporary: Some(vec![dir.path().join("tmp")]), ..sandbox };
        let sandbox = sandbox_for_kernels(sandbox, &dir.path().join("run"));
        let env = Arc::new(SandboxedEnvironment::new(local, sandbox).unwrap());
        let tools = ToolSocket::serve(Arc::new(Echo), &dir.path().join("run")).unwrap();
        Self { dir, env, tools }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    async fn kernel(&self) -> Kernel {
        let outside = LocalEnvironment::new(self.path("work")).unwrap();
        let python = Python::at(interpreter(), &outside).await.unwrap();
        let mut setup = KernelSetup::new(python, self.env.clone(), self.path("work"), self.path("run"));
        setup.modules = vec![("junto_tools.py".to_owned(), PYTHON_CLIENT.to_owned())];
        let variables =
            self.tools.environment().map(|(name, value)| (name.to_owned(), value.into_string().unwrap()));
        setup.variables.extend(variables);
        Kernel::start(setup).await.unwrap()
    }

    async fn is_dead(&self) -> bool {
        let env = Arc::clone(&self.env);
        tokio::task::spawn_blocking(move || survivors::after(&*env, HANG).is_empty()).await.unwrap()
    }
}

/// As when something that is to be covered goes away between the look and the mount.
#[tokio::test]
async fn a_sandbox_that_cannot_be_built_at_once_is_built_again() {
    let dir = tempfile::tempdir().unwrap();
    let (program, left) = (dir.path().join("bwrap"), dir.path().join("left"));
    let script = format!(
        "#!/bin/sh
case \"$*\" in *--args*)
    read left < {left}
    echo $((left - 1)) > {left}
    if [ $left -gt 0 ]; then
        echo \"bwrap: Can't mkdir parents for /gone/s: Read-only file system\" >&2
        exit 1
    fi
esac
exec {real} \"$@\"
",
        left = left.display(),
        real = bwrap().display(),
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let caged = Caged::built_by(Sandbox::workspace(), dir.path());
    std::fs::write(&left, "2\n").unwrap();
    let kernel = caged.kernel().await;
    assert_eq!(cell(&kernel, "1 + 1").await.result.as_deref(), Some("2"));
    assert_eq!(std::fs::read_to_string(&left).unwrap(), "-1\n");
    kernel.close().await;
    // For ever it is not tried.
    std::fs::write(&left, "100\n").unwrap();
    let outside = LocalEnvironment::new(caged.path("work")).unwrap();
    let python = Python::at(interpreter(), &outside).await.unwrap();
    let setup = KernelSetup::new(python, caged.env.clone(), caged.path("work"), caged.path("run"));
    let error = Kernel::start(setup).await.err().unwrap().to_string();
    assert!(error.contains("mkdir parents for /gone/s"), "{error}");
    assert!(caged.is_dead().await);
}

/// Tries each and says what became of it.
const TRY: &str = "
import socket, os
def tried(what):
    try: what()
    except OSError as error: return type(error).__name__
    return 'ESCAPED'
def reach(family, address):
    s = socket.socket(family)
    s.settimeout(5)
    s.connect(address)
";

#[tokio::test]
async fn a_kernel_in_a_sandbox_runs_calls_tools_and_reaches_nothing_else() {
    let caged = Caged::new(Sandbox::workspace());
    let web = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let kernel = caged.kernel().await;
    let said = cell(&kernel, "import junto_tools\nx = 1\njunto_tools.connect().call('echo', {'a': x})").await;
    assert_eq!(said.result.as_deref(), Some(r#"'{"a":1}'"#), "{said:?}");
    let said = cell(&kernel, "open('made', 'w').write('x')\n!cat made").await;
    assert_eq!(said.stdout, "x", "{said:?}");
    cell(&kernel, TRY).await;
    let outside = caged.path("outside");
    for (what, code) in [
        ("write", format!("open({:?}, 'w')", outside.join("new"))),
        ("secret", "open('.env').read(1)[0]".to_owned()),
        ("web", format!("reach(socket.AF_INET, ('127.0.0.1', {}))", web.local_addr().unwrap().port())),
        ("signal", format!("os.kill({}, 0)", std::process::id())),
    ] {
        let said = cell(&kernel, &format!("tried(lambda: {code})")).await;
        let result = said.result.unwrap_or_default();
        assert!(result.contains("Error") && !result.contains("ESCAPED"), "{what}: {result} {:?}", said.error);
    }
    drop(web);
    // It is interrupted through the walls, and nothing is left of it.
    let endless = junto_kernel::Cell::new("import time; time.sleep(3600)")
        .within(std::time::Duration::from_millis(300));
    let said = crate::kernels::say(&kernel, endless).await;
    assert!(!said.state_lost());
    cell(&kernel, "import subprocess\nsubprocess.Popen(['sleep', '3600'])").await;
    let said = cell(&kernel, "os._exit(3)").await;
    assert!(said.state_lost());
    assert_eq!(cell(&kernel, "'x' in globals()").await.result.as_deref(), Some("False"));
    kernel.close().await;
    assert!(caged.is_dead().await);
}

#[tokio::test]
async fn one_that_changes_nothing_can_still_run() {
    let caged = Caged::new(Sandbox::read_only());
    let kernel = caged.kernel().await;
    let said = cell(&kernel, "40 + 2").await;
    assert_eq!(said.result.as_deref(), Some("42"), "{said:?}");
    let said = cell(&kernel, "open('new', 'w')").await;
    assert!(said.error.is_some(), "{said:?}");
}

#[test]
fn only_its_own_directory_is_added() {
    let run = Path::new("/run/junto");
    let added = sandbox_for_kernels(Sandbox::read_only(), run);
    assert_eq!((added.access, added.temporary), (Access::Aside, Some(vec![])));
    assert_eq!((added.writable, added.sockets), (vec![run.to_owned()], vec![run.to_owned()]));
}
