use packed::{pack, unpack};

#[test]
fn long_runs_and_digits() {
    for text in ["aaaaaaaaaaaab", "1122", "\\"] {
        assert_eq!(unpack(&pack(text)).as_deref(), Ok(text));
    }
}
