//! The block that says where the model is.

use junto_env::EnvFacts;

use super::PromptFacts;
use super::git::{Git, Head};
use super::text::one_line;

/// What stands where nothing is known.
const UNKNOWN: &str = "unknown";

/// The environment, always in the same eight lines.
pub(super) fn block(env: &EnvFacts, git: &Git, facts: &PromptFacts) -> String {
    let platform = match env.platform.as_str() {
        "macos" => "darwin",
        other => other,
    };
    let branch = match (&git.head, git.is_repository()) {
        (Some(Head::Branch(name)), _) => name.clone(),
        (Some(Head::Detached(commit)), _) => format!("none (detached at {commit})"),
        (None, true) => UNKNOWN.to_owned(),
        (None, false) => "none".to_owned(),
    };
    let lines = [
        ("Working directory", env.cwd.to_string()),
        ("Is git repository", git.is_repository().to_string()),
        ("Git branch", branch),
        ("Platform", platform.to_owned()),
        ("OS version", env.os_version.clone()),
        ("Today's date", facts.today.clone()),
        ("Model", facts.model.clone()),
        ("Knowledge cutoff", facts.knowledge_cutoff.clone().unwrap_or_default()),
    ];
    let mut block = "<environment>\n".to_owned();
    for (name, value) in lines {
        let value = one_line(value.trim());
        let value = if value.is_empty() { UNKNOWN } else { &value };
        block.extend([name, ": ", value, "\n"]);
    }
    block + "</environment>"
}
