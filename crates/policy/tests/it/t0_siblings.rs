//! Ways that come to the same: lists and directories instead of files, links instead of what they lead to, options
//! before a subcommand, variables before a command.

use std::ffi::OsString;
use std::path::Path;

use junto_core::{Leash, Policy, Verdict};
use junto_policy::{Answer, Confined, Entry, Judge, Links, Mode, Origin, Place, PolicyRule};

use crate::support::{confined, judge, place, rules, shell};
use Answer::{Allow, Ask, Deny};

fn check(judge: &Judge, lines: &[(&str, Answer)]) {
    for (line, expected) in lines {
        let explained = judge.explain_line(line);
        assert_eq!(explained.answer(), *expected, "{line}\n{explained}");
    }
}

#[test]
fn what_reads_a_directory_or_a_list_is_no_read_of_one_file() {
    check(
        &judge(Mode::Ask, ""),
        &[
            ("grep -d recurse x ~", Ask),
            ("grep -drec x ~", Ask),
            ("grep --directories=recurse x ~", Ask),
            ("grep --directories=\"$x\" y ~", Ask),
            ("egrep -d recurse x ~", Ask),
            ("grep -d recurse x src", Allow),
            ("grep -d skip x ~", Allow),
            ("grep -d read x ~", Allow),
            ("git diff --no-index empty ~", Ask),
            ("git diff empty ~", Ask),
            ("git diff --no-index a b", Allow),
            ("git grep --no-index x ~", Ask),
            ("git grep x", Allow),
            ("diff -N empty ~", Ask),
            ("diff a/.npmrc ~", Ask),
            ("diff --from-file=/home/ada a", Ask),
            ("sdiff a ~", Ask),
            ("diff a b", Allow),
            ("diff -r src /tmp/src", Allow),
            ("printf 'k\\0' | sort --files0-from=-", Ask),
            ("wc --files0-from=list", Ask),
            ("du --files0-from=list", Allow),
            ("ag x ~", Ask),
            ("ag x", Allow),
            ("tar cf - -T list", Ask),
            ("tar cf - --files-from=list", Ask),
            ("tar tf a.tar -T list", Allow),
            ("jq -n 'import \"a\" as $x {search:\"/x\"}; $x'", Ask),
            ("jq -n ' include \"a\"; .'", Ask),
            ("jq -n '# a\nimport \"a\" as $x; $x'", Ask),
            ("jq -n 'module {}; import \"a\" as $x; $x'", Ask),
            ("jq -nf prog.jq", Ask),
            ("jq \"$x\" f", Ask),
            ("jq \".a.$x\" f", Allow),
            ("jq '.import' f", Allow),
            ("jq -r .a f", Allow),
        ],
    );
    check(
        &judge(Mode::Workspace, ""),
        &[
            ("tar xf a.tar -T list -C src", Ask),
            ("tar xf a.tar -C src", Allow),
            ("find -files0-from list -delete", Ask),
        ],
    );
    // Beside what a rule allows it does not leave the sandbox either.
    let judge = confined(Mode::Workspace, &rules(&["allow command cargo test *"]));
    assert_eq!(judge.decide(&[shell("cargo test; grep x f")]), Verdict::Allow(Leash::Loose));
    check(&judge, &[("cargo test; grep -d recurse x ~", Ask)]);
}

/// A place with links: `klink` and `outlink` lead out, and `plain` has none below.
fn linked() -> Place {
    let follow = |path: &Path| {
        let real = path.to_str()?.replace("/w/project/klink", "/home/ada/notes");
        let real =
            real.replace("/w/project/outlink", "/srv/other").replace("/w/project/sub/deep", "/srv/deep");
        Some(real.into())
    };
    let list = |path: &Path| -> Vec<(OsString, Entry)> {
        let names: &[(&str, Entry)] = match path.to_str().unwrap() {
            "/w/project" => &[
                (".git", Entry::Directory),
                ("klink", Entry::Link),
                ("outlink", Entry::Link),
                ("sub", Entry::Directory),
                ("plain", Entry::Directory),
                ("a.rs", Entry::Other),
            ],
            "/w/project/sub" => &[("deep", Entry::Link), ("b.rs", Entry::Other)],
            "/w/project/plain" => &[("c.rs", Entry::Other)],
            "/tmp/z" => &[(".mcp.json", Entry::Other), ("klink", Entry::Other)],
            _ => &[],
        };
        names.iter().map(|(name, entry)| (OsString::from(name), *entry)).collect()
    };
    Place { links: Links::new(follow).listed(list), ..place(Confined::default()) }
}

