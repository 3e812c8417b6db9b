//! `sed`, `awk` and `jq`, whose scripts can read and write files and run programs.

use super::options::{leading, read};
use super::{Does, Spec};
use crate::deed::{Deed, Target};
use crate::shell::{Word, is_name};
use crate::study::Study;

const JQ: &str = "-cCeijMnrRsSah -f:f -L:r --from-file:f --arg:A --argjson:A --slurpfile:2 --rawfile:2 --indent:v --tab --args \
                  --jsonargs --compact-output --null-input --raw-input --raw-output --raw-output0 --join-output --ascii-output \
                  --sort-keys --slurp --stream --seq --color-output --monochrome-output --exit-status --unbuffered --help --version";

/// `jq`: a program can begin with modules, which are files that it names itself.
pub(super) fn jq(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    super::plain(study, &Spec { name: "jq", does: Does::Searches, options: JQ }, words, deeds);
    let given = read(JQ, words);
    let program = given.operands.first().filter(|_| !given.has('f'));
    if given.has('f') || program.is_some_and(may_import) {
        deeds.push(Deed::Read(Target::Unknown("what a program of `jq` imports".to_owned())));
    }
}

/// Whether a program of `jq` may name modules. They stand before everything else but remarks.
fn may_import(program: &Word) -> bool {
    let beginning = program.beginning().trim_start();
    match program.text() {
        Some(_) => ["#", "import", "include", "module"].iter().any(|word| beginning.starts_with(word)),
        None => beginning.is_empty() || beginning.starts_with(['#', 'i', 'm']),
    }
}

const SED: &str = "-nErsuz -e:e -f:f -i:I -l:v --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix --debug \
                   --sandbox --follow-symlinks --expression:e --file:f --in-place:I --line-length:v --version --help";

/// `sed`.
pub(super) fn sed(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read(SED, words);
    deeds.extend(given.unclear("sed", SED).map(Deed::Opaque));
    let writes = given.has('I');
    // The suffix for copies may name another directory, and a star in it stands for the file.
    let plain = |suffix: &Word| {
        let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '~' | '-');
        suffix.text().is_some_and(|text| text.chars().all(letters))
    };
    if !given.values('I').all(plain) {
        deeds.push(Deed::Write(Target::Unknown("copies of the files".to_owned())));
    }
    let mut scripts: Vec<&Word> = Vec::new();
    let mut elsewhere = false;
    for (effect, value) in &given.found {
        match (effect, value) {
            ('e', Some(script)) => scripts.push(script),
            ('f', file) => {
                elsewhere = true;
                deeds.extend(file.as_ref().map(|file| Deed::Read(study.target(file))));
            }
            _ => {}
        }
    }
    let mut operands = given.operands.iter();
    if scripts.is_empty() && !elsewhere {
        scripts.extend(operands.next());
    }
    let why = || "a script of `sed` that may write or run something".to_owned();
    let all = scripts.iter().map(|script| script.text().map_or(Script::Runs, script_of_sed)).max();
    match all.unwrap_or(Script::Edits).max(if elsewhere { Script::Opens } else { Script::Edits }) {
        Script::Edits => {}
        Script::Opens => deeds.push(Deed::Opaque(why())),
        Script::Runs => deeds.push(Deed::Hidden(why())),
    }
    let file = if writes { Deed::Write } else { Deed::Read };
    deeds.extend(operands.filter(|word| word.text() != Some("-")).map(|word| file(study.target(word))));
}

/// What a script may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Script {
    /// It only edits lines.
    Edits,
    /// It may read and write files, and is not understood in all; but it runs nothing.
    Opens,
    /// It may run commands.
    Runs,
}

/// What a script of `sed` may do.
fn script_of_sed(script: &str) -> Script {
    let mut found = Script::Edits;
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return found;
        }
        if rest.starts_with('#') {
            rest = next_line(rest);
            continue;
        }
        let Some(after) = addressed(rest) else { return Script::Runs };
        let Some(command) = after.chars().next() else { return Script::Runs };
        let behind = after.get(command.len_utf8()..).unwrap_or_default();
        let mut ended = command == '{';
        let next = match command {
            '{' | '}' | 'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z' => {
                Some(behind)
            }
            'q' | 'Q' => Some(behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')),
            's' | 'y' => replaced(behind).or_else(|| {
                found = Script::Opens;
                bracketed(behind).filter(|_| command == 's')
            }),
            ':' | 'b' | 't' | 'T' | 'l' | 'F' => {
                found = Script::Opens;
                let label = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let after = behind.trim_start_matches(' ').trim_start_matches(label);
                // For some a brace is a part of the label.
                Some(after).filter(|after| command != ':' || !after.starts_with('}'))
            }
            'a' | 'i' | 'c' => {
                (found, ended) = (Script::Opens, true);
                written(behind)
            }
            'r' | 'R' | 'w' | 'W' => {
                (found, ended) = (Script::Opens, true);
                Some(next_line(behind))
            }
            _ => None,
        };
        let Some(next) = next else { return Script::Runs };
        rest = next;
        // A flag with which what was replaced is written into a file.
        if command == 's'
            && let Some(file) = next.strip_prefix('w')
        {
            (found, ended) = (Script::Opens, true);
            rest = next_line(file);
        }
        // What comes now must end the command, and be no further flag such as `e`.
        let end = rest.trim_start_matches([' ', '\t']);
        if !ended && !end.is_empty() && !end.starts_with([';', '\n', '}', '#']) {
            return Script::Runs;
        }
    }
}

