//! Options, read as the programs read them: short ones together, long ones with their values. What a table does
//! not have is not understood.

use crate::shell::Word;

/// What was found among the words of a command.
pub(super) struct Given {
    /// The options that matter: what each does, and its value.
    pub(super) found: Vec<(char, Option<Word>)>,
    /// The words that are no options.
    pub(super) operands: Vec<Word>,
    /// Whether a word that is not known may be an option.
    pub(super) doubtful: bool,
    /// The first option that is not understood.
    pub(super) odd: Option<String>,
}

impl Given {
    /// The values of options that do this.
    pub(super) fn values(&self, effect: char) -> impl Iterator<Item = &Word> {
        self.found.iter().filter(move |(own, _)| *own == effect).filter_map(|(_, value)| value.as_ref())
    }

    /// Whether there is an option that does this.
    pub(super) fn has(&self, effect: char) -> bool {
        self.found.iter().any(|(own, _)| *own == effect)
    }

    /// Why it is not known what the command does, by its options.
    pub(super) fn unclear(&self, name: &str, options: &str) -> Option<String> {
        match &self.odd {
            Some(odd) => Some(format!("`{odd}` is no option of `{name}` that is understood")),
            None if self.doubtful && matter(options) => {
                Some(format!("a word that is not known may be an option of `{name}`"))
            }
            None => None,
        }
    }
}

/// Whether there are options among these that do more than read.
pub(super) fn matter(options: &str) -> bool {
    [":w", ":x", ":u", ":n", ":t", ":i", ":I", ":p", ":P"].iter().any(|effect| options.contains(effect))
}

/// Reads the options, wherever they stand. The table has a word for each one that is understood: `-abc` are
/// flags, `--all` is one, `-#` a number; and `-o:w` or `--output:w` says with a letter what it does:
///
/// `v` has a value that does not matter, `o` one only if that is attached; `w` writes its value; `t` names the
/// directory to write to; `r` reads its value, `R` also everything below it, `L` also the files that are named in it; `D` has what is done with directories; `g` has a pattern of files that are read; `e` has the expression as
/// its value, `f` a file with expressions; `2` has two values, of which it reads the second, and `A` two that do not matter. `E` makes an expression
/// needless; `x` runs something, and `u` does more that is not read here; `n` reaches out; `i` writes the operands, `I` too, with an attached value for
/// copies; `d` goes into directories; `K` keeps links as they are; `l` only lists. These have no value of their own. `m` has one, and `M` one only if
/// that is attached, which say how many words are taken at once.
///
/// `X` has a line as its value, which it runs, `p` a format of `git`, and `P` one only if that is attached.
///
/// `@:x` means operands that begin so, and `*` that all other options are harmless.
pub(super) fn read(options: &str, words: &[Word]) -> Given {
    let mut given = Given { found: Vec::new(), operands: Vec::new(), doubtful: false, odd: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.text() == Some("--") {
            given.operands.extend(words.cloned());
            break;
        }
        if is_option(word) {
            option(options, word, &mut words, &mut given);
        } else {
            // Operands may stand before options.
            given.doubtful |= word.may_be_option() || word.breaks();
            given.operands.push(word.clone());
        }
    }
    for sign in ["@", "+"] {
        let special = given.operands.iter().any(|word| word.beginning().starts_with(sign));
        if special && options.split_whitespace().any(|option| option.strip_suffix(":x") == Some(sign)) {
            given.found.push(('x', None));
        }
    }
    given
}

/// Reads the options before the first operand; with it, what follows them. Where a word is not known that may be
/// an option, what follows is not known.
pub(super) fn leading<'w>(options: &str, words: &'w [Word]) -> (Given, &'w [Word]) {
    let mut given = Given { found: Vec::new(), operands: Vec::new(), doubtful: false, odd: None };
    let mut left = words.iter();
    loop {
        let rest = left.as_slice();
        match rest.first() {
            Some(word) if word.text() == Some("--") => return (given, rest.get(1..).unwrap_or_default()),
            Some(word) if is_option(word) => {
                left.next();
                option(options, word, &mut left, &mut given);
            }
            word => {
                given.doubtful |= word.is_some_and(|word| word.may_be_option() || word.splits());
                return (given, rest);
            }
        }
    }
}

