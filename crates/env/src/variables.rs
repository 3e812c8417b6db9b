//! Which variables a child gets, as one pure function.
//!
//! This keeps secrets out of the reach of a model that prints its environment. It is a safe default
//! and not a wall: a command can still read what its user can read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// What a child inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Everything but what looks like a secret.
    All,
    /// What programs need to run and to find their tools, and nothing else.
    #[default]
    Core,
    /// Nothing.
    None,
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
];

/// How the names of secrets end, in upper case; an `S` may follow.
const SECRET: &[&str] = &[
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "SECRET",
    "TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "_PWD",
];

/// What a child gets: of `base` what the policy lets through, then `extra`, which is never filtered.
pub fn select<'a>(
    inherit: Inherit,
    base: impl IntoIterator<Item = (&'a OsString, &'a OsString)>,
    extra: impl IntoIterator<Item = (&'a OsString, &'a OsString)>,
) -> Variables {
    let inherited = base.into_iter().filter(|(name, _)| match inherit {
        Inherit::All => is_core(name) || !is_secret(name),
        Inherit::Core => is_core(name),
        Inherit::None => false,
    });
    inherited.chain(extra).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether a variable is one that every program may need.
pub fn is_core(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    CORE.iter().any(|core| match core.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *core,
    })
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

    fn check(inherit: Inherit, base: &[&str], extra: &[&str], expected: &[&str]) {
        assert_eq!(
            select(inherit, &variables(base), &variables(extra)),
            variables(expected),
            "{inherit:?} {base:?} {extra:?}"
        );
    }

    #[test]
    fn policies() {
        let base = ["PATH", "LC_ALL", "CARGO_HOME", "EDITOR", "GITHUB_TOKEN"];
        check(Inherit::All, &base, &[], &["PATH", "LC_ALL", "CARGO_HOME", "EDITOR"]);
        check(Inherit::Core, &base, &[], &["PATH", "LC_ALL", "CARGO_HOME"]);
        check(Inherit::None, &base, &[], &[]);
        check(Inherit::None, &base, &["GITHUB_TOKEN"], &["GITHUB_TOKEN"]);
    }

    #[test]
    fn extras_win() {
        let base = Variables::from([("PATH".into(), "/bin".into())]);
        let extra = Variables::from([("PATH".into(), "/opt".into())]);
        assert_eq!(select(Inherit::All, &base, &extra), extra);
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
        ] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in
            ["PATH", "PWD", "OLDPWD", "TOKENIZER", "KEYBOARD", "SECRETARY", "PASSWORD_FILE_DIR", "KEY"]
        {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn no_core_name_looks_like_a_secret() {
        for name in CORE {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
