//! Simple commands: assignments, words, redirections.

use super::compound::is_name;
use super::expansion::Kind;
use super::reader::Reader;
use super::{Assignment, Read, Redirection, Simple, Unclear, Way, Word};

/// Builtins whose arguments may be assignments with lists.
const DECLARATIONS: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// Those of them that other shells do not have.
const ONLY_BASH: [&str; 2] = ["declare", "typeset"];

impl Reader<'_, '_> {
    /// Reads a simple command, or the definition of a function.
    pub(super) fn simple(&mut self) -> Read {
        let mut simple = Simple::default();
        let start = self.at;
        loop {
            self.blanks();
            if self.redirection(&mut simple.redirections)? {
                continue;
            }
            match self.peek() {
                None | Some(b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'#') => {
                    self.comment();
                    break;
                }
                Some(b'(') => {
                    let name = match simple.words.as_slice() {
                        [name] if simple.assignments.is_empty() && simple.redirections.is_empty() => name,
                        _ => return Err(Unclear::new("a parenthesis among the words")),
                    };
                    // Whoever quotes the name of a function wants something else.
                    let Some(name) = name.text().filter(|text| *text == name.source()) else {
                        return Err(Unclear::new("a function without a plain name"));
                    };
                    let name = name.to_owned();
                    self.at += 1;
                    self.blanks();
                    self.expect(")")?;
                    return self.function_body(name);
                }
                Some(_) => {
                    let declares = declares(&simple);
                    let kind = if declares { Kind::Declared } else { Kind::Value };
                    if (simple.words.is_empty() || declares)
                        && let Some(assignment) = self.assignment(kind)?
                    {
                        if declares {
                            simple.words.push(Word::known(&format!("{}=", assignment.name)));
                        }
                        self.count(1)?;
                        // Without a quote, others make several words of a value here.
                        let breaks = assignment.value.as_ref().is_some_and(Word::breaks);
                        self.script.only_bash |= declares && breaks;
                        simple.assignments.push(assignment);
                    } else {
                        simple.words.extend(self.word()?);
                    }
                }
            }
        }
        if self.at == start {
            return Err(self.unexpected("a command"));
        }
        let name = simple.words.first().and_then(Word::text);
        self.script.only_bash |= name.is_some_and(|name| ONLY_BASH.contains(&name));
        self.assigns(&simple);
        self.found(simple)
    }

    /// Notes which variables have got a value when a command has run.
    fn assigns(&mut self, simple: &Simple) {
        let name = simple.words.first().map(Word::text);
        for assignment in &simple.assignments {
            self.assigned.gets(&assignment.name);
        }
        match name {
            Some(Some("readonly")) => {
                let words = simple.words.iter().filter_map(Word::text);
                words.for_each(|word| self.assigned.fix(word.strip_suffix('=').unwrap_or(word)));
            }
            Some(Some("shopt"))
                if !simple.words.iter().all(|word| word.text().is_some_and(|text| text != "failglob")) =>
            {
                self.assigned.patterns_fail();
            }
            Some(None) => self.assigned.calls(),
            Some(Some(name)) if self.script.functions.iter().any(|function| function.name == name) => {
                self.assigned.calls();
            }
            _ => {}
        }
        // With a command they hold for that only, and where a redirection fails not at all.
        if !simple.redirections.is_empty() {
            return;
        }
        match name {
            None => self.assigned.add(simple.assignments.iter().map(|assignment| assignment.name.clone())),
            // Elsewhere it fails.
            Some(Some("local")) if !self.in_function => {}
            Some(_) if declares(simple) => {
                let declared = simple.words.iter().filter_map(|word| word.text()?.strip_suffix('='));
                self.assigned.add(declared.map(str::to_owned));
            }
            Some(_) => {}
        }
    }