/// Whether a word is an option for sure.
fn is_option(word: &Word) -> bool {
    let beginning = word.beginning();
    beginning.starts_with('-') && word.text() != Some("-")
}

fn option<'w>(options: &str, word: &Word, words: &mut impl Iterator<Item = &'w Word>, given: &mut Given) {
    // What follows it may be more words.
    given.doubtful |= word.breaks();
    if word.beginning().starts_with("--") {
        long(options, word, words, given);
    } else {
        short(options, word, words, given);
    }
}

/// The value in the next word. Where there is none, some programs read all their words otherwise.
fn next<'w>(
    option: impl Fn() -> String,
    words: &mut impl Iterator<Item = &'w Word>,
    given: &mut Given,
) -> Option<Word> {
    let Some(value) = words.next() else {
        given.odd.get_or_insert_with(|| format!("{} without a value", option()));
        return None;
    };
    given.doubtful |= value.splits();
    Some(value.clone())
}

fn long<'w>(options: &str, word: &Word, words: &mut impl Iterator<Item = &'w Word>, given: &mut Given) {
    let text = word.beginning().strip_prefix("--").unwrap_or_default();
    let (name, attached) = match text.split_once('=') {
        Some((name, _)) => (name, word.without(&format!("--{name}="))),
        None => (text, None),
    };
    // A name that goes on with what is not known may be any.
    if attached.is_none() && word.text().is_none() {
        given.doubtful = true;
        given.odd.get_or_insert_with(|| word.source().to_owned());
        return;
    }
    let mut effects: Vec<char> = Vec::new();
    let mut exact = false;
    for option in options.split_whitespace() {
        let Some(own) = option.strip_prefix("--") else { continue };
        let (own, effect) = own.split_once(':').unwrap_or((own, " "));
        let effect = effect.chars().next().unwrap_or(' ');
        if own == name {
            effects = vec![effect];
            exact = true;
            break;
        }
        if own.starts_with(name) {
            effects.push(effect);
        }
    }
    if !exact && !options.ends_with('*') {
        given.odd.get_or_insert_with(|| format!("--{name}"));
    }
    let option = || format!("--{name}");
    // Of several that it may be, those come first that matter most.
    effects.sort_by_key(|effect| matches!(effect, 'v' | 'm' | 'M' | ' ' | 'o'));
    for effect in effects {
        let value = match (takes_value(effect), &attached) {
            (_, Some(value)) => Some(value.clone()),
            (true, None) => next(option, words, given),
            (false, None) => None,
        };
        let value = if matches!(effect, '2' | 'A') { next(option, words, given) } else { value };
        given.found.push((effect, value));
    }
}

