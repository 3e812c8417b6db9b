//! What must hold for any line.

use std::sync::LazyLock;

use junto_policy::{Answer, Confined, Judge, Mode, Origin, Place, Rules};

/// A judge of each mode with and without a sandbox, and one who denies a command.
static JUDGES: LazyLock<Vec<Judge>> = LazyLock::new(|| {
    let place = |confined| Place {
        workdir: "/w".into(),
        temp: vec!["/tmp".into()],
        home: Some("/home/ada".into()),
        confined,
        ..Place::default()
    };
    let whole = Confined { files: true, network: true };
    let both = Mode::ALL.into_iter().flat_map(|mode| [(mode, Confined::default()), (mode, whole)]);
    both.map(|(mode, confined)| Judge::new(mode, place(confined), Vec::new())).collect()
});

static DENYING: LazyLock<Judge> = LazyLock::new(|| {
    let rules = "[[policy.rule]]\ncommand = \"rm *\"\ndecision = \"deny\"\n";
    let rules = Rules::parse(rules, Origin::User, None).unwrap_or_default();
    Judge::new(Mode::Full, Place::default(), vec![rules])
});

/// No line makes a judge fail, and modes are ordered: what a stricter one allows, a looser one allows; what it allows
/// without a sandbox, it allows with one.
pub fn policy(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    let answers: Vec<Answer> = JUDGES.iter().map(|judge| judge.explain_line(&line).answer()).collect();
    let [read_only, read_only_kept, ask, ask_kept, workspace, workspace_kept, full, full_kept] = answers[..]
    else {
        return;
    };
    let order = [(read_only, ask), (ask, workspace), (workspace, full), (read_only_kept, full_kept)];
    for (strict, loose) in order {
        assert!(strict >= loose || strict == Answer::Ask, "a looser mode is stricter: {answers:?} {line:?}");
        assert!(
            strict != Answer::Allow || loose == Answer::Allow,
            "a looser mode asks: {answers:?} {line:?}"
        );
    }
    for (free, kept) in
        [(read_only, read_only_kept), (ask, ask_kept), (workspace, workspace_kept), (full, full_kept)]
    {
        assert!(kept <= free, "a sandbox makes it stricter: {answers:?} {line:?}");
    }
    // What follows a line on a line of its own is seen, whatever comes before it.
    let followed = DENYING.explain_line(&format!("rm x; {line}")).answer();
    assert_ne!(followed, Answer::Allow, "the first command is lost: {line:?}");
    let followed = DENYING.explain_line(&format!("echo \"$(rm x)\"\n{line}")).answer();
    assert_ne!(followed, Answer::Allow, "the substitution is lost: {line:?}");
}
