//! Commands that contain others.

use super::reader::{RESERVED, Reader, Stop};
use super::{Assignment, Function, Read, Simple, Unclear, Word};

/// What `for` and `select` go through.
struct Through {
    name: String,
    words: Vec<Word>,
    selects: bool,
}

impl Reader<'_, '_> {
    /// Reads one command with its redirections.
    pub(super) fn command(&mut self) -> Read {
        if self.peek() == Some(b'(') {
            if self.peek_at(1) == Some(b'(') {
                self.at += 2;
                self.script.only_bash = true;
                self.arithmetic("))")?;
            } else {
                self.at += 1;
                self.ends_here(|c| c == '(')?;
                self.block(|this| this.list(Stop::Parenthesis))?;
                self.close()?;
            }
            return self.redirections();
        }
        match self.plain() {
            "{" => {
                self.at += 1;
                // Where its redirections fail, it does not run.
                self.block(|this| this.list(Stop::Words(&["}"])))?;
                self.at += 1;
            }
            "if" => self.block(Self::conditional)?,
            "while" | "until" => {
                self.at += "while".len();
                let repeated = |this: &mut Self| {
                    this.list(Stop::Words(&["do"]))?;
                    this.body()
                };
                self.block(|this| this.repeated(repeated))?;
            }
            "for" | "select" => self.block(Self::through)?,
            "case" => self.block(Self::case)?,
            "[[" => self.block(Self::condition)?,
            "function" => return self.function(),
            "coproc" => return self.coprocess(),
            // After a pipe or an operator, bash takes these as it does at the beginning.
            "!" | "time" => return Err(Unclear::new("`!` or `time` in the middle of a pipeline")),
            word if RESERVED.contains(&word) => return Err(Unclear::new(format!("`{word}` out of place"))),
            _ => return self.simple(),
        }
        self.redirections()
    }

    fn close(&mut self) -> Read {
        // A here-document that began in parentheses ends there.
        if !self.pending.is_empty() {
            return Err(Unclear::new("a here-document that does not end before the parenthesis"));
        }
        self.expect(")")
    }

    /// The commands in parentheses of which the first is already behind.
    pub(super) fn substituted(&mut self) -> Read {
        self.deeper(|this| {
            let outer = std::mem::take(&mut this.pending);
            let start = this.at;
            let failing = this.assigned.apart();
            this.block(|this| this.list(Stop::Parenthesis))?;
            this.assigned.after_apart(failing);
            this.close()?;
            // Whose document would begin after this line's end is not worth finding out.
            if !outer.is_empty() && this.text.get(start..this.at).is_some_and(|text| text.contains('\n')) {
                return Err(Unclear::new("a substitution of several lines beside a here-document"));
            }
            this.pending = outer;
            Ok(())
        })
    }

    fn conditional(&mut self) -> Read {
        self.at += "if".len();
        // The first condition is evaluated in any case.
        self.list(Stop::Words(&["then"]))?;
        loop {
            self.at += "then".len();
            self.block(|this| this.list(Stop::Words(&["elif", "else", "fi"])))?;
            if !self.reserved("elif") {
                break;
            }
            self.block(|this| this.list(Stop::Words(&["then"])))?;
        }
        if self.reserved("else") {
            self.block(|this| this.list(Stop::Words(&["fi"])))?;
        }
        self.expect_reserved("fi")
    }

    /// `do …; done`.
    fn body(&mut self) -> Read {
        self.expect_reserved("do")?;
        self.list(Stop::Words(&["done"]))?;
        self.at += "done".len();
        Ok(())
    }

    fn through(&mut self) -> Read {
        let selects = self.plain() == "select";
        self.script.only_bash |= selects;
        self.at += self.plain().len();
        self.blanks();
        if self.take("((") {
            self.script.only_bash = true;
            self.arithmetic("))")?;
            self.blanks();
            self.take(";");
        } else {
            let name = self.name()?;
            let mut through = Through { name, words: Vec::new(), selects };
            self.newlines()?;
            if self.reserved("in") {
                loop {
                    self.blanks();
                    match self.peek() {
                        Some(b';' | b'\n') => break,
                        None | Some(b'&' | b'|' | b'(' | b')') => return Err(self.unexpected(";")),
                        Some(_) => through.words.extend(self.word()?),
                    }
                }
            }
            self.blanks();
            if self.peek() == Some(b';') {
                self.at += 1;
            }
            self.takes_values(through)?;
        }
        self.repeated(Self::body)
    }

    /// What a loop goes through are values that its variable takes.
    fn takes_values(&mut self, through: Through) -> Read {
        let mut assignments = Vec::new();
        // What is typed may choose none of them.
        if through.words.is_empty() || through.selects {
            assignments.push(Assignment { name: through.name.clone(), value: None, list: false });
        }
        for word in through.words {
            assignments.push(Assignment { name: through.name.clone(), value: Some(word), list: false });
        }
        // Its body runs only with a value.
        self.assigned.add([through.name]);
        self.found(Simple { assignments, ..Simple::default() })
    }

    /// A name that must be next.
    fn name(&mut self) -> Read<String> {
        let name = self.plain();
        if !is_name(name) {
            return Err(self.unexpected("name"));
        }
        self.at += name.len();
        Ok(name.to_owned())
    }