fn short<'w>(options: &str, word: &Word, words: &mut impl Iterator<Item = &'w Word>, given: &mut Given) {
    let letters = word.beginning().get(1..).unwrap_or_default();
    let entries = || options.split_whitespace();
    if letters.starts_with(|c: char| c.is_ascii_digit()) && entries().any(|option| option == "-#") {
        let digits = letters.trim_start_matches(|c: char| c.is_ascii_digit());
        if !digits.is_empty() || word.text().is_none() {
            given.odd.get_or_insert_with(|| word.source().to_owned());
        }
        return;
    }
    for (at, letter) in letters.char_indices() {
        let effect = entries().find_map(|option| {
            let own = option.strip_prefix('-').filter(|own| !own.starts_with('-'))?;
            match own.split_once(':') {
                Some((own, effect)) => own.starts_with(letter).then(|| effect.chars().next())?,
                None => own.contains(letter).then_some(' '),
            }
        });
        let Some(effect) = effect else {
            if !options.ends_with('*') {
                given.odd.get_or_insert_with(|| format!("-{letter}"));
            }
            continue;
        };
        let attached = || {
            let before = format!("-{}", letters.get(..at + letter.len_utf8()).unwrap_or_default());
            word.without(&before).filter(|rest| rest.text() != Some(""))
        };
        if matches!(effect, 'o' | 'I' | 'M' | 'P') {
            given.found.push((effect, attached()));
            return;
        }
        if !takes_value(effect) {
            given.found.push((effect, None));
            continue;
        }
        let value = attached().or_else(|| next(|| format!("-{letter}"), words, given));
        given.found.push((effect, value));
        return;
    }
    // `-$x` may go on with any letter.
    if word.text().is_none() {
        given.doubtful = true;
        given.odd.get_or_insert_with(|| word.source().to_owned());
    }
}

fn takes_value(effect: char) -> bool {
    matches!(effect, 'v' | 'm' | 'w' | 't' | 'r' | 'R' | 'L' | 'D' | 'g' | 'e' | 'f' | '2' | 'A' | 'p' | 'X')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(given: &Given, operands: &[Word]) -> String {
        let mut text = String::new();
        for (effect, value) in given.found.iter().filter(|(effect, _)| *effect != ' ') {
            text.push(*effect);
            text.push_str(value.as_ref().and_then(Word::text).unwrap_or(""));
            text.push(' ');
        }
        let operands: Vec<_> = operands.iter().filter_map(Word::text).collect();
        let odd = given.odd.as_ref().map(|odd| format!(" | {odd}?")).unwrap_or_default();
        format!("{text}| {}{odd}", operands.join(" "))
    }

    fn words(line: &str) -> Vec<Word> {
        line.split(' ').map(Word::known).collect()
    }

    const SORT: &str = "-nru -o:w --output:w -k:v --compress-program:x -T:v --reverse -# -i:I";

    #[test]
    fn options_are_read_as_programs_read_them() {
        for (line, expected) in [
            ("a b", "| a b"),
            ("-o f a", "wf | a"),
            ("-of a", "wf | a"),
            ("-rof a", "wf | a"),
            ("-ro f a", "wf | a"),
            ("-k 2 a", "v2 | a"),
            ("-k2o f", "v2o | f"),
            ("--output=f a", "wf | a"),
            ("--output f a", "wf | a"),
            ("--outp f a", "wf | a | --outp?"),
            ("--reverse a", "| a"),
            ("--revers a", "| a | --revers?"),
            ("--frob a", "| a | --frob?"),
            ("--comp=gzip a", "xgzip | a | --comp?"),
            ("-nZ a", "| a | -Z?"),
            ("-20 a", "| a"),
            ("-20x a", "| a | -20x?"),
            ("-i.bak a", "I.bak | a"),
            ("-i a", "I | a"),
            ("a -o f", "wf | a"),
            ("-- -o f", "| -o f"),
            ("- a", "| - a"),
            ("a -k", "v | a | -k without a value?"),
            ("a -nk", "v | a | -k without a value?"),
            ("a --output", "w | a | --output without a value?"),
            ("a --compress-program", "x | a"),
        ] {
            let given = read(SORT, &words(line));
            assert_eq!(shown(&given, &given.operands), expected, "{line}");
        }
    }

    #[test]
    fn options_before_a_command() {
        for (line, expected) in [
            ("-n ls -o f", "| ls -o f"),
            ("-k 5 ls", "v5 | ls"),
            ("-k5 ls", "v5 | ls"),
            ("-- -n ls", "| -n ls"),
            ("--wait 5 ls", "| 5 ls | --wait?"),
        ] {
            let words = words(line);
            let (given, rest) = leading(SORT, &words);
            assert_eq!(shown(&given, rest), expected, "{line}");
        }
    }
}
