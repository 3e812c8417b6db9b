//! Which variables a child gets, as one pure function.
//!
//! This keeps secrets out of the reach of a model that prints its environment. It is a safe default
//! and not a wall: a command can still read what its user can read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// What a child inherits.
///
/// `Core` unless somebody chooses: what is not known to be harmless is kept back. `All` is wider: it
/// keeps back only what looks like a secret by its name, and a name may look like anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Everything but what looks like a secret.
    All,
    /// What programs need to run and to find their tools, and nothing else.
    #[default]
    Core,
    /// Nothing.
    None,
    /// What somebody wrote down.
    Custom(Custom),
}

/// A policy of one's own: another one, with additions and exceptions.
///
/// Patterns are names in any case, in which `*` stands for anything, also nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Custom {
    /// What is inherited of the names that no pattern matches.
    pub base: Box<Inherit>,
    /// Inherited besides, whatever they look like: `*` is everything, secrets included.
    pub include: Vec<String>,
    /// Not inherited, also if included.
    pub exclude: Vec<String>,
}

impl Inherit {
    /// Whether a child inherits this variable.
    pub fn lets_through(&self, name: &OsStr, value: &OsStr) -> bool {
        match self {
            Self::All => (is_core(name) || !is_secret(name)) && !has_password(name, value),
            Self::Core => is_core(name) && !has_password(name, value),
            Self::None => false,
            Self::Custom(Custom { base, include, exclude }) => {
                let matches = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
                !matches(exclude) && (matches(include) || base.lets_through(name, value))
            }
        }
    }
}

/// Names a child always gets, unless it inherits nothing. A `*` at the end stands for anything.
const CORE: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "COLORTERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    // Where languages and their tools live.
    "ANDROID_HOME",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "BUNDLE_PATH",
    "CARGO_HOME",
    "COMPOSER_HOME",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NODE_PATH",
    "NVM_DIR",
    "OPAMROOT",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "UV_CACHE_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    // Without these, programs do not load or trust nobody.
    "LD_LIBRARY_PATH",
    "NODE_EXTRA_CA_CERTS",
    "PKG_CONFIG_PATH",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    // Without this, git asks for passwords. It is a way to the keys, which stay where they are.
    "SSH_AUTH_SOCK",
    // Without these, an agent below others would not know that it is, and nothing would end the nesting.
    "FRITES_CHILD",
    "FRITES_DEPTH",
    "JUNTO_CHILD",
    "JUNTO_DEPTH",
];

/// How the world is reached from behind a proxy, in upper or lower case; always given like the core, unless
/// the address has a password in it.
const PROXIES: &[&str] = &["ALL_PROXY", "FTP_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];

/// How the names of secrets end, in upper case; an `S` may follow.
const SECRET: &[&str] = &[
    "API_KEY",
    "APIKEY",
    "SECRET",
    "SECRET_KEY_BASE",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "_AUTH",
    "_CRED",
    "_JWT",
    "_KEY",
    "_PASS",
    "_PAT",
    "_PWD",
    // Addresses that have the password in them.
    "CONNECTION_STRING",
    "DATABASE_URL",
    "_DSN",
];

/// What a child gets: of `base` what the policy lets through, then `extra`, which is never filtered.
pub fn select<'a>(
    inherit: &Inherit,
    base: impl IntoIterator<Item = (&'a OsString, &'a OsString)>,
    extra: impl IntoIterator<Item = (&'a OsString, &'a OsString)>,
) -> Variables {
    let inherited = base.into_iter().filter(|(name, value)| inherit.lets_through(name, value));
    inherited.chain(extra).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether a variable is one that every program may need.
pub fn is_core(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    let in_core = CORE.iter().any(|core| match core.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => text == *core,
    });
    in_core || is_proxy(name)
}

fn is_proxy(name: &OsStr) -> bool {
    PROXIES.iter().any(|proxy| name == *proxy || name == proxy.to_ascii_lowercase().as_str())
}

/// Whether a variable is the address of a proxy with the password in it.
fn has_password(name: &OsStr, value: &OsStr) -> bool {
    let address = value.to_string_lossy();
    let place = address.split_once("://").map_or(&*address, |(_, place)| place);
    let host = place.split(['/', '?', '#']).next().unwrap_or_default();
    let user = host.rsplit_once('@').map_or("", |(user, _)| user);
    is_proxy(name) && user.contains(':')
}

