//! What bash runs out of texts that it evaluates: asked of bash itself, whose versions differ in that.

use junto_policy::{Answer, Mode};

use crate::support::{judge, rules};
use crate::t1_bash::ran;

/// Names that are special to some version of bash, and one that is not.
const NAMES: &[&str] = &[
    "BASHPID",
    "BASH_ARGV0",
    "BASH_COMPAT",
    "BASH_MONOSECONDS",
    "BASH_SUBSHELL",
    "BASH_XTRACEFD",
    "CHILD_MAX",
    "COLUMNS",
    "COMP_CWORD",
    "COMP_POINT",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "FUNCNEST",
    "GLOBSORT",
    "GROUPS",
    "HISTCMD",
    "HISTFILESIZE",
    "HISTSIZE",
    "IGNOREEOF",
    "LINENO",
    "LINES",
    "MAILCHECK",
    "OPTERR",
    "OPTIND",
    "PIPESTATUS",
    "PPID",
    "PS4",
    "RANDOM",
    "READLINE_POINT",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "TMOUT",
    "UID",
    "plain",
];
/// How a variable gets a text.
const WAYS: &[&str] = &[
    "@='a[$(c0)]'",
    "@+='a[$(c0)]'",
    "@[0]='a[$(c0)]'",
    "@=('a[$(c0)]')",
    "x='a[$(c0)]'; @=$x",
    "@='a[$(c0)]' c2",
    "declare @='a[$(c0)]'",
    "export @='a[$(c0)]'",
    "readonly @='a[$(c0)]'",
    "f() { local @='a[$(c0)]'; }; f",
    "for @ in 'a[$(c0)]'; do :; done",
    "read @ <<< 'a[$(c0)]'",
    "read -a @ <<< 'a[$(c0)]'",
    "mapfile -t @ <<< 'a[$(c0)]'",
    "printf -v @ %s 'a[$(c0)]'",
    ": ${@:='a[$(c0)]'}",
    "unset @; @='a[$(c0)]'; : $((@))",
    "@='a[$(c0)]'; : $((@))",
    "@='a[$(c0)]'; : ${!@}",
    "@='a[$(c0)]'; : ${z:@}",
    "@='a[$(c0)]'; [[ @ -eq 0 ]]",
    "@='a[$(c0)]'; let @",
    "@='a[$(c0)]'; z[@]=1",
    "@='a[$(c0)]'; declare -n r=@; r=1",
    "declare -i @='a[$(c0)]'",
    "declare @='($(c0))'",
    "declare -a @='($(c0))'",
    "declare -A @='([k]=$(c0))'",
    "@=(1); declare @='($(c0))'",
    "@[0]=1; declare @='($(c0))'",
    "mapfile @ < /dev/null; declare @='($(c0))'",
    "coproc @ { :; }; declare @='($(c0))'",
    "y='1 a[$(c0)]=1'; \\declare @=$y",
    "@='$(c0)'; set -x; c2",
    "export @='$(c0)'; /bin/bash -c c2",
    "getopts a '@[$(c0)]' -a",
    "unset '@[$(c0)]'",
    "test -v '@[$(c0)]'",
    "read '@[$(c0)]' <<< 1",
    "printf -v '@[$(c0)]' x",
    "declare '@[$(c0)]=1'",
    ": & wait -n -p '@[$(c0)]'",
];
/// Lines of their own.
const LINES: &[&str] = &[
    "compgen -W '$(c0)'",
    "compgen -C c0",
    "shopt -s expand_aliases; alias zz=c0\nzz x",
    "set -o posix; alias zz=c0\nzz x",
    "shopt -s expand_aliases; BASH_ALIASES[zz]=c0; eval zz",
    "set -o history -o histexpand\n: c0 x\n!!:1-$",
    "shopt -so history histexpand\n: c0 x\n!!:1-$",
    "BASH_ENV='$(c0)' /bin/bash -c c2",
    "jobs -x c0",
];

#[test]
fn what_bash_runs_out_of_texts_is_not_allowed() {
    let denying = judge(Mode::Full, &rules(&["deny command c0 *"]));
    let asking = judge(Mode::Ask, "");
    let ways = NAMES.iter().flat_map(|name| WAYS.iter().map(move |way| way.replace('@', name)));
    let lines = ways.chain(LINES.iter().map(|line| (*line).to_owned()));
    let (mut wrong, mut runs) = (Vec::new(), 0);
    for line in lines {
        // The judges first: bash is asked only about what they let pass, and about some of the rest.
        let allowed = [&denying, &asking].map(|judge| judge.explain_line(&line).answer() == Answer::Allow);
        let sure = line.contains("RANDOM") || LINES.contains(&line.as_str());
        if allowed.contains(&true) || sure {
            let found = ran(&line).iter().any(|name| name == "c0");
            runs += usize::from(found);
            if found && allowed.contains(&true) {
                wrong.push(line);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "bash runs a command in these, which nobody is asked about:\n{}",
        wrong.join("\n")
    );
    assert!(runs > 15, "only {runs} lines run something");
}
