use std::fs;
use std::sync::Arc;

use junto_env::LocalEnvironment;

use super::*;

/// A folder with programs in it, and a host that finds them.
struct Place {
    folder: tempfile::TempDir,
    host: Host,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let env = Arc::new(LocalEnvironment::new(folder.path()).unwrap());
        let path = format!("/nowhere:{}:/usr/bin:/bin", folder.path().join("bin").display());
        let mut host = Host::new(env);
        host.variables.insert("PATH".to_owned(), Secret::new(path));
        host.variables.insert("HOME".to_owned(), Secret::new(folder.path().to_string_lossy()));
        Self { folder, host }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.host.variables.insert(name.to_owned(), Secret::new(value));
        self
    }

    fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn program(&self, below: &str, text: &str) -> PathBuf {
        let path = self.write(below, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn link(&self, below: &str, to: &str) {
        let path = self.folder.path().join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.folder.path().join(to), path).unwrap();
    }

    fn look(&self, kind: &str) -> Probe {
        Probe::look(&Definition::shipped(kind).unwrap(), &self.host)
    }
}

#[test]
fn a_program_that_is_not_there_is_not_found() {
    let place = Place::new();
    place.write("bin/claude", "no program: it may not be run");
    let probe = place.look("claude");
    assert_eq!((probe.program, probe.version, probe.standing), (None, None, None));
}

#[test]
fn a_package_tells_the_version() {
    let place = Place::new();
    let package = "lib/node_modules/@openai/codex";
    place.program(&format!("{package}/bin/codex.js"), "");
    place.write(
        &format!("{package}/package.json"),
        r#"{"version": "0.166.0", "bin": {"codex": "bin/codex.js"}}"#,
    );
    place.link("bin/codex", &format!("{package}/bin/codex.js"));
    let probe = place.look("codex");
    assert_eq!(probe.program, Some(place.folder.path().join("bin/codex")));
    assert_eq!((probe.version, probe.standing), (Some(Version(0, 166, 0)), Some(Standing::Tested)));
}

#[test]
fn anothers_package_tells_nothing() {
    let place = Place::new();
    place.program("bin/codex", "");
    for package in [
        r#"{"version": "1.0.0", "bin": {"other": "codex"}}"#,
        r#"{"version": "1.0.0", "bin": {"codex": "elsewhere"}}"#,
        r#"{"version": "1.0.0"}"#,
        "nonsense",
    ] {
        place.write("bin/package.json", package);
        assert_eq!(place.look("codex").version, None, "{package}");
    }
}

#[test]
fn an_installer_may_name_the_program_by_its_version() {
    let place = Place::new();
    place.program("share/claude/versions/2.1.400", "");
    place.link("bin/claude", "share/claude/versions/2.1.400");
    let probe = place.look("claude");
    assert_eq!((probe.version, probe.standing), (Some(Version(2, 1, 400)), Some(Standing::Untested)));
}

#[tokio::test]
async fn a_program_is_asked_once_for_its_version() {
    let place = Place::new();
    place.program("bin/claude", "#!/bin/sh\necho x >>\"$HOME/asked\"\necho '2.1.300 (Claude Code)'\n");
    let definition = Definition::shipped("claude").unwrap();
    let ask = || Probe::ask(&definition, &place.host);
    let (first, second) = tokio::join!(ask(), ask());
    for probe in [first, second, ask().await] {
        assert_eq!((probe.version, probe.standing), (Some(Version(2, 1, 300)), Some(Standing::Tested)));
    }
    assert_eq!(fs::read_to_string(place.folder.path().join("asked")).unwrap(), "x\n");
}

#[tokio::test]
async fn what_a_wrapper_starts_is_asked_and_not_the_wrapper() {
    let place = Place::new();
    let wrapper = "#!/bin/sh\ncase $1 in --version) echo 'wrapper 0.9.72' ;; *) exec \"$@\" ;; esac\n";
    place.program("lib/wrapper/wrap", wrapper);
    place.write("lib/wrapper/package.json", r#"{"version": "0.9.72", "bin": {"wrap": "wrap"}}"#);
    place.link("bin/wrap", "lib/wrapper/wrap");
    for (kind, said, expected) in [
        ("claude", "2.1.300 (Claude Code)", Version(2, 1, 300)),
        ("codex", "codex-cli 0.166.0", Version(0, 166, 0)),
    ] {
        place.program(&format!("bin/{kind}"), &format!("#!/bin/sh\necho '{said}'\n"));
        let mut definition = Definition::shipped(kind).unwrap();
        definition.start_by(["wrap".to_owned(), kind.to_owned()]);
        let probe = Probe::ask(&definition, &place.host).await;
        assert_eq!((probe.version, probe.standing), (Some(expected), Some(Standing::Tested)), "{kind}");
        assert_eq!(probe.program, Some(place.folder.path().join("bin/wrap")), "{kind}");
    }
}

#[tokio::test]
async fn a_program_that_says_no_version_has_none() {
    for script in ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho 1.2.3\nexit 1\n", "#!/bin/sh\necho hello\n"] {
        let place = Place::new();
        place.program("bin/claude", script);
        let probe = Probe::ask(&Definition::shipped("claude").unwrap(), &place.host).await;
        assert!(probe.program.is_some() && probe.version.is_none(), "{script}");
    }
}