    fn case(&mut self) -> Read {
        self.at += "case".len();
        self.blanks();
        self.word()?;
        self.expect_reserved("in")?;
        loop {
            self.newlines()?;
            if self.reserved("esac") {
                return Ok(());
            }
            self.take("(");
            loop {
                self.blanks();
                self.word()?;
                self.blanks();
                if !self.take("|") {
                    break;
                }
            }
            self.expect(")")?;
            self.block(|this| this.list(Stop::Branch))?;
            let _ = self.take(";;&") || self.take(";;") || self.take(";&");
        }
    }

    fn function(&mut self) -> Read {
        self.at += "function".len();
        self.script.only_bash = true;
        self.blanks();
        let name = self.plain().to_owned();
        if name.is_empty() || RESERVED.contains(&name.as_str()) {
            return Err(Unclear::new("a function without a plain name"));
        }
        self.at += name.len();
        self.blanks();
        if self.take("(") {
            self.blanks();
            self.expect(")")?;
        }
        self.function_body(name)
    }

    /// The body of a function whose name and parentheses are behind.
    pub(super) fn function_body(&mut self, name: String) -> Read {
        self.script.functions.push(Function { name: name.clone(), from: None });
        self.newlines()?;
        if !self.compound() {
            return Err(Unclear::new("a function whose body is a simple command"));
        }
        let failing = self.assigned.apart();
        let outer = std::mem::replace(&mut self.in_function, true);
        self.block(|this| this.repeated(|this| this.deeper(Self::command)))?;
        self.in_function = outer;
        self.assigned.after_body(failing);
        self.definition = Some(name);
        Ok(())
    }

    /// Whether a command begins that contains others.
    fn compound(&self) -> bool {
        self.peek() == Some(b'(')
            || matches!(self.plain(), "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[")
    }

    fn coprocess(&mut self) -> Read {
        self.at += "coproc".len();
        self.script.only_bash = true;
        self.blanks();
        if !self.compound() {
            // Its name is that of a list, with two numbers.
            let assignments = vec![Assignment { name: self.name()?, value: None, list: true }];
            self.found(Simple { assignments, ..Simple::default() })?;
            self.blanks();
        }
        // A simple command is read in one way here and in another within a substitution.
        if !self.compound() {
            return Err(Unclear::new("a coprocess that is a simple command"));
        }
        self.block(|this| this.deeper(Self::command))?;
        // It runs in a process of its own.
        self.definition = None;
        Ok(())
    }

    /// `[[ … ]]`: words and operators, no commands but those of substitutions.
    fn condition(&mut self) -> Read {
        self.at += "[[".len();
        self.script.only_bash = true;
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b'#') => return Err(self.unexpected("]]")),
                Some(b'(' | b')') => self.at += 1,
                Some(b'<' | b'>') if self.peek_at(1) != Some(b'(') => self.at += 1,
                Some(b'&' | b'|') => {
                    if !self.take("&&") && !self.take("||") {
                        return Err(self.unexpected("]]"));
                    }
                }
                Some(_) if self.plain() == "]]" => {
                    self.at += 2;
                    return self.evaluated_in(&words);
                }
                Some(_) if self.plain() == "=~" => {
                    self.at += 2;
                    self.blanks();
                    self.regex()?;
                }
                Some(_) => words.extend(self.word()?),
            }
        }
    }

    /// The right side of `=~`, in which parentheses and bars are plain.
    fn regex(&mut self) -> Read {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                None | Some(b'\n') => return Err(self.unexpected("]]")),
                Some(b' ' | b'\t') if open == 0 => return Ok(()),
                Some(b'(') => {
                    open += 1;
                    self.at += 1;
                }
                Some(b')') if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                Some(b'|' | b' ' | b'\t') => self.at += 1,
                // What bash makes of these here depends on more than is worth knowing.
                Some(b'&' | b';' | b'<' | b'>' | b')' | b'#' | b'\'' | b'"') => {
                    return Err(Unclear::new("a regular expression with quotes or operators"));
                }
                Some(b'\\') => {
                    self.at += 1;
                    if matches!(self.bump(), None | Some('\n')) {
                        return Err(self.unexpected("]]"));
                    }
                }
                Some(b'$' | b'`') => {
                    self.dollar_or_backquote(&mut Vec::new(), false)?;
                }
                Some(_) => drop(self.bump()),
            }
        }
    }

    /// Operands that `[[` evaluates as arithmetic, or as the name of a variable.
    fn evaluated_in(&mut self, words: &[Word]) -> Read {
        const ARITHMETIC: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
        for (at, word) in words.iter().enumerate() {
            let Some(operator) = word.text() else { continue };
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            let operands = if ARITHMETIC.contains(&operator) {
                [before, words.get(at + 1)]
            } else if matches!(operator, "-v" | "-R") {
                // A plain name is only looked up.
                [None, words.get(at + 1).filter(|word| !word.text().is_some_and(is_name))]
            } else {
                continue;
            };
            for operand in operands.into_iter().flatten() {
                self.evaluated(operand)?;
            }
        }
        Ok(())
    }
}

/// Whether this is the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
