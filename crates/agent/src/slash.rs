//! Slash commands: texts that a user keeps in files and calls by name, with arguments.
//!
//! A command is a Markdown file with an optional head. `$ARGUMENTS` stands for all that follows the name, `$1` to
//! `$9` for the words of it (from `$0` on in a text that has a `$0`), and `` !`LINE` `` for what a shell line prints, if the gate lets it run. Where none of
//! them stands, the arguments are added at the end.

use std::path::{Path, PathBuf};

use junto_llm::names::nearest;

use crate::fault::Fault;
use crate::front_matter::FrontMatter;
use crate::skills::{Skill, Skills};

/// A slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    /// What it is called, without the slash; `folder:name` of one in a folder.
    pub name: String,
    /// What it does: what its file says, else how its text begins.
    pub description: String,
    /// What its arguments are, for people.
    pub argument_hint: Option<String>,
    /// The tools that it is meant to be used with. It is told, and allows nothing: that is the policy's to say.
    pub allowed_tools: Vec<String>,
    /// The model that it is meant for. It is told, and not asked: models are the session's.
    pub model: Option<String>,
    /// Its file.
    pub file: PathBuf,
    /// The text, without its head.
    pub text: String,
    /// Where the files are that its text may include with `@path`; absent: anywhere. What the user says beside it may
    /// always. For commands that nobody vouches for.
    pub within: Option<PathBuf>,
}

impl SlashCommand {
    /// The longest file that is meant to be read, in bytes.
    pub const LONGEST: u64 = 256 * 1024;

    /// Reads a command of this name from the text of its file.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn read(name: &str, file: &Path, text: &str) -> Result<Self, Fault> {
        if name.is_empty() || !name.chars().all(is_of_name) {
            return Err(Fault::of(file, format!("`{name}` is no name for a command")));
        }
        let matter = FrontMatter::read(file, text)?;
        let body = matter.body.trim().to_owned();
        if body.is_empty() {
            return Err(Fault::of(file, "the command has no text").at(1));
        }
        let first = body.lines().next().unwrap_or_default().trim_start_matches('#').trim().to_owned();
        Ok(Self {
            name: name.to_owned(),
            description: matter.text("description").unwrap_or(first),
            argument_hint: matter.text("argument-hint"),
            allowed_tools: matter.list("allowed-tools"),
            model: matter.text("model"),
            file: file.to_owned(),
            text: body,
            within: None,
        })
    }

    /// The shell lines in it, as they are written.
    pub fn shell_lines(&self) -> Vec<String> {
        let line = |piece| match piece {
            Piece::Shell(line) => Some(line),
            Piece::Text(_) => None,
        };
        pieces(&self.text).into_iter().filter_map(line).collect()
    }
}

/// The slash commands of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlashCommands(Vec<SlashCommand>);

/// A part of a command that was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A text.
    Text(String),
    /// A line for the shell, whose output takes this place.
    Shell(String),
}

/// What an input says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spelled {
    pub(crate) pieces: Vec<Piece>,
    /// Which files what was not typed may include.
    pub(crate) includes: Includes,
}

/// Which files a text may include.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Includes {
    Any,
    Below(PathBuf),
    None,
}

