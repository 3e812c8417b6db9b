//! How texts are found and replaced.

use junto_patch::{ReplaceErrorKind, Span, Strategy, Which, replace};

#[track_caller]
fn check(strategy: Strategy, text: &str, old: &str, new: &str, expected: &str) {
    let edit = replace(text, old, new, Which::TheOne).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((edit.text.as_str(), edit.strategy, edit.places.len()), (expected, strategy, 1));
}

#[track_caller]
fn check_all(strategy: Strategy, text: &str, old: &str, new: &str, expected: &str, count: usize) {
    let edit = replace(text, old, new, Which::All).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((edit.text.as_str(), edit.strategy, edit.places.len()), (expected, strategy, count));
}

#[track_caller]
fn refused(text: &str, old: &str, new: &str, which: Which, message: &str) {
    assert_eq!(replace(text, old, new, which).unwrap_err().to_string(), message);
}

#[test]
fn exactly() {
    let check = |text, old, new, expected| check(Strategy::Exact, text, old, new, expected);
    check("a b c", "b", "x", "a x c");
    check("a $1 b", "$1", "$2", "a $2 b");
    check("a b", "b", "", "a ");
    check("  a\n  b\n", "a\n  b", "x", "  x\n");
    check("ä ö ü", "ö", "oe", "ä oe ü");
    check_all(Strategy::Exact, "a b a", "a", "aa", "aa b aa", 2);
    check_all(Strategy::Exact, "aaaa", "aa", "b", "bb", 2);
    check_all(Strategy::Exact, "a b", "a", "x", "x b", 1);
}

#[test]
fn line_ends_do_not_count_and_stay() {
    let check = |text, old, new, expected| check(Strategy::Exact, text, old, new, expected);
    check("a\r\nb\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\n");
    check("a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n");
    check("a\r\nb\r\n", "\nb", "", "a\r\n");
    check("a\nb\r\nc\nd\n", "b\nc", "x\ny", "a\nx\r\ny\nd\n");
    check("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n");
    // Carriage returns that are quoted rightly are meant.
    check("a\r\nb\r\n", "a\r\nb", "x", "x\r\n");
    check("a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n");
    check("a\r\nb\n", "b", "x\ny", "a\r\nx\ny\n");
}

#[test]
fn by_trimmed_lines_with_the_indentation_of_the_file() {
    let check = |text, old, new, expected| check(Strategy::LineTrimmed, text, old, new, expected);
    check(
        "f {\n    a;\n    b;\n}\n",
        "a;\nb;",
        "c;\nif d {\n    e;\n}",
        "f {\n    c;\n    if d {\n        e;\n    }\n}\n",
    );
    check("f\n\ta\n\t\tb\n", "a\n  b\n", "a\n  b\n    c\n", "f\n\ta\n\t\tb\n\t\t\tc\n");
    check("a  \nb\n", "a\nb", "x", "x\n");
    check("  a\n  b", "a\nb\n", "x\ny\n", "  x\n  y");
    check("  a\r\n  b\r\n", "a\nb\n", "x\n\ny\n", "  x\r\n\r\n  y\r\n");
    check("  a\n\n  b\n", "a\n   \nb", "x", "  x\n");
    check("x\n        a\n        b\ny\n", "    a\n    b", "if c:\n    a", "x\n    if c:\n        a\ny\n");
    // The quotation lacks the indentation that the new text has.
    check("f\n    a\n    b\n", "a\nb", "    c\n      d", "f\n    c\n      d\n");
    check_all(Strategy::LineTrimmed, "  a\n b\n    a\n b\n", "a\nb", "x", "  x\n    x\n", 2);
}

#[test]
fn by_words() {
    let check = |text, old, new, expected| check(Strategy::Whitespace, text, old, new, expected);
    check("call(a,b);\n", "call( a, b );", "call(c);", "call(c);\n");
    check("x = call(a,\n         b)\n", "call(a, b)", "call(c)", "x = call(c)\n");
    check("if (a)  {\n", "if (a) {\n", "if (b) {\n", "if (b) {\n");
    check("  a(\n    1,\n    2,\n  )\n", "a(1, 2,)", "a(\n  1,\n)", "  a(\n    1,\n  )\n");
    check("say(\u{201C}hi\u{201D}) \u{2013} now\n", "say(\"hi\") - now", "hush()", "hush()\n");
    check("a  b\r\n", "a b", "x\ny", "x\r\ny\r\n");
    // Each line says how it is indented, also where the old text begins with an empty one.
    check(
        "f {\n    a( 1 );\n        b;\n}\n",
        "\na(1);\n  b;",
        "\na(1);\n  c;",
        "f {\n    a(1);\n        c;\n}\n",
    );
    check_all(Strategy::Whitespace, "f(a,b) f(a,  b)", "f(a, b)", "g", "g g", 2);
}

#[test]
fn words_are_not_cut() {
    refused(
        "maximum = 10\n",
        "um  = 1",
        "x",
        Which::TheOne,
        "the text to replace is not in the file; read the file again and copy the text as it is, \
         without line numbers",
    );
}

