//! Programs by kind: lists that say which of them reach out, and for which a rule may be proposed.

use crate::shell::Word;

/// Programs that may be asked for their version.
pub(super) const VERSIONED: &[&str] = &[
    "bash", "bun", "cargo", "clang", "cmake", "deno", "docker", "g++", "gcc", "gh", "go", "java", "javac",
    "make", "node", "npm", "npx", "perl", "php", "pip", "pip3", "pnpm", "podman", "python", "python3",
    "ruby", "rustc", "rustup", "tsc", "uv", "yarn",
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
    "helm",
    "make",
    "mix",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "rustup",
    "swift",
    "terraform",
    "uv",
    "yarn",
];

/// Programs that run what their arguments say, or do too much to be allowed whatever the arguments are.
const NEVER: &[&str] = &[
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "busybox",
    "chmod",
    "chown",
    "chroot",
    "crontab",
    "dash",
    "dd",
    "deno",
    "doas",
    "docker",
    "env",
    "eval",
    "exec",
    "expect",
    "find",
    "fish",
    "flock",
    "gawk",
    "kill",
    "killall",
    "ksh",
    "lua",
    "mawk",
    "mkfs",
    "mount",
    "nc",
    "ncat",
    "node",
    "npx",
    "nsenter",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pkexec",
    "pkill",
    "podman",
    "powershell",
    "pwsh",
    "python",
    "python2",
    "python3",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "scp",
    "script",
    "sed",
    "setsid",
    "sftp",
    "sh",
    "shred",
    "source",
    "ssh",
    "su",
    "sudo",
    "systemctl",
    "tee",
    "telnet",
    "timeout",
    "tmux",
    "trap",
    "unshare",
    "watch",
    "xargs",
    "zsh",
    "nice",
    "nohup",
    "stdbuf",
    "command",
    "builtin",
    "ionice",
    "taskset",
    "toybox",
    "alias",
    ".",
    "truncate",
    "mv",
    "cp",
    "ln",
    "install",
    "curl",
    "wget",
    "tar",
    "bunx",
    "pipx",
    "uvx",
    "screen",
    "ts-node",
    "tsx",
];

/// The words with which a rule for a command like this would begin; `None` where no rule is to be proposed,
/// because it would allow far more than was asked.
pub(crate) fn proposable(words: &[Word]) -> Option<Vec<&str>> {
    let name = words.first()?.text()?;
    if NEVER.contains(&name)
        || name.chars().any(char::is_whitespace)
        || name.is_empty()
        || name.starts_with('-')
    {
        return None;
    }
    if !WITH_SUBCOMMANDS.contains(&name) {
        return Some(vec![name]);
    }
    let subcommand = words.get(1)?.text()?;
    let plain = subcommand.starts_with(|c: char| c.is_ascii_alphabetic())
        && subcommand.chars().all(|c| c.is_ascii_alphanumeric() || "-_:.".contains(c));
    // These run what comes after them.
    let runs = matches!(subcommand, "exec" | "x" | "dlx" | "run-script" | "config" | "tool" | "eval");
    (plain && !runs).then(|| vec![name, subcommand])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_proposed_for_what_can_be_told_apart() {
        let words = |line: &str| line.split(' ').map(Word::known).collect::<Vec<_>>();
        for (line, expected) in [
            ("cargo test --all", Some("cargo test")),
            ("git push origin main", Some("git push")),
            ("just build", Some("just")),
            ("npm run build", Some("npm run")),
            ("npm exec x", None),
            ("cargo --config x test", None),
            ("rm -rf z", None),
            ("sudo ls", None),
            ("python3 -c x", None),
            ("bash -c x", None),
        ] {
            let words = words(line);
            assert_eq!(proposable(&words).map(|words| words.join(" ")).as_deref(), expected, "{line}");
        }
    }
}