#[test]
fn links_are_found_behind_patterns_and_names() {
    check(
        &Judge::new(Mode::Workspace, linked(), Vec::new()),
        &[
            ("echo x >> kli*", Ask),
            ("echo x >> a*", Allow),
            ("tee k?ink < a", Ask),
            ("for f in kli*; do echo x >> $f; done", Ask),
            ("sed -i s/a/b/ ./*.rs", Allow),
            ("sed -i s/a/b/ ./*/*.rs", Ask),
            ("sed -i s/a/b/ plain/*.rs", Allow),
            ("touch s*/d*", Ask),
            ("touch out*/x", Ask),
            ("rm -rf outli*/*", Ask),
            ("rm -rf outli*", Allow),
            ("rm -rf *", Allow),
            ("cat *.rs", Allow),
            // What is copied onto a link.
            ("cp /tmp/z/klink .", Ask),
            ("cp /tmp/z/klink src", Allow),
            ("mv /tmp/z/klink .", Allow),
            ("cp /tmp/z/kl* .", Ask),
            // What is put there as a link.
            ("cp -P klink k2 && echo x >> k2", Ask),
            ("cp -d klink plain && echo x >> plain/klink", Ask),
            ("cp -r sub new && echo x >> new/deep", Ask),
            ("cp -a plain new && echo x >> new/c.rs", Allow),
            ("cp a.rs k2 && echo x >> k2", Allow),
            ("mv sub new && echo x >> new/deep", Ask),
            ("mv plain new && echo x >> new/c.rs", Allow),
            ("for i in 1 2; do echo x >> new/deep; cp -r sub new; done", Ask),
            ("tar xf a -C /tmp/d && echo x >> /tmp/d/lnk", Ask),
            ("tar xf a -C /tmp/d && cd /tmp/d && ls", Allow),
            ("tar xf a -C /tmp/d && rm -rf /tmp/d", Allow),
            ("unzip a.zip -d /tmp/d && echo x >> /tmp/d/lnk", Ask),
            // What is found is not what it was looked for in.
            ("find . -name klink -exec tee {} \\;", Ask),
            ("find . -path ./.git/config -exec cp a {} \\;", Ask),
            ("find sub -exec tee {} \\;", Ask),
            ("find plain -name '*.rs' -exec sed -i s/a/b/ {} +", Allow),
            ("find /tmp/z -name .mcp.json -exec cp {} src \\;", Ask),
            ("find . -name '*.rs' -exec grep x {} +", Allow),
            ("cd /tmp/x && cp --parents .git/config /w/project", Ask),
        ],
    );
    // Nobody can look: what is found may be how the repository is set up.
    check(
        &judge(Mode::Workspace, ""),
        &[
            ("find . -path ./.git/config -exec cp a {} \\;", Ask),
            ("find src -name '*.rs' -exec sed -i s/a/b/ {} +", Allow),
            ("cp -P a b && cat b", Ask),
        ],
    );
}

#[test]
fn variables_that_are_not_known_make_another_command_of_one_that_a_rule_allows() {
    let allowed = rules(&["allow command gh *", "allow command make *", "allow net example.org"]);
    let inside = confined(Mode::Workspace, &allowed);
    for (line, expected) in [
        ("RUST_LOG=debug make", Leash::Loose),
        ("CI=1 LC_ALL=C NO_COLOR=1 TZ=UTC make", Leash::Loose),
        ("export CI=1; ls", Leash::Kept),
        ("FOO=1 make", Leash::Kept),
        ("env FOO=1 make", Leash::Kept),
        ("FOO=1 timeout 5 make", Leash::Kept),
        ("FOO=1 bash -c make", Leash::Kept),
        ("export FOO=1; make", Leash::Kept),
        ("GH_BROWSER='touch z' make", Leash::Kept),
    ] {
        assert_eq!(inside.decide(&[shell(line)]), Verdict::Allow(expected), "{line}");
    }
    check(
        &judge(Mode::Workspace, &allowed),
        &[
            ("make", Allow),
            ("DEBUG=1 make", Allow),
            ("FOO=1 make", Ask),
            ("env FOO=1 make", Ask),
            ("export FOO=1; make", Ask),
            ("declare -x FOO=1; make", Ask),
            ("env PORT=80 make", Allow),
            ("f() { make; }; FOO=1 f", Ask),
            ("f() { make; }; CI=1 f", Allow),
            ("for i in 1 2; do make; export FOO=1; done", Ask),
            ("FOO=1 ls; make", Allow),
            ("FOO=1 ls", Allow),
            ("GH_BROWSER='touch z' gh pr view --web", Ask),
            ("OPENSSL_CONF=./x curl https://example.org", Ask),
            ("FOO=1 curl https://example.org", Ask),
            ("curl https://example.org", Allow),
            ("TAPE=/etc/x tar c a", Ask),
            ("SSLKEYLOGFILE=/etc/x curl https://example.org", Ask),
        ],
    );
    // A rule about the command would not spare the question.
    let Verdict::Ask { proposed, .. } = judge(Mode::Workspace, "").explain_line("FOO=1 make x").verdict
    else {
        panic!("it is asked about")
    };
    assert_eq!(proposed, []);
}

