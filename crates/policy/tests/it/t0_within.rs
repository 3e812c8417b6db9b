//! Commands that stand in the words of others, and lines with many words.

use junto_policy::{Answer, Mode};

use crate::support::{judge, rules};

/// What an option, a script or a runner is given to run is not what the command is called.
#[test]
fn a_rule_holds_where_its_command_stands_in_another() {
    use Answer::{Allow, Ask, Deny};
    let lines = [
        ("git grep -O'rm x' foo", Ask),
        ("rg --pre rm x", Ask),
        ("sort --compress-program=rm f", Ask),
        ("sort --comp=rm f", Ask),
        ("ag --pager rm x", Ask),
        ("tar -I 'rm x' -xf a.tar", Deny),
        ("tar xIf 'rm x' a.tar", Deny),
        ("tar --use-compress-program='rm x' -xf a.tar", Deny),
        ("tar --to-command='rm x' -xf a.tar", Deny),
        ("tar --to-com='rm x' -xf a.tar", Deny),
        ("tar --checkpoint=1 --checkpoint-action=exec='rm x' -xf a.tar", Deny),
        ("tar -I \"$x\" -xf a.tar", Ask),
        ("tar -I zstd -xf a.tar", Allow),
        ("tar xzf a.tar", Allow),
        ("less '+!rm x' f", Ask),
        ("git -c alias.x='!rm x' x", Ask),
        ("git -c core.fsmonitor='rm x' status", Ask),
        ("git -c \"$x\" status", Ask),
        ("git --config-env=alias.x=Y x", Ask),
        ("git --exec-path=/tmp status", Ask),
        ("git -c color.ui=always log", Allow),
        ("git -c user.name=$x commit -m y", Ask),
        ("git -c user.name=\"$x\" commit -m y", Allow),
        ("git -c user.name=x commit -m y", Allow),
        ("git -c core.pager=cat diff", Allow),
        ("git bisect run rm x", Deny),
        ("git bisect run 'rm x'", Deny),
        ("git bisect run sh -c 'rm x'", Deny),
        ("git bisect run cargo test", Allow),
        ("git bisect good", Allow),
        ("git rebase -x 'rm x' main", Deny),
        ("git rebase -ix 'rm x' main", Deny),
        ("git rebase --exec='rm x' main", Deny),
        ("git rebase --ex 'rm x' main", Deny),
        ("git rebase -x 'cargo test' main", Allow),
        ("git rebase main", Allow),
        ("git submodule foreach 'rm x'", Deny),
        ("git submodule foreach --recursive rm x", Deny),
        ("git submodule foreach 'git pull'", Allow),
        ("git submodule foreach 'true; $0' x", Ask),
        ("git submodule update --init", Allow),
        ("git fetch --upload-pack='rm x; git-upload-pack' .", Ask),
        ("git fetch --upl='rm x; git-upload-pack' .", Ask),
        ("git fetch --depth -- --upload-pack='rm x' .", Ask),
        ("git fetch --all --prune", Allow),
        ("git pull --upload-pack 'rm x' .", Ask),
        ("git clone -u 'rm x' . y", Ask),
        ("git clone -c core.fsmonitor='rm x' . y", Ask),
        ("git clone . y --config=core.fsmonitor='rm x'", Ask),
        ("git clone -c core.autocrlf=false . y", Allow),
        ("git clone --depth 1 https://example.org/x", Allow),
        ("git clone 'ext::rm x' y", Ask),
        ("git ls-remote --exec='rm x' .", Ask),
        ("git push --receive-pack='rm x' . HEAD", Ask),
        ("git push -u origin main", Allow),
        ("git archive --remote=. --exec='rm x' HEAD", Ask),
        ("git difftool -x 'rm x' HEAD", Ask),
        ("git filter-branch --tree-filter 'rm x' HEAD", Ask),
        ("git log --show-signature", Ask),
        ("git log --format=%G?", Ask),
        ("sed '1e rm x' f", Ask),
        ("sed 's/a/rm x/e' f", Ask),
        ("sed \"$x\" f", Ask),
        ("sed -i 's/a/b/' f", Allow),
        ("sed ':a;N;$!ba;s/\\n/ /g' f", Allow),
        ("sed 's/[^/]*$//' f", Allow),
        ("sed -i '1i #include <x>' f", Allow),
        ("sed -i '/x/a\\    y' f", Allow),
        ("sed -n '/a/w b' f", Allow),
        ("awk 'BEGIN{system(\"rm x\")}'", Ask),
        ("awk '{print | \"rm x\"}' f", Ask),
        ("awk -e 'BEGIN{system(\"rm x\")}'", Ask),
        ("awk '/a|b/{print $1}' f", Allow),
        ("awk '{print > \"f\"}' f", Allow),
        ("ssh -o ProxyCommand='rm x' h", Ask),
        ("cp -al a b", Allow),
        ("date -s 12:00", Allow),
        // Programs that run what is behind their own words.
        ("x86_64 rm x", Ask),
        ("uname26 rm x", Ask),
        ("choom -n 0 -- rm x", Ask),
        ("ssh-agent rm x", Ask),
        ("/lib64/ld-linux-x86-64.so.2 /bin/rm x", Ask),
        ("ip netns exec n rm x", Ask),
        ("ip addr", Allow),
        ("eatmydata rm x", Ask),
        ("sem rm x", Ask),
        ("gosu root rm x", Ask),
        ("hyperfine 'rm x'", Ask),
        ("nix-shell --run 'rm x'", Ask),
        ("neverheardof --now rm x", Ask),
        ("./run.sh -- /bin/rm x", Ask),
        ("npx rm x", Ask),
        ("uv run rm x", Ask),
        ("ssh host rm x", Ask),
        ("ssh host ls", Allow),
        ("neverheardof --rm x", Allow),
        ("neverheardof 'rm x'", Allow),
        ("neverheardof firm x", Allow),
        ("npm rm x", Allow),
        ("git rm x", Allow),
        ("git commit -m rm", Allow),
        ("echo rm x", Allow),
        ("cargo test rm", Allow),
    ];
    let full = judge(Mode::Full, &rules(&["deny command rm *"]));
    for (line, expected) in lines {
        let explained = full.explain_line(line);
        assert_eq!(explained.answer(), expected, "{line}\n{explained}");
    }
    // All of its words count, and options before a subcommand do not.
    for (rule, line, expected) in [
        ("deny command git push *", "neverheardof git push", Ask),
        ("deny command git push *", "neverheardof git -C x push", Ask),
        ("deny command git push *", "neverheardof git status", Allow),
        ("deny command git push *", "neverheardof push git", Allow),
        ("ask command rm -rf *", "neverheardof rm x rm -rf y", Ask),
        ("ask command rm -rf *", "neverheardof rm $x", Ask),
        ("ask command rm -rf *", "neverheardof rm x", Allow),
        ("allow command rm *", "neverheardof rm x", Allow),
    ] {
        let rules = rules(&[rule]);
        assert_eq!(judge(Mode::Full, &rules).explain_line(line).answer(), expected, "{rule}: {line}");
    }
    let why = full.explain_line("neverheardof rm x").to_string();
    assert!(why.contains("it may be what a rule is about"), "{why}");
}

