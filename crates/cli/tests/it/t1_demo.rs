use crate::Machine;

#[test]
fn the_demo_needs_nothing_and_says_that_it_is_one() {
    // A proxy that is not there: nothing may go through it.
    let machine =
        Machine::new().with("HTTP_PROXY", "http://127.0.0.1:9").with("http_proxy", "http://127.0.0.1:9");
    let run = machine.run(&["demo"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert!(run.out.starts_with("A junto is a small circle"), "{run:#?}");
    for part in ["the model is scripted", "nothing leaves this machine", "twin/scripted · in "] {
        assert!(run.err.contains(part), "{part} in {run:#?}");
    }
    let other = machine.run(&["demo", "Why?"]).ok();
    assert!(other.starts_with("You asked: Why?"), "{other}");
}