#[test]
fn doubts_are_said_and_misunderstandings_refused() {
    let definition = Definition::shipped("claude").unwrap();
    let of = |version: Option<Version>| {
        let standing = version.map(|version| definition.versions.standing(version));
        Probe { program: None, version, standing, sign_in: SignIn::No }.doubt(&definition)
    };
    assert_eq!(of(None).unwrap(), None);
    assert_eq!(of(Some(Version(2, 1, 325))).unwrap(), None);
    let said = of(Some(Version(2, 2, 0))).unwrap().unwrap();
    assert_eq!(said, "claude 2.2.0 was not tested; tested: 2.1.197 to 2.1.325");
    let error = of(Some(Version(1, 0, 9))).unwrap_err();
    assert!(error.to_string().contains("claude 1.0.9 is too old"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("npm install")), "{error:?}");
}

#[test]
fn sign_ins_are_found_without_asking_anybody() {
    let plain = Place::new();
    for kind in Definition::shipped_kinds() {
        assert_eq!(plain.look(kind).sign_in, SignIn::No, "{kind}");
    }
    for (kind, file) in [
        ("claude", ".claude/.credentials.json"),
        ("codex", ".codex/auth.json"),
        ("gemini", ".gemini/oauth_creds.json"),
    ] {
        let place = Place::new();
        place.write(file, "{}");
        assert_eq!(place.look(kind).sign_in, SignIn::No, "{kind}: nothing is in it");
        let file = place.write(file, "{\"token\": 1}");
        assert_eq!(place.look(kind).sign_in, SignIn::File(file), "{kind}");
    }
    let place = Place::new().with("CLAUDE_CODE_OAUTH_TOKEN", "t");
    assert_eq!(place.look("claude").sign_in, SignIn::Variable("CLAUDE_CODE_OAUTH_TOKEN".to_owned()));
}

#[test]
fn a_key_is_a_sign_in_only_where_it_is_passed() {
    let mut place = Place::new().with("OPENAI_API_KEY", "k");
    assert_eq!(place.look("codex").sign_in, SignIn::No);
    place.host.pass_keys = true;
    assert_eq!(place.look("codex").sign_in, SignIn::Key("OPENAI_API_KEY".to_owned()));
}

#[test]
fn a_key_for_another_server_is_a_sign_in() {
    let mut place = Place::new();
    place.host.endpoint = Some(Endpoint::new("http://127.0.0.1:9"));
    assert_eq!(place.look("codex").sign_in, SignIn::No, "it has no key");
    place.host.endpoint = Some(Endpoint::new("http://127.0.0.1:9").with_key("k"));
    assert_eq!(place.look("codex").sign_in, SignIn::Endpoint("http://127.0.0.1:9".to_owned()));
}

#[test]
fn another_home_has_another_login() {
    let mut place = Place::new();
    place.write(".codex/auth.json", "{\"token\": 1}");
    let elsewhere = place.write("elsewhere/auth.json", "{\"token\": 1}");
    let named = elsewhere.parent().unwrap().to_string_lossy().into_owned();
    place = place.with("CODEX_HOME", &named);
    assert_eq!(place.look("codex").sign_in, SignIn::File(elsewhere));
    place.host.home = Home::Isolated(place.folder.path().join("isolated"));
    assert_eq!(place.look("codex").sign_in, SignIn::No);
}

#[test]
fn an_isolated_home_is_private_and_keeps_what_is_in_it() {
    let place = Place::new();
    let home = place.folder.path().join("state/gemini");
    let rule = Definition::shipped("gemini").unwrap().home;
    rule.furnish(&home).unwrap();
    let settings = home.join(".gemini/settings.json");
    assert!(fs::read_to_string(&settings).unwrap().contains("maxAttempts"));
    assert_eq!(fs::metadata(&home).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&settings).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&settings, "mine").unwrap();
    rule.furnish(&home).unwrap();
    assert_eq!(fs::read_to_string(&settings).unwrap(), "mine");
}
