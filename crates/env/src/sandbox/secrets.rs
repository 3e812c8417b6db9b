//! What is known to be secret, by where it is and what it is called.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Below the home directory.
const HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".boto",
    ".config/doctl",
    ".config/fly",
    ".config/gcloud",
    ".config/rclone",
    ".fly",
    ".kube",
    ".oci",
    ".s3cfg",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    // Registries and forges.
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/hub",
    ".docker/config.json",
    ".gem/credentials",
    ".git-credentials",
    ".m2/settings.xml",
    ".npmrc",
    ".pypirc",
    // Machines and databases.
    ".my.cnf",
    ".netrc",
    ".pgpass",
    // Agents, this one included.
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/junto",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    // Whatever was typed, passwords too.
    ".bash_history",
    ".python_history",
    ".zsh_history",
    // Browsers, which keep passwords and sessions.
    ".config/chromium",
    ".config/google-chrome",
    ".mozilla",
];

/// Of the system.
const SYSTEM: &[&str] =
    &["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/sudoers"];

/// Files of these names, wherever they are.
const NAMES: &[&str] = &[
    ".env",
    ".netrc",
    ".pgpass",
    ".pypirc",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
];

/// Files with these endings, wherever they are.
const ENDINGS: &[&str] = &[".kdbx", ".p12", ".pfx", ".ppk"];

/// Files with these endings, if there is a private key in them.
const KEYS: &[&str] = &[".key", ".pem"];

/// What `.env.…` may end with and be for everybody.
const SAMPLES: &[&str] = &["dist", "example", "sample", "template"];

/// Directories in which keys are for tests, and nobody's.
const FIXTURES: &[&str] = &["examples", "fixtures", "test", "testdata", "tests"];

/// Directories that are not looked through: large, and made by tools.
const HEAVY: &[&str] = &[".git", "node_modules", "target", ".venv", "venv", "__pycache__", "dist", "build"];

/// How deep, and through how many entries, a working directory is looked through.
const DEPTH: usize = 6;
const ENTRIES: usize = 20_000;

/// The places of this user's and the system's secrets, whether anything is there or not.
pub(super) fn places(home: Option<&Path>) -> Vec<PathBuf> {
    let of_home = home.into_iter().flat_map(|home| HOME.iter().map(move |below| home.join(below)));
    of_home.chain(SYSTEM.iter().map(PathBuf::from)).collect()
}

/// Whether a file is secret by its name, wherever it is.
pub(super) fn is_named_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let own_env = name.strip_prefix(".env.").is_some_and(|rest| {
        !SAMPLES.iter().any(|sample| rest == *sample || rest.ends_with(&format!(".{sample}")))
    });
    own_env || NAMES.contains(&&*name) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a file is a private key, by its name and first line, that is not there for tests.
pub(super) fn is_key(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fixture = || path.components().any(|part| FIXTURES.iter().any(|name| part.as_os_str() == *name));
    KEYS.iter().any(|ending| name.ends_with(ending)) && !fixture() && begins_a_key(path)
}

fn begins_a_key(path: &Path) -> bool {
    let mut head = [0; 64];
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let read = is_file.then(|| File::open(path).and_then(|mut file| file.read(&mut head)));
    let Some(Ok(read)) = read else { return false };
    let head = String::from_utf8_lossy(head.get(..read).unwrap_or_default()).into_owned();
    head.trim_start().starts_with("-----BEGIN ") && head.contains("PRIVATE KEY")
}

/// Secret files in a directory, as far as it is looked through.
pub(super) fn in_tree(root: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![(root.to_owned(), depth.min(DEPTH))];
    let mut seen = 0;
    while let Some((dir, levels)) = pending.pop() {
        let Some(deeper) = levels.checked_sub(1) else { continue };
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            seen += 1;
            if seen > ENTRIES {
                return found;
            }
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            let path = entry.path();
            if kind.is_dir() {
                if deeper > 0 && !HEAVY.iter().any(|heavy| name == *heavy) {
                    pending.push((path, deeper));
                }
            } else if is_named_secret(&name) || (kind.is_file() && is_key(&path)) {
                found.push(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, expected) in [
            (".env", true),
            (".env.local", true),
            (".env.production.local", true),
            (".env.example", false),
            (".env.local.sample", false),
            (".envrc", false),
            ("env", false),
            ("id_rsa", true),
            ("id_rsa.pub", false),
            ("vault.kdbx", true),
            ("cert.pem", false),
            ("main.rs", false),
        ] {
            assert_eq!(is_named_secret(OsStr::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn what_is_found_in_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let key = "-----BEGIN PRIVATE KEY-----\nMIIB\n";
        for (path, content) in [
            (".env", "A=b"),
            (".env.example", "A=b"),
            ("app/.env.local", ""),
            ("server.key", key),
            ("public.pem", "-----BEGIN CERTIFICATE-----\n"),
            ("tests/server.key", key),
            ("node_modules/x/.env", ""),
            ("a/b/id_rsa", ""),
        ] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let found = |depth| {
            let mut found: Vec<String> = in_tree(dir.path(), depth)
                .iter()
                .map(|path| path.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned())
                .collect();
            found.sort();
            found
        };
        assert_eq!(found(usize::MAX), [".env", "a/b/id_rsa", "app/.env.local", "server.key"]);
        assert_eq!(found(1), [".env", "server.key"]);
    }
}
