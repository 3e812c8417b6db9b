//! Code that a line runs although it does not stand there as a command: what the shell evaluates, expands once more or
//! gives another name, and what programs take from where they are.

use junto_core::{Action, Leash, Verdict};
use junto_policy::{Answer, Confined, Finds, Judge, Mode, Place};

use crate::support::{confined, judge, place, rules};

/// Lines that nobody may run unasked without a sandbox, in whatever mode.
fn asked(lines: &[&str]) {
    for mode in [Mode::ReadOnly, Mode::Ask, Mode::Workspace] {
        let judge = judge(mode, "");
        for line in lines {
            let explained = judge.explain_line(line);
            assert_ne!(explained.answer(), Answer::Allow, "{mode:?} {line}\n{explained}");
        }
    }
}

fn allowed(lines: &[&str]) {
    let judge = judge(Mode::Ask, "");
    for line in lines {
        let explained = judge.explain_line(line);
        assert_eq!(explained.answer(), Answer::Allow, "{line}\n{explained}");
    }
}

#[test]
fn what_variables_of_the_shell_get_is_evaluated() {
    asked(&[
        "RANDOM='a[$(x)]'",
        "RANDOM+='a[$(x)]'",
        "RANDOM[0]='a[$(x)]'",
        "RANDOM=('a[$(x)]')",
        "RANDOM=$y",
        "SRANDOM='a[$(x)]'",
        "SECONDS='a[$(x)]'",
        "HISTCMD='a[$(x)]'",
        "OPTIND='a[$(x)]'",
        "BASHPID+='a[$(x)]'",
        "LINENO='a[$(x)]'",
        "declare SECONDS='a[$(x)]'",
        "export RANDOM='a[$(x)]'",
        "readonly RANDOM=$y",
        "for RANDOM in 'a[$(x)]'; do :; done",
        "for RANDOM; do :; done",
        "select RANDOM in 'a[$(x)]'; do :; done",
        "read RANDOM",
        "mapfile -t RANDOM",
        "printf -v RANDOM %s 'a[$(x)]'",
        ": ${RANDOM:='a[$(x)]'}",
        "eval 'RANDOM=$y'",
        "command export RANDOM='a[$(x)]'",
    ]);
    allowed(&[
        "RANDOM=42; echo $RANDOM",
        "SECONDS=0; ls; echo $SECONDS",
        "(( SECONDS = 0 )); ls",
        "for RANDOM in 1 2; do echo $RANDOM; done",
        "declare SECONDS=0",
        "x='a[$(y)]'; echo \"$x\"",
    ]);
}

#[test]
fn what_lists_are_declared_as_is_expanded_once_more() {
    asked(&[
        "declare -a a='($(x))'",
        "declare -A a='([k]=$(x))'",
        "declare -a a+='($(x))'",
        "declare -a a[0]='($(x))'",
        "declare -ra a='($(x))'",
        "declare -a a=$y",
        "declare -a a=\"(1 $y)\"",
        "declare $flag a=$y",
        "typeset -a a='($(x))'",
        "readonly -a a='($(x))'",
        "export -a a='($(x))'",
        "f() { local -a a='($(x))'; }; f",
        "a=(1); declare a='($(x))'",
        "a=(1); declare a=\"($y)\"",
        "a=(1); declare a=$y",
        "a[0]=1; typeset a=$y",
        "declare -a a; declare a=$y",
        "mapfile a < f; declare a=$y",
        "read -a a; declare a=$y",
        "read -ra a; declare a=$y",
        "command read -a a; declare a=$y",
        "eval 'a=(1)'; declare a=$y",
        "a=(1); eval 'declare a=$y'",
        "trap 'a=(1)' DEBUG; declare a=$y",
        "coproc a { :; }; declare a=$y",
        ": ${a[0]:=1}; declare a=$y",
        "declare DIRSTACK=$y",
        "declare BASH_ALIASES='($(x) 1)'",
        // Quotes in the name make words of its words, of which there may be several.
        "\\declare z=$y",
        "'export' z=$y",
    ]);
    allowed(&[
        "declare -a a=(1 2); echo ${a[@]}",
        "declare -A m; m=(); echo ${m[@]}",
        "f() { local a=$1 b=\"($2)\"; echo $a; }; f 1",
        "export FOO=$(date)",
        "a=(1 2); export FOO=\"$x\"",
        "declare -a a='x(1)'",
        "a='($(x))'",
        "command -v git; export FOO=$x",
        "trap 'echo done' EXIT; export FOO=$x",
    ]);
}

