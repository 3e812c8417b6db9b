//! The entry points of the fuzz targets, on every run: with generated texts, and with seeds that are
//! damaged at random.

use proptest::prelude::*;

#[path = "../../../../fuzz/src/patch.rs"]
#[expect(unreachable_pub, reason = "public for the fuzz targets")]
mod targets;

const APPLIED: &str = include_str!("../../../../fuzz/seeds/patch_apply/all_operations");
const WRAPPED: &str = include_str!("../../../../fuzz/seeds/patch_parse/wrapped");
const EDITED: &str = include_str!("../../../../fuzz/seeds/edit_match/indented");

/// A seed with some of its characters exchanged for bits of the formats.
fn damaged(seed: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let bits =
        ["\n", "\r\n", "*** ", "@@", "+", "-", " ", "\t", "\\", "\0", "\u{A0}", "EOF", "", "\n\n", "a"];
    let damage = (any::<prop::sample::Index>(), 0..9_usize, prop::sample::select(bits.to_vec()));
    prop::collection::vec(damage, 0..5).prop_map(move |damages| {
        let mut text = seed.to_owned();
        for (at, length, bit) in damages {
            let start = text.floor_char_boundary(at.index(text.len() + 1));
            let end = text.floor_char_boundary(start + length).max(start);
            text.replace_range(start..end, bit);
        }
        text.into_bytes()
    })
}

#[test]
fn the_seeds_reach_the_end() {
    targets::patch_parse(WRAPPED.as_bytes());
    assert!(targets::patch_apply(APPLIED.as_bytes()));
    assert!(targets::edit_match(EDITED.as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(data in prop::collection::vec(any::<u8>(), 0..300)) {
        targets::patch_parse(&data);
        targets::patch_apply(&data);
        targets::edit_match(&data);
    }

    #[test]
    fn damaged_patches_are_read(data in damaged(WRAPPED)) {
        targets::patch_parse(&data);
    }

    #[test]
    fn damaged_patches_are_applied(data in damaged(APPLIED)) {
        targets::patch_apply(&data);
    }

    #[test]
    fn damaged_edits(data in damaged(EDITED)) {
        targets::edit_match(&data);
    }

    #[test]
    fn edits_of_few_letters(text in "[ab \n\r(]{0,40}", old in "[ab \n\r(]{0,12}", new in "[ab \n]{0,12}") {
        targets::edit_match(format!("{text}\0{old}\0{new}").as_bytes());
    }
}
