use sums::eval;

#[test]
fn products_come_first() {
    assert_eq!(eval("1 + 2 * 3"), Ok(7));
    assert!(eval("1 / 0").is_err());
}
