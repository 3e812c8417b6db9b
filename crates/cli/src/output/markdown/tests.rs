use super::*;

/// What is on the screen: `\e[` sequences are written as `<codes>`, their end as `</>`.
fn shown(text: &Painted) -> String {
    let text = text.as_str().replace("\u{1b}[0m", "</>");
    let mut parts = text.split("\u{1b}[");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (codes, rest) = part.split_once('m').unwrap();
        shown.extend(["<", codes, ">", rest]);
    }
    shown
}

/// Renders a text that comes in pieces of so many characters.
fn render(text: &str, columns: usize, piece: usize) -> String {
    let mut markdown = Markdown::new(Paint::Styles, columns);
    let characters: Vec<char> = text.chars().collect();
    let mut all = String::new();
    for piece in characters.chunks(piece) {
        all += &shown(&markdown.push(&piece.iter().collect::<String>()));
    }
    all + &shown(&markdown.finish())
}

/// Checks a text, and that its pieces make no difference.
#[track_caller]
fn check_at(columns: usize, text: &str, expected: &str) {
    for piece in [usize::MAX, 1, 2, 3, 5, 7] {
        assert_eq!(render(text, columns, piece), expected, "{text:?} in pieces of {piece}");
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    check_at(60, text, expected);
}

#[test]
fn text_stays_as_it_is() {
    check("", "");
    check("\n", "\n");
    check("plain", "plain\n");
    check("one\n\ntwo\n", "one\n\ntwo\n");
    check("  set in", "  set in\n");
    check("a  b", "a  b\n");
    check("漢字 é", "漢字 é\n");
}

#[test]
fn stress_and_code() {
    check("a **b** c", "a <1>b</> c\n");
    check("*a* and _b_", "<3>a</> and <3>b</>\n");
    check("***a***", "<1;3>a</>\n");
    check("use `a b`.", "use <36>a</> <36>b</>.\n");
    check("``a ` b``", "<36>a</> <36>`</> <36>b</>\n");
    check("**a `b` c**", "<1>a</> <1;36>b</> <1>c</>\n");
    check("`**a**`", "<36>**a**</>\n");
    check("[text](https://x.y)", "<4>text</> <2>(https://x.y)</>\n");
    check("[a](a)", "<4>a</>\n");
    check(r"\*a\*", "*a*\n");
}

#[test]
fn marks_without_another_end_are_text() {
    check("a * b * c", "a * b * c\n");
    check("2*3*4 and some_long_name", "2*3*4 and some_long_name\n");
    check("**open", "**open\n");
    check("a `b", "a `b\n");
    check("a[0] and [b] c", "a[0] and [b] c\n");
    check("a [b](c", "a [b](c\n");
    check("**open\n**shut** ", "**open\n<1>shut</>\n");
    check("*", "*\n");
    check("C:\\dir \\", "C:\\dir \\\n");
    check("*****", &format!("<2>{}</>\n", "─".repeat(40)));
}

#[test]
fn headings_lists_and_quotes() {
    check("# One\ntext", "<1;4>One</>\ntext\n");
    check("## Two `x` ##\n", "<1;4>Two</> <1;4;36>x</>\n");
    check("#hash", "#hash\n");
    check("####### seven", "####### seven\n");
    check("- a\n* b\n  + c", "<36>• </>a\n<36>• </>b\n<36>  • </>c\n");
    check("1. a\n12) b", "<36>1. </>a\n<36>12. </>b\n");
    check("1.5 and 2", "1.5 and 2\n");
    check("12345678901. x", "12345678901. x\n");
    check("-5 degrees", "-5 degrees\n");
    check("-", "-\n");
    check("> said\n>more", "<2>│ </><3>said</>\n<2>│ </><3>more</>\n");
    check("---\n", &format!("<2>{}</>\n", "─".repeat(40)));
    check("--flag", "--flag\n");
    check("**bold** first", "<1>bold</> first\n");
}

#[test]
fn code_blocks_are_as_they_were_written() {
    check("```rust\nfn a() {}\n\n  *b*\n```\nc", "  <36>fn a() {}</>\n\n  <36>  *b*</>\nc\n");
    check("```\na", "  <36>a</>\n");
    check("~~~\n```\n~~~\nx", "  <36>```</>\nx\n");
    check("````\n```\n````\n", "  <36>```</>\n");
    check("```inline``` code", "<36>inline</> code\n");
}

#[test]
fn tables_are_left_alone() {
    check("| a | b |\n|---|---|\n| 1 | 2 |\n", "| a | b |\n<2>|---|---|</>\n| 1 | 2 |\n");
}

#[test]
fn long_lines_are_broken_between_words() {
    check_at(10, "one two three", "one two\nthree\n");
    check_at(10, "- one two three", "<36>• </>one two\n  three\n");
    check_at(10, "a **bold words** b", "a <1>bold</>\n<1>words</> b\n");
    check_at(5, "longer than", "longer\nthan\n");
    check_at(6, "漢字 漢字", "漢字\n漢字\n");
}

#[test]
fn control_characters_become_harmless() {
    check("a\u{1b}[31mb `\u{7}`", "a\u{fffd}[31mb <36>\u{fffd}</>\n");
}

#[test]
fn what_is_held_is_bounded() {
    for start in ["*", "`", "[", "```x", "| ", "# ", "```\n"] {
        let mut markdown = Markdown::new(Paint::Text, 80);
        markdown.push(start);
        for _ in 0..20 * HELD {
            markdown.push("x");
            assert!(markdown.held.len() <= 2 * HELD, "{start}");
        }
    }
}

#[test]
fn words_come_while_the_line_is_written() {
    let mut markdown = Markdown::new(Paint::Text, 80);
    assert_eq!(markdown.push("one two th").as_str(), "one two");
    markdown.broken();
    assert_eq!(markdown.push("ree four").as_str(), "three");
}
