use super::*;

#[test]
fn what_a_server_runs_is_found_in_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for file in [
        "serve.py",
        "tools/main.js",
        "tools/index.js",
        "mod/__main__.py",
        "package.json",
        "data.db",
        "plain",
        "server.js",
    ] {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "x").unwrap();
    }
    fs::write(root.join("tool"), "#!/bin/sh\n").unwrap();
    let check = |command: &str, args: &[&str], expected: &[&str]| {
        let server = ServerConfig::program("s", command, args.iter().copied());
        let pins = pins(&root, &server);
        let found: Vec<_> =
            pins.iter().map(|pin| pin.path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        assert_eq!(found, expected, "{command} {args:?}");
    };
    check("python3", &["serve.py", "--db", "data.db"], &["serve.py"]);
    check("python3", &["./serve.py", "."], &["serve.py"]);
    check("./tool", &[], &["tool"]);
    check("tool", &[], &[]);
    check("node", &["tools"], &["tools/index.js"]);
    check("node", &["--require=tools/main.js", "x.js"], &["tools/main.js"]);
    check("uv", &["run", "--directory", "tools", "main.js"], &["tools/index.js", "tools/main.js"]);
    check("python3", &["-m", "mod"], &["mod/__main__.py"]);
    check("npm", &["run", "mcp"], &["package.json"]);
    check("npx", &["-y", "somebody/elses"], &[]);
    check("python3", &["/etc/hostname", "../x.py"], &[]);
    check("python3", &["plain", "data.db"], &["plain"]);
    check("/usr/bin/python3.11", &["-u", "-W", "ignore", "plain"], &["plain"]);
    check("env", &["A=b", "node", "--inspect", "server"], &["server.js"]);
    check("npx", &["tsx", "server"], &["server.js"]);
    check("sqlite-server", &["data.db"], &[]);
}

/// Of a line in a word, and of a variable, everything counts that is a file: whoever could change it would run.
#[test]
fn what_a_server_runs_is_found_in_lines_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for file in
        ["server.js", "app", "start", "Other.mk", "Makefile", "hook.js", "hook.rb", "lib/x.so", "server.py"]
    {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "x").unwrap();
    }
    let check = |command: &str, args: &[&str], variables: &[(&str, &str)], expected: &[&str]| {
        let mut server = ServerConfig::program("s", command, args.iter().copied());
        let Reach::Program(launch) = &mut server.reach else { panic!("a program") };
        launch.variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let files: Vec<PathBuf> = pins(&root, &server).into_iter().map(|pin| pin.path).collect();
        let expected: Vec<PathBuf> = expected.iter().map(|file| root.join(file)).collect();
        assert_eq!(files, expected, "{command} {args:?} {variables:?}");
        anchor(&root, &mut server);
        let Reach::Program(launch) = &server.reach else { panic!("a program") };
        let place = root.display().to_string();
        assert_eq!(launch.cwd.as_ref(), Some(&place), "{command} {args:?}: it runs what was compared");
    };
    check("bash", &["-c", "node server.js"], &[], &["server.js"]);
    check("bash", &["-lc", "cd . && exec node \"server\""], &[], &["server.js", "server.py"]);
    check("sh", &["-c", "x=1;. ./start"], &[], &["start"]);
    check("sh", &["-c", "exec sh -c 'exec ./start'"], &[], &["start"]);
    check("env", &["-S", "node app"], &[], &["app"]);
    check("env", &["-Snode app"], &[], &["app"]);
    check("env", &["BASH_ENV=app", "bash", "-c", "true"], &[], &["app"]);
    check("make", &["-f", "Other.mk"], &[], &["Makefile", "Other.mk"]);
    check("make", &["--file=Other.mk", "serve"], &[], &["Makefile", "Other.mk"]);
    check("sh", &["-c", "make -fOther.mk"], &[], &["Makefile", "Other.mk"]);
    check("x", &[], &[("NODE_OPTIONS", "--require ./hook.js")], &["hook.js"]);
    check("x", &[], &[("NODE_OPTIONS", "--require=./hook --inspect")], &["hook.js", "hook.rb"]);
    check("x", &[], &[("RUBYOPT", "-r./hook")], &["hook.js", "hook.rb"]);
    check("x", &[], &[("LD_PRELOAD", "/lib/a.so:./lib/x.so"), ("BASH_ENV", "app")], &["app", "lib/x.so"]);
    check("uvicorn", &["server:app"], &[], &["app", "server.js", "server.py"]);
}

#[test]
fn a_server_runs_what_was_compared_wherever_it_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for file in ["serve.py", "plain", "server.js", "data.db", "hook.rb", "start"] {
        fs::write(root.join(file), "x").unwrap();
    }
    for (program, args, expected) in [
        ("python3", &["serve.py", "--db", "data.db"][..], "ROOT/serve.py --db data.db"),
        ("python3", &["plain"], "ROOT/plain"),
        ("sh", &["-c", "./start"], "-c ROOT/./start"),
        ("node", &["server"], "ROOT/server"),
        ("node", &["--require=server.js", "-e", "1"], "--require=ROOT/server.js -e 1"),
        ("ruby", &["-r./hook", "-e", "1"], "-rROOT/./hook -e 1"),
    ] {
        let mut server = ServerConfig::program("s", program, args.iter().copied());
        let before = pins(&root, &server);
        assert!(!before.is_empty(), "{program} {args:?}");
        anchor(&root, &mut server);
        let expected = expected.replace("ROOT", root.to_str().unwrap());
        assert_eq!(server.reach.to_string(), format!("{program} {expected}"));
        let Reach::Program(launch) = &server.reach else { panic!("a program") };
        assert_eq!(launch.cwd, None, "it runs where the agent works");
    }
}
