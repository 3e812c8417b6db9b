//! Which files of a project the servers run that it names. They are trusted together with the file that names them: else
//! whoever can change them, an agent for instance, would run what nobody has looked at.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use junto::mcp::config::{Launch, Pin, Reach, ServerConfig, parse};

/// How names of files end that are run when they are named. Others, a database for instance, may be meant to change.
const SCRIPTS: &[&str] = &[
    "py", "pyz", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "sh", "bash", "zsh", "fish", "rb",
    "pl", "php", "lua", "jar", "exs", "go", "ps1", "wasm",
];
/// What is run of a folder that is named.
const ENTRIES: &[&str] =
    &["__main__.py", "index.js", "index.mjs", "index.ts", "package.json", "pyproject.toml"];
/// Programs that run the file that is named first, whatever it looks like; their names may end in a version.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "dash", "deno", "fish", "julia", "ksh", "lua", "luajit", "node", "nodejs", "perl", "php",
    "pypy", "python", "pwsh", "Rscript", "ruby", "sh", "tclsh", "ts-node", "tsx", "zsh",
];
/// What some of these put behind a name that is no file.
const ENDINGS: &[&str] = &["", ".js", ".mjs", ".cjs", ".ts"];
/// Programs that run what a file says which they find by themselves.
const FINDERS: &[(&str, &str)] = &[
    ("npm", "package.json"),
    ("pnpm", "package.json"),
    ("yarn", "package.json"),
    ("bun", "package.json"),
    ("deno", "deno.json"),
    ("uv", "pyproject.toml"),
    ("poetry", "pyproject.toml"),
    ("cargo", "Cargo.toml"),
    ("make", "Makefile"),
    ("just", "justfile"),
];

/// The servers that a project's file names; none if it has no such form. What stands for the project's folder is put
/// in; other variables stand there by their names, unless the file says what holds without them.
pub(super) fn servers(root: &Path, text: &str) -> Vec<ServerConfig> {
    let known = |name: &str| match name {
        "CLAUDE_PROJECT_DIR" | "JUNTO_PROJECT_DIR" => Some(root.display().to_string()),
        _ => None,
    };
    let otherwise = |name: &str| known(name).or_else(|| Some(format!("${{{name}}}")));
    let mut servers = parse(text, &known).map(|parsed| parsed.servers).unwrap_or_default();
    let all = parse(text, &otherwise).map(|parsed| parsed.servers).unwrap_or_default();
    let missing: Vec<ServerConfig> =
        all.into_iter().filter(|server| servers.iter().all(|known| known.name != server.name)).collect();
    servers.extend(missing);
    servers
}

/// The files in a project that a server runs, as far as its entry names them, as they are now.
pub(super) fn pins(root: &Path, server: &ServerConfig) -> Vec<Pin> {
    let Reach::Program(launch) = &server.reach else { return Vec::new() };
    let mut files: Vec<PathBuf> = Vec::new();
    let here = place(root, launch);
    let named: Vec<PathBuf> = words(launch).map(|word| here.join(word)).collect();
    for path in &named {
        if path.is_dir() {
            // The project itself is what a server is to look at, mostly.
            if path.canonicalize().is_ok_and(|real| real == root) {
                continue;
            }
            files.extend(ENTRIES.iter().map(|entry| path.join(entry)));
            // `--directory server main.py`
            files.extend(words(launch).map(|word| path.join(word)).filter(|path| is_script(path)));
        } else if is_script(path) {
            files.push(path.clone());
        }
    }
    files.extend(operands(&here, launch));
    let program = Path::new(&launch.command).file_name().and_then(|name| name.to_str());
    let found = FINDERS.iter().filter(|(finder, _)| Some(*finder) == program);
    files.extend(found.map(|(_, file)| here.join(file)));
    let modules = launch.args.windows(2).filter_map(|pair| match pair {
        [flag, module] if flag == "-m" => Some(here.join(module.replace('.', "/"))),
        _ => None,
    });
    for module in modules {
        files.extend([module.with_extension("py"), module.join("__main__.py"), module.join("__init__.py")]);
    }
    files.retain(|file| is_inside(root, file));
    files.sort_unstable();
    files.dedup();
    files.iter().filter_map(|file| Pin::of(file).ok()).collect()
}

