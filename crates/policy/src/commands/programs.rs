//! Programs by kind: lists that say which of them reach out, and for which a rule may be proposed.

use crate::shell::Word;

/// Programs that may be asked for their version. Not those that run another for that, which the project chooses: `cargo`
/// and `rustc` of rustup by `rust-toolchain.toml`, `yarn` by `.yarnrc`, `pnpm` by `package.json`, `go` by `go.mod`.
pub(super) const VERSIONED: &[&str] = &[
    "bash", "bun", "clang", "cmake", "deno", "docker", "g++", "gcc", "gh", "java", "javac", "make", "node",
    "npm", "npx", "perl", "php", "pip", "pip3", "podman", "python", "python3", "ruby", "tsc", "uv",
];

/// Which subcommands reach out, of programs that else only run.
const REACHING: &[(&str, &[&str])] = &[
    ("bun", &["add", "create", "i", "install", "publish", "update", "upgrade", "x"]),
    ("bundle", &["add", "install", "update"]),
    ("cargo", &["add", "fetch", "install", "login", "owner", "publish", "search", "update", "yank"]),
    ("composer", &["create-project", "install", "require", "update"]),
    ("conda", &["create", "install", "search", "update"]),
    ("deno", &["add", "cache", "install", "publish", "upgrade"]),
    ("gem", &["fetch", "install", "push", "update"]),
    ("go", &["get", "install"]),
    (
        "npm",
        &[
            "add", "audit", "ci", "create", "exec", "i", "init", "install", "login", "publish", "update",
            "view", "x",
        ],
    ),
    ("pip", &["download", "index", "install", "search", "wheel"]),
    ("pip3", &["download", "index", "install", "search", "wheel"]),
    ("pnpm", &["add", "create", "dlx", "i", "install", "publish", "update"]),
    ("poetry", &["add", "install", "publish", "update"]),
    ("rustup", &["component", "install", "self", "target", "toolchain", "update"]),
    ("uv", &["add", "lock", "pip", "publish", "sync", "tool"]),
    ("yarn", &["add", "create", "dlx", "install", "publish", "up", "upgrade"]),
];

/// Whether a program is told to reach out. Options before the subcommand are passed over; an unknown word may
/// be any.
pub(super) fn reaches(name: &str, words: &[Word]) -> bool {
    let Some((_, reaching)) = REACHING.iter().find(|(own, _)| *own == name) else { return false };
    let mut subcommands = words.iter().filter(|word| !word.beginning().starts_with(['-', '+']));
    match subcommands.next() {
        None => name == "yarn",
        Some(word) => word.text().is_none_or(|text| reaching.contains(&text)),
    }
}

/// Programs that run the command in their words, or one that they are told of, in ways that are not read here.
const RUNNING: &[&str] = &[
    "aa-exec",
    "at",
    "autossh",
    "batch",
    "bwrap",
    "capsh",
    "catchsegv",
    "cgexec",
    "choom",
    "chpst",
    "chronic",
    "chroot",
    "chrt",
    "cpulimit",
    "crontab",
    "daemonize",
    "dbus-launch",
    "dbus-run-session",
    "docker",
    "dtach",
    "dumb-init",
    "eatmydata",
    "entr",
    "expect",
    "fakechroot",
    "fakeroot",
    "faketime",
    "firejail",
    "fish",
    "gdb",
    "gosu",
    "hyperfine",
    "i386",
    "i486",
    "i586",
    "i686",
    "ifne",
    "ksh",
    "linux32",
    "linux64",
    "ltrace",
    "lxc",
    "mpiexec",
    "mpirun",
    "newgrp",
    "nix-shell",
    "nodemon",
    "nsenter",
    "numactl",
    "perf",
    "pkexec",
    "podman",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "rr",
    "runcon",
    "runuser",
    "schedtool",
    "screen",
    "script",
    "sem",
    "setarch",
    "setpriv",
    "setuidgid",
    "sg",
    "socat",
    "softlimit",
    "ssh",
    "ssh-agent",
    "sshpass",
    "start-stop-daemon",
    "strace",
    "su-exec",
    "systemd-cat",
    "systemd-inhibit",
    "systemd-nspawn",
    "systemd-run",
    "tcsh",
    "tini",
    "tmux",
    "torsocks",
    "trickle",
    "tsocks",
    "uname26",
    "unbuffer",
    "unshare",
    "valgrind",
    "watchexec",
    "x86_64",
    "xvfb-run",
];

/// Whether a program runs another command, which is not looked at.
pub(super) fn runs_another(name: &str) -> bool {
    RUNNING.contains(&name) || is_loader(name)
}