/// A line that names many places and many files for them would else need the memory for each pair.
#[test]
fn twice_the_line_is_no_more_than_twice_the_work() {
    type Line = fn(usize) -> String;
    let judge = judge(Mode::Workspace, "");
    let size = |line: &str| judge.explain_line(line).to_string().len();
    let lines: [(&str, Line); 8] = [
        ("cp", |n| format!("cp {}{}", "-t b ".repeat(n), ".git ".repeat(n))),
        ("mv", |n| format!("mv {}{}", "-t b ".repeat(n), ".git ".repeat(n))),
        ("install", |n| format!("install {}{}", "-t b ".repeat(n), ".git ".repeat(n))),
        ("ln", |n| format!("ln -s {}{}", "-t b ".repeat(n), "../a ".repeat(n))),
        ("curl", |n| format!("curl {}{}", "-O ".repeat(n), "http://a/b ".repeat(n))),
        ("curl into", |n| format!("curl -O {}{}", "--output-dir b ".repeat(n), "http://a/b ".repeat(n))),
        ("wget", |n| format!("wget {}{}", "-P b ".repeat(n), "http://a/b ".repeat(n))),
        ("cp of each of several", |n| {
            format!("for x in {}; do cp {}$x; done", "a b ".repeat(8), "\"$x\" ".repeat(n))
        }),
    ];
    for (what, line) in lines {
        let (once, twice) = (size(&line(400)), size(&line(800)));
        assert!(twice <= once.max(40_000) * 5 / 2, "{what}: {once}, {twice}");
    }
    for line in ["cp -t b -t c a", "mv -t b -t c a", "install -t b -t c a", "ln -s -t b -t c a"] {
        assert_eq!(judge.explain_line(line).answer(), Answer::Ask, "{line}");
    }
    for line in ["cp -t b a c", "mv -t b a c", "ln -s -t b a c", "ln -s ../project/a b"] {
        assert_eq!(judge.explain_line(line).answer(), Answer::Allow, "{line}");
    }
}
