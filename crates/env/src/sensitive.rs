//! What is sensitive on anybody's machine, by where it is and what it is called: keys and passwords, and the
//! settings that tools obey. The one list for all who keep commands from it, and for all who judge them.

/// Files and directories below the user's home in which keys and passwords are kept. Where a `/` is at the end, it is a
/// directory whose programs obey what they find in it: it is also not made by a command.
pub const SECRETS_AT_HOME: &[&str] = &[
    ".ssh/",
    ".gnupg/",
    ".password-store/",
    ".local/share/keyrings/",
    "Library/Keychains/",
    // Clouds and clusters.
    ".aws/",
    ".azure/",
    ".boto",
    ".config/doctl/",
    ".config/fly/",
    ".config/gcloud/",
    ".config/op/",
    ".config/rclone/",
    ".fly/",
    ".kube/",
    ".oci/",
    ".s3cfg",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    // Registries and forges.
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh/",
    ".config/git/credentials",
    ".config/glab-cli/",
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
    ".config/junto/",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    // What it keeps of other work: conversations, and copies of files, those with keys among them.
    ".local/state/junto/runs",
    ".local/state/junto/sessions",
    ".local/state/junto/snapshots",
    // Whatever was typed, passwords too.
    ".bash_history",
    ".psql_history",
    ".python_history",
    ".zsh_history",
    // Browsers, which keep passwords and sessions.
    ".config/chromium/",
    ".config/google-chrome/",
    ".mozilla/",
];

/// Places of the system that hold them.
pub const SECRETS_OF_SYSTEM: &[&str] = &[
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/run/secrets",
    "/var/run/secrets",
];

/// Names of files and directories that mean keys wherever they are. A `*` stands for any characters.
pub const SECRET_NAMES: &[&str] = &[
    ".env",
    ".env.*",
    ".envrc",
    ".git-credentials",
    ".gnupg",
    ".htpasswd",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".vault-token",
    "*.jks",
    "*.kdbx",
    "*.keystore",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "credentials.json",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "service-account*.json",
    "ssh_host_*_key",
];

/// Names of files that mean keys if there is a private key in them.
pub const KEY_NAMES: &[&str] = &["*.key", "*.pem"];

/// Names that look like those and are none.
pub const NO_SECRETS: &[&str] = &["*.pub", ".env*.dist", ".env*.example", ".env*.sample", ".env*.template"];

/// Directories in which tools that work in a directory keep what they obey. Whoever can change them decides
/// what their user runs tomorrow.
pub const SETTINGS: &[&str] = &[
    ".agents",
    ".claude",
    ".codex",
    ".continue",
    ".cursor",
    ".gemini",
    ".git",
    ".goose",
    ".junto",
    ".opencode",
    ".vscode",
    ".windsurf",
];

/// The same, of files.
pub const SETTINGS_FILES: &[&str] =
    &[".aider.conf.yml", ".envrc", ".gitmodules", ".mcp.json", "opencode.json"];

/// What makes a directory a repository by itself, without a `.git` in it: git obeys the settings there as it does those
/// of any other.
pub const BARE_REPOSITORY: &[&str] = &["HEAD", "commondir", "config", "hooks", "objects", "refs"];

/// Whether a name fits a pattern of these lists, in any case.
pub fn fits(pattern: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            (".env", ".env", true),
            (".env", ".ENV", true),
            (".env", ".envx", false),
            (".env.*", ".env.local", true),
            (".env.*", ".env", false),
            ("*.p12", "a.p12", true),
            ("*.p12", "a.p123", false),
            ("service-account*.json", "service-account-1.json", true),
            ("ssh_host_*_key", "ssh_host_rsa_key", true),
            ("ssh_host_*_key", "ssh_host_rsa_key.pub", false),
            (".env*.sample", ".env.local.sample", true),
            (".env*.sample", ".env.sample", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
