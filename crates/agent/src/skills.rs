//! Skills: instructions for particular kinds of work, of which the model knows the name and the description, and
//! which it loads when it needs them.
//!
//! A skill is a folder with a `SKILL.md` in the form of agentskills.io. Its text is read once, by the host; what
//! else is in the folder the model reads with the tools that it has, and it is judged like any other file.

mod tool;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::fault::Fault;
use crate::front_matter::FrontMatter;

pub(crate) use tool::LoadSkill;

/// How many characters of a description the model is told.
const DESCRIPTION: usize = 1024;
/// How many characters the list of all skills may have.
const LIST: usize = 16 * 1024;
/// The longest name.
const NAME: usize = 64;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it is called: what its file says, else the folder's name.
    pub name: String,
    /// What it is good for, and when: what its file says, else how its text begins.
    pub description: String,
    /// Under which terms it may be used.
    pub license: Option<String>,
    /// What it needs.
    pub compatibility: Option<String>,
    /// What else its author says of it.
    pub metadata: Vec<(String, String)>,
    /// The tools that it is meant to be used with. It is told, and allows nothing: that is the policy's to say.
    pub allowed_tools: Vec<String>,
    /// Whether the model is told of it; otherwise only the user calls it.
    pub is_listed: bool,
    /// Its `SKILL.md`.
    pub file: PathBuf,
    /// The text, without its head.
    pub text: String,
}

impl Skill {
    /// The longest `SKILL.md` that is meant to be read, in bytes.
    pub const LONGEST: u64 = 256 * 1024;

    /// Reads a skill from the text of its `SKILL.md`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(file: &Path, text: &str) -> Result<Self, Fault> {
        let matter = FrontMatter::read(file, text)?;
        let folder = file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let name = matter.text("name").or(folder).unwrap_or_default();
        if name.is_empty()
            || name.chars().count() > NAME
            || name.contains(|c: char| c.is_whitespace() || c.is_control())
        {
            let message = format!("`{name}` is no name: it has 1 to {NAME} characters and no spaces");
            return Err(Fault::of(file, message).at(line_of(text, "name")));
        }
        let first = || {
            matter.body.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty())
        };
        let description = matter.text("description").or_else(|| first().map(str::to_owned));
        let Some(description) = description else {
            return Err(Fault::of(file, "it has neither a description nor a text").at(1));
        };
        Ok(Self {
            name,
            description,
            license: matter.text("license"),
            compatibility: matter.text("compatibility"),
            metadata: matter.table("metadata"),
            allowed_tools: matter.list("allowed-tools"),
            is_listed: matter.flag("disable-model-invocation") != Some(true),
            file: file.to_owned(),
            text: matter.body.trim().to_owned(),
        })
    }

    /// The folder that it is in.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }

    /// What the model reads when it loads it.
    pub(crate) fn told(&self) -> String {
        let folder = self.folder().display();
        let text = self.text.replace("${CLAUDE_SKILL_DIR}", &folder.to_string());
        format!("Files of this skill are in {folder}\n\n{text}")
    }
}

/// The line of a field, from 1; the first if it is not there.
fn line_of(text: &str, key: &str) -> usize {
    let is_it = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    text.lines().position(is_it).map_or(1, |at| at + 1)
}

/// The skills of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills(Vec<Skill>);

impl Skills {
    /// These skills. Of several with one name the first counts.
    pub fn new(skills: impl IntoIterator<Item = Skill>) -> Self {
        let mut all: Vec<Skill> = Vec::new();
        for skill in skills {
            if all.iter().all(|known| known.name != skill.name) {
                all.push(skill);
            }
        }
        Self(all)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.0.iter()
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.0.iter().find(|skill| skill.name == name)
    }

    /// Whether the model has one that it can load.
    pub(crate) fn are_listed(&self) -> bool {
        self.0.iter().any(|skill| skill.is_listed)
    }

    /// The layer of the system prompt; empty if there are none.
    pub(crate) fn layer(&self) -> String {
        if !self.are_listed() {
            return String::new();
        }
        let mut layer =
            "# Skills\n\nInstructions for particular kinds of work. Where the task is of such a kind, call \
                         `skill` with the name before you begin, and do as it says.\n"
                .to_owned();
        for (at, skill) in self.0.iter().filter(|skill| skill.is_listed).enumerate() {
            let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
            let cut = description.char_indices().nth(DESCRIPTION).map_or(description.len(), |(at, _)| at);
            let line = format!("\n- {}: {}", skill.name, description.split_at(cut).0);
            if layer.len() + line.len() > LIST {
                let _ = write!(layer, "\n- and {} more, which are not listed", self.0.len() - at);
                break;
            }
            layer.push_str(&line);
        }
        layer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Skill, Fault> {
        Skill::read(Path::new("/s/pdf/SKILL.md"), text)
    }

    #[test]
    fn a_skill_is_read_with_everything_its_file_says() {
        let skill = read(
            "---\nname: pdf-forms\ndescription: Fills in forms. Use when: a PDF has fields.\nlicense: MIT\n\
             compatibility: needs qpdf\nmetadata:\n  author: me\nallowed-tools: Bash(qpdf:*) Read\n---\n\n# Forms\n\nDo it.\n",
        )
        .unwrap();
        let expected = Skill {
            name: "pdf-forms".into(),
            description: "Fills in forms. Use when: a PDF has fields.".into(),
            license: Some("MIT".into()),
            compatibility: Some("needs qpdf".into()),
            metadata: vec![("author".into(), "me".into())],
            allowed_tools: vec!["Bash(qpdf:*)".into(), "Read".into()],
            is_listed: true,
            file: "/s/pdf/SKILL.md".into(),
            text: "# Forms\n\nDo it.".into(),
        };
        assert_eq!(skill, expected);
        assert!(skill.told().contains("/s/pdf\n"), "{}", skill.told());
    }

    #[test]
    fn what_is_left_out_is_found_elsewhere() {
        let skill = read("# Forms\n\nDo it.\n").unwrap();
        assert_eq!((skill.name.as_str(), skill.description.as_str()), ("pdf", "Forms"));
        assert!(!read("---\nname: x\ndisable-model-invocation: true\n---\nText").unwrap().is_listed);
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        let check = |text: &str, line: usize| assert_eq!(read(text).unwrap_err().line, Some(line), "{text}");
        check("---\ndescription: a\nname: has a space\n---\nText", 3);
        check("", 1);
        check("---\nname: x\n---\n", 1);
        check("---\nname: x\n", 1);
    }

    #[test]
    fn the_list_is_bounded_and_a_name_counts_once() {
        let skill = |name: &str, description: &str| Skill {
            name: name.to_owned(),
            description: description.to_owned(),
            ..read("Text").unwrap()
        };
        let skills = Skills::new([skill("a", "one\ntwo"), skill("a", "other"), skill("b", "three")]);
        assert!(skills.layer().ends_with("\n\n- a: one two\n- b: three"), "{}", skills.layer());
        let many = Skills::new((0..100).map(|n| skill(&format!("s{n}"), &"x".repeat(2000))));
        assert!(many.layer().len() < LIST + 100 && many.layer().contains("more, which are not listed"));
        assert_eq!(Skills::default().layer(), "");
    }
}
