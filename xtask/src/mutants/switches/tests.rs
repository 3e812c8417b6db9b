//! What is put in, and that the whole can still be read.

use super::*;
use crate::mutants::list::Span;

/// A mutant of what stands at `marked` in the text, which is there once.
fn mutant(text: &str, genre: Genre, marked: &str, replacement: &str) -> Mutant {
    let at = text.find(marked).unwrap();
    let place = |at: usize| {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        Place { line, column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1 }
    };
    let span = Span { start: place(at), end: place(at + marked.len()) };
    Mutant { name: marked.to_owned(), file: String::new(), genre, span, replacement: replacement.to_owned() }
}

fn put(text: &str, mutants: &[Mutant]) -> (Switched, Left) {
    let (switched, left) = switched(text, (1..).zip(mutants)).unwrap();
    syn::parse_file(&switched.text).unwrap();
    assert_eq!(switched.text.lines().count(), text.lines().count(), "{}", switched.text);
    (switched, left)
}

#[test]
fn an_operator_becomes_a_choice() {
    let check = |text: &str, operator: &str, replacements: &[&str], expected: &str| {
        let mutants: Vec<Mutant> =
            replacements.iter().map(|with| mutant(text, Genre::BinaryOperator, operator, with)).collect();
        let (switched, left) = put(text, &mutants);
        assert_eq!(left, Left::default(), "{text}");
        assert!(switched.text.contains(expected), "{expected} in {}", switched.text);
    };
    check(
        "fn f(a: u8, b: u8) -> bool { g(a < b) }",
        "<",
        &["==", "<="],
        "g((match (&(a), &(b)) { (__left, __right) => if crate::__mutant(1) { *__left == *__right } else \
         if crate::__mutant(2) { *__left <= *__right } else { *__left < *__right } }))",
    );
    check(
        "fn f(a: u8) -> u8 { a + 1 }",
        "+",
        &["-"],
        "(match (a, 1) { (__left, __right) => if crate::__mutant(1) { __left - __right } else { __left + __right } })",
    );
    check(
        "fn f(a: bool) -> bool { a\n    && b() }",
        "&&",
        &["||"],
        "({ let __left: bool = a; if __left ^ crate::__mutant(1) { \nb() } else { __left } })",
    );
    check(
        "fn f(a: bool) -> bool { a || b() }",
        "||",
        &["&&"],
        "({ let __left: bool = a; if __left ^ crate::__mutant(1) { __left } else { b() } })",
    );
    check(
        "fn f(a: &mut [u8]) { a[0] += 2; }",
        "+=",
        &["-="],
        "match 2 { __right => if crate::__mutant(1) { a[0] -= __right } else { a[0] += __right } };",
    );
}

#[test]
fn what_is_nested_stays_nested() {
    let text = "fn f(a: u8, b: u8) -> bool { !(a + 1 == b) && a > b }";
    let mutants = [
        mutant(text, Genre::FnValue, "!(a", "true"),
        mutant(text, Genre::UnaryOperator, "!", ""),
        mutant(text, Genre::BinaryOperator, "+", "-"),
        mutant(text, Genre::BinaryOperator, "==", "!="),
        mutant(text, Genre::BinaryOperator, "&&", "||"),
        mutant(text, Genre::BinaryOperator, "> b }", "<"),
    ];
    let (switched, left) = put(text, &mutants);
    assert_eq!(left, Left::default());
    let begins = "fn f(a: u8, b: u8) -> bool { if crate::__mutant(1) { return true; } ({ let __left: bool = \
        (crate::__mutant(2) ^ !((match (&((match (a, 1) {";
    assert!(switched.text.starts_with(begins), "{}", switched.text);
}

#[test]
fn arms_are_left_out_and_guards_decided() {
    let text = "fn f(a: u8) -> u8 { match a { 1 => 2, n if n > 3 => -n, _ => 4 } }";
    let mutants = [
        mutant(text, Genre::MatchArm, "1 =>", ""),
        mutant(text, Genre::MatchArmGuard, "n > 3", "true"),
        mutant(text, Genre::MatchArmGuard, "n > 3", "false"),
        mutant(text, Genre::UnaryOperator, "-n", ""),
    ];
    let (switched, left) = put(text, &mutants);
    assert_eq!(left, Left::default());
    for expected in [
        "1 if !crate::__mutant(1)  => 2",
        "n if crate::__mutant(2) || !crate::__mutant(3) && (n > 3) =>",
        "(match n { __right => if crate::__mutant(4) { __right } else { -__right } })",
    ] {
        assert!(switched.text.contains(expected), "{expected} in {}", switched.text);
    }
}

/// What the compiler evaluates has no switches, nor what returns a type without a name; what is joined to a `let`
/// compiles in no way.
#[test]
fn some_cannot_be_switched() {
    let text =
        "const fn f(a: u8) -> u8 { a + 1 }\nfn g() -> impl Iterator { h() }\nfn i() { if let A = b && c {} }";
    let mutants = [
        mutant(text, Genre::BinaryOperator, "+", "-"),
        mutant(text, Genre::FnValue, "h()", "::std::iter::empty()"),
        mutant(text, Genre::BinaryOperator, "&&", "||"),
    ];
    let (switched, mut left) = put(text, &mutants);
    left.fixed.sort_unstable();
    assert_eq!(left, Left { impossible: vec![3], fixed: vec![1, 2] });
    assert_eq!(switched.text, text);
}

#[test]
fn an_error_is_somebodys() {
    let text = "fn f(a: A, b: A) -> bool { g(a < b) }\nfn h() {}";
    let mutants = ["==", "<="].map(|with| mutant(text, Genre::BinaryOperator, "<", with));
    let (switched, _) = put(text, &mutants);
    let at = |what: &str| {
        let start = switched.text.find(what).unwrap();
        switched.culprit(&(start..start + what.len()))
    };
    assert_eq!(at("*__left == *__right"), Some(Culprit::Mutant(1)));
    assert_eq!(at("*__left <= *__right"), Some(Culprit::Mutant(2)));
    assert_eq!(at("*__left < *__right"), Some(Culprit::Switch(vec![1, 2])));
    assert_eq!(at("(a)"), Some(Culprit::Switch(vec![1, 2])));
    assert_eq!(at("fn h"), None);
}

/// An arm that is behind a switch covers nothing, and the error is not where it is.
#[test]
fn an_error_about_all_arms_is_that_of_each() {
    let text = "fn f(a: A, b: u8) -> u8 { match g(b + 2) { A::B => 1, A::C => 3, _ if b > 4 => 5 } }";
    let mutants = [
        mutant(text, Genre::MatchArm, "A::B =>", ""),
        mutant(text, Genre::MatchArm, "A::C =>", ""),
        mutant(text, Genre::BinaryOperator, "+", "-"),
    ];
    let (switched, left) = put(text, &mutants);
    assert_eq!(left, Left::default());
    let at = |what: &str| {
        let start = switched.text.find(what).unwrap();
        switched.culprit(&(start..start + what.len()))
    };
    let matched = "g((match (b, 2) { (__left, __right) => if crate::__mutant(3) { __left - __right } else \
        { __left + __right } }))";
    assert_eq!(at(matched), Some(Culprit::Switch(vec![1, 2])));
    assert_eq!(at("__left - __right"), Some(Culprit::Mutant(3)));
    assert_eq!(at("1, A::C"), None);
}