impl SlashCommands {
    /// These commands. Of several with one name the first counts.
    pub fn new(commands: impl IntoIterator<Item = SlashCommand>) -> Self {
        let mut all: Vec<SlashCommand> = Vec::new();
        for command in commands {
            if all.iter().all(|known| known.name != command.name) {
                all.push(command);
            }
        }
        Self(all)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &SlashCommand> {
        self.0.iter()
    }

    /// The one of this name; one in a folder also by its last name.
    pub fn get(&self, name: &str) -> Option<&SlashCommand> {
        let last = |command: &&SlashCommand| command.name.rsplit(':').next() == Some(name);
        self.0.iter().find(|command| command.name == name).or_else(|| self.0.iter().find(last))
    }

    /// What an input says: the text of the command or skill that it calls, with its arguments, or the input itself.
    ///
    /// # Errors
    /// If it seems to call one and misspells its name.
    pub(crate) fn expand(&self, input: &str, skills: &Skills) -> Result<Spelled, String> {
        let as_it_is = || Spelled { pieces: vec![Piece::Text(input.to_owned())], includes: Includes::Any };
        let Some(called) = input.trim_start().strip_prefix('/') else { return Ok(as_it_is()) };
        let end = called.find(char::is_whitespace).unwrap_or(called.len());
        let (name, arguments) = called.split_at(end);
        if name.is_empty() || !name.chars().all(is_of_name) {
            return Ok(as_it_is());
        }
        if let Some(command) = self.get(name) {
            let includes = command.within.clone().map_or(Includes::Any, Includes::Below);
            return Ok(Spelled { pieces: filled(&command.text, arguments.trim()), includes });
        }
        if let Some(skill) = skills.get(name) {
            // Paths in a skill are for the model, which reads them if it needs them.
            return Ok(Spelled { pieces: of_skill(skill, arguments.trim()), includes: Includes::None });
        }
        let names = self.iter().map(|command| command.name.as_str());
        let names: Vec<&str> = names.chain(skills.iter().map(|skill| skill.name.as_str())).collect();
        match nearest(name, names) {
            Some(near) => Err(format!(
                "there is no command /{name}; did you mean /{near}? (A text that begins with a slash can begin with a \
                 dot or a quote instead.)"
            )),
            None => Ok(as_it_is()),
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "-_.:".contains(c)
}

/// A skill that is called like a command. Nothing in it is run.
fn of_skill(skill: &Skill, arguments: &str) -> Vec<Piece> {
    let mut text = skill.told();
    if !arguments.is_empty() {
        text.push_str("\n\nARGUMENTS: ");
        text.push_str(arguments);
    }
    vec![Piece::Text(text)]
}

/// The pieces of a text: what is between `` !` `` and the next backquote of the line is for the shell.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut said, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("!`") {
        said.push_str(before);
        let begins = before.is_empty() && said.is_empty()
            || said.ends_with(|c: char| c.is_whitespace() || "([:".contains(c));
        match after.split_once('`') {
            Some((line, after)) if begins && !line.trim().is_empty() && !line.contains('\n') => {
                pieces.push(Piece::Text(std::mem::take(&mut said)));
                pieces.push(Piece::Shell(line.trim().to_owned()));
                rest = after;
            }
            _ => {
                said.push_str("!`");
                rest = after;
            }
        }
    }
    said.push_str(rest);
    pieces.push(Piece::Text(said));
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    pieces
}

/// The pieces of a text, with arguments. What comes in with them is never run by itself.
fn filled(text: &str, arguments: &str) -> Vec<Piece> {
    let mut filling = Filling { arguments, words: words(arguments), first: first_number(text), used: false };
    let mut pieces: Vec<Piece> = pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Text(text) => Piece::Text(filling.fill(&text)),
            Piece::Shell(line) => Piece::Shell(filling.fill(&line)),
        })
        .collect();
    if !filling.used && !arguments.is_empty() {
        pieces.push(Piece::Text(format!("\n\nARGUMENTS: {arguments}")));
    }
    pieces
}

/// The number of the first word. Most files count from 1; those that know a `$0` count from there.
fn first_number(text: &str) -> usize {
    let zero =
        text.split("$0").skip(1).any(|after| !after.starts_with(|c: char| c.is_ascii_digit() || c == '.'));
    usize::from(!zero)
}

/// Arguments on their way into a text.
struct Filling<'a> {
    arguments: &'a str,
    words: Vec<String>,
    /// The number of the first word.
    first: usize,
    /// Whether the text has a place for any of them.
    used: bool,
}

impl Filling<'_> {
    fn fill(&mut self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            filled.push_str(before);
            rest = if let Some((argument, after)) = self.place(after) {
                filled.push_str(&argument);
                self.used = true;
                after
            } else {
                filled.push('$');
                after
            };
        }
        filled.push_str(rest);
        filled
    }

    /// What stands in a place that begins after a `$`, and what follows it; none if there is no such argument, or
    /// it is no place for one.
    fn place<'t>(&self, after: &'t str) -> Option<(String, &'t str)> {
        if let Some((index, after)) = after.strip_prefix("ARGUMENTS[").and_then(|after| after.split_once(']'))
        {
            return Some((self.words.get(index.parse::<usize>().ok()?)?.clone(), after));
        }
        if let Some(after) = after.strip_prefix("ARGUMENTS") {
            return Some((self.arguments.to_owned(), after));
        }
        let (digit, after) = after.split_at_checked(1)?;
        let number: usize =
            digit.parse().ok().filter(|_| !after.starts_with(|c: char| c.is_ascii_digit()))?;
        Some((self.words.get(number.checked_sub(self.first)?)?.clone(), after))
    }
}

