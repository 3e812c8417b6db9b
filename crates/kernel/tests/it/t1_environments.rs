//! Where kernels come from: the user's interpreter, the one that is kept, and what to do if there is none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use junto_env::LocalEnvironment;
use junto_kernel::{ErrorKind, Kernel, KernelSetup, Python};
use tempfile::TempDir;

use crate::kernels::{Place, cell, interpreter};

/// A machine with nothing on its path but what a test puts there.
struct Machine {
    dir: TempDir,
    env: Arc<LocalEnvironment>,
    told: Mutex<Vec<String>>,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let env = LocalEnvironment::builder(dir.path()).variables([("PATH", bin)]).build().unwrap();
        Self { dir, env: Arc::new(env), told: Mutex::default() }
    }

    fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    /// Puts a program there.
    fn has(&self, name: &str, script: &str) -> PathBuf {
        let path = self.bin().join(name);
        fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A `uv` that makes environments of what the developer's commands keep, and counts them.
    fn has_uv(&self) {
        let count = self.dir.path().join("count");
        let peer = interpreter();
        let script = format!(
            "case \"$1 $2\" in\n\
             'venv '*) for last; do :; done; echo made >> {count}; exec {python} -m venv --without-pip \"$last\";;\n\
             'pip install') exec {python} -c 'import glob, os, sys; target = sys.argv[1]\n\
             for kept in glob.glob(os.path.join({packages:?}, \"*\")): os.symlink(kept, os.path.join(target, os.path.basename(kept)))' \
             $(dirname $(dirname $6))/lib/python*/site-packages;;\n\
             esac",
            count = count.display(),
            python = peer.display(),
            packages = peer.parent().unwrap().parent().unwrap().join("lib").display().to_string() + "/python3*/site-packages",
        );
        self.has("uv", &script);
    }

    fn made(&self) -> usize {
        fs::read_to_string(self.dir.path().join("count")).unwrap_or_default().lines().count()
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    async fn kept(&self) -> Result<Python, junto_kernel::Error> {
        Python::kept(&self.home(), &*self.env, &|line| self.told.lock().unwrap().push(line.to_owned())).await
    }
}

#[tokio::test]
async fn an_environment_is_made_once_and_again_when_it_is_broken() {
    let machine = Machine::new();
    machine.has_uv();
    let python = machine.kept().await.unwrap();
    assert_eq!(machine.made(), 1);
    assert!(!machine.told.lock().unwrap().is_empty());
    // Then nothing is needed, and nothing said.
    fs::remove_file(machine.bin().join("uv")).unwrap();
    machine.told.lock().unwrap().clear();
    assert_eq!(machine.kept().await.unwrap(), python);
    assert!(machine.told.lock().unwrap().is_empty());
    // Something that was there is gone.
    machine.has_uv();
    let package = |name: &str| {
        let version = python.version();
        let packages = format!("lib/python{}.{}/site-packages", version.0, version.1);
        python.program().parent().unwrap().parent().unwrap().join(packages).join(name)
    };
    fs::remove_file(package("zmq")).unwrap();
    assert_eq!(machine.kept().await.unwrap(), python);
    assert_eq!(machine.made(), 2);
    fs::remove_file(python.program()).unwrap();
    assert_eq!(machine.kept().await.unwrap(), python);
    assert_eq!(machine.made(), 3);
    // It is all there, but does not work.
    fs::remove_file(package("zmq")).unwrap();
    fs::write(package("zmq"), "").unwrap();
    let place = Place::new();
    let setup = KernelSetup::new(machine.kept().await.unwrap(), place.env.clone(), place.work(), place.run());
    let refused = Kernel::start(setup.clone()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Start);
    assert!(refused.to_string().contains("makes its Python anew"), "{refused}");
    machine.kept().await.unwrap();
    assert_eq!(machine.made(), 4);
    let kernel = Kernel::start(setup).await.unwrap();
    assert_eq!(cell(&kernel, "40 + 2").await.result.as_deref(), Some("42"));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_who_ask_at_once_get_the_same_one_made_once() {
    let machine = Arc::new(Machine::new());
    machine.has_uv();
    let all: Vec<_> = (0..4)
        .map(|_| {
            let machine = Arc::clone(&machine);
            tokio::spawn(async move { machine.kept().await.unwrap() })
        })
        .collect();
    for python in all {
        assert!(python.await.unwrap().program().is_file());
    }
    assert_eq!(machine.made(), 1);
}

#[tokio::test]
async fn whoever_cannot_make_one_is_told_what_to_do() {
    let real = interpreter();
    let real = real.display();
    let old = "echo; echo \"$3{\\\"version\\\": [3, 8], \\\"kernel\\\": null, \\\"why\\\": null}\"";
    let new = "echo; echo \"$3{\\\"version\\\": [3, 12], \\\"kernel\\\": null, \\\"why\\\": null}\"";
    let failing = |text: &str| {
        let new = new.replace("$3", "$3");
        format!("if [ \"$1\" = -c ]; then {new}; else echo '{text}' >&2; exit 1; fi")
    };
    let cases = [
        ("nothing", "true", "".to_owned(), "install Python 3.11 or later"),
        ("old", "python3", old.to_owned(), "is Python 3.8; a kernel needs 3.11 or later"),
        ("no venv", "python3", failing("The virtual environment was not created because ensurepip is not available"), "python3-venv"),
        ("no venv module", "python3", failing("/usr/bin/python3: No module named venv"), "python3-venv"),
        (
            "no network",
            "uv",
            format!("case $1 in venv) for last; do :; done; exec {real} -m venv --without-pip \"$last\";; pip) echo 'error: dns error' >&2; exit 2;; esac"),
            "connect to the network",
        ),
        ("no room", "uv", "[ $1 = --version ] || { echo 'No space left on device' >&2; exit 1; }".to_owned(), "no room"),
    ];
    for (name, program, script, hint) in cases {
        let machine = Machine::new();
        machine.has(program, &script);
        let refused = machine.kept().await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Python, "{name}: {refused}");
        assert!(refused.to_string().contains(hint), "{name}: {refused}");
        let left: Vec<_> = fs::read_dir(machine.home().join("python")).unwrap().collect();
        assert_eq!(left.len(), 1, "{name}: only the lock is left");
    }
    let machine = Machine::new();
    fs::write(machine.home(), "in the way").unwrap();
    assert_eq!(machine.kept().await.unwrap_err().kind(), ErrorKind::Python);
}

#[tokio::test]
async fn the_users_own_is_checked() {
    let machine = Machine::new();
    let said = |version: &str, kernel: &str| {
        format!("echo noise; echo \"$3{{\\\"version\\\": {version}, \\\"kernel\\\": {kernel}, \\\"why\\\": null}}\"; echo more")
    };
    for (name, script, hint) in [
        ("old", said("[3, 9]", "null"), "is Python 3.9; a kernel needs 3.10"),
        ("bare", said("[3, 12]", "null"), "-m pip install ipykernel"),
        ("ancient", said("[3, 12]", "\\\"5.1\\\""), "ipykernel 5.1, which is too old"),
        ("broken", "echo cannot; exit 3".to_owned(), "is no Python that works: exit 3"),
    ] {
        let refused = Python::at(machine.has(name, &script), &*machine.env).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Python);
        assert!(refused.to_string().contains(hint), "{name}: {refused}");
    }
    let refused = Python::at(Path::new("/not/there"), &*machine.env).await.unwrap_err();
    assert!(refused.to_string().contains("install Python"), "{refused}");
    let python = Python::at(interpreter(), &*machine.env).await.unwrap();
    assert!(python.version() >= (3, 10));
}