/// Makes a server run the files that are compared, wherever an agent works: by their whole paths.
pub(crate) fn anchor(root: &Path, server: &mut ServerConfig) {
    let Reach::Program(launch) = &mut server.reach else { return };
    let here = place(root, launch);
    let operands = operands(&here, launch);
    let whole = |word: &mut String| {
        let (flag, path) = split(word);
        let file = here.join(path);
        let is_operand = || named(&file).filter(|file| operands.contains(file));
        let run = if is_script(&file) { Some(file.clone()) } else { is_operand() };
        if !path.is_empty() && run.is_some_and(|run| is_inside(root, &run)) {
            *word = format!("{flag}{}", file.display());
        }
    };
    launch.args.iter_mut().for_each(whole);
    // A name without a slash is looked for elsewhere.
    if launch.command.contains('/') {
        whole(&mut launch.command);
    }
}

/// Where a server of the project runs, if that is said.
fn place(root: &Path, launch: &Launch) -> PathBuf {
    launch.cwd.as_deref().map_or_else(|| root.to_owned(), |cwd| root.join(cwd))
}

/// What may be paths in a command.
fn words(launch: &Launch) -> impl Iterator<Item = &str> {
    let command = Some(launch.command.as_str()).filter(|command| command.contains('/'));
    let args = launch.args.iter().map(|arg| split(arg).1);
    command.into_iter().chain(args).filter(|word| !word.is_empty())
}

/// A word, without the flag that it may be the value of.
fn split(word: &str) -> (&str, &str) {
    match word.find('=') {
        Some(at) if word.starts_with('-') => word.split_at(at + 1),
        _ => ("", word),
    }
}

/// What interpreters in a command run: the first file that is named behind one. A word behind an option may be its value,
/// and then the next one counts, too.
fn operands(here: &Path, launch: &Launch) -> Vec<PathBuf> {
    let words: Vec<&str> = [&launch.command].into_iter().chain(&launch.args).map(String::as_str).collect();
    let mut files = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| is_interpreter(word)) {
        for pair in words[at..].windows(2) {
            let &[before, word] = pair else { break };
            if let Some(file) = named(&here.join(split(word).1)) {
                files.push(file);
                if !before.starts_with('-') && !word.starts_with('-') {
                    break;
                }
            }
        }
    }
    files
}

fn is_interpreter(word: &str) -> bool {
    let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name)
}

/// The file that an interpreter takes a path for.
fn named(path: &Path) -> Option<PathBuf> {
    let with = |ending: &&str| {
        let mut path = path.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    };
    ENDINGS.iter().map(with).find(|path| path.is_file())
}

/// Whether a path is a file that is run when it is named.
fn is_script(path: &Path) -> bool {
    let Ok(found) = path.metadata() else { return false };
    if !found.is_file() {
        return false;
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| SCRIPTS.contains(&extension))
        || found.permissions().mode() & 0o111 != 0
        || begins_like_a_script(path)
}

fn begins_like_a_script(path: &Path) -> bool {
    let mut begin = [0; 2];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin)).is_ok_and(|()| begin == *b"#!")
}

/// Whether a path is a file of the project. What it leads to elsewhere is none of the project's.
fn is_inside(root: &Path, path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real.is_file() && real.starts_with(root))
}

#[cfg(test)]
mod tests {
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
        let mut server = ServerConfig::program("s", "python3", ["serve.py", "--db", "data.db"]);
        anchor(&root, &mut server);
        assert_eq!(
            server.reach.to_string(),
            format!("python3 {} --db data.db", root.join("serve.py").display())
        );
        for (program, file) in [("python3", "plain"), ("node", "server")] {
            let mut server = ServerConfig::program("s", program, [file]);
            anchor(&root, &mut server);
            assert_eq!(server.reach.to_string(), format!("{program} {}", root.join(file).display()));
        }
    }
}
