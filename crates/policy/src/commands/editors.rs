//! `sed` and `awk`, whose scripts can write files and run programs.

use super::options::read;
use crate::deed::Deed;
use crate::shell::Word;
use crate::study::Study;

const SED: &str = "-e:e --expression:e -f:f --file:f -i:i --in-place:i -l:v --line-length:v";

/// `sed`.
pub(super) fn sed(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    // `-i` has a suffix for copies, but only right behind it.
    let in_place = |word: &Word| {
        let text = word.beginning();
        text.starts_with("--i") || text.starts_with('-') && !text.starts_with("--") && text.contains('i')
    };
    let own: Vec<Word> = words.iter().filter(|word| !in_place(word)).cloned().collect();
    let writes = own.len() < words.len();
    let flags = |word: &&Word| {
        in_place(word) && word.text().is_none_or(|text| !text.starts_with("-i") && !text.starts_with("--i"))
    };
    if words.iter().any(|word| flags(&word)) {
        // Such as `-ni` or `-ie`: what the other letters do is not worth working out.
        deeds.push(Deed::Opaque("options of `sed` that are not plain".to_owned()));
    }
    let given = read(SED, &own);
    if given.doubtful {
        deeds.push(Deed::Opaque("a word that is not known may be an option of `sed`".to_owned()));
    }
    let mut scripts: Vec<&Word> = Vec::new();
    let mut elsewhere = false;
    for (effect, value) in &given.found {
        match (effect, value) {
            ('e', Some(script)) => scripts.push(script),
            ('f', _) => elsewhere = true,
            _ => {}
        }
    }
    let mut operands = given.operands.iter();
    if scripts.is_empty() && !elsewhere {
        scripts.extend(operands.next());
    }
    if elsewhere || scripts.iter().any(|script| !script.text().is_some_and(is_plain_sed)) {
        deeds.push(Deed::Opaque("a script of `sed` that may write or run something".to_owned()));
    }
    let file = if writes { Deed::Write } else { Deed::Read };
    deeds.extend(operands.filter(|word| word.text() != Some("-")).map(|word| file(study.target(word))));
}

/// Whether a script only edits lines: it has none of the commands that read, write or run files.
fn is_plain_sed(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        if rest.is_empty() {
            return true;
        }
        if rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        let Some(after) = address(rest) else { return false };
        let mut after = after.trim_start();
        if let Some(second) = after.strip_prefix(',') {
            let second = second.trim_start().trim_start_matches(['+', '~']);
            let Some(second) = address(second) else { return false };
            after = second.trim_start();
        }
        let after = after.trim_start_matches(['!', ' ']);
        let Some(command) = after.chars().next() else { return false };
        let behind = after.get(command.len_utf8()..).unwrap_or_default();
        rest = match command {
            '{' | '}' | 'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z' => behind,
            'q' | 'Q' => behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '),
            's' | 'y' => {
                let Some(delimiter) =
                    behind.chars().next().filter(|c| !c.is_alphanumeric() && *c != '\\' && *c != '\n')
                else {
                    return false;
                };
                let mut text = behind.get(delimiter.len_utf8()..).unwrap_or_default();
                for _ in 0..2 {
                    let Some(after) = delimited(text, delimiter) else { return false };
                    text = after;
                }
                text.trim_start_matches(|c: char| "gpiImM".contains(c) || c.is_ascii_digit())
            }
            _ => return false,
        };
        // What comes now must end the command, and be no further flag such as `w` and `e`.
        let end = rest.trim_start_matches([' ', '\t']);
        if !end.is_empty() && !end.starts_with([';', '\n', '}', '#']) {
            if command == '{' {
                continue;
            }
            return false;
        }
    }
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

/// `awk`.
pub(super) fn awk(study: &mut Study<'_>, words: &[Word], deeds: &mut Vec<Deed>) {
    let given = read("-F:v -v:v -f:f", words);
    let odd = |word: &Word| {
        let text = word.beginning();
        text.starts_with('-')
            && text.len() > 1
            && !text.starts_with("-F")
            && !text.starts_with("-v")
            && !matches!(word.text(), Some("--" | "--version"))
    };
    let elsewhere = given.found.iter().any(|(effect, _)| *effect == 'f');
    let options = words.iter().take_while(|word| word.may_be_option() || word.beginning().is_empty());
    if given.doubtful && given.operands.first().is_some_and(|word| word.text().is_none())
        || elsewhere
        || options.clone().any(odd)
    {
        deeds.push(Deed::Opaque("a program of `awk` that may write or run something".to_owned()));
    }
    let mut operands = given.operands.iter();
    if !elsewhere && !operands.next().is_some_and(|program| program.text().is_some_and(is_plain_awk)) {
        deeds.push(Deed::Opaque("a program of `awk` that may write or run something".to_owned()));
    }
    let files = operands.filter(|word| word.text() != Some("-") && !word.beginning().contains('='));
    deeds.extend(files.map(|word| Deed::Read(study.target(word))));
}

/// Whether a program only prints: it starts nothing, opens nothing, and redirects nothing.
fn is_plain_awk(program: &str) -> bool {
    let without_or = program.replace("||", "");
    let redirects = program.contains("print") && program.contains('>');
    !redirects && !["system", "getline", "@", "|"].iter().any(|odd| without_or.contains(odd))
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
            assert!(is_plain_sed(script), "{script}");
        }
        for script in [
            "s/a/b/w f",
            "s/a/b/e",
            "w f",
            "1e rm",
            "r /etc/x",
            "1,5w f",
            "s/a/b/ge",
            "e",
            "W f",
            "s/[/]/x/w f/",
            "/x/w f",
            "R f",
            "a\\\nx",
            "v;w f",
        ] {
            assert!(!is_plain_sed(script), "{script}");
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
        ] {
            assert!(!is_plain_awk(program), "{program}");
        }
    }
}