    /// Reads `NAME=value`, if that is next.
    fn assignment(&mut self, kind: Kind) -> Read<Option<Assignment>> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default();
        if !is_name(name) {
            return Ok(None);
        }
        let before = self.at;
        self.at += end;
        let mut whole = true;
        if self.take("[") {
            whole = false;
            // What is in the brackets is arithmetic, or the key of a map; both may hold substitutions.
            if !self.subscript_is_assigned() {
                self.at = before;
                return Ok(None);
            }
            self.subscript()?;
        }
        if self.take("+=") {
            whole = false;
        } else if !self.take("=") {
            self.at = before;
            return Ok(None);
        }
        let name = name.to_owned();
        self.script.only_bash |= !whole || self.peek() == Some(b'(');
        if self.take("(") {
            self.elements()?;
            // What follows without a blank belongs to the same word.
            if !matches!(self.peek(), None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')')) {
                return Err(Unclear::new("a list that goes on"));
            }
            return Ok(Some(Assignment { name, value: None, list: true }));
        }
        let value = match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')') => Word::default(),
            Some(b'<' | b'>') if self.peek_at(1) != Some(b'(') => Word::default(),
            Some(_) => self.assigned_word(kind)?,
        };
        Ok(Some(Assignment { name, value: whole.then_some(value), list: false }))
    }

    /// Whether the brackets that have begun belong to an assignment and not to a pattern.
    fn subscript_is_assigned(&self) -> bool {
        let Some(end) = self.rest().find(']') else { return false };
        let after = self.rest().get(end + 1..).unwrap_or_default();
        // Brackets within the brackets are left to the reader of the subscript, which refuses the rest.
        after.starts_with('=') || after.starts_with("+=") || after.contains("]=") || after.contains("]+=")
    }

    /// The elements of a list, of which the parenthesis is behind.
    fn elements(&mut self) -> Read {
        loop {
            self.newlines()?;
            match self.peek() {
                Some(b')') => {
                    self.at += 1;
                    return Ok(());
                }
                None | Some(b'(' | b';' | b'&' | b'|') => return Err(self.unexpected(")")),
                Some(b'[') => return Err(Unclear::new("a list with keys")),
                Some(_) => drop(self.word()?),
            }
        }
    }

    /// Reads the redirections of a compound command, and keeps them.
    pub(super) fn redirections(&mut self) -> Read {
        let mut redirections = Vec::new();
        loop {
            self.blanks();
            if !self.redirection(&mut redirections)? {
                break;
            }
        }
        if redirections.is_empty() {
            return Ok(());
        }
        self.found(Simple { redirections, ..Simple::default() })
    }

    /// Reads a redirection, if one is next.
    fn redirection(&mut self, into: &mut Vec<Redirection>) -> Read<bool> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let operator = self.rest().get(digits..).unwrap_or_default();
        let both = digits == 0 && operator.starts_with("&>");
        if !both && !operator.starts_with(['<', '>']) {
            return Ok(false);
        }
        // `<(…)` is a word, and the digits before it belong to that word.
        if operator.starts_with("<(") || operator.starts_with(">(") {
            return Ok(false);
        }
        self.at += digits;
        for text in ["<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">|", ">&", ">"] {
            if !self.take(text) {
                continue;
            }
            self.script.only_bash |= matches!(text, "<<<" | "&>" | "&>>");
            self.ends_here(|c| "<>&|-(".contains(c))?;
            self.blanks();
            let way = match text {
                "<<" | "<<-" => {
                    self.heredoc_start(text == "<<-")?;
                    return Ok(true);
                }
                "<<<" => {
                    self.one_word()?;
                    return Ok(true);
                }
                "<" | "<&" => Way::From,
                "<>" => Way::Both,
                _ => Way::To,
            };
            let file = self.one_word()?;
            if matches!(text, "<&" | ">&") && is_descriptor(&file) {
                return Ok(true);
            }
            into.extend(self.several(file)?.into_iter().map(|file| Redirection { way, file }));
            return Ok(true);
        }
        Err(self.unexpected("a redirection"))
    }

    /// The word after an operator.
    fn one_word(&mut self) -> Read<Word> {
        match self.peek() {
            None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')') => Err(self.unexpected("a word")),
            Some(b'<' | b'>') if self.peek_at(1) != Some(b'(') => Err(self.unexpected("a word")),
            Some(_) => self.whole_word(),
        }
    }
}

/// Whether the words of a command are assignments. With quotes in its name they are words like any other, of which an
/// expansion makes several.
pub(crate) fn declares(simple: &Simple) -> bool {
    let plain = |name: &&Word| name.text() == Some(name.source());
    simple.words.first().filter(plain).and_then(Word::text).is_some_and(|name| DECLARATIONS.contains(&name))
}

/// `2`, `-` or `2-`: another name for an open file.
fn is_descriptor(word: &Word) -> bool {
    word.text().is_some_and(|text| {
        let digits = text.strip_suffix('-').unwrap_or(text);
        !text.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
    })
}
