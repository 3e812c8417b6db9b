//! What a file of Python says of its function `run`, without running it.

/// How long a signature is followed.
const LONGEST: usize = 2000;

/// What is known of a tool from its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// The first text of the module, or else of the function.
    pub(crate) doc: String,
    /// The head of the function; absent if there is none.
    pub(crate) signature: Option<String>,
}

impl Scanned {
    /// Reads a module's text. Where it is written unusually, less is found.
    pub(crate) fn of(text: &str) -> Self {
        let mut starts = ["def run(", "async def run("].into_iter();
        let found = starts.find_map(|head| position_of_line(text, head));
        let Some((_, from)) = found.and_then(|at| text.split_at_checked(at)) else {
            return Self { doc: docstring(text).unwrap_or_default(), signature: None };
        };
        let length = head_length(from);
        let (head, body) = from.split_at_checked(length).unwrap_or((from, ""));
        let doc = docstring(text).or_else(|| docstring(body)).unwrap_or_default();
        let signature = head.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { doc, signature: Some(signature.trim_end_matches(':').to_owned()) }
    }
}

/// Where a line begins so.
fn position_of_line(text: &str, head: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(head) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// How long the head of a function is, with its colon.
fn head_length(text: &str) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices().take(LONGEST) {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ':') if depth == 0 => return at + 1,
            (Some(_) | None, _) => {}
        }
    }
    text.find('\n').unwrap_or(text.len())
}

/// The text literal that comes first, if nothing but comments and empty lines is before it.
fn docstring(text: &str) -> Option<String> {
    let mut rest = text.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n')?.1.trim_start();
    }
    for quote in ["\"\"\"", "'''", "\"", "'"] {
        if let Some(inside) = rest.strip_prefix(quote) {
            return Some(inside.split_once(quote)?.0.trim().to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_and_what_is_said_of_it_are_found() {
        let check = |text: &str, doc: &str, signature: Option<&str>| {
            let expected = Scanned { doc: doc.to_owned(), signature: signature.map(str::to_owned) };
            assert_eq!(Scanned::of(text), expected, "{text}");
        };
        check("", "", None);
        check("x = 1\n    def run(): pass", "", None);
        check("def run(): pass", "", Some("def run()"));
        check(
            "# c\n\"\"\"Of\nall.\"\"\"\ndef run(a: dict[str, int] = {\"x:\": 1},\n        b=':') -> int:\n    'x'\n",
            "Of\nall.",
            Some("def run(a: dict[str, int] = {\"x:\": 1}, b=':') -> int"),
        );
        check("import os\nasync def run(x):\n    '''Does.'''\n", "Does.", Some("async def run(x)"));
        check("def run(", "", Some("def run("));
        check("\"\"\"unfinished", "", None);
    }
}
