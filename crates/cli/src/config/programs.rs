//! Which files of a project the servers run that it names. They are trusted together with the file that names them: else
//! whoever can change them, an agent for instance, would run what nobody has looked at.

mod words;

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use junto::mcp::config::{Launch, Pin, Reach, ServerConfig, parse};

use self::words::{attached, cut, is_line, pieces, values};

/// How names of files end that are run when they are named. Others, a database for instance, may be meant to change.
const SCRIPTS: &[&str] = &[
    "py", "pyz", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "sh", "bash", "zsh", "fish", "rb",
    "pl", "php", "lua", "jar", "exs", "go", "ps1", "wasm", "dll", "so", "groovy", "kts", "csx", "nu", "tcl",
    "r", "R",
];
/// What is run of a folder that is named.
const ENTRIES: &[&str] =
    &["__main__.py", "index.js", "index.mjs", "index.ts", "main.go", "package.json", "pyproject.toml"];
/// Programs that run the file that is named first, whatever it looks like; their names may end in a version.
const INTERPRETERS: &[&str] = &[
    "ash", "awk", "bash", "bun", "csh", "dash", "deno", "dotnet", "elixir", "expect", "fastmcp", "fish",
    "flask", "gawk", "groovy", "gunicorn", "java", "julia", "ksh", "lua", "luajit", "node", "nodejs",
    "nodemon", "nu", "perl", "php", "pypy", "python", "pwsh", "Rscript", "ruby", "sh", "tclsh", "tcsh",
    "ts-node", "tsx", "uvicorn", "wasmtime", "zsh",
];
/// What some of these put behind a name that is no file.
const ENDINGS: &[&str] = &["", ".js", ".mjs", ".cjs", ".ts", ".rb", ".py"];
/// Programs that run what a file says which they find by themselves, and the options that name another.
const FINDERS: &[(&str, &[&str], &[&str])] = &[
    ("npm", &["package.json"], &[]),
    ("pnpm", &["package.json"], &[]),
    ("yarn", &["package.json"], &[]),
    ("bun", &["package.json"], &[]),
    ("deno", &["deno.json", "deno.jsonc"], &["-c", "--config"]),
    ("uv", &["pyproject.toml"], &[]),
    ("poetry", &["pyproject.toml"], &[]),
    ("cargo", &["Cargo.toml"], &["--manifest-path"]),
    ("go", &["go.mod"], &[]),
    ("make", &["GNUmakefile", "makefile", "Makefile"], &["-f", "--file", "--makefile"]),
    ("gmake", &["GNUmakefile", "makefile", "Makefile"], &["-f", "--file", "--makefile"]),
    ("just", &["justfile", "Justfile", ".justfile"], &["-f", "--justfile"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml"], &["-t", "--taskfile"]),
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
    run_by(root, launch).iter().filter_map(|file| Pin::of(file).ok()).collect()
}

/// Makes a server run the files that are compared, wherever an agent works: by their whole paths, and where it does not
/// name them by paths that are arguments, in the place where they were found.
pub(crate) fn anchor(root: &Path, server: &mut ServerConfig) {
    let Reach::Program(launch) = &mut server.reach else { return };
    let here = place(root, launch);
    let mut files = run_by(root, launch);
    let operands = operands(&here, &command(launch));
    let mut whole = |word: &mut String| {
        let of_it = |(flag, path): (&str, &str)| {
            let file = here.join(path);
            let is_run = |run: &PathBuf| operands.contains(run) || *run == file && is_script(run);
            let run: Vec<PathBuf> = named(&file).filter(|run| is_run(run) && is_inside(root, run)).collect();
            (!path.is_empty() && !run.is_empty()).then(|| (format!("{flag}{}", file.display()), run))
        };
        let found = cut(word).into_iter().find_map(of_it);
        if let Some((anchored, run)) = found {
            files.retain(|file| !run.contains(file));
            *word = anchored;
        }
    };
    launch.args.iter_mut().for_each(&mut whole);
    // A name without a slash is looked for elsewhere.
    if launch.command.contains('/') {
        whole(&mut launch.command);
    }
    match &launch.cwd {
        // That is a place of the user's.
        Some(cwd) if cwd.starts_with('~') => {}
        None if files.is_empty() => {}
        _ => launch.cwd = Some(here.display().to_string()),
    }
}

/// The files in a project that a server runs.
fn run_by(root: &Path, launch: &Launch) -> Vec<PathBuf> {
    let here = place(root, launch);
    let words = command(launch);
    let mut files = by_words(root, &here, &words);
    // Of a line it is not known what in it runs, so every file counts.
    let lines = words.iter().copied().filter(|word| is_line(word) && !here.join(word).exists());
    for line in lines.chain(launch.variables.values().map(String::as_str)) {
        let pieces = pieces(line);
        files.extend(by_words(root, &here, &pieces));
        let all = pieces.iter().flat_map(|piece| values(piece));
        files.extend(all.flat_map(|path| named(&here.join(path))));
    }
    files.retain(|file| is_inside(root, file));
    files.sort_unstable();
    files.dedup();
    files
}

/// Where a server of the project runs, if that is said.
fn place(root: &Path, launch: &Launch) -> PathBuf {
    launch.cwd.as_deref().map_or_else(|| root.to_owned(), |cwd| root.join(cwd))
}

/// The program and its arguments.
fn command(launch: &Launch) -> Vec<&str> {
    [&launch.command].into_iter().chain(&launch.args).map(String::as_str).collect()
}

/// The files that a command runs.
fn by_words(root: &Path, here: &Path, words: &[&str]) -> Vec<PathBuf> {
    let mut files = operands(here, words);
    files.extend(found(here, words));
    // A program without a slash is looked for elsewhere.
    let paths = words.iter().enumerate().filter(|(at, word)| *at > 0 || word.contains('/'));
    let paths: Vec<&str> = paths.flat_map(|(_, word)| values(word)).collect();
    for path in paths.iter().map(|path| here.join(path)) {
        if path.is_dir() {
            // The project itself is what a server is to look at, mostly.
            if path.canonicalize().is_ok_and(|real| real == root) {
                continue;
            }
            files.extend(ENTRIES.iter().map(|entry| path.join(entry)));
            // `--directory server main.py`
            files.extend(paths.iter().map(|word| path.join(word)).filter(|path| is_script(path)));
        } else if is_script(&path) {
            files.push(path);
        }
    }
    files
}

/// The files that programs find by themselves, or by an option that names another.
fn found(here: &Path, words: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let name = Path::new(word).file_name().and_then(|name| name.to_str());
        let Some((_, usual, options)) = FINDERS.iter().find(|(finder, ..)| Some(*finder) == name) else {
            continue;
        };
        files.extend(usual.iter().map(|file| here.join(file)));
        let behind = words.get(at + 1..).unwrap_or_default();
        let values = behind.windows(2).filter(|pair| options.contains(&pair[0])).map(|pair| pair[1]);
        let attached = behind.iter().filter_map(|word| attached(word, options));
        files.extend(values.chain(attached).map(|file| here.join(file)));
    }
    let modules =
        words.windows(2).filter(|pair| pair[0] == "-m").map(|pair| here.join(pair[1].replace('.', "/")));
    for module in modules {
        files.extend([module.with_extension("py"), module.join("__main__.py"), module.join("__init__.py")]);
    }
    files
}

/// What interpreters in a command run: the first file that is named behind one. A word behind an option may be its value,
/// and then the next one counts, too.
fn operands(here: &Path, words: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| is_interpreter(word)) {
        for pair in words[at..].windows(2) {
            let &[before, word] = pair else { break };
            let before_it = files.len();
            files.extend(values(word).flat_map(|path| named(&here.join(path))));
            if files.len() > before_it && !before.starts_with('-') && !word.starts_with('-') {
                break;
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

/// The files that an interpreter may take a path for.
fn named(path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let path = path.to_owned();
    let with = move |ending: &&str| {
        let mut path = path.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    };
    ENDINGS.iter().map(with).filter(|path| path.is_file())
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
mod tests;