fn next_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, after)| after)
}

/// What follows the addresses of a command.
fn addressed(text: &str) -> Option<&str> {
    let mut after = address(text)?.trim_start();
    if let Some(second) = after.strip_prefix(',') {
        after = address(second.trim_start().trim_start_matches(['+', '~']))?.trim_start();
    }
    Some(after.trim_start_matches(['!', ' ']))
}

/// What follows the two texts of `s` and `y` and the flags that do no more.
fn replaced(text: &str) -> Option<&str> {
    let (delimiter, text) = behind_delimiter(text)?;
    Some(behind_flags(delimited(delimited(text, delimiter)?, delimiter)?))
}

/// The same of `s`, where there are delimiters in brackets, as in `s/[^/]*$//`.
fn bracketed(text: &str) -> Option<&str> {
    let (delimiter, mut text) = behind_delimiter(text)?;
    loop {
        let mut chars = text.chars();
        match chars.next()? {
            c if c == delimiter => break,
            '\\' => drop(chars.next()),
            '\n' => return None,
            '[' => {
                let set = chars.as_str();
                let set = set.strip_prefix('^').unwrap_or(set);
                let set = set.strip_prefix(']').unwrap_or(set);
                // A class in it, and a backslash, are read in several ways.
                let end = set.find(['[', ']', '\\', '\n'])?;
                let closes = set.get(end..)?.starts_with(']');
                if !closes {
                    return None;
                }
                chars = set.get(end + 1..)?.chars();
            }
            _ => {}
        }
        text = chars.as_str();
    }
    Some(behind_flags(delimited(text.get(delimiter.len_utf8()..)?, delimiter)?))
}

fn behind_delimiter(text: &str) -> Option<(char, &str)> {
    let delimiter = text.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\\' && *c != '\n')?;
    Some((delimiter, text.get(delimiter.len_utf8()..)?))
}

fn behind_flags(text: &str) -> &str {
    text.trim_start_matches(|c: char| "gpiImM".contains(c) || c.is_ascii_digit())
}

/// What follows the text of `a` and its like: it ends with a line that has no backslash at its end.
fn written(text: &str) -> Option<&str> {
    let text = text.trim_start_matches([' ', '\t']);
    let text = text.strip_prefix('\\').unwrap_or(text);
    // One more is read in several ways.
    if text.is_empty() || text.starts_with('\\') {
        return None;
    }
    let text = text.strip_prefix('\n').unwrap_or(text);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '\n' => return text.get(at + 1..),
            _ => {}
        }
    }
    Some("")
}

/// What follows an address; the text itself, if there is none.
fn address(text: &str) -> Option<&str> {
    match text.chars().next()? {
        '0'..='9' => Some(text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '~')),
        '$' => text.get(1..),
        '/' => delimited(text.get(1..)?, '/').map(|rest| rest.trim_start_matches(['I', 'M'])),
        '\\' => None,
        _ => Some(text),
    }
}

/// What follows the delimiter, which a backslash makes plain. A bracket may hide a delimiter, so there is to be
/// none of it in brackets.
fn delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    let mut bracket = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => bracket = true,
            ']' => bracket = false,
            c if c == delimiter && bracket => return None,
            c if c == delimiter => return text.get(at + c.len_utf8()..),
            '\n' => return None,
            _ => {}
        }
    }
    None
}

const AWK: &str = "-F:v -v:v -f:x --version --help";

/// `awk`.
pub(super) fn awk(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let (given, rest) = leading(AWK, words);
    let mut rest = rest.iter();
    let program = rest.next();
    let plain = given.odd.is_none()
        && !given.doubtful
        && !given.has('x')
        && program.is_none_or(|program| program.text().is_some_and(is_plain_awk))
        && rest.clone().all(|word| !word.beginning().starts_with('-') || word.text() == Some("-"));
    // What is in a file is not looked into.
    let runs = given.odd.is_some()
        || given.doubtful
        || !given.has('x') && program.is_some_and(|program| program.text().is_none_or(may_run));
    let why = "a program of `awk` that may write or run something".to_owned();
    if runs {
        deeds.push(Deed::Hidden(why));
    } else if !plain {
        deeds.push(Deed::Opaque(why));
    }
    let assigns = |word: &Word| word.beginning().split_once('=').is_some_and(|(name, _)| is_name(name));
    let files = rest.filter(|word| word.text() != Some("-") && !assigns(word));
    deeds.extend(files.map(|word| Deed::Read(study.target(word))));
}