/// Whether a name fits a pattern, in any case.
fn matches(pattern: &str, name: &OsStr) -> bool {
    let (pattern, name) = (pattern.to_ascii_uppercase(), name.to_string_lossy().to_ascii_uppercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // What stands between two stars may as well be found as early as it can.
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether a variable looks like a secret by its name, in any case.
pub fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let singular = name.strip_suffix('S').unwrap_or(&name);
    SECRET.iter().any(|ending| name.ends_with(ending) || singular.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(names: &[&str]) -> Variables {
        names.iter().map(|name| (name.into(), "v".into())).collect()
    }

    fn check(inherit: &Inherit, base: &[&str], extra: &[&str], expected: &[&str]) {
        assert_eq!(
            select(inherit, &variables(base), &variables(extra)),
            variables(expected),
            "{inherit:?} {base:?} {extra:?}"
        );
    }

    #[test]
    fn policies() {
        let base = ["PATH", "LC_ALL", "CARGO_HOME", "EDITOR", "GITHUB_TOKEN"];
        check(&Inherit::All, &base, &[], &["PATH", "LC_ALL", "CARGO_HOME", "EDITOR"]);
        check(&Inherit::Core, &base, &[], &["PATH", "LC_ALL", "CARGO_HOME"]);
        check(&Inherit::None, &base, &[], &[]);
        check(&Inherit::None, &base, &["GITHUB_TOKEN"], &["GITHUB_TOKEN"]);
    }

    #[test]
    fn proxies_are_reached_but_their_passwords_are_kept_back() {
        for (name, value, core) in [
            ("HTTPS_PROXY", "http://proxy:3128", true),
            ("https_proxy", "http://proxy:3128/", true),
            ("HTTP_PROXY", "proxy:3128", true),
            ("all_proxy", "socks5://user@proxy:1080", true),
            ("NO_PROXY", "localhost,10.0.0.0/8,[::1]", true),
            ("http_proxy", "http://me:pass@proxy:3128", false),
            ("HTTP_PROXY", "me:pass@proxy:3128", false),
            ("HTTPS_PROXY", "http://me:p@ss@proxy", false),
            ("MY_PROXY", "http://proxy:3128", false),
            ("Http_Proxy", "http://proxy:3128", false),
            ("SSH_AUTH_SOCK", "/run/agent", true),
        ] {
            let (name, value) = (OsStr::new(name), OsStr::new(value));
            assert_eq!(Inherit::Core.lets_through(name, value), core, "{name:?} {value:?}");
            let own = Custom { include: vec!["*_proxy".to_owned()], ..Custom::default() };
            assert!(Inherit::Custom(own).lets_through(name, value), "{name:?} {value:?}");
        }
        let with_password = Inherit::All.lets_through("http_proxy".as_ref(), "http://me:pass@proxy".as_ref());
        assert!(!with_password);
    }

    #[test]
    fn a_policy_of_ones_own() {
        let names = ["PATH", "EDITOR", "NPM_TOKEN", "NPM_HOME", "MY_TOOL_HOME", "my_tool_token"];
        let custom = |base, include: &[&str], exclude: &[&str]| {
            let own = |patterns: &[&str]| patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            Inherit::Custom(Custom { base: Box::new(base), include: own(include), exclude: own(exclude) })
        };
        for (inherit, expected) in [
            (Inherit::Custom(Custom::default()), &["PATH"][..]),
            (custom(Inherit::None, &["path", "EDITOR"], &[]), &["PATH", "EDITOR"]),
            (custom(Inherit::Core, &["MY_TOOL_*"], &[]), &["PATH", "MY_TOOL_HOME", "my_tool_token"]),
            (custom(Inherit::Core, &["MY_TOOL_*"], &["*_TOKEN"]), &["PATH", "MY_TOOL_HOME"]),
            (custom(Inherit::All, &[], &["NPM*"]), &["PATH", "EDITOR", "MY_TOOL_HOME"]),
            (
                custom(Inherit::All, &["NPM_TOKEN"], &["PATH"]),
                &["EDITOR", "NPM_TOKEN", "NPM_HOME", "MY_TOOL_HOME"],
            ),
            (custom(Inherit::None, &["*"], &[]), &names),
            (custom(Inherit::All, &["*"], &["*"]), &[]),
            // One of one's own over another.
            (custom(custom(Inherit::Core, &["EDITOR"], &[]), &[], &["P*"]), &["EDITOR"]),
        ] {
            check(&inherit, &names, &[], expected);
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("PATH", "PATH", true),
            ("path", "Path", true),
            ("PATH", "PATHS", false),
            ("PATH", "XPATH", false),
            ("", "", true),
            ("", "A", false),
            ("*", "", true),
            ("*", "A", true),
            ("A*", "A", true),
            ("A*", "BA", false),
            ("*A", "BA", true),
            ("*A", "AB", false),
            ("*_KEY_*", "MY_KEY_1", true),
            ("*_KEY_*", "MY_KEY", false),
            ("A*B*C", "A1B2C", true),
            ("A*B*C", "A1C2B", false),
            // Both ends need their own letters.
            ("AB*BA", "ABA", false),
            ("AB*BA", "ABBA", true),
            ("*A*A", "A", false),
            ("A**", "A", true),
        ] {
            assert_eq!(matches(pattern, OsStr::new(name)), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn extras_win() {
        let base = Variables::from([("PATH".into(), "/bin".into())]);
        let extra = Variables::from([("PATH".into(), "/opt".into())]);
        assert_eq!(select(&Inherit::All, &base, &extra), extra);
    }

    #[test]
    fn secrets() {
        for name in [
            "OPENAI_API_KEY",
            "openai_api_key",
            "Stripe_Secret",
            "NPM_TOKEN",
            "TOKEN",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MYSQL_PWD",
            "AZURE_CREDENTIAL",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "AWS_SECRET_ACCESS_KEY",
            "SIGNING_PRIVATE_KEY",
            "CI_TOKENS",
            "RAILS_MASTER_KEY",
            "SECRET_KEY_BASE",
            "SMTP_PASS",
            "GH_PAT",
            "SESSION_JWT",
            "DATABASE_URL",
            "SENTRY_DSN",
        ] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in [
            "PATH",
            "PWD",
            "OLDPWD",
            "TOKENIZER",
            "KEYBOARD",
            "SECRETARY",
            "PASSWORD_FILE_DIR",
            "KEY",
            "BYPASS",
            "PATH_PATTERN",
            "SSH_AUTH_SOCK",
            "BASE_URL",
        ] {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn no_core_name_looks_like_a_secret() {
        for name in CORE.iter().chain(PROXIES) {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