#[test]
fn what_is_behind_an_open_file_is_not_known() {
    asked(&[
        "exec 3</; echo x > /dev/fd/3/etc/cron.d/x",
        "exec 3<~; cat /dev/fd/3/.config/gh/hosts.yml",
        "cat /dev/stdin/.config/gh/hosts.yml < ~",
        "cat /dev/./stdin//x < ~",
        "cat /dev/f?/3/x",
        "cat /dev/*/3/x",
        "cat /*/stdin/x",
        "exec 3<.; cat /dev/fd/3/../../home/ada/.config/x",
        "cat /dev/fd/../environ",
        "cd /dev/fd/3 && cat x",
        "cd /dev/fd; cat 3/x",
        "grep -r x /dev/fd/3",
        "rg x /dev/stdin",
        "cp -r /dev/fd/3/ x",
        "tar cf - /dev/fd/3/",
        "find /dev/fd/3/ -exec cat {} +",
        "cp a /dev/fd/3",
        "mv a /dev/fd/3",
        "cp -t /dev/fd/3 a",
        "install a /dev/stdin",
        "tar xf a.tar -C /dev/fd/3",
        "unzip a.zip -d /dev/fd/3",
        "ln -s a /dev/fd/3",
        "mktemp -p /dev/fd/3",
        "cat /proc/self/*/3/x",
        "cat /proc/self/*/home/ada/.config/x",
        "cat ~/.config/*/hosts.yml",
    ]);
    allowed(&[
        "echo x > /dev/stderr",
        "cat /dev/stdin < a",
        "echo x > /dev/fd/2",
        "ls /dev/fd",
        "rg x <(ls)",
        "diff -r <(ls a) <(ls b)",
        "cat src/*/x",
        "ls | cat - /dev/fd/0",
    ]);
}

#[test]
fn options_that_are_words_are_no_letters() {
    asked(&[
        "xxd -r -ps in /etc/x",
        "xxd -rps in /etc/x",
        "xxd -ups in /etc/x",
        "xxd -bits in /etc/x",
        "xxd -plain in /etc/x",
        "xxd --ps in /etc/x",
        "xxd -s 3 in /etc/x",
        "xxd -seek 3 in /etc/x",
        "xxd -l $n in /etc/x",
        "xxd $x in out",
        "xxd -frob in",
        "xxd -- -r in",
    ]);
    allowed(&[
        "xxd f",
        "xxd -ps f",
        "xxd -l 16 f",
        "xxd -s 0x10 -l16 -c 8 f",
        "xxd -p -c 256 f",
        "ls | xxd -g1",
    ]);
}

#[test]
fn commands_that_run_commands_hand_them_other_words() {
    asked(&[
        "ls | xargs -I X -n 2 tee",
        "ls | xargs -I X -L 1 cat /dev/null",
        "ls | xargs -I X -l cat /dev/null",
        "ls | xargs -I X -l1 cat /dev/null",
        "ls | xargs -I X --max-lines=1 cat /dev/null",
        "ls | xargs -I X --max-args 1 cat /dev/null",
        "ls | xargs -i -n2 tee",
        "watch -x rm -f '#' /home/ada/x",
        "watch --exec rm -f '#' /home/ada/x",
        "watch -tx rm -f '#' /home/ada/x",
        "watch -dx echo '; rm -f /home/ada/x'",
        "env 'BASH_FUNC_ls%%=() { x; }' bash -c ls",
        "env a.b=1 rm /home/ada/x",
        "env a/b=1 rm /home/ada/x",
        "RUSTUP_TOOLCHAIN=./x rustc a.rs",
        "git --help status",
    ]);
    allowed(&[
        "ls | xargs -I X echo X",
        "ls | xargs -n 2 echo",
        "watch -x ls '#' a",
        "watch -d ls",
        "git --help",
        "env A=1 ls",
    ]);
}

#[test]
fn the_version_of_what_the_project_chooses_is_not_asked_for() {
    asked(&[
        "cargo --version",
        "cargo -V",
        "rustc -V",
        "rustc --version",
        "rustup --version",
        "yarn --version",
        "pnpm --version",
        "go --version",
    ]);
    allowed(&["node --version", "python3 -V", "gcc --version"]);
}