/// The words of the arguments. What is in quotes belongs together.
fn words(arguments: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in arguments.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '"' || c == '\'' && word.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn command(name: &str, text: &str) -> SlashCommand {
        SlashCommand::read(name, Path::new("/c/x.md"), text).unwrap()
    }

    fn text(pieces: &[Piece]) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Shell(line) => format!("<{line}>"),
        };
        pieces.iter().map(text).collect()
    }

    #[test]
    fn arguments_take_their_places() {
        let check = |body: &str, input: &str, expected: &str| {
            let commands = SlashCommands::new([command("fix", body)]);
            assert_eq!(
                text(&commands.expand(input, &Skills::default()).unwrap().pieces),
                expected,
                "{body} {input}"
            );
        };
        check("Fix $ARGUMENTS.", "/fix the bug", "Fix the bug.");
        check("Fix $1, then $2; not $3.", "/fix a \"b c\"", "Fix a, then b c; not $3.");
        check("$0, then $1; $ARGUMENTS[5]", "/fix a b", "a, then b; $ARGUMENTS[5]");
        check("$ARGUMENTS[1] $ARGUMENTS[0]", "/fix a b", "b a");
        check("It's $10 and $HOME, for $1", "/fix it's", "It's $10 and $HOME, for it's");
        check("Fix it.", "/fix now\nplease", "Fix it.\n\nARGUMENTS: now\nplease");
        check("Fix it.", " /fix", "Fix it.");
        check("Status: !`git log $1`", "/fix HEAD", "Status: <git log HEAD>");
        check("!`a`\n(!`b`)", "/fix", "<a>\n(<b>)");
        // What comes with the arguments is never a command by itself.
        check("Say $ARGUMENTS", "/fix !`rm -rf /`", "Say !`rm -rf /`");
        check("Wow!`not` and !`` and !`open", "/fix", "Wow!`not` and !`` and !`open");
    }

    #[test]
    fn what_calls_nothing_is_a_text() {
        let commands = SlashCommands::new([command("review", "R."), command("front:build", "B.")]);
        let skill = Skill::read(Path::new("/s/pdf/SKILL.md"), "Fill it. !`no`").unwrap();
        let skills = Skills::new([skill]);
        let check = |input: &str, expected: &str| {
            assert_eq!(text(&commands.expand(input, &skills).unwrap().pieces), expected, "{input}");
        };
        for same in ["review", "/usr/bin/env is broken", "/ review", "/", "a /review", "/tmp", "/x=y"] {
            check(same, same);
        }
        check("/front:build", "B.");
        check("/build", "B.");
        check("/pdf a.pdf", "Files of this skill are in /s/pdf\n\nFill it. !`no`\n\nARGUMENTS: a.pdf");
        let told = commands.expand("/reveiw", &skills).unwrap_err();
        assert!(told.contains("did you mean /review?"), "{told}");
    }

    #[test]
    fn a_command_is_read_with_everything_its_file_says() {
        let body = "---\ndescription: Makes a commit\nargument-hint: [message]\nmodel: haiku\nallowed-tools: Bash(git add:*), \
                    Read\n---\n\n## Status\n!`git status`\n";
        let expected = SlashCommand {
            name: "commit".into(),
            description: "Makes a commit".into(),
            argument_hint: Some("[message]".into()),
            allowed_tools: vec!["Bash(git add:*)".into(), "Read".into()],
            model: Some("haiku".into()),
            file: "/c/x.md".into(),
            text: "## Status\n!`git status`".into(),
            within: None,
        };
        assert_eq!(command("commit", body), expected);
        assert_eq!(expected.shell_lines(), ["git status"]);
        assert!(command("a", "Say `!x`.").shell_lines().is_empty());
        assert_eq!(command("a", "# Title\n\nText").description, "Title");
        let fault =
            |name: &str, text: &str| SlashCommand::read(name, Path::new("/c/x.md"), text).unwrap_err();
        assert_eq!(fault("a", "---\nmodel: x\n---\n\n").line, Some(1));
        assert!(fault("a b", "Text").message.contains("no name"));
    }
    proptest! {
        /// Without places for arguments nothing of a text is lost, whatever else is in it.
        #[test]
        fn a_text_is_the_sum_of_its_pieces(body in "[!`a \n(:é]{0,30}") {
            let text: String = pieces(&body).into_iter().map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Shell(line) => format!("!`{line}`"),
            }).collect();
            let bare = |text: &str| text.replace(' ', "");
            prop_assert_eq!(bare(&text), bare(&body));
        }
    }
}