#[test]
fn options_before_a_subcommand_do_not_hide_it() {
    let denied = rules(&[
        "allow command kubectl *",
        "deny command kubectl delete *",
        "deny command cargo publish *",
        "deny command git push *",
        "deny command tool deploy *",
        "deny command ls",
    ]);
    let many = format!("tool{} deploy", " -a".repeat(40));
    for mode in [Mode::Full, Mode::Workspace] {
        check(
            &judge(mode, &denied),
            &[
                ("kubectl -n prod delete pod x", Deny),
                ("kubectl --namespace=prod delete pod x", Deny),
                ("kubectl --frob prod delete pod x", Ask),
                ("kubectl -n prod get pods", Allow),
                ("cargo --color always publish", Deny),
                ("cargo +nightly -q publish", Deny),
                ("git --attr-source HEAD push", Deny),
                ("git --frob HEAD push", Ask),
                ("/usr/bin/git -C x push", Deny),
                ("tool -x y deploy", Ask),
                ("tool --x=y deploy", Deny),
                ("tool --x deploy", Ask),
                (&many, Ask),
                ("git --no-pager log push", Allow),
                ("ls -la", Allow),
                ("ls", Deny),
            ],
        );
    }
}

#[test]
fn what_may_not_be_read_may_not_get_another_name() {
    check(
        &judge(Mode::Workspace, &rules(&["deny read secret.txt"])),
        &[
            ("mv secret.txt x", Deny),
            ("mv secret.txt x && cat x", Deny),
            ("ln secret.txt x", Deny),
            ("cp secret.txt x", Deny),
            ("git grep -h ''", Ask),
            ("git grep x -- src", Allow),
            ("diff -N empty .", Ask),
            ("diff empty src", Allow),
            ("git diff --no-index empty .", Ask),
            ("grep -r x .", Ask),
            ("ag x", Ask),
            ("mv a b", Allow),
        ],
    );
    check(
        &judge(Mode::Workspace, ""),
        &[("mv .env x", Ask), ("mv .env.example x", Allow), ("mv src x", Allow)],
    );
}

#[test]
fn an_allowed_host_is_one_of_the_web() {
    check(
        &judge(Mode::Workspace, &rules(&["allow net localhost", "allow net example.org", "allow net file"])),
        &[
            ("curl http://localhost:8080/", Allow),
            ("curl localhost:8080/x", Allow),
            ("curl file://localhost/home/ada/.ssh/id_rsa", Ask),
            ("curl FILE:///home/ada/.ssh/id_rsa", Ask),
            ("curl file:/home/ada/.ssh/id_rsa", Ask),
            ("curl gopher://localhost:6379/x", Ask),
            ("curl -w '%output{/home/ada/.bashrc}x' https://example.org/", Ask),
            ("curl -w '%{http_code}' https://example.org/", Allow),
            ("curl -O https://example.org/a.txt", Allow),
            ("curl -O https://example.org/.mcp.json", Ask),
            ("curl -O https://example.org/%2emcp.json", Ask),
            ("curl -sO --output-dir src https://example.org/.envrc", Ask),
            ("wget -q https://example.org/.mcp.json", Ask),
            ("wget -q https://example.org/a.txt", Allow),
        ],
    );
}

#[test]
fn rules_that_would_never_match_are_no_rules() {
    for (line, message) in [
        ("deny net \"https://evil.example/\"", "write \"evil.example\""),
        ("deny net \"evil.example/x\"", "write \"evil.example\""),
        ("deny net \"evil.example:443\"", "write \"evil.example\""),
        ("deny net \"ada@evil.example\"", "write \"evil.example\""),
        ("allow write \"~foo/x\"", "`./~foo/x` for a file of that name"),
        ("deny read \"$HOME/x\"", "`~/` for the home"),
        ("deny command \"git push | cat\"", "a rule is about one command"),
        ("deny command \"git push && ls\"", "a rule is about one command"),
        ("deny command \"make > log\"", "a rule is about one command"),
        ("deny command \"make 2>&1\"", "a rule is about one command"),
        ("deny command \"echo $(date)\"", "a rule is about one command"),
        ("deny command \"FOO=1 make *\"", "variables before a command"),
    ] {
        let error = PolicyRule::read(line, Origin::Session).unwrap_err().to_string();
        assert!(error.contains(message), "{line}: {error}");
    }
    for line in [
        r#"deny net "*.evil.example""#,
        r#"deny net "::1""#,
        r#"deny write "./~foo/x""#,
        r#"deny write "~""#,
        r#"deny command "git push '|' cat""#,
        r#"allow command "curl https://a/?b=1&c=2""#,
        r#"allow command "make V=1 *""#,
    ] {
        PolicyRule::read(line, Origin::Session).unwrap();
    }
}
