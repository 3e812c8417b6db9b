//! Project documents on a real disk, where a name may be anything.

use crate::checkout::{Checkout, prompt};

/// What is loaded of a project, by what the script made, and what the warnings are about.
async fn check(script: &str, cwd: &str, loaded: &[&str], warnings: &[&str]) {
    let outside =
        "echo 'I am outside.' > ../outside.md; mkdir ../elsewhere; echo 'And I.' > ../elsewhere/AGENTS.md";
    let checkout = Checkout::new(&format!("{outside}; git init -q -b main; {script}")).await;
    let built = prompt(&checkout.env(cwd)).await;
    let opening = format!("<project_document path=\"{}", checkout.path("").display());
    let found: Vec<&str> =
        built.text.split(&opening).skip(1).map(|part| part.split_once("\n</").unwrap().0).collect();
    assert_eq!(found, loaded, "{script}");
    assert_eq!(built.warnings.len(), warnings.len(), "{script}: {:?}", built.warnings);
    for (warning, about) in built.warnings.iter().zip(warnings) {
        assert!(warning.contains(about), "{script}: {warning}");
    }
    assert!(!built.text.contains("outside") && !built.text.contains("And I."), "{script}");
}

#[tokio::test]
async fn links() {
    check("ln -s ../outside.md AGENTS.md", "", &[], &["link out of the project"]).await;
    check("ln -s ../elsewhere sub; mkdir x; ln -s ../sub/AGENTS.md x/AGENTS.md", "x", &[], &["link out"])
        .await;
    check("ln -s /proc/self/environ AGENTS.md", "", &[], &["link out"]).await;
    check("ln -s AGENTS.md AGENTS.md", "", &[], &["symbolic links"]).await;
    check("ln -s gone.md AGENTS.md", "", &[], &[]).await;
    check("mkdir docs; echo Hi > docs/a.md; ln -s docs/a.md AGENTS.md", "", &["AGENTS.md\">\nHi"], &[]).await;
    // One text under two names is not said twice.
    check("echo Hi > AGENTS.md; ln -s AGENTS.md CLAUDE.md", "", &["AGENTS.md\">\nHi"], &[]).await;
    check("echo Hi > CLAUDE.md; ln -s CLAUDE.md AGENTS.md", "", &["AGENTS.md\">\nHi"], &[]).await;
    check(
        "echo Hi > AGENTS.md; mkdir sub; ln -s ../AGENTS.md sub; echo Ho > sub/CLAUDE.md",
        "sub",
        &["AGENTS.md\">\nHi", "sub/CLAUDE.md\">\nHo"],
        &[],
    )
    .await;
}

#[tokio::test]
async fn what_is_no_file() {
    for (script, about) in [
        ("mkfifo AGENTS.md", "a named pipe"),
        ("mkdir AGENTS.md", "a directory"),
        ("ln -s ../project AGENTS.md", "a directory"),
        ("head -c 4096 /dev/zero > AGENTS.md", "no text"),
        ("cp /bin/true AGENTS.md", "no text"),
    ] {
        check(&format!("{script}; echo Fine > CLAUDE.md"), "", &["CLAUDE.md\">\nFine"], &[about]).await;
    }
}

#[tokio::test]
async fn odd_names() {
    check(
        "mkdir 'a \"b\"'; printf 'one\\r\\ntwo\\r\\n' > 'a \"b\"/AGENTS.md'",
        "a \"b\"",
        &["a &quot;b&quot;/AGENTS.md\">\none\r\ntwo"],
        &[],
    )
    .await;
    check("mkdir ü日; echo Hi > ü日/CLAUDE.md", "ü日", &["ü日/CLAUDE.md\">\nHi"], &[]).await;
}

#[tokio::test]
async fn only_between_the_root_and_here() {
    let script =
        "mkdir -p a/b c; for dir in . a a/b c; do echo $dir > $dir/AGENTS.md; done; echo no > ../AGENTS.md";
    check(script, "", &["AGENTS.md\">\n."], &[]).await;
    check(script, "a", &["AGENTS.md\">\n.", "a/AGENTS.md\">\na"], &[]).await;
    check(script, "a/b", &["AGENTS.md\">\n.", "a/AGENTS.md\">\na", "a/b/AGENTS.md\">\na/b"], &[]).await;
    // A repository within one is a project of its own.
    check(&format!("{script}; git init -q a"), "a/b", &["a/AGENTS.md\">\na", "a/b/AGENTS.md\">\na/b"], &[])
        .await;
}
