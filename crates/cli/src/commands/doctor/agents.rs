//! What `junto doctor` tells of command-line agents.

use std::fmt::Write as _;

use junto::core::Mode;
use junto::runner::{Definition, Probe, SignIn, Standing};
use serde_json::{Value, json};

use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::runners;

/// The modes, as the policy calls them.
const MODES: [(&str, Mode); 3] =
    [("read-only", Mode::ReadOnly), ("workspace", Mode::WorkspaceWrite), ("full", Mode::Full)];

/// A command-line agent, and what was found of it.
pub(super) struct Found {
    definition: Definition,
    probe: Probe,
}

/// A command-line agent that cannot be run as it is configured.
pub(super) struct Faulty {
    name: String,
    failure: Failure,
}

/// Looks for all command-line agents that are known; those whose version is not told by how they are installed
/// are asked for it. One that is configured in a way that makes no sense does not hide the others.
///
/// # Errors
/// If nothing can be run here.
pub(super) async fn look(
    config: &Config,
    environment: &Environment,
) -> Result<(Vec<Found>, Vec<Faulty>), Failure> {
    let (mut all, mut faulty) = (Vec::new(), Vec::new());
    for name in config.runner_names() {
        let cli = match runners::agent(&name, config, environment) {
            Ok(cli) => cli,
            Err(failure) => {
                faulty.push(Faulty { name, failure });
                continue;
            }
        };
        let host = runners::host(&cli, environment.directory(), environment)?;
        let probe = Probe::ask(&cli.definition, &host).await;
        all.push(Found { definition: cli.definition, probe });
    }
    Ok((all, faulty))
}

/// What keeps agents from being run, for people.
pub(super) fn faults_to_text(faulty: &[Faulty]) -> String {
    let line = |Faulty { name, failure }: &Faulty| {
        let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("  {name}: CANNOT be run: {}{hint}\n", failure.errors.join("; "))
    };
    faulty.iter().map(line).collect()
}

/// The same for programs.
pub(super) fn faults_to_json(faulty: &[Faulty]) -> impl Iterator<Item = Value> {
    faulty.iter().map(|Faulty { name, failure }| json!({"name": name, "fault": failure.errors.join("; ")}))
}

/// The end of a command that found some.
pub(super) fn faults(faulty: Vec<Faulty>) -> Option<Failure> {
    let failures = faulty.into_iter().map(|faulty| faulty.failure);
    failures.reduce(|mut first, other| {
        first.errors.extend(other.errors);
        first
    })
}

/// For people.
pub(super) fn to_text(all: &[Found]) -> String {
    let mut text = String::from("\nCommand-line agents\n");
    for Found { definition, probe } in all {
        // A string takes everything.
        let _ = writeln!(text, "  {}: {}", definition.kind, state(definition, probe));
        if probe.program.is_none() {
            continue;
        }
        for (name, mode) in MODES {
            let rule = definition.modes.of(mode);
            let _ =
                writeln!(text, "    {name}: {}{}", rule.arguments.join(" "), keeper_words(definition, mode));
            if !rule.says.is_empty() {
                let _ = writeln!(text, "      {}", rule.says);
            }
        }
    }
    text
}

/// For programs.
pub(super) fn to_json(all: &[Found]) -> Value {
    let one = |Found { definition, probe }: &Found| {
        let modes: Vec<Value> = MODES
            .iter()
            .map(|(name, mode)| {
                let rule = definition.modes.of(*mode);
                json!({
                    "mode": name,
                    "arguments": rule.arguments,
                    "means": rule.says,
                    "kept_by": keeper(definition, *mode),
                })
            })
            .collect();
        let (signed_in, by) = match &probe.sign_in {
            SignIn::Variable(name) | SignIn::Key(name) => (json!(true), json!(name)),
            SignIn::Endpoint(url) => (json!(true), json!(url)),
            SignIn::File(path) => (json!(true), json!(path)),
            SignIn::Keychain => (Value::Null, json!("keychain")),
            SignIn::No => (json!(false), Value::Null),
        };
        json!({
            "name": definition.kind,
            "program": probe.program,
            "version": probe.version.map(|version| version.to_string()),
            "tested": definition.versions.tested.map(|range| range.to_string()),
            "standing": probe.standing.map(|standing| match standing {
                Standing::Tested => "tested",
                Standing::Untested => "untested",
                Standing::TooOld => "too_old",
            }),
            "signed_in": signed_in,
            "signed_in_by": by,
            "modes": modes,
        })
    };
    all.iter().map(one).collect()
}