#[test]
fn by_likeness() {
    let check = |text, old, new, expected| check(Strategy::Fuzzy, text, old, new, expected);
    check(
        "fn a() {\n    let total = compute_total(items);\n}\n",
        "let total = compute_totals(items);",
        "let total = 0;",
        "fn a() {\n    let total = 0;\n}\n",
    );
    check(
        "x\n\tfirst_call(argument);\n\n\tsecond_call(argument);\ny\n",
        "\nfirst_call(arguments);\nsecond_call(argument);\n",
        "\nthird_call(argument);\n",
        "x\n\tthird_call(argument);\ny\n",
    );
    // Just a tenth.
    check("abcdefghijklmnopqrstuvwxyz0123\n", "abcdefghijklmnopqrstuvwxyz0XYZ", "x", "x\n");
    // Empty lines at both ends are no part of the place.
    check(
        "x\n\n\tfirst_call(argument);\n\tsecond_call(argument);\n\ny\n",
        "\nfirst_call(arguments);\nsecond_call(argument);\n\n",
        "\nthird_call(argument);\n\n",
        "x\n\n\tthird_call(argument);\n\ny\n",
    );
}

#[test]
fn likeness_has_its_limits() {
    let not_found = |text, old| {
        let error = replace(text, old, "x", Which::TheOne).unwrap_err();
        assert!(matches!(error.kind(), ReplaceErrorKind::NotFound { .. }), "{error}");
    };
    // More than a tenth, and a text too short to have a tenth.
    not_found("abcdefghijklmnopqrst\n", "abcdefghijklmnopXXXt");
    not_found("abcdefgh\n", "abcdefgX");
    // One that is less alike, but elsewhere, may be meant too.
    refused(
        "let the_value_12 = read();\nlet the_value_1 = read();\n",
        "let the_value_n = read();",
        "x",
        Which::TheOne,
        "the text to replace is nearly in the file 2 times:\n\
         line 1: \"let the_value_12 = read();\"\n\
         line 2: \"let the_value_1 = read();\"\n\
         copy the one that is meant as it is",
    );
    // Two that are alike are not told apart, whatever was asked for.
    for which in [Which::TheOne, Which::All] {
        refused(
            "let the_value_1 = read();\nlet the_value_2 = read();\n",
            "let the_value_n = read();",
            "x",
            which,
            "the text to replace is nearly in the file 2 times:\n\
             line 1: \"let the_value_1 = read();\"\n\
             line 2: \"let the_value_2 = read();\"\n\
             copy the one that is meant as it is",
        );
    }
}

#[test]
fn what_cannot_be_done_is_explained() {
    refused("a", "", "x", Which::TheOne, "the text to replace is empty");
    refused("a", "a", "a", Which::All, "the text to replace and the new text are the same");
    refused(
        "  a\n  b\n",
        "a\nb",
        "  a\n  b\n".trim_end(),
        Which::TheOne,
        "the file has the new text already",
    );
    refused(
        "a\nb\na\n",
        "a",
        "x",
        Which::TheOne,
        "the text to replace is in the file 2 times:\nline 1: \"a\"\nline 3: \"a\"\n\
         add lines around it until it is there once, or replace all of them",
    );
    refused(
        &"  a\n".repeat(7),
        "a\na\n",
        "x",
        Which::TheOne,
        "the text to replace is nearly in the file 6 times:\nline 1: \"  a\"\nline 2: \"  a\"\nline 3: \"  a\"\n\
         line 4: \"  a\"\nline 5: \"  a\"\n…\nadd lines around it until it is there once, or replace all of them",
    );
    refused(
        "q\na\nb\na\nb\na\n",
        "a\nb\na",
        "x",
        Which::TheOne,
        "the text to replace is in the file 2 times:\nline 2: \"a\"\nline 4: \"a\"\n\
         add lines around it until it is there once, or replace all of them",
    );
    refused(
        "aaa",
        "aa",
        "x",
        Which::TheOne,
        "the text to replace is in the file 2 times:\nline 1: \"aaa\"\nline 1: \"aaa\"\n\
         add lines around it until it is there once, or replace all of them",
    );
    refused(
        "fn main() {\n    let a = 1;\n    let b = 2;\n}\n",
        "let a = 1;\nlet c = three;",
        "x",
        Which::TheOne,
        "the text to replace is not in the file; where it has \"let c = three;\", nearest is line 3: \
         \"    let b = 2;\"; read the file again and copy the text as it is, without line numbers",
    );
    for blank in [" ", "\n\n\n", "\t\n"] {
        let error = replace("a\n\nb\n", blank, "x", Which::TheOne).unwrap_err();
        assert!(matches!(error.kind(), ReplaceErrorKind::NotFound { .. }), "{error}");
    }
    let many = replace(&"a".repeat(100_000), "a", &"b".repeat(10_000), Which::All).unwrap_err();
    assert_eq!(many.kind(), &ReplaceErrorKind::TooLarge);
    let large = replace(&"a".repeat(10_000), "a", &"b".repeat(200), Which::All).unwrap();
    assert_eq!(large.text.len(), 2_000_000);
}

#[test]
fn places_are_told_in_both_texts() {
    let edit = replace("a\nb\nc\nb\n", "b\n", "x\ny\n", Which::All).unwrap();
    let places: Vec<_> =
        edit.places.iter().map(|place| (place.before.clone(), place.after.clone())).collect();
    let span = |bytes, lines| Span { bytes, lines };
    assert_eq!(places, [(span(2..4, 2..=2), span(2..6, 2..=3)), (span(6..8, 4..=4), span(8..12, 5..=6))]);
    let edit = replace("a\nb\n", "b\n", "", Which::TheOne).unwrap();
    assert_eq!(edit.places[0].after.bytes, 2..2);
}
