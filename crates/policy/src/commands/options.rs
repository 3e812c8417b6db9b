//! Options, read as the programs read them: short ones together, long ones cut short.

use crate::shell::Word;

/// What was found among the words of a command.
pub(super) struct Given {
    /// The options that matter: what each does, and its value.
    pub(super) found: Vec<(char, Option<Word>)>,
    /// The words that are no options.
    pub(super) operands: Vec<Word>,
    /// Whether a word that is not known may be an option.
    pub(super) doubtful: bool,
}

/// Whether there are options among these that do more than read.
pub(super) fn matter(options: &str) -> bool {
    [":w", ":x", ":n", ":t", ":i"].iter().any(|effect| options.contains(effect))
}

/// Reads the options. The table has a word for each one that matters, `-o:w` or `--output:w`, and the letter
/// says what it does:
///
/// `v` has a value that does not matter; `w` writes its value; `t` names the directory to write to; `r` reads
/// its value; `e` has the expression as its value, `f` a file with expressions, `E` makes one needless; `x` runs
/// something; `n` reaches out; `i` writes the operands; `d` goes into directories. The last five have no value of
/// their own.
pub(super) fn read(options: &str, words: &[Word]) -> Given {
    let mut given = Given { found: Vec::new(), operands: Vec::new(), doubtful: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let beginning = word.beginning();
        match word.text() {
            Some("--") => {
                given.operands.extend(words.cloned());
                return given;
            }
            Some("-") => {
                given.operands.push(word.clone());
                continue;
            }
            _ => {}
        }
        if let Some(long) = beginning.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, _)) => (name, word.without(&format!("--{name}="))),
                None => (long, None),
            };
            // A name that goes on with what is not known may be any.
            if value.is_none() && word.text().is_none() {
                given.doubtful = true;
                continue;
            }
            for (effect, exact) in long_effects(options, name) {
                let value = match (takes_value(effect), &value) {
                    (true, Some(value)) => Some(value.clone()),
                    (true, None) => words.next().cloned(),
                    (false, _) => None,
                };
                given.found.push((effect, value));
                if exact {
                    break;
                }
            }
        } else if beginning.starts_with('-') {
            short(options, word, &mut words, &mut given);
        } else {
            // Operands may stand before options.
            given.doubtful |= word.may_be_option();
            given.operands.push(word.clone());
        }
    }
    given
}

fn short<'w>(options: &str, word: &Word, words: &mut impl Iterator<Item = &'w Word>, given: &mut Given) {
    let letters = word.beginning().get(1..).unwrap_or_default();
    for (at, letter) in letters.char_indices() {
        let effect = options.split_whitespace().find_map(|option| {
            let (name, effect) = option.split_once(':')?;
            let mut own = name.strip_prefix('-')?.chars();
            (own.next() == Some(letter) && own.next().is_none()).then(|| effect.chars().next())?
        });
        let Some(effect) = effect else { continue };
        if !takes_value(effect) {
            given.found.push((effect, None));
            continue;
        }
        let before = format!("-{}", letters.get(..at + letter.len_utf8()).unwrap_or_default());
        let rest = word.without(&before).filter(|rest| rest.text() != Some(""));
        given.found.push((effect, rest.or_else(|| words.next().cloned())));
        return;
    }
    // `-$x` may go on with any letter.
    given.doubtful |= word.text().is_none();
}

/// What a long option does, which may be cut short; and whether that is certain.
fn long_effects<'o>(options: &'o str, name: &str) -> impl Iterator<Item = (char, bool)> + use<'o> {
    let mut found: Vec<(char, bool)> = Vec::new();
    for option in options.split_whitespace() {
        let Some((own, effect)) = option.split_once(':') else { continue };
        let (Some(own), Some(effect)) = (own.strip_prefix("--"), effect.chars().next()) else { continue };
        if own == name {
            return vec![(effect, true)].into_iter();
        }
        if own.starts_with(name) {
            found.push((effect, false));
        }
    }
    // Of several that it may be, those come first that matter most.
    found.sort_by_key(|(effect, _)| *effect == 'v');
    found.into_iter()
}

fn takes_value(effect: char) -> bool {
    matches!(effect, 'v' | 'w' | 't' | 'r' | 'e' | 'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(options: &str, line: &str) -> String {
        let words: Vec<Word> = line.split(' ').map(Word::known).collect();
        let given = read(options, &words);
        let mut text = String::new();
        for (effect, value) in &given.found {
            text.push(*effect);
            text.push_str(value.as_ref().and_then(Word::text).unwrap_or(""));
            text.push(' ');
        }
        let operands: Vec<_> = given.operands.iter().filter_map(Word::text).collect();
        format!("{text}| {}", operands.join(" "))
    }

    #[test]
    fn options_are_read_as_programs_read_them() {
        let sort = "-o:w --output:w -k:v --compress-program:x -T:v";
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
            ("--outp f a", "wf | a"),
            ("--comp=gzip a", "x | a"),
            ("a -o f", "wf | a"),
            ("-- -o f", "| -o f"),
            ("- a", "| - a"),
        ] {
            assert_eq!(found(sort, line), expected, "{line}");
        }
    }
}