/// Whether it is what loads programs: `ld-linux-x86-64.so.2 /bin/ls`.
fn is_loader(name: &str) -> bool {
    ["ld-linux", "ld-musl", "ld.so", "ld64.so"].iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a program of the table runs what is behind its own words.
pub(super) fn hands_on(name: &str, words: &[Word]) -> bool {
    let mut own = words.iter().filter(|word| !word.beginning().starts_with(['-', '+']));
    matches!(name, "npx" | "pipx" | "uvx")
        || runs_another(name)
        || own.next().is_some_and(|word| word.text().is_none_or(|own| runs_the_rest(name, own)))
}

/// Programs whose first word is a subcommand, which belongs into a rule.
const WITH_SUBCOMMANDS: &[&str] = &[
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "dotnet",
    "gem",
    "gh",
    "git",
    "go",
    "gradle",
    "hatch",
    "helm",
    "make",
    "mamba",
    "mix",
    "mvn",
    "npm",
    "pdm",
    "pip",
    "pip3",
    "pipenv",
    "pnpm",
    "poetry",
    "rustup",
    "swift",
    "terraform",
    "uv",
    "yarn",
];

/// Programs, beside those that run others, that run what their arguments say, or do too much to be allowed whatever the
/// arguments are. Versions are left out: `python3.12` is `python`.
const NEVER: &[&str] = &[
    ".",
    "7z",
    "R",
    "Rscript",
    "ack",
    "alias",
    "apt",
    "apt-get",
    "aria2c",
    "ash",
    "awk",
    "aws",
    "az",
    "bash",
    "builtin",
    "bunx",
    "busybox",
    "chattr",
    "chmod",
    "chown",
    "clisp",
    "command",
    "cp",
    "cpio",
    "crictl",
    "csh",
    "csplit",
    "curl",
    "dash",
    "dd",
    "debugfs",
    "deno",
    "dmsetup",
    "doas",
    "ed",
    "elvish",
    "emacs",
    "env",
    "erl",
    "eval",
    "ex",
    "exec",
    "fdisk",
    "find",
    "flock",
    "ftp",
    "fzf",
    "gawk",
    "gcloud",
    "ghci",
    "gpg",
    "groovy",
    "guile",
    "iex",
    "ifconfig",
    "install",
    "ionice",
    "ip",
    "iptables",
    "ipython",
    "irb",
    "java",
    "jrunscript",
    "jshell",
    "julia",
    "kill",
    "killall",
    "kotlin",
    "kotlinc",
    "kubectl",
    "less",
    "lftp",
    "lldb",
    "ln",
    "lua",
    "machinectl",
    "man",
    "mawk",
    "mkfs",
    "mkfs.ext4",
    "more",
    "most",
    "mount",
    "mv",
    "mysql",
    "nano",
    "nawk",
    "nc",
    "ncat",
    "nerdctl",
    "nft",
    "nice",
    "nim",
    "nix",
    "nmap",
    "node",
    "nodejs",
    "nohup",
    "npx",
    "nu",
    "nvim",
    "ocaml",
    "octave",
    "openssl",
    "osascript",
    "parallel",
    "parted",
    "pdb",
    "perl",
    "pg",
    "php",
    "pipx",
    "pkill",
    "powershell",
    "pry",
    "psql",
    "pwsh",
    "pypy",
    "python",
    "python2",
    "python3",
    "racket",
    "rbash",
    "rclone",
    "rename",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "run-parts",
    "sbcl",
    "scala",
    "scp",
    "sed",
    "setfacl",
    "setsid",
    "sftp",
    "sh",
    "shred",
    "source",
    "split",
    "sqlite",
    "sqlite3",
    "ssh-add",
    "ssh-keygen",
    "stdbuf",
    "su",
    "sudo",
    "swipl",
    "systemctl",
    "tar",
    "taskset",
    "tclsh",
    "tcpdump",
    "tee",
    "telnet",
    "timeout",
    "toybox",
    "trap",
    "truncate",
    "ts-node",
    "ts-node-esm",
    "tsx",
    "unzip",
    "uvx",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "watch",
    "wget",
    "wish",
    "xargs",
    "xonsh",
    "zip",
    "zsh",
];

/// The words of a rule that would have allowed a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Proposal<'w> {
    /// Whatever follows them.
    Beginning(Vec<&'w str>),
    /// These alone: others could make it write elsewhere or run something.
    Exactly(Vec<&'w str>),
}

/// What a rule for a command like this would say; `None` where no rule is to be proposed, because it would allow far more
/// than was asked.
pub(crate) fn proposable(words: &[Word]) -> Option<Proposal<'_>> {
    let name = words.first()?.text()?;
    let never = |name: &str| NEVER.contains(&name) || runs_another(name);
    // By whatever path, and in whatever version.
    let short = name.rsplit('/').next().unwrap_or(name);
    let bare = short.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if never(short)
        || never(bare)
        || name.chars().any(char::is_whitespace)
        || name.is_empty()
        || name.starts_with('-')
    {
        return None;
    }
    let exactly = || words.iter().map(Word::text).collect::<Option<Vec<_>>>().map(Proposal::Exactly);
    if !WITH_SUBCOMMANDS.contains(&short) {
        return if super::has_powers(short) { exactly() } else { Some(Proposal::Beginning(vec![name])) };
    }
    let subcommand = words.get(1)?.text()?;
    let plain = subcommand.starts_with(|c: char| c.is_ascii_alphabetic())
        && subcommand.chars().all(|c| c.is_ascii_alphanumeric() || "-_:.".contains(c));
    if !plain || runs_the_rest(short, subcommand) {
        None
    } else if short == "git" && super::git::has_powers(subcommand) {
        exactly()
    } else {
        Some(Proposal::Beginning(vec![name, subcommand]))
    }
}

/// Whether a subcommand runs what comes after it, or what an option of it says.
fn runs_the_rest(name: &str, subcommand: &str) -> bool {
    let of_all = matches!(subcommand, "exec" | "dlx" | "run-script" | "config" | "tool" | "eval");
    let of_one = match name {
        "bun" | "npm" => matches!(subcommand, "create" | "init" | "x"),
        "pnpm" | "yarn" => matches!(subcommand, "create" | "init"),
        "conda" | "go" | "hatch" | "mamba" | "pdm" | "pipenv" | "poetry" | "rustup" | "uv" => {
            subcommand == "run"
        }
        "gh" => matches!(subcommand, "alias" | "extension"),
        "git" => matches!(
            subcommand,
            "bisect"
                | "daemon"
                | "difftool"
                | "filter-branch"
                | "for-each-repo"
                | "instaweb"
                | "merge-index"
                | "mergetool"
                | "rebase"
                | "remote-ext"
                | "submodule"
                | "web--browse"
        ),
        "mix" => matches!(subcommand, "cmd" | "do" | "run"),
        "mvn" => subcommand.starts_with("exec:"),
        _ => false,
    };
    of_all || of_one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_proposed_for_what_can_be_told_apart() {
        let words = |line: &str| line.split(' ').map(Word::known).collect::<Vec<_>>();
        for (line, expected) in [
            ("cargo test --all", Some("cargo test *")),
            ("git push origin main", Some("git push origin main")),
            ("git commit -m x", Some("git commit *")),
            ("git fetch origin", Some("git fetch origin")),
            ("git clone u", Some("git clone u")),
            ("git log --show-signature", Some("git log --show-signature")),
            ("rg --zzz x", Some("rg --zzz x")),
            ("sort --zzz x", Some("sort --zzz x")),
            ("bat --zzz x", Some("bat --zzz x")),
            ("ag --zzz x", Some("ag --zzz x")),
            ("file --zzz x", Some("file --zzz x")),
            ("date --zzz", Some("date --zzz")),
            ("ls --zzz", Some("ls *")),
            ("x86_64 ls", None),
            ("uname26 ls", None),
            ("choom -n 0 -- ls", None),
            ("ssh-agent ls", None),
            ("run-parts d", None),
            ("java -jar x", None),
            ("nix-shell --run x", None),
            ("/lib64/ld-linux-x86-64.so.2 /bin/ls", None),
            ("just build", Some("just *")),
            ("npm run build", Some("npm run *")),
            ("npm exec x", None),
            ("npm x y", None),
            ("make x", Some("make x *")),
            ("cargo run", Some("cargo run *")),
            ("uv run x", None),
            ("uv sync", Some("uv sync *")),
            ("poetry run x", None),
            ("pipenv run x", None),
            ("rustup run nightly x", None),
            ("conda run x", None),
            ("go run x", None),
            ("git rebase -x y", None),
            ("git bisect run x", None),
            ("git submodule foreach x", None),
            ("mvn exec:exec", None),
            ("bwrap x", None),
            ("cargo --config x test", None),
            ("rm -rf z", None),
            ("sudo ls", None),
            ("python3 -c x", None),
            ("bash -c x", None),
            ("/bin/bash -c x", None),
            ("./venv/bin/python3.12 -c x", None),
            ("strace ls", None),
            ("gdb -ex x", None),
            ("vim -c x", None),
            ("perl5.36.0 x", None),
            ("lua5.4 x", None),
            ("node-20 x", None),
            ("/usr/bin/git push", Some("/usr/bin/git push")),
        ] {
            let words = words(line);
            let proposed = proposable(&words).map(|proposal| match proposal {
                Proposal::Beginning(words) => words.join(" ") + " *",
                Proposal::Exactly(words) => words.join(" "),
            });
            assert_eq!(proposed.as_deref(), expected, "{line}");
        }
    }
}