/// What a program can start, open and change the list of its files with.
const AWK_POWERS: [&str; 9] =
    ["system", "getline", "@", "|", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "PROCINFO"];

/// Whether a program only prints: it starts nothing, opens nothing, and redirects nothing.
fn is_plain_awk(program: &str) -> bool {
    let without_or = program.replace("||", "");
    let redirects = program.contains("print") && program.contains('>');
    // A line that goes on in the next may cut a name in two.
    let cut = program.contains("\\\n") || program.contains("\\\r");
    !redirects && !cut && !AWK_POWERS.iter().any(|odd| without_or.contains(odd))
}

/// Whether a program may start another. A bar does so only behind something that prints, or before what reads.
fn may_run(program: &str) -> bool {
    let bars = program.replace("||", "");
    let behind = |word: &str| bars.find(word).is_some_and(|at| bars.rfind('|') > Some(at));
    let before = |word: &str| bars.rfind(word).is_some_and(|at| bars.find('|').is_some_and(|bar| bar < at));
    program.contains("\\\n")
        || program.contains("\\\r")
        || ["system", "@", "SYMTAB", "FUNCTAB", "PROCINFO"].iter().any(|odd| program.contains(odd))
        || behind("print")
        || before("getline")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_sed_that_only_edit() {
        for script in [
            "s/a/b/",
            "s/a/b/g; p",
            "1,5p",
            "/x/d",
            "$!N",
            "/a/,/b/p",
            "s|/usr|/opt|g",
            "5q",
            "1~2p",
            "/a/{p;d}",
            "y/ab/cd/",
        ] {
            assert_eq!(script_of_sed(script), Script::Edits, "{script}");
        }
        for script in [
            "s/a/b/w f",
            "s/a/b/gw f\np",
            "w f",
            "r /etc/x",
            "1,5w f",
            "W f",
            "/x/w f",
            "R f",
            "a\\\nx",
            "a x",
            "1a\\  x",
            "/x/{a e\n}",
            "i\\\ne\\\ne\np",
            ":a;N;$!ba;s/\\n/ /g",
            "$!{N;bx;};:x",
            "l;F",
            "s/[^/]*$//",
            "s/[/]/x/w f/",
        ] {
            assert_eq!(script_of_sed(script), Script::Opens, "{script}");
        }
        for script in [
            "s/a/b/e",
            "1e rm",
            "s/a/b/ge",
            "e",
            "v;w f",
            "w f\ne rm",
            "r f\n1e rm",
            "s/a/b/w f\ne rm",
            "a x\ne rm",
            "a\\\nx\ne rm",
            "a\\\\\ne rm",
            "a x\\\\\ne rm",
            "a\\",
            "a",
            ":a;e rm",
            ":a}e rm",
            ":a}a e rm",
            "b a-b;e rm",
            "/x/{e rm\n}",
            "\\|x|e rm",
            "s/a/b/m;e",
            "y/a/b/;e",
            "s/[^/]*$//e",
            "s/[/]/x/;e",
            "s/[]/]/x/g;p",
            "s/[[:x:]/]/x/",
            "y/[/]/x/",
        ] {
            assert_eq!(script_of_sed(script), Script::Runs, "{script}");
        }
    }

    #[test]
    fn programs_of_awk_that_start_others() {
        for program in ["/a|b/{print $1}", "{print > \"f\"}", "{getline < \"f\"; print}", "$1 ~ /a|b/"] {
            assert!(!may_run(program), "{program}");
        }
        for program in [
            "BEGIN{system(\"rm\")}",
            "{print | \"sh\"}",
            "{printf \"a\" | \"sh\"}",
            "{\"date\" | getline}",
            "{\"date\" |& getline x}",
            "@load \"x\"",
            "BEGIN{sys\\\ntem(\"rm\")}",
            "{f = \"x\"; @f()}",
        ] {
            assert!(may_run(program), "{program}");
        }
    }

    #[test]
    fn programs_of_awk_that_only_print() {
        for program in
            ["{print $1}", "$3 > 5", "/a/ || /b/", "{print $1 \"\\t\" $2}", "END{print NR}", "{s+=$1}"]
        {
            assert!(is_plain_awk(program), "{program}");
        }
        for program in [
            "BEGIN{system(\"rm\")}",
            "{print > \"f\"}",
            "{print | \"sh\"}",
            "{\"date\" | getline}",
            "@load \"x\"",
            "{print \"\\n\" > \"f\"}",
            "BEGIN{ARGV[ARGC++]=\"x\"}1",
            "BEGIN{SYMTAB[\"x\"]=1}",
            "BEGIN{sys\\\ntem(\"rm\")}",
        ] {
            assert!(!is_plain_awk(program), "{program}");
        }
    }
}
