//! Skills, commands and hooks: where their files are, and what an agent gets of them.

mod files;
mod project;

use std::path::Path;
use std::sync::Arc;

use junto::agent::{
    Fault, Hook, HookFile, Hooks, Reach, References, Skill, Skills, SlashCommand, SlashCommands,
};
use junto::core::Leash;
use junto::policy::Mode;

use crate::config::{Config, Files, KeyPath, Origin, Setting, Value, file_layer};
use crate::environment::Environment;
use crate::{guard, saved};

pub(crate) use self::files::text as text_of;
pub(crate) use self::project::Brought;

/// Where skills are, below the root of a project.
const SKILLS: [&str; 3] = [".junto/skills", ".agents/skills", ".claude/skills"];
/// Where commands are.
const COMMANDS: [&str; 2] = [".junto/commands", ".claude/commands"];
/// Where hooks are.
const HOOKS: [&str; 2] = [".junto/hooks.json", ".claude/settings.json"];

/// Skills, commands and hooks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kit {
    /// The skills.
    pub(crate) skills: Vec<Skill>,
    /// The commands.
    pub(crate) commands: Vec<SlashCommand>,
    /// The hooks.
    pub(crate) hooks: Vec<Hook>,
}

impl Kit {
    /// This and another.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.skills.extend(other.skills);
        self.commands.extend(other.commands);
        self.hooks.extend(other.hooks);
        self
    }

    /// What a person is shown of it who is to trust it, a line for each.
    pub(crate) fn told(&self) -> Vec<String> {
        let hooks = self.hooks.iter().map(|hook| {
            let about =
                if hook.matcher().is_empty() { String::new() } else { format!(" {}", hook.matcher()) };
            let words: Vec<&str> = std::iter::once(&hook.command)
                .chain(hook.args.iter().flatten())
                .map(String::as_str)
                .collect();
            format!("+ hook {}{about}: {}", hook.event.name(), words.join(" "))
        });
        let commands = self.commands.iter().map(|command| {
            let lines: Vec<String> = command.shell_lines().iter().map(|line| format!("`{line}`")).collect();
            format!("+ command /{}, which runs {}", command.name, lines.join(", "))
        });
        let skills =
            self.skills.iter().map(|skill| format!("+ skill {}, with files beside its text", skill.name));
        hooks.chain(commands).chain(skills).collect()
    }

    /// What is in it, in words.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        let all = [
            ("hooks", !self.hooks.is_empty()),
            ("commands", !self.commands.is_empty()),
            ("skills", !self.skills.is_empty()),
        ];
        all.into_iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| kind).collect()
    }
}

/// What counts for agents here, and what is wrong with the rest.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// What counts. The user's own comes first, and wins over the project's of the same name.
    pub(crate) kit: Kit,
    /// What does not because the project is not trusted.
    pub(crate) waiting: Kit,
    /// What is wrong with files; what they say is left out.
    pub(crate) faults: Vec<Fault>,
    /// Events of hooks that never happen.
    pub(crate) unused: Vec<String>,
}

/// Loads the user's and the project's.
pub(crate) fn load(config: &Config, environment: &Environment) -> Loaded {
    let mut loaded = of_user(config, environment);
    if let Some(project) = &config.project {
        loaded.kit = loaded.kit.and(project.kit());
        loaded.waiting = project.waiting();
        loaded.faults.extend(project.faults().iter().cloned());
        loaded.unused.extend(project.unused().iter().cloned());
    }
    loaded.unused.sort_unstable();
    loaded.unused.dedup();
    loaded
}

fn of_user(config: &Config, environment: &Environment) -> Loaded {
    let mut loaded = Loaded::default();
    let (home, folder) = (environment.path("HOME"), Files::find(environment).folder);
    let below =
        |folder: &Option<std::path::PathBuf>, path: &str| folder.as_ref().map(|folder| folder.join(path));
    let skills = [below(&folder, "skills"), below(&home, ".agents/skills"), below(&home, ".claude/skills")];
    for place in skills.iter().flatten() {
        for found in files::skills(place) {
            match found.and_then(|(file, text)| Skill::read(&file, &text)) {
                Ok(skill) => loaded.kit.skills.push(skill),
                Err(fault) => loaded.faults.push(fault),
            }
        }
    }
    for place in [below(&folder, "commands"), below(&home, ".claude/commands")].iter().flatten() {
        for found in files::commands(place) {
            match found.and_then(|(name, file, text)| SlashCommand::read(&name, &file, &text)) {
                Ok(command) => loaded.kit.commands.push(command),
                Err(fault) => loaded.faults.push(fault),
            }
        }
    }
    let own = below(&folder, "hooks.json").into_iter().map(|file| (file, false));
    let named = named_hooks(config, environment).into_iter().filter_map(|name| {
        let in_home = name.strip_prefix("~/").and_then(|rest| home.as_ref().map(|home| home.join(rest)));
        // Never where the work is: a project must not be able to place them.
        Some((in_home.or_else(|| folder.as_ref().map(|folder| folder.join(&name)))?, true))
    });
    for (file, must_exist) in own.chain(named) {
        match files::text(&file) {
            Ok(Some(text)) => {
                let HookFile { hooks, faults, unused } = HookFile::read(&file, &text, Leash::Loose);
                loaded.kit.hooks.extend(hooks);
                loaded.faults.extend(faults);
                loaded.unused.extend(unused);
            }
            Ok(None) if must_exist => loaded.faults.push(Fault::of(&file, "there is no such file of hooks")),
            Ok(None) => {}
            Err(fault) => loaded.faults.push(fault),
        }
    }
    loaded
}

/// The files of hooks that the user names. What a project's configuration says of them does not count: its hooks are
/// in files of its own, and it cannot take away the user's.
fn named_hooks(config: &Config, environment: &Environment) -> Vec<String> {
    let texts = |setting: &Setting| match &setting.value {
        Value::Texts(texts) => texts.clone(),
        _ => Vec::new(),
    };
    match config.setting("hooks") {
        Some(setting) if !matches!(setting.origin, Origin::File { .. }) => texts(setting),
        _ => {
            let own = Files::find(environment).user.map(|file| file_layer(&file)).unwrap_or_default();
            own.settings.get(&KeyPath::of(&["hooks"])).map(texts).unwrap_or_default()
        }
    }
}

/// What our own agents have of it, and what the user should know.
pub(crate) fn reach(config: &Config, environment: &Environment, directory: &Path) -> (Reach, Vec<String>) {
    let Loaded { kit, faults, .. } = load(config, environment);
    let permission_mode = match guard::mode(config) {
        Mode::Ask => "default",
        Mode::Workspace => "acceptEdits",
        Mode::ReadOnly => "plan",
        Mode::Full => "bypassPermissions",
    };
    let root = config.project.as_ref().map_or(directory, |project| &project.project.root);
    let sessions = saved::root(environment).ok().map(|root| root.join("sessions"));
    let hooks = Hooks {
        all: kit.hooks,
        permission_mode: permission_mode.to_owned(),
        project: Some(root.to_owned()),
        transcripts: sessions.map(|folder| -> junto::agent::Transcripts {
            Arc::new(move |session| Some(folder.join(&session.0).join("journal.jsonl")))
        }),
    };
    let reach = Reach {
        skills: Arc::new(Skills::new(kit.skills)),
        commands: Arc::new(SlashCommands::new(kit.commands)),
        hooks: Arc::new(hooks),
        references: References::Included,
    };
    (reach, faults.iter().map(|fault| format!("{fault}; it is left out")).collect())
}