#[tokio::test]
async fn what_prints_as_it_is_imported_does_no_harm() {
    let place = Place::new();
    let noise = place.dir.path().join("noise");
    fs::create_dir(&noise).unwrap();
    let text = "import os, sys\nprint('hello from the site')\nprint('and again', file=sys.stderr)\nos.write(1, b'x' * 100000)\n";
    fs::write(noise.join("sitecustomize.py"), text).unwrap();
    fs::write(noise.join("loud.py"), "print('loud')").unwrap();
    // In the working directory are files with the names of modules that a kernel needs.
    for name in ["zmq.py", "json.py", "random.py"] {
        fs::write(place.work().join(name), "raise RuntimeError('the wrong one')").unwrap();
    }
    let mut setup = place.setup().await;
    setup.variables.insert("PYTHONPATH".to_owned(), noise.display().to_string());
    setup.modules = vec![("given.py".to_owned(), "value = 'given'".to_owned())];
    setup.start_up = vec!["import loud".to_owned()];
    let kernel = Kernel::start(setup).await.unwrap();
    let said = cell(&kernel, "import given, loud\nprint(given.value)").await;
    assert_eq!(said.stdout, "given\n");
}

#[tokio::test]
async fn a_kernel_that_cannot_start_says_why() {
    let place = Place::new();
    let mut setup = place.setup().await;
    setup.start_up = vec!["1 / 0".to_owned()];
    let refused = Kernel::start(setup).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Start);
    assert!(refused.to_string().contains("ZeroDivisionError"), "{refused}");
    let mut setup = place.setup().await;
    setup.variables.insert("PYTHONHOME".to_owned(), "/not/there".to_owned());
    let refused = Kernel::start(setup).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Start, "{refused}");
    let mut setup = place.setup().await;
    setup.run_dir = place.dir.path().join("x".repeat(200));
    assert!(Kernel::start(setup).await.unwrap_err().to_string().contains("shorter"));
    let mut setup = place.setup().await;
    setup.memory = Some(1 << 20);
    let refused = Kernel::start(setup).await.unwrap_err();
    assert!(refused.to_string().contains("memory"), "{refused}");
    assert_eq!(place.left().await, (vec![], 0));
}
