//! The words of a command, and what in them may name a file.

/// The shell's white space, quotes and separators.
const SEPARATORS: &[char] = &[
    ' ', '\t', '\n', '\r', '\'', '"', '`', '\\', ';', '&', '|', '<', '>', '(', ')', '{', '}', '[', ']', ',',
    '$', '!',
];

/// Whether a word may be a command line by itself, as that behind `-c` of a shell and `-S` of `env` is (more programs
/// take such words than anybody can list), or gives a variable to a command, as those behind `env` do.
pub(super) fn is_line(word: &str) -> bool {
    let is_variable =
        |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    word.contains(SEPARATORS) || word.split_once('=').is_some_and(|(name, _)| is_variable(name))
}

/// The words of a text, as if every quote and every separator were a space: so words in lines within lines are found.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    text.split(SEPARATORS).filter(|piece| !piece.is_empty()).collect()
}

/// What a word may name: itself, the value of the option or the variable that it sets (`--require=./x`, `-r./x`,
/// `A=./x`), and the parts of a list (`server.py:app`, `./a:./b`).
pub(super) fn values(word: &str) -> impl Iterator<Item = &str> {
    let set = word.split_once('=').map(|(_, value)| value);
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let attached = rest.and_then(|rest| rest.get(1..));
    let whole = [Some(word), set, attached].into_iter().flatten();
    whole
        .flat_map(|value| value.split(':').chain(value.contains(':').then_some(value)))
        .filter(|v| !v.is_empty())
}

/// The value that is attached to one of these options.
pub(super) fn attached<'w>(word: &'w str, options: &[&str]) -> Option<&'w str> {
    options.iter().find_map(|option| {
        let rest = word.strip_prefix(option)?;
        if option.starts_with("--") {
            rest.strip_prefix('=')
        } else {
            Some(rest.strip_prefix('=').unwrap_or(rest))
        }
    })
}

/// The ways to take a word for a path: whole, or behind an option that it is attached to.
pub(super) fn cut(word: &str) -> [(&str, &str); 3] {
    let set = word.find('=').filter(|_| word.starts_with('-')).map(|at| word.split_at(at + 1));
    let is_short = word.starts_with('-') && !word.starts_with("--");
    let short = word.split_at_checked(2).filter(|_| is_short);
    [("", word), set.unwrap_or(("", "")), short.unwrap_or(("", ""))]
}
