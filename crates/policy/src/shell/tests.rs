//! Which commands are seen in a line.

use super::{LONGEST, Piece, Word, read};

/// The commands of a line: known words as they are, `?` for those that are not, `*` for patterns.
fn seen(line: &str) -> String {
    let script = match read(line) {
        Ok(script) => script,
        Err(unclear) => return format!("unclear: {}", unclear.0),
    };
    let word = |word: &Word| {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Glob(text) => text.clone(),
            Piece::Home => "~".to_owned(),
            Piece::Variable { name, .. } => format!("${name}"),
            Piece::Number => "0".to_owned(),
            Piece::Unknown { .. } => "?".to_owned(),
            Piece::OneOf(texts) => format!("{texts:?}"),
        };
        word.pieces().iter().map(piece).collect::<String>()
    };
    let commands: Vec<String> = script
        .commands
        .iter()
        .map(|simple| {
            let assigned = simple.assignments.iter().map(|assignment| format!("{}=", assignment.name));
            let words = simple.words.iter().map(word);
            let redirected = simple.redirections.iter().map(|to| format!("{:?} {}", to.way, word(&to.file)));
            assigned.chain(words).chain(redirected).collect::<Vec<_>>().join(" ")
        })
        .collect();
    commands.join(" | ")
}

#[test]
fn commands_are_seen_wherever_they_stand() {
    for (line, expected) in [
        ("", ""),
        ("  # nothing", ""),
        ("ls -la", "ls -la"),
        ("a; b & c && d || e | f |& g", "a | b | c | d | e | f | g"),
        ("a\nb\n\nc", "a | b | c"),
        ("echo $(a $(b))", "b | a ? | echo ?"),
        ("echo `a \\`b\\``", "b | a ? | echo ?"),
        ("echo \"x $(a) y\"", "a | echo x ? y"),
        ("a <(b) >(c)", "b | c | a /dev/fd/63 /dev/fd/63"),
        ("X=1 Y=$(b) a", "b | X= Y= a"),
        ("a > f 2>&1 < g", "a To f From g"),
        ("a &> f >> g <> h", "a To f To g Both h"),
        ("a 2>&- >&2", "a"),
        ("{ a; b; } > f", "a | b | To f"),
        ("(a; (b))", "a | b"),
        ("X=1 f() { a; }", "unclear: a parenthesis among the words"),
        ("> x f() { a; }", "unclear: a parenthesis among the words"),
        ("a x{1..3}y", "a x?y"),
        ("a $'\\u0041' ${x:-'b'}", "a A ?"),
        ("a &&\n# b\nc", "a | c"),
        ("a $b_c/d e", "a $b_c/d e"),
        ("$x() { a; }", "unclear: a parenthesis in a word"),
        ("if a; then b; elif c; then d; else e; fi", "a | b | c | d | e"),
        ("while a; do b; done", "a | b"),
        ("for x in $(a) b; do c $x; done", "a | x= x= | c $x"),
        ("for ((i=0; i<$(a); i++)); do b; done", "i= | a | b"),
        ("case $(a) in b|'c') d ;; (e) f ;& *) g ;;& esac", "a | d | f | g"),
        ("case a in b) c; esac; d", "c | d"),
        ("f() { a; }; f", "a | f"),
        ("f () ( a )", "a"),
        ("function f { a; }", "a"),
        ("function f() { a; } > x", "a | To x"),
        ("[[ -f a && ( b < c || $(d) =~ ^(x|y)+$ ) ]] && e", "d | e"),
        ("[ a ] && [ b ]", "[ a ] | [ b ]"),
        ("[ a | b ]", "[ a | b ]"),
        ("(( x + $(a) ))", "a"),
        ("echo $(( $(a) * 2 )) ${x:-$(b)} ${y[$(c)]} ${z:$(d):1}", "a | b | c | d | echo 0 ? ? ?"),
        ("x=(a $(b)\n c)", "b | x="),
        ("x[$(a)]=1", "a | x="),
        ("declare -a x=(1 $(a))", "a | x= declare -a x="),
        ("cat <<E\na $(b) \\$(c) `d`\nE\ne", "cat | b | d | e"),
        ("cat <<'E'\n$(b)\nE\ne", "cat | e"),
        ("cat <<\\E\n$(b)\nE", "cat"),
        ("cat <<-E | a\n\t$(b)\n\tE\nc", "cat | a | b | c"),
        ("cat <<E && $(a)\n$(b)\nE", "cat | a | ? | b"),
        ("a <<< $(b)", "b | a"),
        ("a 'b;c' \"d|e\" f\\;g", "a b;c d|e f;g"),
        ("'a b' \"\" c''d", "a b  cd"),
        ("echo {a,b}c {} {x", "echo ac bc {} {x"),
        ("echo ~ ~/x a~ '~'", "echo ~ ~/x a~ ~"),
        ("dd of=~/x -a=~/y b:~", "dd of=~/x -a=?/y b:?"),
        ("echo * a?b [x]", "echo * a?b [x]"),
        ("echo [!abcd] e []$x] [!]$x]", "echo [!abcd] e ?]$x] ?!]$x]"),
        ("echo a#b #c", "echo a#b"),
        ("! a | b", "a | b"),
        ("time -p a; time b", "a | b"),
        ("coproc { a b; }; coproc c { d; }; coproc (e)", "a b | c= | d | e"),
        ("a \\\n b", "a b"),
        ("$'a\\'b' $'\\x41' \"c\"", "a'b A c"),
        ("$x ${y} $1 \"$@\"", "$x $y ? ?"),
        ("a $# $? $$ ${@} ${#} ${?}", "a 0 0 0 ? ? ?"),
        ("a ${x[@]} ${x[*]} $'\\101'", "a ? ? A"),
        ("x=> f a", "x= a To f"),
        ("a $'b\\tc' $'\\u00e9'", "a b\tc é"),
        ("cat <<'E F'\n$(b)\nE F\nc", "cat | c"),
        ("a $((b[$(c)] + 1))", "c | a 0"),
        ("a $((1 +\n1))", "a 0"),
        ("a ${x:-\\}} b", "a ? b"),
        ("{ a;", "unclear: the line ends too early"),
        ("cat <<E $((1 + 1))\nE", "cat 0"),
        ("echo `a \\\"b`", "a \"b | echo ?"),
        ("a[$(b)] c", "b | a??] c"),
        ("a {b} \"$'c'\" \"d$\"", "a {b} $'c' d$"),
        ("a 5>f b 6", "a b 6 To f"),
        ("if a; then b; fi | c", "a | b | c"),
        ("a && {\n b\n}\n", "a | b"),
        ("select x in a b; do c; done", "x= x= x= | c"),
        ("echo ${#x} ${x%%.*} ${x//a/$(b)} ${!y}", "b | echo ? ? ? ?"),
        ("echo $ $. a$", "echo $ $. a$"),
        ("until a; do b; done < f", "a | b | From f"),
    ] {
        assert_eq!(seen(line), expected, "{line}");
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    for line in [
        "ls (",
        "ls )",
        "(ls",
        "\"a",
        "'a",
        "`a",
        "$(a",
        "${a",
        "$((1",
        "a |",
        "a &&",
        "a ;;",
        "a; ; b",
        "& a",
        "if a; then b",
        "if a; fi",
        "then",
        "for x in a do b; done",
        "for 1 in a; do b; done",
        "case a in b) c",
        "{ a",
        "a }; }",
        "f() a",
        "function if { a; }",
        "f(",
        "cat <<E\na",
        "cat <<E\na\\\nE\n",
        "cat <<$E\n",
        "cat <<",
        "a >",
        "a <",
        "$[1]",
        "${x@P}",
        "${x!}",
        "?(a)",
        "a(b)",
        "r\\\nm",
        "a\\",
        "a{b,$(c)}",
        "a=([0]=b)",
        "echo $'\\c'",
        "echo $'\\xe9'",
        "[[ a",
        "[[ a; b ]]",
        "[[ a =~ (b 'c') ]]",
        "a {b c,d}",
        "(( a",
        "((a); (b))",
        "$((a); b)",
        "if a; then b; fi c",
        "(a) b",
        "coproc",
        "{fd}>f rm x",
        "coproc a b",
        "echo $((1 + $(case a in (b) c;; *) d;; esac)))",
        "echo $(( $(a 'b') ))",
        "a=(b)$ c",
        "a=(b)c",
        "a {\"b c\",d}",
        "a | time b",
        "a | ! b",
        "time -o f a",
        "\"`a \\\"`\"",
        "!",
        "a $(b <<E\nE)",
        "cat <<E \"\nE\n\"\nE\n",
        "echo $\"a\"",
        "echo ${x:-$\"a\"}",
        "echo \"${x:-$\"a\"}\"",
        "echo \"$(echo $\"a\")\"",
        "[[ a == $\"a\" ]]",
    ] {
        assert!(read(line).is_err(), "{line}: {}", seen(line));
    }
}

#[test]
fn depth_length_and_number_are_bounded() {
    assert!(read(&"(".repeat(10_000)).is_err());
    assert!(read(&"$(".repeat(10_000)).is_err());
    assert!(read(&format!("{}a{}", "( ".repeat(100), ")".repeat(100))).is_err());
    assert!(read(&"a;".repeat(40_000)).is_err());
    assert!(read(&"a;".repeat(5_000)).is_err());
    // These would be more words than there are numbers for.
    assert!(read(&format!("echo {}", "{a,b}".repeat(5_000))).is_err());
    assert!(read(&format!("ls > {}", "{a,b}".repeat(5_000))).is_err());
    assert!(read(&format!("echo {}", "{a,b}".repeat(7))).is_err());
    assert!(read(&format!("echo {}", "{a,b}".repeat(6))).is_ok());
    assert!(read(&"a;".repeat(500)).is_ok());
    assert!(read(&format!("echo {}", "{a".repeat(1000))).is_ok());
}

#[test]
fn a_line_may_be_as_long_as_it_says() {
    assert!(read(&"a".repeat(LONGEST)).is_ok());
    assert!(read(&"a".repeat(LONGEST + 1)).is_err());
}

#[test]
fn the_ends_of_sets_are_looked_for_once() {
    for part in ["[", "[a", "[a]", "[!", "[]", "[[", "[a/", "[^]", "x["] {
        for end in ["", "]", "'x'", "$x]", " ]"] {
            let line = format!("echo {}{end}", part.repeat(5000));
            let before = super::unquoted::LOOKED.get();
            assert!(read(&line).is_ok(), "{part} {end}");
            let looked = super::unquoted::LOOKED.get() - before;
            assert!(looked <= 2 * line.len(), "{part} {end}: {looked} for {}", line.len());
        }
    }
}