#[test]
fn texts_that_are_translated_are_not_understood() {
    asked(&[
        "echo $\"hi\"",
        "LC_ALL=C.UTF-8 TEXTDOMAIN=m TEXTDOMAINDIR=. bash -c 'echo $\"hi\"'",
        "echo \"${x:-$\"hi\"}\"",
        "TEXTDOMAINDIR=. ls",
        "export TEXTDOMAIN=m",
    ]);
    allowed(&["echo \"cost: 3$\"", "echo '$\"hi\"'"]);
}

/// A rule that denies holds also where a command has another name, or stands in a text that the shell runs.
#[test]
fn in_full_a_denied_command_has_no_other_name() {
    let judge = judge(Mode::Full, &rules(&["deny command touch *"]));
    for line in [
        "shopt -s expand_aliases; alias zz=touch\nzz x",
        "shopt -s expand_aliases",
        "shopt -so history histexpand\n: touch x\n!!:1-$",
        "set -o history -o histexpand\n: touch x\n!!:1-$",
        "set -H",
        "set -o \"$x\"",
        "hash -p /usr/bin/touch ls; ls z",
        "BASH_ALIASES[zz]=touch; eval zz x",
        "BASH_CMDS[zz]=/usr/bin/touch; zz x",
        "enable -f ./x.so zz",
        "compgen -C 'touch x'",
        "compgen -W '$(touch x)'",
        "complete -C 'touch x' y",
        "bind -x '\"a\": touch x'",
        "fc -s touch",
        "jobs -x touch x",
        "PS4='$(touch x)'; set -x; ls",
        "BASH_ENV='$(touch x)' bash -c ls",
        "env 'BASH_FUNC_ls%%=() { touch x; }' bash -c ls",
        "env a.b=1 touch x",
        "x='a[$(touch x)]'; echo $((x))",
        "RANDOM='a[$(touch x)]'",
        "unset 'a[$(touch x)]'",
        "read 'a[$(touch x)]'",
        "printf -v 'a[$(touch x)]' y",
        "test -v 'a[$(touch x)]'",
        "declare 'a[$(touch x)]=1'",
        "declare -i 'x=a[$(touch x)]'",
        "declare -n 'x=a[$(touch x)]'",
        "declare -a a='($(touch x))'",
        "let 'a[$(touch x)]=1'",
        "watch -x touch x",
        "ls | xargs -I X -n 2 touch",
        ". <(echo touch x)",
        "source /dev/stdin <<< 'touch x'",
        ". /dev/fd/3 3<<< 'touch x'",
        ". /proc/self/fd/0 <<< 'touch x'",
        "cd /dev; . ./stdin <<< 'touch x'",
        "cd \"$x\"; bash 0 <<< 'touch x'",
        ". /proc/thread-self/f?/0 <<< 'touch x'",
        "echo 'touch x' | . /dev/stdin",
        "x=/dev/stdin; . \"$x\" <<< 'touch x'",
        ". \"$x\"",
        "bash <(echo touch x)",
        "bash /dev/stdin <<< 'touch x'",
        "sh -- /dev/fd/0 <<< 'touch x'",
        "bash \"$x\"",
        "xargs sh <<< '-c \"touch x\"'",
    ] {
        let explained = judge.explain_line(line);
        assert_ne!(explained.answer(), Answer::Allow, "{line}\n{explained}");
    }
    for line in [
        "alias",
        "hash ls",
        "hash -r",
        "make",
        "x=1; echo $((x + 1))",
        "shopt -s nullglob",
        "set -a",
        ". ./env.sh",
        ". .env",
        "source x",
        "cd \"$dir\" && bash build.sh",
        "source \"$VENV/bin/activate\"",
        "bash build.sh",
        "bash \"$dir/build.sh\"",
        "sh ./x",
    ] {
        let explained = judge.explain_line(line);
        assert_eq!(explained.answer(), Answer::Allow, "{line}\n{explained}");
    }
}