/// Where it is, which version, who is signed in.
fn state(definition: &Definition, probe: &Probe) -> String {
    let Some(program) = &probe.program else {
        let install = definition.install.as_ref().map(|install| format!(" ({install})"));
        return format!("not installed{}", install.unwrap_or_default());
    };
    let tested = definition.versions.tested.map(|range| format!("; tested: {range}")).unwrap_or_default();
    let version = match (probe.version, probe.standing) {
        (Some(version), Some(Standing::Untested)) => format!("{version}, NOT tested{tested}"),
        (Some(version), Some(Standing::TooOld)) => format!("{version}, TOO OLD to be run{tested}"),
        (Some(version), _) => version.to_string(),
        (None, _) => format!("of unknown version{tested}"),
    };
    let sign_in = match &probe.sign_in {
        SignIn::Variable(name) => format!("signed in by {name}"),
        SignIn::Key(name) => format!("has the key in {name}"),
        SignIn::Endpoint(url) => format!("has a key for {url}"),
        SignIn::File(path) => format!("signed in by {}", path.display()),
        SignIn::Keychain => "perhaps signed in by the keychain".to_owned(),
        SignIn::No => match definition.sign_in.how.as_str() {
            "" => "not signed in".to_owned(),
            how => format!("NOT signed in: {how}"),
        },
    };
    format!("{version}, {}\n    {sign_in}", program.display())
}

/// Who holds an agent to a mode.
fn keeper(definition: &Definition, mode: Mode) -> &'static str {
    match (mode, definition.enforces(mode)) {
        (Mode::Full, _) => "nobody",
        (_, true) => "itself",
        (_, false) => "sandbox",
    }
}

fn keeper_words(definition: &Definition, mode: Mode) -> &'static str {
    match keeper(definition, mode) {
        "sandbox" => " (held by our sandbox)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use junto::runner::Version;

    use super::*;

    fn found(kind: &str, version: Option<Version>, sign_in: SignIn) -> Found {
        let definition = Definition::shipped(kind).unwrap();
        let standing = version.map(|version| definition.versions.standing(version));
        let probe = Probe { program: Some("/bin/x".into()), version, standing, sign_in };
        Found { definition, probe }
    }

    #[test]
    fn what_was_found_is_told() {
        let all = [
            found("claude", Some(Version(2, 1, 325)), SignIn::Variable("CLAUDE_CODE_OAUTH_TOKEN".into())),
            found("codex", Some(Version(0, 900, 0)), SignIn::No),
            found("gemini", Some(Version(0, 1, 0)), SignIn::File("/home/me/f".into())),
            found("gemini", None, SignIn::Keychain),
        ];
        let text = to_text(&all);
        for words in [
            "  claude: 2.1.325, /bin/x\n    signed in by CLAUDE_CODE_OAUTH_TOKEN\n",
            "    workspace: --permission-mode acceptEdits\n      changes files",
            "  codex: 0.900.0, NOT tested; tested: 0.166.0, /bin/x\n    NOT signed in: run `codex login`",
            "    full: --sandbox danger-full-access\n",
            "  gemini: 0.1.0, TOO OLD to be run; tested: 0.61.0",
            "  gemini: of unknown version; tested: 0.61.0, /bin/x\n    perhaps signed in by the keychain",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let json = to_json(&all);
        assert_eq!((&json[0]["standing"], &json[1]["standing"]), (&json!("tested"), &json!("untested")));
        assert_eq!((&json[2]["signed_in"], &json[3]["signed_in"]), (&json!(true), &Value::Null));
        assert_eq!(json[1]["modes"][1]["kept_by"], "itself");
    }

    #[test]
    fn what_is_not_there_is_told_how_to_get() {
        let mut none = found("codex", None, SignIn::No);
        none.probe.program = None;
        assert!(to_text(&[none]).contains("  codex: not installed (npm install -g @openai/codex)\n"));
    }

    #[test]
    fn who_does_not_keep_to_a_mode_is_held() {
        let mut loose = found("claude", None, SignIn::No);
        loose.definition.modes.workspace_write.enforced = false;
        assert!(to_text(std::slice::from_ref(&loose)).contains("acceptEdits (held by our sandbox)"));
        assert_eq!(to_json(&[loose])[0]["modes"][1]["kept_by"], "sandbox");
    }
}
