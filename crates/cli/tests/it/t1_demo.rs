use std::fs;

use crate::Machine;

#[test]
fn the_demo_mends_a_program_and_says_that_its_model_is_a_script() {
    // A proxy that is not there: nothing may go through it.
    let machine =
        Machine::new().with("HTTP_PROXY", "http://127.0.0.1:9").with("http_proxy", "http://127.0.0.1:9");
    let temporary = machine.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let machine = machine.with("TMPDIR", &crate::text(&temporary));
    let run = machine.run(&["demo"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.out.contains("all tests pass"), "{run:#?}");
    let said = [
        "The model is scripted",
        "nothing leaves this machine",
        "> shell sh test.sh\n  shell failed\n    FAIL: the sum of 2 3 should be 5, but is 3\n",
        "> edit_file sum.sh\n  edit_file ok\n",
        "> shell sh test.sh\n  shell ok\n    all tests pass\n",
        "without the agent: they pass",
    ];
    for part in said {
        assert!(run.err.contains(part), "{part} in {run:#?}");
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "the folder is removed");
}

#[test]
fn a_demo_whose_tests_do_not_pass_fails() {
    // No programs at all, so the tests cannot run.
    let run = Machine::new().with("PATH", "/nonexistent").run(&["demo"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.out.contains("The tests still fail"), "{run:#?}");
    assert!(run.err.contains("error: the tests do not pass"), "{run:#?}");
}