/// The sandbox holds what is not seen, but not to the rules.
#[test]
fn in_a_sandbox_a_denied_command_has_no_other_name_either() {
    let hidden = [
        "x='touch y'; eval \"$x\"",
        "shopt -s expand_aliases; alias x=touch; x y",
        "echo 'touch y' | bash",
        "hash -p /usr/bin/touch ls; ls y",
        ". <(echo touch y)",
        "xargs sh <<< '-c \"touch y\"'",
    ];
    for rule in ["deny command touch *", "ask command touch *"] {
        for mode in [Mode::Workspace, Mode::ReadOnly] {
            let judge = confined(mode, &rules(&[rule]));
            for line in hidden {
                assert_eq!(judge.explain_line(line).answer(), Answer::Ask, "{mode:?} {rule} {line}");
            }
            for line in ["make", "cargo test", "bash build.sh", "python3 x.py", "x=1; echo $((x + 1))"] {
                assert_eq!(judge.explain_line(line).answer(), Answer::Allow, "{mode:?} {rule} {line}");
            }
            let code = Action::Code { code: "1 + 1".to_owned() };
            assert_eq!(judge.explain(&[code]).answer(), Answer::Allow, "{mode:?} {rule}");
        }
    }
    for rule in ["allow command touch *", "deny read x", "deny net *"] {
        let judge = confined(Mode::Workspace, &rules(&[rule]));
        for line in hidden {
            assert_eq!(judge.explain_line(line).answer(), Answer::Allow, "{rule} {line}");
        }
    }
}

/// What a rule allows leaves the sandbox only beside what is harmless, and a variable that gets a text which is not known
/// is not.
#[test]
fn assignments_keep_a_line_in_the_sandbox() {
    let judge = confined(Mode::Workspace, &rules(&["allow command kubectl get *"]));
    let leash = |line: &str| match judge.explain_line(line).verdict {
        Verdict::Allow(leash) => Some(leash),
        _ => None,
    };
    for line in [
        "kubectl get pods; RANDOM='a[$(touch x)]'",
        "kubectl get pods; NEW_IN_SOME_SHELL='a[$(touch x)]'",
        "kubectl get pods; NEW_IN_SOME_SHELL=$x",
        "for NEW_IN_SOME_SHELL in $x; do kubectl get pods; done",
        "kubectl get pods; a=('x[$(touch x)]')",
    ] {
        assert_eq!(leash(line), Some(Leash::Kept), "{line}");
    }
    for line in ["kubectl get pods", "n=3; kubectl get pods", "for x in a b; do kubectl get pods; done"] {
        assert_eq!(leash(line), Some(Leash::Loose), "{line}");
    }
}

/// A directory without `.git` can be a repository by itself, whose settings run programs.
#[test]
fn git_obeys_no_directory_that_poses_as_a_repository() {
    use Answer::{Allow, Ask};
    let check = |there: &'static [&'static str], workdir: &str, line: &str, expected| {
        let find =
            |path: &std::path::Path| there.iter().any(|own| std::path::Path::new(own).starts_with(path));
        let finds = Finds::new(find);
        let place = Place { workdir: workdir.into(), finds, ..place(Confined::default()) };
        let explained = Judge::new(Mode::Workspace, place, Vec::new()).explain_line(line);
        assert_eq!(explained.answer(), expected, "{there:?} {workdir} {line}\n{explained}");
    };
    let own = &["/w/project/.git/HEAD", "/w/project/HEAD"];
    check(own, "/w/project", "git status", Allow);
    check(own, "/w/project", "echo x > HEAD", Allow);
    check(&["/w/project/src"], "/w/project", "git status", Allow);
    check(&["/w/project/HEAD"], "/w/project", "git status", Ask);
    check(&["/w/project/HEAD"], "/w/project", "git log", Ask);
    // What stands there while another command runs is no repository.
    check(&["/w/project/HEAD", "/w/project/.git/x"], "/w/project", "git status", Ask);
    check(&["/w/.git/HEAD"], "/w/project", "git status", Allow);
    check(&["/w/HEAD"], "/w/project", "git status", Ask);
    check(&["/tmp/.git/HEAD"], "/tmp/project", "git status", Ask);
    check(&["/tmp/project/.git/HEAD"], "/tmp/project", "git status", Allow);
    // Nor can it be made to pose.
    check(&["/w/project/src"], "/w/project", "echo x > HEAD; git status", Ask);
    check(&["/w/project/src"], "/w/project", "cp a HEA*", Ask);
    check(&["/w/project/src"], "/w/project", "mkdir config objects refs src/HEAD", Allow);
}
